//! The layout of a ring's limbs in thread blocks. All decisions about it are made in this file.

mod prelude;

use core::ops::Range;

pub(crate) use prelude::ANY_WORD;

use crate::arithmetic::Arithmetic;
use crate::layout::KernelLayout;
use ringforge_math::factorization::{Factorization, Layer};
use ringforge_math::modulus::Width;
use ringforge_math::poly::PolyType;
use ringforge_runtime::kernel::Launch;
use ringforge_runtime::limits::Limits;
use ringforge_runtime::tiles::TileGrid;

/// Approximate number of threads per block.
const BLOCK_THREADS: usize = 128;

/// 32-bit registers per thread for coefficients.
const REGISTERS: usize = 64;

/// Factor by which `REGISTERS` may be exceeded if no other layout works.
const MOST_BEYOND: usize = 8;

/// Number of blocks that a multiprocessor of any GPU can hold.
const MOST_BLOCKS: usize = 16;

/// Maximum size in bytes, in register words, of a limb that one block should hold. Several blocks share a longer limb
/// if possible.
const WHOLE_BYTES: usize = 64 << 10;

/// Bytes of a limb, in register words, per block of a cluster. For limbs of 64-bit words beyond `WHOLE_BYTES`, a
/// cluster of four or eight blocks computes in one kernel what otherwise takes two kernels. This pays only if products
/// are cheap (`CLUSTER_PRODUCT`).
const CLUSTER_BYTES: usize = 32 << 10;
/// Maximum number of blocks in a cluster that is used by default.
const CLUSTER_BLOCKS: usize = 8;
/// Number of cluster blocks per multiprocessor from which clusters are faster than two kernels.
const FILLED_BLOCKS: usize = 4;
/// Cost in multiplier slots below which a product is cheap enough for clusters.
const CLUSTER_PRODUCT: f64 = 12.0;

/// Maximum bytes of a tile of 256-bit words if three or more kernels share a limb; twice that for two kernels. Many
/// small blocks are faster than long tiles in few kernels.
const SHARE_BYTES: usize = 4 << 10;

/// Maximum bytes of a tile of narrower words if several kernels share a limb. With longer tiles, a block of adjacent
/// tiles would fill a multiprocessor, and no other block could work while that block waits for memory.
const LONG_SHARE_BYTES: usize = 16 << 10;

/// Contiguous bytes in device memory that adjacent tiles of a block should fill: 64, or 128 in two cases. With 64
/// bytes, half a cache line, smaller blocks overlap memory accesses with work. A whole line is better if threads have
/// tiles in pairs, or if products are cheap and tiles not too long for the threads of a block.
const BESIDE_BYTES: [usize; 2] = [64, 128];

/// Cost in multiplier slots below which a product is cheap.
const LIGHT_PRODUCT: f64 = 8.0;
/// Number of coefficients above which a tile is long.
const LONG_ROW: usize = 512;

/// Bytes in one row of all shared-memory banks.
const BANKS_BYTES: usize = 128;

