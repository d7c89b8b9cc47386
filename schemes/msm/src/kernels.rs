//! The kernels of multi-scalar multiplication on a GPU: their ports (inputs and outputs), CPU references and CUDA
//! sources. An item is one multiplication of `count` scalars.

mod on_cpu;

use ringforge::kernels::{Built, CustomKernel, Header, Launch, Port};

use crate::curve::{Curve, prime_source, with_group};
use crate::digits::{Scalars, Windows};

/// An inversion for the threads of a block.
pub(crate) const INVERSION: Header =
    Header { name: "block_inversion.cuh", text: include_str!("kernels/block_inversion.cuh") };
const BY_FOUR: Header = Header { name: "by_four.cuh", text: include_str!("kernels/by_four.cuh") };
const BUCKETS: Header = Header { name: "buckets.cuh", text: include_str!("kernels/buckets.cuh") };
const MSM: Header = Header { name: "msm.cuh", text: include_str!("kernels/msm.cuh") };
const SUMS: Header = Header { name: "sums.cuh", text: include_str!("kernels/sums.cuh") };
const SORT: Header = Header { name: "msm_sort.cuh", text: include_str!("kernels/msm_sort.cuh") };

/// Size in bytes of a scalar.
pub(crate) const SCALAR: usize = 32;
/// The status of an item without an error.
pub(crate) const OK: u32 = 1;
/// Bins of the sort by levels: one for each level of pairs or groups, and one for entries that no step asks for.
const LEVELS: usize = 32;
/// Base-2 logarithm of the number of sums that a group adds at once.
const LOG_GROUP: u32 = 4;

/// How the work is distributed over threads. This affects speed only, not results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Tuning {
    /// Threads per block of additions, which share an inversion.
    pub(crate) threads: u32,
    /// Maximum number of additions per thread.
    pub(crate) most_per_thread: usize,
    /// Multiprocessors. While additions last, each gets as many blocks as are resident at once.
    pub(crate) multiprocessors: usize,
    /// Maximum number of threads per block that adds the rows or the columns of a window.
    pub(crate) window_threads: u32,
    /// Maximum number of points per block of `window_threads` threads. A block of fewer threads has fewer points.
    pub(crate) window_points: u32,
    /// The shared memory that a block can have, in bytes.
    pub(crate) block_shared_bytes: usize,
    pub(crate) sort_threads: u32,
    /// Keys per block of a sort.
    pub(crate) tile: usize,
}

/// The shape of a multiplication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    /// Scalars per item, with zeros that follow those that are given.
    pub(crate) count: usize,
    pub(crate) given: usize,
    pub(crate) windows: Windows,
    /// Whether there is a table of the bases' multiples for each window. The digits of all windows then form one list,
    /// whose entries have equal weights.
    pub(crate) tables: bool,
    pub(crate) tuning: Tuning,
}

/// A pass of the sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pass {
    /// By the lower bits of the digits.
    Low,
    /// By the upper bits.
    High,
    /// By the levels of the entries' additions.
    Levels,
}

/// The sizes of a pass: sorted segments, keys of a segment, and bins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segments {
    count: usize,
    length: usize,
    bins: usize,
    tiles: usize,
}

impl Segments {
    /// Counts of each segment, for each bin and tile.
    const fn counts(self) -> usize {
        self.bins * self.tiles
    }

    const fn chunks(self) -> usize {
        self.counts().div_ceil(CHUNK)
    }
}

/// Numbers that a block of a prefix sum reads.
const CHUNK: usize = 4096;

/// Buckets per multiprocessor that are more than its threads add at once.
const MANY_BUCKETS: usize = 2048;

impl Shape {
    const fn buckets(self) -> usize {
        self.windows.buckets()
    }

    /// Lists of entries, each with buckets of its own.
    pub(crate) const fn lists(self) -> usize {
        if self.tables { 1 } else { self.windows.count }
    }

    /// Entries of a list.
    pub(crate) const fn length(self) -> usize {
        self.entries() / self.lists()
    }

