//! How rows of a ring lie in thread blocks: the one place that decides it.

mod prelude;

use crate::arithmetic::Arithmetic;
use crate::kernel::Launch;
use crate::limits::Limits;
use crate::planner::split::{Layer, Split};
use crate::ring::Ring;
use crate::rows::Rows;

/// Threads that a block has, about.
const BLOCK_THREADS: usize = 128;

/// Registers of a thread that may hold coefficients.
const REGISTERS: usize = 64;

/// How many times that where nothing else works.
const MOST_BEYOND: usize = 8;

/// A row (one polynomial modulo one modulus) in a block: `threads` threads hold `per_thread` coefficients each in
/// registers, and run the layers in passes of which each needs only the thread's own registers. Between passes
/// coefficients change threads through shared memory.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Block {
    /// Coefficients of a row.
    n: usize,
    /// Threads of a row.
    threads: usize,
    /// Coefficients in the registers of a thread.
    per_thread: usize,
    /// Rows of a block.
    rows: usize,
    /// First layer of each pass, and the number of layers at the end.
    passes: Vec<usize>,
    /// Neighbouring coefficients that a thread loads at once in the first pass.
    vector: usize,
    /// Bytes of a coefficient in device memory.
    store_bytes: usize,
    /// Bytes of a coefficient in shared memory between passes.
    cell_bytes: usize,
    /// Cells after which a gap is left in shared memory, against bank conflicts.
    run: usize,
    /// Cells of a gap.
    gap: usize,
    /// Bytes that the kernel keeps for itself behind those of a row.
    extra: usize,
}

impl Block {
    /// The shape for a kernel on these rows, or `None` where one does not fit a block of the device. Blocks hold whole
    /// items, or items whole numbers of blocks.
    pub(crate) fn of(rows: &Rows, limits: &Limits) -> Option<Self> {
        let Rows { ring, split, arithmetic, held, per_item, extra, .. } = rows;
        let arithmetic = *arithmetic;
        let most_threads = limits.block_threads? as usize;
        let most = (REGISTERS * 4 / arithmetic.word_bytes()).checked_div(*held)?;
        let target = most / 2;
        let shape = |per_thread: usize| {
            let threads = split.n / per_thread;
            let passes = passes(split, per_thread)?;
            let fits = split.n.is_multiple_of(per_thread) && threads <= most_threads;
            fits.then_some((passes, threads, per_thread))
        };
        // a large base degree under radix 3 may want more registers: better a slow transform than none
        let most_alone = if *held == 1 { MOST_BEYOND * most } else { 0 };
        let beyond = || (most + 1..=split.n.min(most_alone)).find_map(shape);
        let (passes, threads, per_thread) = (1..=split.n.min(most))
            .filter_map(shape)
            .min_by_key(|(passes, threads, per_thread)| {
                let whole_warps = threads.is_multiple_of(32) || 32usize.is_multiple_of(*threads);
                // one pass over a long row would leave each thread alone with memory that no other thread reads
                let passes = if split.n > target { passes.len().max(3) } else { passes.len() };
                (passes, !whole_warps, per_thread.abs_diff(target))
            })
            .or_else(beyond)?;

        let store = ring.width().bytes();
        let first_span = span(split, &passes, 0);
        let stride = split.n / first_span;
        let single = passes.len() <= 2;
        let vector = [8 / store.min(8), 2, 1]
            .into_iter()
            .find(|v| !single && stride.is_multiple_of(*v) && per_thread.is_multiple_of(first_span * v))
            .unwrap_or(if single { split.base } else { 1 });

        let cell_bytes = cell_bytes(arithmetic, ring, &split.layers[..passes[passes.len() - 2]]);
        let run = span(split, &passes, passes.len() - 2) * split.base;
        let unit = vector_bytes(run * cell_bytes);
        let gap = if (run * cell_bytes / unit).is_multiple_of(2) { unit.div_ceil(cell_bytes) } else { 0 };
        let (n, extra) = (split.n, *extra);
        let mut block =
            Self { n, threads, per_thread, rows: 1, passes, vector, store_bytes: store, cell_bytes, run, gap, extra };
        let fits = |rows: usize| {
            (rows.is_multiple_of(*per_item) || (*per_item > 0 && per_item.is_multiple_of(rows)))
                && rows * (block.row_bytes() + extra) <= limits.block_shared_bytes as usize
                && rows * threads <= most_threads
        };
        let most = BLOCK_THREADS.max(32).div_ceil(threads);
        block.rows = (1..=most).filter(|&rows| fits(rows)).max_by_key(|&rows| (block.warps_whole(rows), rows))?;
        Some(block)
    }

