//! Launches whose threads have a coefficient or a few neighbours each (`spread.cuh`).

use ringforge_math::error::{Error, Result};
use ringforge_runtime::kernel::Launch;

/// The generated struct `Cells` and the launch for items of so many cells, one a thread.
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

/// The launch for items of so many units of work, as data.
///
/// # Errors
/// [`Error::TooLarge`].
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

/// The largest word, with its bytes, of which there are whole ones in lengths with these bits.
pub(super) fn word(lengths: usize) -> (usize, &'static str) {
    let words = [(16, "rf::u32x4"), (8, "rf::u64"), (4, "rf::u32"), (2, "rf::u16")];
    words.into_iter().find(|(bytes, _)| lengths.is_multiple_of(*bytes)).unwrap_or((1, "rf::u8"))
}

/// Items of a block, and blocks of an item, that has so many threads' work.
fn shares(units: usize, threads: usize) -> (usize, usize) {
    ((threads / units).max(1), units.div_ceil(threads))
}