/// Layout of tiles in a thread block. A tile is one limb, or the part of a limb that the kernel's layers combine.
/// `threads` threads hold `per_thread` coefficients each in registers and run the layers in passes, each on the
/// thread's own registers. Between passes, threads exchange coefficients through shared memory.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Block {
    /// Residues of a limb, over all columns.
    n: usize,
    /// Columns of the ring (strided batch), else 1.
    columns: usize,
    /// Coefficients of a tile.
    length: usize,
    /// Number of nodes of the factorisation tree at the kernel's first layer. Each has one tile or several under it.
    above: usize,
    /// Stride of a tile's coefficients in memory, in residues.
    stride: usize,
    /// Threads per tile.
    threads: usize,
    /// Coefficients that a thread holds in registers.
    per_thread: usize,
    /// Tiles per block; for strided tiles, groups of `vector` tiles.
    rows: usize,
    /// Blocks of a cluster that share one tile, else 1.
    cluster: usize,
    /// First layer of each pass, then the layer after the last pass.
    passes: Vec<usize>,
    /// Neighbouring coefficients that a thread loads at once in the first pass; for strided tiles, adjacent tiles per
    /// thread.
    vector: usize,
    /// Bytes of a coefficient in device memory.
    store_bytes: usize,
    /// Bytes of a coefficient in shared memory between passes.
    cell_bytes: usize,
    /// Number of cells (coefficients in shared memory) after which a gap is left, to avoid bank conflicts.
    run: usize,
    /// Number of cells in a gap.
    gap: usize,
    /// Extra bytes of shared memory per tile for the kernel itself.
    extra: usize,
    /// Number of items whose tiles at the same position one block processes.
    together: usize,
    /// Whether the block processes the tiles of these `together` items one after another, prefetching the next tile
    /// into shared memory (double buffering). Otherwise a thread has the tiles of all these items at once.
    in_turn: bool,
    /// Whether a thread with the tile of one item reads only every eighth twiddle factor of the last two layers, and
    /// computes the others from it: see `read_for` in `ntt.cuh`.
    by_roots: bool,
}