    /// Entries of all lists.
    const fn entries(self) -> usize {
        self.windows.count * self.count
    }

    /// Bits of a digit that the first pass sorts by.
    const fn low_bits(self) -> u32 {
        self.windows.width / 2
    }

    /// Slots of a list, for the points of its buckets after level 0.
    const fn slots(self) -> usize {
        (self.length() + self.buckets()) / 2 + 1
    }

    /// The levels of additions: enough for all entries in one bucket.
    const fn levels(self) -> u32 {
        self.length().next_power_of_two().ilog2()
    }

    /// The levels whose additions are computed pair by pair: enough for a bucket of average size. With many buckets one more,
    /// because the groups' additions are slower if they fill the device.
    pub(crate) const fn pair_levels(self) -> u32 {
        let average = self.length() / self.buckets() + 1;
        let many = self.lists() * self.buckets() > MANY_BUCKETS * self.tuning.multiprocessors;
        let levels = average.ilog2() + many as u32;
        if levels == 0 { 1 } else { levels }
    }

    /// The first levels of the groups that add what [`Shape::pair_levels`] leave.
    pub(crate) fn group_levels(self) -> impl Iterator<Item = u32> {
        (self.pair_levels()..self.levels()).step_by(LOG_GROUP as usize)
    }

    const fn segments(self, pass: Pass) -> Segments {
        let (count, length, bins) = match pass {
            Pass::Low => (self.lists(), self.length(), 1 << self.low_bits()),
            Pass::High => (self.lists(), self.length(), 1 << (self.windows.width - self.low_bits())),
            Pass::Levels => (1, self.entries(), LEVELS),
        };
        Segments { count, length, bins, tiles: length.div_ceil(self.tuning.tile) }
    }

    /// The number of threads that share additions, those that are resident at once, and the number of blocks for at most
    /// `most` additions.
    fn additions(self, curve: &Curve, most: usize) -> (usize, usize) {
        let Tuning { threads, most_per_thread, multiprocessors, .. } = self.tuning;
        let together = threads as usize * resident(curve) * multiprocessors;
        let per_thread = most.div_ceil(together).clamp(1, most_per_thread);
        // fewer additions than `most` are divided among as many threads, and may need that many blocks
        (together, most.div_ceil(threads as usize * per_thread).max(together.min(most) / threads as usize).max(1))
    }

    fn digit_blocks(self) -> usize {
        self.count.div_ceil(self.tuning.sort_threads as usize)
    }
}

/// Blocks of additions that are resident on a multiprocessor at once. More would fit, but are slower on an H200.
fn resident(curve: &Curve) -> usize {
    match curve.point_bytes() {
        64 => 5,
        96 => 4,
        128 => 3,
        _ => 2,
    }
}

/// A launch with this many blocks per item.
pub(crate) fn launch(threads: u32, blocks: usize, shared: usize) -> Launch {
    Launch {
        items_per_block: 1,
        blocks_per_item: u32::try_from(blocks).unwrap_or(u32::MAX),
        shared_bytes: u32::try_from(shared).unwrap_or(u32::MAX),
        ..Launch::thread_per_item(threads)
    }
}

/// The shared memory of an inversion for this many threads, of words of this size in bytes. A warp needs none.
pub(crate) fn inversion_shared(threads: u32, word: usize) -> usize {
    if threads > 32 { 2 * threads as usize * word } else { 0 }
}

/// A kernel from its name, source, ports, prelude, launch, numbers and CPU reference.
macro_rules! kernel {
    ($name:literal, $headers:expr, $ports:expr, $prelude:expr, $launch:expr, $numbers:expr, $about:expr, $on_cpu:expr) => {{
        let (prelude, launch): (String, Launch) = ($prelude, $launch);
        let build = move |_: &ringforge::Limits| Ok(Built { prelude: prelude.clone(), launch });
        let numbers: Vec<u64> = $numbers.into_iter().map(|number| number as u64).collect();
        let text = include_str!(concat!("kernels/", $name, ".cu"));
        // SAFETY: A block accesses only the bytes of its item. What it takes from a port as an index is limited to the
        // array that it indexes.
        #[allow(unsafe_code)]
        unsafe { CustomKernel::new(($name, text, $headers), $ports, build, $on_cpu).with_numbers(numbers) }
            .described($about)
    }};
}
pub(crate) use kernel;

