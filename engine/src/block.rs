//! How rows of a ring lie in thread blocks: the one place that decides it.

use core::fmt::Write;

use crate::arithmetic::Arithmetic;
use crate::error::{Error, Result};
use crate::kernel::{Built, Launch};
use crate::limits::Limits;
use crate::modulus::Modulus;
use crate::planner::split::{Layer, Split};
use crate::ring::Ring;

/// Threads that a block has, about.
const BLOCK_THREADS: usize = 128;

/// Registers of a thread that may hold coefficients.
const REGISTERS: usize = 64;

/// A row (one polynomial modulo one modulus) in a block: `threads` threads hold `per_thread` coefficients each in
/// registers, and run the layers in passes of which each needs only the thread's own registers. Between passes
/// coefficients change threads through shared memory.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Block {
    /// Threads of a row.
    pub threads: usize,
    /// Coefficients in the registers of a thread.
    pub per_thread: usize,
    /// Rows of a block.
    pub rows: usize,
    /// First layer of each pass, and the number of layers at the end.
    pub passes: Vec<usize>,
    /// Neighbouring coefficients that a thread loads at once in the first pass.
    pub vector: usize,
    /// Bytes of a coefficient in device memory.
    pub store_bytes: usize,
    /// Bytes of a coefficient in shared memory between passes.
    pub cell_bytes: usize,
    /// Cells after which a gap is left in shared memory, against bank conflicts.
    pub run: usize,
    /// Cells of a gap.
    pub gap: usize,
}

impl Block {
    /// The shape for a kernel that holds this many polynomials of the ring in registers at once, or `None` where a row
    /// does not fit a block of the device.
    #[must_use]
    pub fn of(ring: &Ring, split: &Split, limits: &Limits, held: usize) -> Option<Self> {
        let arithmetic = Arithmetic::of(ring);
        let most_threads = limits.block_threads? as usize;
        let most = REGISTERS * 4 / arithmetic.word_bytes() / held;
        let target = most / 2;
        let candidates = (1..=split.n.min(most)).filter(|per_thread| split.n.is_multiple_of(*per_thread));
        let shape = |per_thread: usize| {
            let threads = split.n / per_thread;
            let passes = passes(split, per_thread)?;
            (threads <= most_threads).then_some((passes, threads, per_thread))
        };
        let (passes, threads, per_thread) = candidates.filter_map(shape).min_by_key(|(passes, threads, per_thread)| {
            let whole_warps = threads.is_multiple_of(32) || 32usize.is_multiple_of(*threads);
            // one pass over a long row would leave each thread alone with memory that no other thread reads
            let passes = if split.n > target { passes.len().max(3) } else { passes.len() };
            (passes, !whole_warps, per_thread.abs_diff(target))
        })?;

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
        let mut block =
            Self { threads, per_thread, rows: 1, passes, vector, store_bytes: store, cell_bytes, run, gap };

        let rows_per_item = ring.basis().len();
        let fits = |rows: usize| {
            (rows.is_multiple_of(rows_per_item) || rows_per_item.is_multiple_of(rows))
                && rows * block.row_bytes(split.n) <= limits.block_shared_bytes as usize
                && rows * threads <= most_threads
        };
        let most = BLOCK_THREADS.max(32).div_ceil(threads);
        block.rows = (1..=most).filter(|&rows| fits(rows)).max_by_key(|&rows| (block.warps_whole(rows), rows))?;
        Some(block)
    }

    /// Whether every row lies in one warp and all warps are full, so that rows can do with barriers among warps' lanes.
    #[must_use]
    pub fn whole_warps(&self) -> bool {
        self.warps_whole(self.rows)
    }

    fn warps_whole(&self, rows: usize) -> bool {
        32usize.is_multiple_of(self.threads) && (self.threads * rows).is_multiple_of(32)
    }

    /// The first layer of the last pass.
    #[must_use]
    pub fn last_pass(&self) -> usize {
        self.passes[self.passes.len() - 2]
    }

    /// Bytes of shared memory that a row takes: cells between passes, or the whole row as it is stored.
    #[must_use]
    pub fn row_bytes(&self, n: usize) -> usize {
        let cells = (n + n / self.run * self.gap) * self.cell_bytes;
        let run_bytes = self.run * self.store_bytes;
        let unit = vector_bytes(run_bytes);
        let gap = if (run_bytes / unit).is_multiple_of(2) { unit } else { 0 };
        let stored = n * self.store_bytes + n / self.run * gap;
        cells.max(stored).next_multiple_of(16)
    }