impl Block {
    /// The layout of a kernel's tiles, or `None` if a tile does not fit a block of the device. A block holds whole
    /// items, or whole blocks share an item, unless the number of limbs per item is a run-time constant.
    pub(crate) fn of(rows: &KernelLayout, limits: &Limits) -> Option<Self> {
        let KernelLayout { poly, factorization, part, arithmetic, held, extra, back, .. } = rows;
        let arithmetic = *arithmetic;
        let most_threads = limits.block_threads? as usize;
        // kernels that share a 256-bit limb wait for memory more than others, so they get more threads with fewer
        // registers
        let registers = if arithmetic.word_bytes() == 32 && !rows.is_whole() { REGISTERS / 2 } else { REGISTERS };
        let most = (registers * 4 / arithmetic.word_bytes()).checked_div(*held)?;
        let target = most / 2;
        let above = factorization.nodes(part.start);
        let is_leaf = part.end == factorization.layers().len() && !factorization.ends_high();
        let stride = if is_leaf { 1 } else { factorization.n() / factorization.nodes(part.end) };
        let length = factorization.n() / above / stride;
        let shape = |per_thread: usize| {
            let threads = length / per_thread;
            let passes = passes(factorization, part, per_thread)?;
            let fits = length.is_multiple_of(per_thread) && threads / rows.cluster <= most_threads;
            let suits = rows.cluster == 1 || shares_out(factorization, &passes, per_thread, rows.cluster);
            (fits && suits).then_some((passes, threads, per_thread))
        };
        // a large leaf degree with radix 3 may need more registers; a slow transform is better than an error
        let most_alone = if *held == 1 { MOST_BEYOND * most } else { 0 };
        let beyond = || (most + 1..=length.min(most_alone)).find_map(shape);
        let usual = || {
            (1..=length.min(most)).filter_map(shape).min_by_key(|(passes, threads, per_thread)| {
                let whole_warps = threads.is_multiple_of(32) || 32usize.is_multiple_of(*threads);
                // with a single pass over a long tile, each thread would read memory that no neighbouring thread reads
                let passes = if length > target { passes.len().max(3) } else { passes.len() };
                (passes, !whole_warps, per_thread.abs_diff(target))
            })
        };
        let chosen = rows.choice.per_thread.filter(|per_thread| (1..=most).contains(per_thread));
        let (passes, threads, per_thread) = chosen.and_then(shape).or_else(usual).or_else(beyond)?;

        let store = poly.width().bytes();
        let first_span = span(factorization, &passes, 0);
        let near = length / first_span;
        let single = passes.len() <= 2;
        let vector = [8 / store.min(8), 2, 1]
            .into_iter()
            .find(|v| {
                let alone = rows.cluster == 1 || *v == 1;
                !single && alone && stride == 1 && near.is_multiple_of(*v) && per_thread.is_multiple_of(first_span * v)
            })
            .unwrap_or(if single && is_leaf { factorization.leaf_degree() } else { 1 });
        // pairs of adjacent strided tiles share each twiddle factor and fill whole cache lines, because the number of
        // accesses limits the throughput of L2; arithmetic in doubles gains little
        let heavy = store == 8 && arithmetic.cost().product > LIGHT_PRODUCT && limits.holds_large_blocks();
        let fits = per_thread <= target && 4 * length * store <= limits.block_shared_bytes as usize;
        let pairs = heavy && fits && stride.is_multiple_of(2) && !rows.strided_batch();
        let (vector, per_thread) = if pairs { (2, 2 * per_thread) } else { (vector, per_thread) };

        // threads under different nodes read different twiddle factors, twice as many bytes as residues, which keeps L2
        // busy. So a tile reads fewer factors (`by_roots`), or in an inverse transform the tiles of two items share
        // each factor (`together`)
        let leaves = is_leaf && !rows.is_natural();
        let own_nodes = heavy && leaves;
        // so do narrow limbs of several moduli, in both directions: docs/internals/tuning.md
        let narrow = store == 4 && poly.moduli().len() > 1 && limits.holds_large_blocks() && leaves;
        let own_factors =
            (own_nodes || narrow) && arithmetic.twiddle_bytes() > store && factorization.shape().ends_by_twos();

        let cell_bytes = cell_bytes(arithmetic, poly, &factorization.layers()[..passes[passes.len() - 2]]);
        let last_base = if is_leaf { factorization.leaf_degree() } else { 1 };
        let run = span(factorization, &passes, passes.len() - 2) * last_base;
        let mut block = Self {
            n: factorization.n(),
            columns: poly.columns(),
            length,
            above,
            stride,
            threads,
            per_thread,
            rows: 1,
            cluster: rows.cluster,
            passes,
            vector,
            store_bytes: store,
            cell_bytes,
            run,
            gap: 0,
            extra: *extra,
            together: 1,
            in_turn: false,
            by_roots: false,
        };
        if block.parts() > 1 {
            let light = arithmetic.cost().product < LIGHT_PRODUCT && length <= LONG_ROW;
            let beside = BESIDE_BYTES[usize::from(light || pairs)];
            let most = (beside / store / block.group()).max(BLOCK_THREADS.div_ceil(threads));
            let fits = |rows: usize| {
                let suits = match (rows, stride) {
                    // in a strided batch the last block may be partly filled, so the number of tiles per block need not
                    // divide `stride`, the number of adjacent tiles; it is less than twice `stride`
                    _ if block.columns > 1 => rows.is_power_of_two() && rows < 2 * stride,
                    (rows, 1) => above.is_multiple_of(rows),
                    (rows, stride) => (stride / block.group()).is_multiple_of(rows),
                };
                suits && rows * threads <= most_threads
            };
            let shared = |rows: usize| Self { rows, ..block.clone() }.gapped().shared_bytes();
            let rows =
                (1..=most).rev().find(|&rows| fits(rows) && shared(rows) <= limits.block_shared_bytes as usize)?;
            block = Self { rows, ..block }.gapped();
            // the tiles of two items share twiddle factors. An inverse transform has both in registers; a forward one
            // prefetches the second while it works on the first (double buffering):
            // bench/results/profiles/2026-11-25-h100-rows-ahead.txt
            let in_pairs = own_nodes && per_thread <= target && (own_factors || !back);
            let pairs = Self { together: 2, by_roots: own_factors, in_turn: !back, ..block.clone() };
            let fits = pairs.shared_bytes() <= limits.block_shared_bytes as usize;
            return Some(if in_pairs && fits {
                pairs
            } else {
                Self { by_roots: own_factors && (narrow || !back), ..block }
            });
        }
        block = block.gapped();
        if block.cluster > 1 {
            let fits = block.vector == 1 && block.shared_bytes() <= limits.block_shared_bytes as usize;
            return fits.then_some(block);
        }
        let (per_item, by_launch) = (rows.per_item, rows.by_launch);
        let whole = |rows: usize| rows.is_multiple_of(per_item) || (per_item > 0 && per_item.is_multiple_of(rows));
        let fits = |rows: usize| {
            (by_launch || whole(rows))
                && block.row_bytes().saturating_add(*extra).saturating_mul(rows) <= limits.block_shared_bytes as usize
                && rows * threads <= most_threads
        };
        let most = BLOCK_THREADS.max(32).div_ceil(threads);
        block.rows = (1..=most).filter(|&rows| fits(rows)).max_by_key(|&rows| (block.warps_whole(rows), rows))?;
        Some(block)
    }