/// The prelude with `struct Task` and what is before it.
pub(crate) fn prelude(before: &str, constants: &str) -> String {
    format!("#pragma once\n{before}struct Task {{\n{constants}}};\n")
}

pub(crate) fn constant(name: &str, value: usize) -> String {
    format!("    static constexpr rf::u32 {name} = {value};\n")
}

pub(crate) fn flag(name: &str, value: bool) -> String {
    format!("    static constexpr bool {name} = {value};\n")
}

impl Shape {
    /// Scalars → keys of digits, and words that tell of scalars that are not reduced.
    pub(crate) fn digits(self, of: &Scalars) -> CustomKernel {
        let (threads, scalars, shape) = (self.tuning.sort_threads, *of, self);
        let constants = constant("threads", threads as usize)
            + "    using Scalars = R;\n"
            + &flag("montgomery", of.montgomery)
            + &flag("flips", of.flips);
        let blocks = self.digit_blocks();
        let [o0, o1, o2, o3] = self.windows.offset();
        let Windows { width, count, full } = self.windows;
        let numbers = [self.count, self.given, width as usize, full, count]
            .map(|number| number as u64)
            .into_iter()
            .chain([o0, o1, o2, o3, blocks as u64]);
        kernel!(
            "msm_digits",
            &[],
            [
                Port::input(SCALAR * self.given).secret(),
                Port::output(4 * self.entries()).secret(),
                Port::output(4 * blocks)
            ],
            prelude(&prime_source::<4>("R", &of.field.q), &constants),
            launch(threads, blocks, 4),
            numbers,
            format!("{shape:?}, {of:?}"),
            move |items, args| on_cpu::digits(shape, &scalars, items, args)
        )
    }