    /// Whether every row lies in one warp and all warps are full, so that rows can do with barriers among warps' lanes.
    fn whole_warps(&self) -> bool {
        self.warps_whole(self.rows)
    }

    fn warps_whole(&self, rows: usize) -> bool {
        32usize.is_multiple_of(self.threads) && (self.threads * rows).is_multiple_of(32)
    }

    /// The first layer of the last pass.
    pub(crate) fn last_pass(&self) -> usize {
        self.passes[self.passes.len() - 2]
    }

    /// Bytes of shared memory that a row takes: cells between passes, or the whole row as it is stored.
    fn row_bytes(&self) -> usize {
        let n = self.n;
        let cells = (n + n / self.run * self.gap) * self.cell_bytes;
        let run_bytes = self.run * self.store_bytes;
        let unit = vector_bytes(run_bytes);
        let gap = if (run_bytes / unit).is_multiple_of(2) { unit } else { 0 };
        let stored = n * self.store_bytes + n / self.run * gap;
        cells.max(stored).next_multiple_of(16)
    }

    /// The launch of a kernel whose blocks work on rows, `per_item` of them an item.
    pub(crate) fn launch(&self, per_item: usize) -> Launch {
        Launch {
            threads: (self.threads * self.rows) as u32,
            items_per_block: (self.rows / per_item).max(1) as u32,
            blocks_per_item: (per_item / self.rows).max(1) as u32,
            shared_bytes: (self.rows * (self.row_bytes() + self.extra)) as u32,
        }
    }
}

/// The first layers of passes in which a thread with this many coefficients can work alone, last pass as long as can be.
fn passes(split: &Split, per_thread: usize) -> Option<Vec<usize>> {
    let mut starts = vec![split.layers.len()];
    let mut unit = split.base;
    let mut layer = split.layers.len();
    loop {
        let mut reach = unit;
        let end = layer;
        while layer > 0 && per_thread.is_multiple_of(reach * split.layers[layer - 1].radix()) {
            reach *= split.layers[layer - 1].radix();
            layer -= 1;
        }
        if !per_thread.is_multiple_of(reach) || (layer == end && end > 0) {
            return None;
        }
        starts.push(layer);
        unit = 1;
        if layer == 0 {
            break;
        }
    }
    starts.reverse();
    Some(starts)
}

/// The widest vector access, in bytes, that divides runs of this many bytes.
fn vector_bytes(run: usize) -> usize {
    [16, 8, 4, 2].into_iter().find(|unit| run.is_multiple_of(*unit)).unwrap_or(1)
}

/// Coefficients that the layers of a pass combine.
fn span(split: &Split, passes: &[usize], pass: usize) -> usize {
    split.layers[passes[pass]..passes[pass + 1]].iter().map(|layer| layer.radix()).product()
}

/// Two bytes where residues of a forward transform stay below 2^16 through these layers without reduction, else a word.
fn cell_bytes(arithmetic: Arithmetic, ring: &Ring, layers: &[Layer]) -> usize {
    let growth: u64 = layers.iter().map(|layer| if *layer == Layer::Two { 2 } else { 4 }).sum();
    let small = ring.basis().iter().all(|q| q.value_u64().is_some_and(|q| q < (1 << 16) / (growth + 2)));
    if arithmetic == Arithmetic::Mod16 && small { 2 } else { arithmetic.word_bytes() }
}
