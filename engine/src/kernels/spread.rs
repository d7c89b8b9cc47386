//! Launches with a thread for each coefficient (`spread.cuh`).

use crate::kernel::Launch;

/// The generated struct `Cells` and the launch for items of `cells` coefficients, `threads` threads a block.
pub(super) fn spread(cells: usize, threads: usize) -> (String, Launch) {
    let items_per_block = (threads / cells).max(1);
    let blocks_per_item = cells.div_ceil(threads);
    let text = format!(
        "struct Cells {{\n\
         \x20   static constexpr rf::u32 cells = {cells}, threads = {threads};\n\
         \x20   static constexpr rf::u32 items_per_block = {items_per_block}, blocks_per_item = {blocks_per_item};\n\
         }};\n"
    );
    let launch = Launch {
        threads: threads as u32,
        items_per_block: items_per_block as u32,
        blocks_per_item: blocks_per_item as u32,
        shared_bytes: 0,
    };
    (text, launch)
}
