//! How rows of a ring lie in thread blocks: the one place that decides it.

mod prelude;

use core::ops::Range;

pub(crate) use prelude::ANY_WORD;

use crate::arithmetic::Arithmetic;
use crate::rows::Rows;
use ringforge_math::modulus::Width;
use ringforge_math::poly::PolyType;
use ringforge_math::split::{Layer, Split};
use ringforge_runtime::columns::Columns;
use ringforge_runtime::kernel::Launch;
use ringforge_runtime::limits::Limits;

/// Threads that a block has, about.
const BLOCK_THREADS: usize = 128;

/// Registers of a thread that may hold coefficients.
const REGISTERS: usize = 64;

/// How many times that where nothing else works.
const MOST_BEYOND: usize = 8;

/// Blocks that a multiprocessor of any GPU can hold.
const MOST_BLOCKS: usize = 16;

/// Bytes of words beyond which a row is shared out among blocks if it can be.
const WHOLE_BYTES: usize = 64 << 10;

/// Bytes of words of a row that each block of a cluster has. Rows of 64-bit words beyond `WHOLE_BYTES` go in clusters of four
/// and of eight such blocks where products are light: one kernel in place of two (ns a row in a harness on an H200, of which
/// there is no record, forward and back: doubles of 2^14 forward 159 to 121, and friendly primes of 2^14 and 2^15, which two
/// kernels do now as fast, 159 and 157, 345 and 320 for 169 and 151, 341 and 318; but other primes of 60 bits 177 and 174 to
/// 174 and 184, 353 and 366 to 373 and 382).
const CLUSTER_BYTES: usize = 32 << 10;
/// Blocks of the largest of these clusters.
const CLUSTER_BLOCKS: usize = 8;
/// Blocks of clusters for each multiprocessor from which on they are faster.
const FILLED_BLOCKS: usize = 4;
/// Slots of the multiplier up to which a product is light there.
const CLUSTER_PRODUCT: f64 = 12.0;

/// Bytes of a row of 256-bit words where several kernels share it out, twice as many for two: many small blocks were faster
/// than long rows in few kernels (2^22 BLS12-381: 1.08 ms in two kernels, 0.73 in three, 0.70 in four).
const SHARE_BYTES: usize = 4 << 10;

/// Bytes of a row of narrower words where several kernels share it out: beyond, a block of rows side by side fills a
/// multiprocessor, and none is left to work while it waits for memory (2^24 of Goldilocks on an H200: 0.495 ms in two kernels,
/// 0.338 in three).
const LONG_SHARE_BYTES: usize = 16 << 10;

/// Bytes that rows side by side in device memory should fill: whole lines where threads have rows in pairs, or where the
/// multiplier has little to do (2^16 on an H200: 30 bits 8 and 12 %, BabyBear naturally 26 %), but for long rows, whose blocks
/// would have too many threads (2^20 of BabyBear: 5 to 36 % slower); else half of that, since smaller blocks overlap one's
/// memory with another's work.
const BESIDE_BYTES: [usize; 2] = [64, 128];

/// Slots of the multiplier below which a product is little work.
const LIGHT_PRODUCT: f64 = 8.0;
/// Coefficients of a row above which it is long.
const LONG_ROW: usize = 512;

/// Bytes that all banks of shared memory hold side by side.
const BANKS_BYTES: usize = 128;

/// A row (one polynomial modulo one modulus, or what some of the layers combine of it) in a block: `threads` threads hold
/// `per_thread` coefficients each in registers, and run the layers in passes of which each needs only the thread's own
/// registers. Between passes coefficients change threads through shared memory.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Block {
    /// Degree of the ring, all columns.
    n: usize,
    /// Columns of the ring.
    columns: usize,
    /// Coefficients of a row.
    length: usize,
    /// Nodes of the split's tree under each of which a row lies, or several.
    above: usize,
    /// Distance of a row's coefficients in memory.
    stride: usize,
    /// Threads of a row.
    threads: usize,
    /// Coefficients of its rows in the registers of a thread.
    per_thread: usize,
    /// Rows of a block; where they lie apart, groups of `vector`.
    rows: usize,
    /// Blocks of a row, which has all of one then.
    cluster: usize,
    /// First layer of each pass, and the number of layers at the end.
    passes: Vec<usize>,
    /// Neighbouring coefficients that a thread loads at once in the first pass; where those of a row lie apart, rows side by
    /// side that a thread has.
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
    /// Items of which a block has the same row.
    together: usize,
    /// Whether it works on one after the other, the next one's row on its way into shared memory; else a thread has all at once.
    in_turn: bool,
    /// Whether a thread that has a row of one item reads few of the factors of the last two layers: see `read_for` in `ntt.cuh`.
    by_roots: bool,
}