    /// The same layout, with gaps in shared memory if threads would otherwise conflict on a bank.
    fn gapped(mut self) -> Self {
        self.gap = if self.stride > 1 {
            usize::from(!(self.rows * self.group() * self.cell_bytes).is_multiple_of(BANKS_BYTES))
        } else {
            let unit = vector_bytes(self.run * self.cell_bytes);
            let even = (self.run * self.cell_bytes / unit).is_multiple_of(2);
            if even { unit.div_ceil(self.cell_bytes) } else { 0 }
        };
        self
    }

    /// Number of blocks that should be resident per multiprocessor, which limits the registers per thread. With 64-bit
    /// words the limit is 80 registers for up to 16 words per thread, 96 if positions or twiddle factors are computed
    /// too, and 128 for more words. It is 96 to 102 for 256-bit limbs shared among kernels, and 64 for up to 32 words
    /// of 32 bits. For other words no limit is set.
    fn resident(&self, rows: &KernelLayout) -> usize {
        let block = (self.threads * self.rows / self.cluster).next_multiple_of(32);
        let threads = match (self.store_bytes, self.per_thread * self.at_once()) {
            (8, ..=16) if rows.is_natural() || self.by_roots => 640,
            (8, ..=16) => 768,
            (8, _) => 512,
            (32, ..=4) => 640,
            (4, ..=32) if rows.arithmetic.word_bytes() == 4 && rows.held == 1 => 1024,
            _ => 1,
        };
        (threads / block).clamp(1, MOST_BLOCKS)
    }

    /// Number of coefficients of one tile that a thread holds in registers.
    pub(crate) fn per_thread(&self) -> usize {
        self.per_thread / self.group()
    }

    /// Number of adjacent tiles per thread.
    fn group(&self) -> usize {
        if self.stride > 1 { self.vector } else { 1 }
    }

    /// Whether threads exchange residues by warp shuffles: if the tuning choice asks for it and the layout allows it.
    /// It must have two passes on tiles within a warp, and an exchange must swap the index bits of registers with those
    /// of threads.
    pub(crate) fn shuffles(&self, rows: &KernelLayout) -> bool {
        let first = span(&rows.factorization, &self.passes, 0);
        // all lanes of a warp must participate
        let in_warp = self.whole_warps() && self.threads > 1 && self.vector == 1;
        rows.choice.shuffles
            && rows.factorization.leaf_degree() == 1
            && self.cell_bytes == self.store_bytes.clamp(4, 8)
            && self.passes.len() == 3
            && in_warp
            && first == self.threads
            && first.is_power_of_two()
            && self.per_thread.is_power_of_two()
            && self.length == first * self.per_thread
    }

    /// Number of tiles per polynomial in this kernel, over all columns.
    fn parts(&self) -> usize {
        self.n / self.length
    }