    /// The launch of a kernel whose blocks work on rows, `rows_per_item` of them an item.
    #[must_use]
    pub fn launch(&self, n: usize, rows_per_item: usize) -> Launch {
        Launch {
            threads: (self.threads * self.rows) as u32,
            items_per_block: (self.rows / rows_per_item).max(1) as u32,
            blocks_per_item: (rows_per_item / self.rows).max(1) as u32,
            shared_bytes: (self.rows * self.row_bytes(n)) as u32,
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

/// The generated header of a kernel that works on rows of a ring: `struct NAME` with the ring's shape and arithmetic, for
/// a kernel that holds `held` polynomials in registers and reads a table of factors by columns from layer `columns` on.
///
/// # Errors
/// [`Error::Unsupported`] where a row does not fit a block.
pub fn ring_prelude(
    name: &str,
    ring: &Ring,
    split: &Split,
    limits: &Limits,
    held: usize,
    columns: usize,
) -> Result<(String, Block)> {
    let block = Block::of(ring, split, limits, held).ok_or_else(|| Error::Unsupported {
        job: format!("a transform in {ring}"),
        why: format!("a row does not fit a thread block of {}", limits.name),
    })?;
    let arithmetic = Arithmetic::of(ring);
    let moduli = ring.basis().len();
    let capacity = ring.basis().iter().map(|q| arithmetic.capacity(q)).min().unwrap_or(1);
    let codes: Vec<String> = split
        .layers
        .iter()
        .map(|layer| match layer {
            Layer::Sixth => "6".into(),
            Layer::Two => "2".into(),
            Layer::Three => "3".into(),
        })
        .chain((split.layers.is_empty()).then(|| "0".to_string()))
        .collect();
    let passes: Vec<String> = block.passes.iter().map(ToString::to_string).collect();
    let store = match ring.width().bytes() {
        2 => "rf::u16",
        4 => "rf::u32",
        8 => "rf::u64",
        _ => "rf::u256",
    };
    let cell = match (block.cell_bytes, arithmetic.word_bytes()) {
        (2, _) => "rf::u16",
        (_, 4) => "rf::u32",
        (_, 8) => "rf::u64",
        _ => "rf::u256",
    };
    let modulus = match ring.basis() {
        [q] => format!("static RF_METHOD M modulus(const M*, rf::u32) {{ return {}; }}", arithmetic.initializer(q)),
        _ => "static RF_METHOD M modulus(const M* moduli, rf::u32 row) { return moduli[row]; }".into(),
    };
    let mut text = String::new();
    // writing to a string does not fail
    let _ = write!(
        text,
        "#include \"{header}\"\n\
         // {ring}\n\
         struct {name} {{\n\
         \x20   using M = rf::{arithmetic};\n\
         \x20   using Store = {store};\n\
         \x20   using Cell = {cell};\n\
         \x20   static constexpr rf::u32 n = {n}, base = {base}, layers = {layers}, rows = {moduli}, columns = {columns};\n\
         \x20   static constexpr rf::u32 layer[] = {{{codes}}};\n\
         \x20   static constexpr rf::u32 passes = {pass_count}, pass[] = {{{passes}}};\n\
         \x20   static constexpr rf::u32 threads = {threads}, per_thread = {per_thread}, tile = {tile};\n\
         \x20   static constexpr rf::u32 vector = {vector}, run = {run}, gap = {gap}, row_bytes = {row_bytes};\n\
         \x20   static constexpr rf::u32 capacity = {capacity}u, cell_capacity = {cell_capacity}u;\n\
         \x20   static constexpr bool whole_warps = {whole_warps};\n\
         \x20   {modulus}\n\
         }};\n",
        header = arithmetic.header(),
        arithmetic = arithmetic.name(),
        n = split.n,
        base = split.base,
        layers = split.layers.len(),
        codes = codes.join(", "),
        pass_count = block.passes.len() - 1,
        passes = passes.join(", "),
        threads = block.threads,
        per_thread = block.per_thread,
        tile = block.rows,
        vector = block.vector,
        run = block.run,
        gap = block.gap,
        row_bytes = block.row_bytes(split.n),
        cell_capacity = match block.cell_bytes {
            2 => ring.basis().iter().filter_map(Modulus::value_u64).map(|q| 65535 / q).min().unwrap_or(1),
            _ => capacity,
        },
        whole_warps = block.whole_warps(),
    );
    Ok((text, block))
}

/// A kernel on rows of a ring, made concrete: the ring as `Rq`, shaped for a kernel that holds this many polynomials in
/// registers at once, and these further lines.
///
/// # Errors
/// As [`ring_prelude`].
pub fn build(
    ring: &Ring,
    split: &Split,
    limits: &Limits,
    held: usize,
    columns: usize,
    further: &str,
) -> Result<Built> {
    let (text, block) = ring_prelude("Rq", ring, split, limits, held, columns)?;
    let launch = block.launch(split.n, ring.basis().len());
    let prelude = format!("#pragma once\n{text}{further}");
    Ok(Built { prelude, launch })
}

/// The launch of a kernel with one thread for each leaf of each row.
#[must_use]
pub fn leaf_launch(ring: &Ring, split: &Split) -> Launch {
    let leaves = split.leaves() * ring.basis().len();
    let threads = (1..=256).rev().find(|&t| leaves.is_multiple_of(t) || t.is_multiple_of(leaves)).unwrap_or(1);
    Launch {
        threads: threads as u32,
        items_per_block: (threads / leaves).max(1) as u32,
        blocks_per_item: (leaves / threads).max(1) as u32,
        shared_bytes: 0,
    }
}