impl Block {
    /// The shape for a kernel on these rows, or `None` where one does not fit a block of the device. Blocks hold whole
    /// items, or items whole numbers of blocks, unless rows of an item are counted at the launch.
    pub(crate) fn of(rows: &Rows, limits: &Limits) -> Option<Self> {
        let Rows { poly, split, part, arithmetic, held, extra, back, .. } = rows;
        let arithmetic = *arithmetic;
        let most_threads = limits.block_threads? as usize;
        // kernels that share out a row of 256 bits wait for memory more than others, and want more threads
        let registers = if arithmetic.word_bytes() == 32 && !rows.is_whole() { REGISTERS / 2 } else { REGISTERS };
        let most = (registers * 4 / arithmetic.word_bytes()).checked_div(*held)?;
        let target = most / 2;
        let above = split.nodes(part.start);
        let is_leaf = part.end == split.layers().len() && !split.ends_high();
        let stride = if is_leaf { 1 } else { split.n() / split.nodes(part.end) };
        let length = split.n() / above / stride;
        let shape = |per_thread: usize| {
            let threads = length / per_thread;
            let passes = passes(split, part, per_thread)?;
            let fits = length.is_multiple_of(per_thread) && threads / rows.cluster <= most_threads;
            let suits = rows.cluster == 1 || shares_out(split, &passes, per_thread, rows.cluster);
            (fits && suits).then_some((passes, threads, per_thread))
        };
        // a large base degree under radix 3 may want more registers: better a slow transform than none
        let most_alone = if *held == 1 { MOST_BEYOND * most } else { 0 };
        let beyond = || (most + 1..=length.min(most_alone)).find_map(shape);
        let usual = || {
            (1..=length.min(most)).filter_map(shape).min_by_key(|(passes, threads, per_thread)| {
                let whole_warps = threads.is_multiple_of(32) || 32usize.is_multiple_of(*threads);
                // one pass over a long row would leave each thread alone with memory that no other thread reads
                let passes = if length > target { passes.len().max(3) } else { passes.len() };
                (passes, !whole_warps, per_thread.abs_diff(target))
            })
        };
        let chosen = rows.choice.per_thread.filter(|per_thread| (1..=most).contains(per_thread));
        let (passes, threads, per_thread) = chosen.and_then(shape).or_else(usual).or_else(beyond)?;

        let store = poly.width().bytes();
        let first_span = span(split, &passes, 0);
        let near = length / first_span;
        let single = passes.len() <= 2;
        let vector = [8 / store.min(8), 2, 1]
            .into_iter()
            .find(|v| !single && stride == 1 && near.is_multiple_of(*v) && per_thread.is_multiple_of(first_span * v))
            .unwrap_or(if single && is_leaf { split.base() } else { 1 });
        // rows side by side in pairs: one factor for both, and whole lines, since the number of accesses holds L2 up (the first
        // kernel of 2^16 on an H200, friendly primes: 361 ns a row, 352 with no products at all, and 319 in pairs; other
        // primes of 60 bits 383 and 354; doubles gain 1 %)
        let heavy = store == 8 && arithmetic.cost().product > LIGHT_PRODUCT && limits.holds_large_blocks();
        let fits = per_thread <= target && 4 * length * store <= limits.block_shared_bytes as usize;
        let pairs = heavy && fits && stride.is_multiple_of(2) && !rows.in_columns();
        let (vector, per_thread) = if pairs { (2, 2 * per_thread) } else { (vector, per_thread) };

        // threads under nodes of their own read factors of their own, twice as many bytes as they have residues, and L2 is busy
        // with these: fewer factors, or back one for the rows of two items, and fewer for a row of one (ns a row in a harness
        // on an H200, of which there is no record, forward and back, 60 bits: 2^16 friendly 778 and 704 to 721 and 684, one
        // polynomial of 32 rows 36 and 33 µs to 29 and 28; others 794 and 785 to 736 and 769, 39 and 35 µs to 31 and 33; pairs
        // forward 760 and 774, fewer back 714 and 818)
        let own_nodes = heavy && is_leaf && !rows.is_natural();
        let own_factors = own_nodes && arithmetic.twiddle_bytes() > store && split.shape().ends_by_twos();

        let cell_bytes = cell_bytes(arithmetic, poly, &split.layers()[..passes[passes.len() - 2]]);
        let last_base = if is_leaf { split.base() } else { 1 };
        let run = span(split, &passes, passes.len() - 2) * last_base;
        let mut block = Self {
            n: split.n(),
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
                    // columns may be of any number: the last block has what is left, and none twice as many as there are
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
            // two items' rows make do with the same factors: back in the registers of a thread, forward in turn, the second row on its
            // way while a block works on the first (ns a row forward on an H100: friendly primes of 2^16 870 to 821, others of 2^15
            // 420 to 400; with four items as much; 859 and 413 where nothing is on its way; one item takes 3 % more;
            // bench/results/profiles/2026-11-25-h100-rows-ahead.txt)
            let in_pairs = per_thread <= target && if *back { own_factors } else { own_nodes };
            let pairs = Self { together: 2, by_roots: own_factors, in_turn: !back, ..block.clone() };
            let fits = pairs.shared_bytes() <= limits.block_shared_bytes as usize;
            return Some(if in_pairs && fits { pairs } else { Self { by_roots: own_factors && !back, ..block } });
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

    /// The same with gaps in shared memory where threads would meet on one bank.
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

    /// Blocks that a multiprocessor should hold at once, for which the compiler is to leave registers: 80 a thread for
    /// 16 words of 64 bits, 96 where their places or factors have to be worked out as well, 128 for more words; 96 to 102
    /// for 256-bit rows that are shared out (2 to 3 % at any length); 64 for up to 32 words of 32 bits (10 to 21 % at 2^20).
    /// Where residues take other words it leaves enough by itself.
    fn resident(&self, rows: &Rows) -> usize {
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

    /// Coefficients of a row in the registers of a thread.
    pub(crate) fn per_thread(&self) -> usize {
        self.per_thread / self.group()
    }

    /// Rows side by side that a thread has.
    fn group(&self) -> usize {
        if self.stride > 1 { self.vector } else { 1 }
    }

    /// Whether residues can and should change threads by shuffles: between two passes of rows in a warp, where the bits
    /// of a register's number that the first pass combines become those of the thread's, and the other way round.
    pub(crate) fn shuffles(&self, rows: &Rows) -> bool {
        let first = span(&rows.split, &self.passes, 0);
        // all lanes of a warp take part
        let in_warp = self.whole_warps() && self.threads > 1 && self.vector == 1;
        rows.choice.shuffles
            && rows.split.base() == 1
            && self.cell_bytes == self.store_bytes.clamp(4, 8)
            && self.passes.len() == 3
            && in_warp
            && first == self.threads
            && first.is_power_of_two()
            && self.per_thread.is_power_of_two()
            && self.length == first * self.per_thread
    }

    /// Rows that a polynomial has for this kernel.
    fn parts(&self) -> usize {
        self.n / self.length
    }

    /// How the blocks of an item share out what they read and write, or their `values`, where several share a polynomial.
    pub(crate) fn columns(&self, rows: &Rows, values: bool) -> Option<Columns> {
        let (above, rows_of_area) = match (rows.is_natural(), values) {
            _ if self.parts() == 1 => return None,
            // blocks have no equal shares, or none side by side
            _ if self.columns > 1 && !self.stride.is_multiple_of(self.rows) => return None,
            (true, true) if self.columns > 1 && rows.is_last() => return None,
            _ if self.stride > 1 => (self.above, self.length),
            (false, _) => (1, 1),
            (true, true) => (1, self.length / rows.split.base()),
            // blocks whose values are neighbours lie far apart in the tree
            (true, false) => return None,
        };
        Some(Columns { areas: rows.per_item * above, rows: rows_of_area })
    }

    /// Whether every row lies in one warp and all warps are full, so that rows can do with barriers among warps' lanes.
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

    /// Bytes of shared memory that a row takes: cells between passes, or the whole row as it is stored.
    fn row_bytes(&self) -> usize {
        let n = self.length / self.cluster;
        let cells = (n + n / self.run * self.gap) * self.cell_bytes;
        let run_bytes = self.run * self.store_bytes;
        let unit = vector_bytes(run_bytes);
        let gap = if (run_bytes / unit).is_multiple_of(2) { unit } else { 0 };
        let stored = n * self.store_bytes + n / self.run * gap;
        cells.max(stored).next_multiple_of(16)
    }

    /// Bytes of shared memory of a block: those of its rows, or of all their values side by side.
    fn shared_bytes(&self) -> usize {
        self.next() + if self.in_turn { self.threads * self.per_thread * self.rows * self.store_bytes } else { 0 }
    }

    /// Where in shared memory rows of the next item come.
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

    /// Items of which a thread has the row at once.
    fn at_once(&self) -> usize {
        if self.in_turn { 1 } else { self.together }
    }

    /// The launch of a kernel whose blocks work on rows, `per_item` of them an item; none where there are none, or more
    /// blocks than can be counted.
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

/// The layers that each kernel of a transform of these rows does, from the top: all of them where a row suits a block,
/// else as few kernels as can be, with equal shares; or as many as were chosen; `None` where there is no way.
pub(crate) fn parts(rows: &Rows, limits: &Limits) -> Option<Vec<Rows>> {
    let mut parts = parts_alone(rows, limits)?;
    let groups = groups(&parts, limits);
    parts.iter_mut().for_each(|part| part.groups.clone_from(&groups));
    Some(parts)
}

/// The same before it is known which layers go together.
fn parts_alone(rows: &Rows, limits: &Limits) -> Option<Vec<Rows>> {
    let layers = rows.split.layers().len();
    let bytes = rows.arithmetic.word_bytes();
    let fits = |part: &Rows| Block::of(part, limits).is_some();
    // 256-bit words take passes of two layers, and shares of whole passes
    let unit = if bytes == 32 && layers.is_multiple_of(2) { 2 } else { 1 };
    let shares = |count: usize| {
        let start = move |i: usize| i * (layers / unit) / count * unit;
        (0..count).map(|i| rows.part(start(i)..start(i + 1))).collect::<Vec<_>>()
    };
    let whole = Some(shares(1)).filter(|parts| parts.iter().all(fits));
    // few layers over columns
    let small = match rows.in_columns() {
        true => rows.split.leaves() * bytes <= LONG_SHARE_BYTES,
        false => rows.split.n() * bytes <= WHOLE_BYTES || rows.split.ends_high(),
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
    let suit = |parts: &Vec<Rows>| {
        let most = match (bytes, parts.len()) {
            (..32, _) => LONG_SHARE_BYTES,
            (_, 2) => 2 * SHARE_BYTES,
            _ => SHARE_BYTES,
        };
        let length = |part: &Range<usize>| rows.split.nodes(part.end) / rows.split.nodes(part.start);
        parts.iter().all(|rows| fits(rows) && length(&rows.part) * bytes <= most)
    };
    (2..=layers / 2).map(shares).find(suit).or(whole)
}

/// For each layer the first one of those that go together with it, in kernels of these rows: layers of two in one pass, from its
/// end on as many as can be.
pub(crate) fn groups(parts: &[Rows], limits: &Limits) -> Vec<usize> {
    let Some(Rows { split, arithmetic, .. }) = parts.first() else { return Vec::new() };
    let mut groups: Vec<usize> = (0..split.layers().len()).collect();
    let together = arithmetic.most_together();
    for block in parts.iter().filter(|_| together > 1).filter_map(|rows| Block::of(rows, limits)) {
        for pass in block.passes.windows(2) {
            let mut end = pass[1];
            while end > pass[0] {
                let twos = split.layers()[pass[0]..end].iter().rev().take_while(|layer| **layer == Layer::Two).count();
                let first = end - twos.clamp(1, together);
                groups[first..end].fill(first);
                end = first;
            }
        }
    }
    groups
}

/// The rows in clusters, where that was chosen or is known to be faster; natural order would spread a block's values over the
/// whole row.
fn clustered(rows: &Rows, limits: &Limits) -> Option<Rows> {
    let (words, bytes) = (rows.arithmetic.word_bytes(), rows.split.n() * rows.arithmetic.word_bytes());
    let light = words == 8 && rows.arithmetic.cost().product < CLUSTER_PRODUCT;
    let suits = (WHOLE_BYTES + 1..=CLUSTER_BLOCKS * CLUSTER_BYTES).contains(&bytes);
    let is_usual = light && suits && rows.choice.kernels.is_none() && fills(rows, limits, bytes / CLUSTER_BYTES);
    let cluster = rows.choice.cluster.or(is_usual.then_some(bytes / CLUSTER_BYTES))?;
    let can_be = (2..=limits.cluster_blocks as usize).contains(&cluster);
    (can_be && rows.split.is_binary() && !rows.split.ends_high() && !rows.is_natural())
        .then(|| rows.in_clusters(cluster))
}

/// Whether a launch has enough rows in clusters of so many blocks to fill the device. With fewer, two kernels of more blocks are
/// faster: on an H200, launches of 16 rows of 2^15 took 3 to 10 % less in two kernels, those of 64 rows and more 2 to 9 % more,
/// and one CKKS product of 2^14 with 8 primes, whose launches have 1 to 8 rows, took 129 µs instead of 182.
fn fills(rows: &Rows, limits: &Limits, cluster: usize) -> bool {
    let blocks = rows.items.saturating_mul(rows.per_item).saturating_mul(cluster);
    blocks >= FILLED_BLOCKS * limits.multiprocessors as usize
}

/// Whether passes leave each block of a cluster whole subtrees after the first one, and all of a thread's coefficients under one
/// node in every later one, so that the threads of a block are neighbours there; of later ones there are two or more.
fn shares_out(split: &Split, passes: &[usize], per_thread: usize, cluster: usize) -> bool {
    let later = 1..passes.len() - 1;
    span(split, passes, 0).is_multiple_of(cluster)
        && later.len() > 1
        && later.into_iter().all(|pass| span(split, passes, pass) == per_thread)
}

/// The first layers of passes in which a thread with this many coefficients can work alone, last pass as long as can be.
fn passes(split: &Split, part: &Range<usize>, per_thread: usize) -> Option<Vec<usize>> {
    let mut starts = vec![part.end];
    let mut unit = if part.end == split.layers().len() && !split.ends_high() { split.base() } else { 1 };
    let mut layer = part.end;
    loop {
        let mut reach = unit;
        let end = layer;
        while layer > part.start && per_thread.is_multiple_of(reach * split.layers()[layer - 1].radix()) {
            reach *= split.layers()[layer - 1].radix();
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

/// Coefficients that the layers of a pass combine.
fn span(split: &Split, passes: &[usize], pass: usize) -> usize {
    split.layers()[passes[pass]..passes[pass + 1]].iter().map(|layer| layer.radix()).product()
}

/// Two bytes where residues of a forward transform stay below 2^16 through these layers without reduction, else a word.
fn cell_bytes(arithmetic: Arithmetic, poly: &PolyType, layers: &[Layer]) -> usize {
    let growth: u64 = layers.iter().map(|layer| if *layer == Layer::Two { 2 } else { 4 }).sum();
    let small = poly.basis().iter().all(|q| q.value_u64().is_some_and(|q| q < (1 << 16) / (growth + 2)));
    if poly.width() == Width::W16 && small { 2 } else { arithmetic.word_bytes() }
}