    fn keys(pass: Pass) -> &'static str {
        match pass {
            Pass::Low => "LowBits",
            Pass::High => "HighBits",
            Pass::Levels => "Levels",
        }
    }

    /// The common parts of the sources of a pass: the prelude, its ports for the values and for the buckets' starts (in
    /// the passes that need none, the values again), and its numbers.
    fn pass(self, pass: Pass) -> (String, [Port; 2], [usize; 7]) {
        let Segments { count, length, .. } = self.segments(pass);
        let keys = Self::keys(pass);
        let constants = constant("threads", self.tuning.sort_threads as usize)
            + &constant("tile", self.tuning.tile)
            + &format!("    using Keys = msm::{keys};\n");
        let (bytes, starts, detail) = match pass {
            Pass::Low => (4 * self.entries(), 4 * self.entries(), self.low_bits() as usize),
            Pass::High => (8 * self.entries(), 8 * self.entries(), self.low_bits() as usize),
            Pass::Levels => (8 * self.entries(), 4 * self.lists() * (self.buckets() + 1), self.length()),
        };
        let ports = [Port::input(bytes).secret(), Port::input(starts).secret()];
        let (width, pairs) = (self.windows.width as usize, self.pair_levels() as usize);
        (prelude("", &constants), ports, [bytes, starts / 4, count, length, detail, width, pairs])
    }

    /// Values → the number of keys in each segment, bin and tile.
    pub(crate) fn count(self, pass: Pass) -> CustomKernel {
        let segments = self.segments(pass);
        let (prelude, [values, starts], numbers) = self.pass(pass);
        kernel!(
            "msm_count",
            &[BUCKETS, SORT],
            [values, starts, Port::output(4 * segments.count * segments.counts()).secret()],
            prelude,
            launch(self.tuning.sort_threads, segments.count * segments.tiles, 4 * segments.bins),
            numbers,
            format!("{pass:?}"),
            move |items, args| on_cpu::count(self, pass, items, args)
        )
    }

    /// Numbers of keys → their sums over chunks of each segment.
    pub(crate) fn sums(self, pass: Pass) -> CustomKernel {
        let (segments, threads) = (self.segments(pass), self.tuning.sort_threads);
        kernel!(
            "msm_sums",
            &[],
            [
                Port::input(4 * segments.count * segments.counts()).secret(),
                Port::output(4 * segments.count * segments.chunks()).secret()
            ],
            prelude("", &(constant("threads", threads as usize) + &constant("chunk", CHUNK))),
            launch(threads, segments.count * segments.chunks(), threads as usize / 8),
            [segments.count, segments.counts()],
            format!("{pass:?}"),
            move |items, args| on_cpu::sums(segments, items, args)
        )
    }

    /// Sums of chunks and numbers of keys → prefix sums of the numbers, in place.
    pub(crate) fn prefix(self, pass: Pass) -> CustomKernel {
        let (segments, threads) = (self.segments(pass), self.tuning.sort_threads);
        kernel!(
            "msm_prefix",
            &[],
            [
                Port::input(4 * segments.count * segments.chunks()).secret(),
                Port::in_out(4 * segments.count * segments.counts()).secret()
            ],
            prelude("", &(constant("threads", threads as usize) + &constant("chunk", CHUNK))),
            launch(threads, segments.count * segments.chunks(), threads as usize / 8),
            [segments.count, segments.counts()],
            format!("{pass:?}"),
            move |items, args| on_cpu::prefix(segments, items, args)
        )
    }

    /// Values and prefix sums → sorted values.
    pub(crate) fn scatter(self, pass: Pass) -> CustomKernel {
        let segments = self.segments(pass);
        let (prelude, [values, starts], numbers) = self.pass(pass);
        let threads = self.tuning.sort_threads;
        let bytes = if pass == Pass::Levels { 4 } else { 8 };
        kernel!(
            "msm_scatter",
            &[BUCKETS, SORT],
            [
                values,
                starts,
                Port::input(4 * segments.count * segments.counts()).secret(),
                Port::output(bytes * self.entries()).secret()
            ],
            prelude,
            launch(
                threads,
                segments.count * segments.tiles,
                8 * self.tuning.tile + 4 * segments.bins + threads as usize / 32 * (4 + 2 * segments.bins)
            ),
            numbers,
            format!("{pass:?}"),
            move |items, args| on_cpu::scatter(self, pass, items, args)
        )
    }

    /// Sorted entries → the first entry of each bucket.
    pub(crate) fn starts(self) -> CustomKernel {
        let (threads, starts) = (self.tuning.sort_threads, self.lists() * (self.buckets() + 1));
        let blocks = starts.div_ceil(threads as usize);
        kernel!(
            "msm_starts",
            &[BUCKETS],
            [Port::input(8 * self.entries()).secret(), Port::output(4 * starts).secret()],
            prelude("", &constant("threads", threads as usize)),
            launch(threads, blocks, 0),
            [self.length(), self.windows.width as usize, self.lists(), blocks],
            String::new(),
            move |items, args| on_cpu::starts(self, items, args)
        )
    }

    /// The prelude of kernels that add points, and the shared memory of a block.
    fn adding(self, curve: &Curve) -> (String, usize) {
        let constants = constant("threads", self.tuning.threads as usize)
            + &constant("most_per_thread", self.tuning.most_per_thread)
            + &constant("resident", resident(curve));
        (prelude(&curve.source(), &constants), self.tuning.threads as usize * 2 * curve.point_bytes())
    }

    /// Bases, entries, starts, prefix sums and list of the levels → the buckets' slots after level 0.
    pub(crate) fn pairs(self, curve: &Curve, points: usize) -> CustomKernel {
        let (prelude, shared) = self.adding(curve);
        let (together, blocks) = self.additions(curve, self.entries() / 2);
        let (segments, bytes) = (self.segments(Pass::Levels), curve.point_bytes());
        let group = curve.group();
        kernel!(
            "msm_pairs",
            &[INVERSION, BUCKETS, MSM],
            [
                Port::shared(points * bytes),
                Port::input(8 * self.entries()).secret(),
                Port::input(4 * self.lists() * (self.buckets() + 1)).secret(),
                Port::input(4 * segments.counts()).secret(),
                Port::input(4 * self.entries()).secret(),
                Port::output(bytes * self.lists() * self.slots()).secret()
            ],
            prelude,
            launch(self.tuning.threads, blocks, shared),
            [points, self.length(), self.windows.width as usize, self.lists(), segments.tiles, together, blocks],
            format!("{curve:?}"),
            move |items, args| with_group!(&group, group => on_cpu::pairs(self, group, items, args))
        )
    }

    /// Prefix sums and list of the levels → the slots after a level above 0, in place.
    pub(crate) fn level(self, curve: &Curve, level: u32) -> CustomKernel {
        let (prelude, shared) = self.adding(curve);
        let (together, blocks) = self.additions(curve, self.entries() / ((1 << level) + 1));
        let (segments, bytes) = (self.segments(Pass::Levels), curve.point_bytes());
        let group = curve.group();
        kernel!(
            "msm_level",
            &[INVERSION, BUCKETS, MSM],
            [
                Port::input(4 * segments.counts()).secret(),
                Port::input(4 * self.entries()).secret(),
                Port::in_out(bytes * self.lists() * self.slots()).secret()
            ],
            prelude,
            launch(self.tuning.threads, blocks, shared),
            [
                self.length(),
                self.windows.width as usize,
                self.lists(),
                segments.tiles,
                level as usize,
                together,
                blocks
            ],
            format!("{curve:?}, level {level}"),
            move |items, args| with_group!(&group, group => on_cpu::level(self, group, level, items, args))
        )
    }

    /// Entries, starts, prefix sums and list of the levels → the slots after [`LOG_GROUP`] levels, in place. `level` is one
    /// of [`Shape::group_levels`].
    pub(crate) fn groups(self, curve: &Curve, level: u32) -> CustomKernel {
        let ((prelude, _), threads) = (self.adding(curve), self.tuning.threads);
        let shared = inversion_shared(threads, curve.point_bytes() / 2);
        let blocks = (self.entries() >> level).div_ceil(threads as usize).max(1);
        let bin = self.pair_levels() + (level - self.pair_levels()) / LOG_GROUP;
        let (segments, bytes) = (self.segments(Pass::Levels), curve.point_bytes());
        let group = curve.group();
        kernel!(
            "msm_groups",
            &[INVERSION, BUCKETS, SUMS, MSM],
            [
                Port::input(8 * self.entries()).secret(),
                Port::input(4 * self.lists() * (self.buckets() + 1)).secret(),
                Port::input(4 * segments.counts()).secret(),
                Port::input(4 * self.entries()).secret(),
                Port::in_out(bytes * self.lists() * self.slots()).secret()
            ],
            prelude,
            launch(threads, blocks, shared),
            [
                self.length(),
                self.windows.width as usize,
                self.lists(),
                segments.tiles,
                bin as usize,
                level as usize,
                blocks
            ],
            format!("{curve:?}, levels {level} to {}", level + LOG_GROUP - 1),
            move |items, args| with_group!(&group, group => on_cpu::groups(self, group, level, bin, items, args))
        )
    }

    /// Slots and starts → the first sums of rows and columns.
    pub(crate) fn halves(self, curve: &Curve) -> CustomKernel {
        let (prelude, shared) = self.adding(curve);
        let all = self.lists() * self.buckets();
        let (together, blocks) = self.additions(curve, all);
        let (group, bytes) = (curve.group(), curve.point_bytes());
        kernel!(
            "msm_halves",
            &[INVERSION, BUCKETS, MSM],
            [
                Port::input(bytes * self.lists() * self.slots()).secret(),
                Port::input(4 * self.lists() * (self.buckets() + 1)).secret(),
                Port::output(bytes * all).secret()
            ],
            prelude,
            launch(self.tuning.threads, blocks, shared),
            [self.length(), self.windows.width as usize, self.lists(), together, blocks],
            format!("{curve:?}"),
            move |items, args| with_group!(&group, group => on_cpu::halves(self, group, items, args))
        )
    }

    /// The threads of [`Shape::windows`], and their shared memory: for each, two sums in XYZZ coordinates and the words of
    /// one of four lanes.
    fn window_threads(self, curve: &Curve) -> (u32, usize) {
        let shared = |threads: u32| threads as usize * 5 * curve.point_bytes();
        let most = self.tuning.window_threads;
        let fits = [most, most / 2].into_iter().find(|threads| shared(*threads) <= self.tuning.block_shared_bytes);
        let threads = fits.unwrap_or(most / 4);
        (threads, shared(threads))
    }

    /// The steps after [`Shape::halves`]: until the blocks of [`Shape::windows`] have few points.
    pub(crate) fn folds(self, curve: &Curve) -> u32 {
        let (points, (threads, _)) = (self.windows.width - 2, self.window_threads(curve));
        let most = self.tuning.window_points * threads / self.tuning.window_threads;
        points.saturating_sub(most.ilog2()).min(points - self.windows.columns())
    }

    /// Sums of rows and columns → half as many, in place. `level` counts from 1.
    pub(crate) fn fold(self, curve: &Curve, level: u32) -> CustomKernel {
        let (prelude, shared) = self.adding(curve);
        let pairs = (self.buckets() / 2) >> level;
        let all = self.lists() * if level < self.windows.columns() { 2 * pairs } else { pairs };
        let (together, blocks) = self.additions(curve, all);
        let (group, bytes) = (curve.group(), curve.point_bytes());
        kernel!(
            "msm_fold",
            &[INVERSION, BUCKETS, MSM],
            [Port::in_out(bytes * self.lists() * self.buckets()).secret()],
            prelude,
            launch(self.tuning.threads, blocks, shared),
            [self.windows.width as usize, self.lists(), level as usize, together, blocks],
            format!("{curve:?}, level {level}"),
            move |items, args| with_group!(&group, group => on_cpu::fold(self, group, level, items, args))
        )
    }

    /// Sums of rows and columns, and words that tell of scalars that are not reduced → two points for each window, and
    /// statuses.
    pub(crate) fn windows(self, curve: &Curve) -> CustomKernel {
        let (bytes, (threads, shared), folds) = (curve.point_bytes(), self.window_threads(curve), self.folds(curve));
        let constants = constant("threads", threads as usize)
            + &constant("log_threads", threads.ilog2() as usize)
            + &constant("most_per_thread", 1);
        let group = curve.group();
        kernel!(
            "msm_windows",
            &[INVERSION, BUCKETS, SUMS, BY_FOUR, MSM],
            [
                Port::input(bytes * self.lists() * self.buckets()).secret(),
                Port::input(4 * self.digit_blocks()),
                Port::output(2 * self.lists() * 2 * bytes).secret(),
                Port::status()
            ],
            prelude(&curve.source(), &constants),
            launch(threads, 2 * self.lists(), shared),
            [self.count, self.windows.width as usize, self.lists(), folds as usize, self.digit_blocks()],
            format!("{curve:?}"),
            move |items, args| with_group!(&group, group => on_cpu::windows(self, group, (threads, folds), items, args))
        )
    }

    /// Points → their doubles.
    pub(crate) fn doubles(self, curve: &Curve) -> CustomKernel {
        let (prelude, shared) = self.adding(curve);
        let (together, blocks) = self.additions(curve, self.count);
        let (group, bytes) = (curve.group(), curve.point_bytes());
        kernel!(
            "msm_doubles",
            &[INVERSION, BUCKETS, MSM],
            [Port::input(bytes * self.count), Port::output(bytes * self.count)],
            prelude,
            launch(self.tuning.threads, blocks, shared),
            [self.count, together, blocks],
            format!("{curve:?}"),
            move |items, args| with_group!(&group, group => on_cpu::doubles(group, items, args))
        )
    }
}