    /// How the blocks of an item divide its coefficients, or its evaluations if `values` is true. `None` if one block
    /// has whole polynomials, or if [`TileGrid`] cannot express the division.
    pub(crate) fn columns(&self, rows: &KernelLayout, values: bool) -> Option<TileGrid> {
        let (above, rows_of_area) = match (rows.is_natural(), values) {
            _ if self.parts() == 1 => return None,
            // blocks have tiles that are unequal or not contiguous
            _ if self.columns > 1 && !self.stride.is_multiple_of(self.rows) => return None,
            (true, true) if self.columns > 1 && rows.is_last() => return None,
            _ if self.stride > 1 => (self.above, self.length),
            (false, _) => (1, 1),
            (true, true) => (1, self.length / rows.factorization.leaf_degree()),
            // tiles with adjacent evaluations belong to nodes that are not adjacent
            (true, false) => return None,
        };
        Some(TileGrid { areas: rows.per_item * above, rows: rows_of_area })
    }

    /// Whether every tile lies in one warp and all warps are full, so that warp-level barriers suffice.
    fn whole_warps(&self) -> bool {
        self.stride == 1 && self.cluster == 1 && self.warps_whole(self.rows)
    }

    fn warps_whole(&self, rows: usize) -> bool {
        32usize.is_multiple_of(self.threads) && (self.threads * rows).is_multiple_of(32)
    }

    /// The first layer of the last pass.
    pub(crate) fn last_pass(&self) -> usize {
        self.passes[self.passes.len() - 2]
    }

    /// Bytes of shared memory per tile: for the cells between passes, or for the whole tile as stored, whichever is
    /// larger.
    fn row_bytes(&self) -> usize {
        let n = self.length / self.cluster;
        let cells = (n + n / self.run * self.gap) * self.cell_bytes;
        let run_bytes = self.run * self.store_bytes;
        let unit = vector_bytes(run_bytes);
        let gap = if (run_bytes / unit).is_multiple_of(2) { unit } else { 0 };
        let stored = n * self.store_bytes + n / self.run * gap;
        cells.max(stored).next_multiple_of(16)
    }

    /// Bytes of shared memory per block, including the buffer for prefetched tiles.
    fn shared_bytes(&self) -> usize {
        self.next() + if self.in_turn { self.threads * self.per_thread * self.rows * self.store_bytes } else { 0 }
    }

    /// Offset in shared memory of the prefetched tiles of the next item. The bytes before it hold the block's tiles, or
    /// all evaluations of the block.
    fn next(&self) -> usize {
        let row = self.row_bytes().saturating_mul(self.at_once()).saturating_add(self.extra);
        let rows = row.saturating_mul(self.rows * self.group());
        let across = if self.parts() > 1 && self.stride == 1 {
            self.length * self.store_bytes * self.rows + self.length * self.store_bytes
        } else {
            0
        };
        rows.max(across).next_multiple_of(16)
    }

    /// Number of items whose tiles a thread has at once.
    fn at_once(&self) -> usize {
        if self.in_turn { 1 } else { self.together }
    }

