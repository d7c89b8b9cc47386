//! Launches in which each thread has one coefficient or a few adjacent ones (`spread.cuh`).

use ringforge_math::error::{Error, Result};
use ringforge_runtime::kernel::Launch;

/// The generated struct `Cells`, and the launch for items of `cells` cells, with one thread per cell (one coefficient
/// or a few adjacent ones).
pub(super) fn spread(cells: usize, threads: usize) -> (String, Launch) {
    let (items_per_block, blocks_per_item) = shares(cells, threads);
    let text = format!(
        "struct Cells {{\n\
         \x20   static constexpr rf::u32 cells = {cells}, threads = {threads};\n\
         \x20   static constexpr rf::u32 items_per_block = {items_per_block}, blocks_per_item = {blocks_per_item};\n\
         }};\n"
    );
    let launch = Launch {
        items_per_block: items_per_block as u32,
        blocks_per_item: blocks_per_item as u32,
        ..Launch::thread_per_item(threads as u32)
    };
    (text, launch)
}

/// The launch for items of `units` units of work, with one thread per unit. It needs no generated struct: the kernel
/// reads the number of units as a run-time constant.
///
/// # Errors
/// [`Error::TooLarge`] if an item has more than 2^32 − 1 − `threads` units.
pub(super) fn launch(units: usize, threads: usize) -> Result<Launch> {
    let limit = u32::MAX as usize - threads;
    if units > limit {
        return Err(Error::TooLarge { what: "the size of an item", limit, got: units });
    }
    let (items_per_block, blocks_per_item) = shares(units, threads);
    Ok(Launch {
        items_per_block: items_per_block as u32,
        blocks_per_item: blocks_per_item as u32,
        ..Launch::thread_per_item(threads as u32)
    })
}

/// The size and the C++ type of the largest word that all lengths are multiples of. `lengths` is the bitwise or of the
/// lengths in bytes.
pub(super) fn word(lengths: usize) -> (usize, &'static str) {
    let words = [(16, "rf::u32x4"), (8, "rf::u64"), (4, "rf::u32"), (2, "rf::u16")];
    words.into_iter().find(|(bytes, _)| lengths.is_multiple_of(*bytes)).unwrap_or((1, "rf::u8"))
}

/// The number of items per block and the number of blocks per item, for items of `units` units and blocks of `threads`
/// threads.
fn shares(units: usize, threads: usize) -> (usize, usize) {
    ((threads / units).max(1), units.div_ceil(threads))
}
