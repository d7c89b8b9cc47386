//! Launches whose threads have a coefficient or a few each (`spread.cuh`).

use crate::kernel::Launch;

/// The generated struct `Cells` and the launch for items of `cells` coefficients, with `threads` threads a block that take `each`.
pub(super) fn spread(cells: usize, threads: usize, each: usize) -> (String, Launch) {
    let block = threads * each;
    let items_per_block = (block / cells).max(1);
    let blocks_per_item = cells.div_ceil(block);
    let text = format!(
        "struct Cells {{\n\
         \x20   static constexpr rf::u32 cells = {cells}, threads = {threads}, each = {each};\n\
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