    /// The launch of a kernel with `per_item` limbs per item. `None` for no limbs, or for 2^32 or more blocks per item.
    pub(crate) fn launch(&self, per_item: usize) -> Option<Launch> {
        let (parts, rows) = match self.columns {
            1 => (self.parts() * self.cluster, self.rows * self.group()),
            _ => (self.above * self.stride.div_ceil(self.rows), 1),
        };
        let per_item = per_item.checked_mul(parts).filter(|rows| *rows > 0)?;
        let common = gcd(per_item, rows);
        Some(Launch {
            threads: (self.threads * self.rows / self.cluster) as u32,
            items_per_block: (rows / common) as u32,
            blocks_per_item: u32::try_from(per_item / common).ok()?,
            shared_bytes: self.shared_bytes() as u32,
            cluster: self.cluster as u32,
            together: self.together as u32,
        })
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The layouts of the kernels of a transform, from the top layer down. One kernel computes all layers if a limb suits a
/// block, or a cluster of blocks. Otherwise kernels have about equal numbers of layers: as many kernels as the tuning
/// says, or the fewest whose tiles are short enough. `None` if there is no such layout.
pub(crate) fn parts(rows: &KernelLayout, limits: &Limits) -> Option<Vec<KernelLayout>> {
    let mut parts = parts_alone(rows, limits)?;
    let groups = groups(&parts, limits);
    parts.iter_mut().for_each(|part| part.groups.clone_from(&groups));
    Some(parts)
}

/// Like [`parts`], before layers are merged into radix-2^k butterflies.
fn parts_alone(rows: &KernelLayout, limits: &Limits) -> Option<Vec<KernelLayout>> {
    let layers = rows.factorization.layers().len();
    let bytes = rows.arithmetic.word_bytes();
    let fits = |part: &KernelLayout| Block::of(part, limits).is_some();
    // 256-bit words take passes of two layers, so each kernel gets an even number of layers if the total is even
    let unit = if bytes == 32 && layers.is_multiple_of(2) { 2 } else { 1 };
    let shares = |count: usize| {
        let start = move |i: usize| i * (layers / unit) / count * unit;
        (0..count).map(|i| rows.part(start(i)..start(i + 1))).collect::<Vec<_>>()
    };
    let whole = Some(shares(1)).filter(|parts| parts.iter().all(fits));
    // a strided batch with few layers fits one kernel, for any number of columns
    let small = match rows.strided_batch() {
        true => rows.factorization.leaves() * bytes <= LONG_SHARE_BYTES,
        false => rows.factorization.n() * bytes <= WHOLE_BYTES || rows.factorization.ends_high(),
    };
    if rows.held > 1 || limits.is_cpu() {
        return whole;
    }
    if let Some(row) = clustered(rows, limits).filter(fits) {
        return Some(vec![row]);
    }
    let can_be = |count: &usize| (1..=layers / unit).contains(count);
    let chosen = rows.choice.kernels.filter(can_be).map(shares).filter(|parts| parts.iter().all(fits));
    if chosen.is_some() || (small && whole.is_some()) {
        return chosen.or(whole);
    }
    let suit = |parts: &Vec<KernelLayout>| {
        let most = match (bytes, parts.len()) {
            (..32, _) => LONG_SHARE_BYTES,
            (_, 2) => 2 * SHARE_BYTES,
            _ => SHARE_BYTES,
        };
        let length = |part: &Range<usize>| rows.factorization.nodes(part.end) / rows.factorization.nodes(part.start);
        parts.iter().all(|rows| fits(rows) && length(&rows.part) * bytes <= most)
    };
    (2..=layers / 2).map(shares).find(suit).or(whole)
}

/// For each layer, the first layer that is merged with it into one radix-2^k butterfly, if these kernels compute the
/// transform. Radix-2 layers of one pass are merged from the end of the pass on, each time up to the largest k of the
/// arithmetic.
pub(crate) fn groups(parts: &[KernelLayout], limits: &Limits) -> Vec<usize> {
    let Some(KernelLayout { factorization, arithmetic, .. }) = parts.first() else { return Vec::new() };
    let mut groups: Vec<usize> = (0..factorization.layers().len()).collect();
    let together = arithmetic.most_together();
    for block in parts.iter().filter(|_| together > 1).filter_map(|rows| Block::of(rows, limits)) {
        for pass in block.passes.windows(2) {
            let mut end = pass[1];
            while end > pass[0] {
                let twos =
                    factorization.layers()[pass[0]..end].iter().rev().take_while(|layer| **layer == Layer::Two).count();
                let first = end - twos.clamp(1, together);
                groups[first..end].fill(first);
                end = first;
            }
        }
    }
    groups
}

/// The layout in one kernel of clusters, if chosen by tuning or known to be faster, else `None`. Natural order is
/// excluded, because it would spread the evaluations of a block over the whole limb.
fn clustered(rows: &KernelLayout, limits: &Limits) -> Option<KernelLayout> {
    let (words, bytes) = (rows.arithmetic.word_bytes(), rows.factorization.n() * rows.arithmetic.word_bytes());
    let light = words == 8 && rows.arithmetic.cost().product < CLUSTER_PRODUCT;
    let suits = (WHOLE_BYTES + 1..=CLUSTER_BLOCKS * CLUSTER_BYTES).contains(&bytes);
    let is_usual = light && suits && rows.choice.kernels.is_none() && fills(rows, limits, bytes / CLUSTER_BYTES);
    let cluster = rows.choice.cluster.or(is_usual.then_some(bytes / CLUSTER_BYTES))?;
    let can_be = (2..=limits.cluster_blocks as usize).contains(&cluster);
    (can_be && rows.factorization.is_binary() && !rows.factorization.ends_high() && !rows.is_natural())
        .then(|| rows.in_clusters(cluster))
}

/// Whether a launch has enough limbs in clusters of `cluster` blocks to fill the device. With fewer limbs, two kernels
/// of more blocks are faster.
fn fills(rows: &KernelLayout, limits: &Limits, cluster: usize) -> bool {
    let blocks = rows.items.saturating_mul(rows.per_item).saturating_mul(cluster);
    blocks >= FILLED_BLOCKS * limits.multiprocessors as usize
}

/// Whether, after the first pass, each block of a cluster has whole subtrees and each thread has coefficients under one
/// node in every pass. The threads of a block are then adjacent in these passes. There must be at least two passes
/// after the first one.
fn shares_out(factorization: &Factorization, passes: &[usize], per_thread: usize, cluster: usize) -> bool {
    let later = 1..passes.len() - 1;
    span(factorization, passes, 0).is_multiple_of(cluster)
        && later.len() > 1
        && later.into_iter().all(|pass| span(factorization, passes, pass) == per_thread)
}

/// The first layer of each pass, then the layer after the last pass. In a pass, each thread combines only its own
/// `per_thread` coefficients. The last pass is as long as possible. `None` if `per_thread` does not allow passes for
/// all layers.
fn passes(factorization: &Factorization, part: &Range<usize>, per_thread: usize) -> Option<Vec<usize>> {
    let mut starts = vec![part.end];
    let mut unit = if part.end == factorization.layers().len() && !factorization.ends_high() {
        factorization.leaf_degree()
    } else {
        1
    };
    let mut layer = part.end;
    loop {
        let mut reach = unit;
        let end = layer;
        while layer > part.start && per_thread.is_multiple_of(reach * factorization.layers()[layer - 1].radix()) {
            reach *= factorization.layers()[layer - 1].radix();
            layer -= 1;
        }
        if !per_thread.is_multiple_of(reach) || (layer == end && end > part.start) {
            return None;
        }
        starts.push(layer);
        unit = 1;
        if layer == part.start {
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

/// Number of coefficients that the layers of a pass combine.
fn span(factorization: &Factorization, passes: &[usize], pass: usize) -> usize {
    factorization.layers()[passes[pass]..passes[pass + 1]].iter().map(|layer| layer.radix()).product()
}

/// Bytes of a coefficient in shared memory between passes: two if residues of a forward transform stay below 2^16
/// through these layers without reduction, else a register word.
fn cell_bytes(arithmetic: Arithmetic, poly: &PolyType, layers: &[Layer]) -> usize {
    let growth: u64 = layers.iter().map(|layer| if *layer == Layer::Two { 2 } else { 4 }).sum();
    let small = poly.basis().iter().all(|q| q.value_u64().is_some_and(|q| q < (1 << 16) / (growth + 2)));
    if poly.width() == Width::W16 && small { 2 } else { arithmetic.word_bytes() }
}
