//! The key port of a sampler: a [`RandomKey`] that all items share, or a seed of the same size for each item. With a
//! seed, the random blocks are those of item number 0.

use core::ops::Range;

use zeroize::Zeroizing;

use ringforge_math::error::Result;
use ringforge_runtime::kernel::Port;
use ringforge_runtime::random::RandomKey;

pub(super) fn is_seeds(key: &Port) -> bool {
    !key.random_key
}

/// The run-time constants that `sample_block` of the CUDA source takes: the stride between the items' keys in 32-bit
/// words, which is 0 for a shared key, and the stream id.
pub(super) fn numbers(key: &Port) -> [u64; 2] {
    let words = if is_seeds(key) { key.stride() / size_of::<u32>() } else { 0 };
    [words as u64, u64::from(key.stream_id)]
}

/// The key port for a view with this byte offset and stride. `None` for seeds unless both are multiples of 4 bytes.
pub(super) fn apart(key: Port, first: usize, stride: usize) -> Option<Port> {
    let whole = (first | stride).is_multiple_of(size_of::<u32>());
    if is_seeds(&key) { whole.then(|| key.with_stride(stride)) } else { Some(key) }
}

/// The key of each item, and the item number under which its random blocks are generated.
pub(super) fn of_items(key: &Port, items: Range<usize>, keys: &[u8]) -> impl Iterator<Item = Result<(RandomKey, u64)>> {
    let is_seeds = is_seeds(key);
    // a shared key serves all items
    let own = keys.chunks_exact(RandomKey::BYTES).cycle();
    items.zip(own).map(move |(item, key)| Ok((RandomKey::from_bytes(key)?, if is_seeds { 0 } else { item as u64 })))
}

/// Number of random blocks that are generated at once.
const BLOCKS: usize = 64;

/// Calls `use_block` with each number of a range and its random block, in the random stream of the port `key`.
pub(super) fn for_blocks(
    key: &Port,
    (random_key, item): &(RandomKey, u64),
    numbers: Range<usize>,
    mut use_block: impl FnMut(usize, &[u64; 8]),
) {
    let mut blocks = Zeroizing::new([[0u64; 8]; BLOCKS]);
    for first in numbers.clone().step_by(BLOCKS) {
        let count = BLOCKS.min(numbers.end - first);
        let bytes: &mut [[u8; 64]] = bytemuck::cast_slice_mut(&mut blocks[..count]);
        random_key.blocks_of_stream(key.stream_id, *item, first as u32, bytes);
        blocks[..count].iter().enumerate().for_each(|(i, block)| use_block(first + i, block));
    }
}

pub(super) fn describe(key: &Port) -> String {
    format!("stream {} of {}", key.stream_id, if is_seeds(key) { "seeds" } else { "the random key" })
}
