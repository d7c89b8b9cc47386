//! Plans of multi-scalar multiplication for a device.

use ringforge::kernels::{Built, CustomKernel, Port};
use ringforge::{Error, Limits, Pipeline, Plan, Planner, Result, Value};

use crate::bases::names;
use crate::cpu;
use crate::curve::{Curve, with_group};
use crate::digits::{MIN_WIDTH, Scalars, Windows};
use crate::kernels::{OK, Pass, SCALAR, Shape, Tuning};

impl Tuning {
    /// Blocks for a multiplication of `count` scalars on a device with these limits.
    fn new(limits: &Limits, count: usize) -> Self {
        let multiprocessors = limits.multiprocessors as usize;
        // a block of the sort has its tile, and counts for each warp, in shared memory
        let (sort_threads, tile) = if limits.block_shared_bytes < 128 << 10 { (128, 2048) } else { (512, 8192) };
        let large = Self {
            threads: 128,
            most_per_thread: 64,
            multiprocessors,
            window_threads: 256,
            window_points: 1024,
            block_shared_bytes: limits.block_shared_bytes as usize,
            sort_threads,
            tile,
        };
        // few scalars would fill few large blocks
        if count < SMALL {
            Self {
                threads: 32,
                most_per_thread: 4,
                window_threads: 64,
                window_points: 256,
                sort_threads: 64,
                tile: 512,
                ..large
            }
        } else {
            large
        }
    }
}

/// The number of scalars below which blocks are small.
const SMALL: usize = 1 << 12;

/// Returns the shape of a multiplication of `count` scalars on a device with these limits, with the width of windows that
/// needs the least additions.
pub(crate) fn shape(limits: &Limits, count: usize, scalars: &Scalars) -> Shape {
    let cost = |width: &u32| {
        let windows = Windows::new(*width, scalars);
        windows.count * (count + 2 * windows.buckets())
    };
    of_width(limits, count, (MIN_WIDTH..=22).min_by_key(cost).unwrap_or(MIN_WIDTH), scalars)
}

/// Returns the shape of a multiplication of `given` scalars by `count` bases that have tables of multiples for these
/// windows.
pub(crate) fn of_tables(limits: &Limits, count: usize, given: usize, windows: Windows) -> Shape {
    Shape { count, given, windows, tables: true, tuning: Tuning::new(limits, count) }
}

/// Returns the windows for tables of `count` bases, with at most `most` points in all tables, that need the least
/// additions. `None` if no windows are so few.
pub(crate) fn windows_of_tables(count: usize, most: usize, scalars: &Scalars) -> Option<Windows> {
    let all = (MIN_WIDTH..=22).map(|width| Windows::new(width, scalars));
    let fits = all.filter(|windows| windows.count.saturating_mul(count) <= most.min(LONGEST));
    fits.min_by_key(|windows| windows.count * count + 2 * windows.buckets())
}

/// Maximum number of points in all tables: an entry has an index and a sign in 32 bits.
const LONGEST: usize = (1 << 31) - 1;

/// The plan that doubles points this number of times.
pub(crate) fn doubled(planner: &Planner, curve: &Curve, count: usize, times: u32) -> Result<Plan> {
    let p = planner.pipeline(format!("2^{times} times points, {}, {count}", curve.name()));
    let windows = Windows { width: MIN_WIDTH, count: 1, full: 1 };
    let shape = of_tables(planner.limits(), count, count, windows);
    let mut points = p.bytes("points", count * curve.point_bytes());
    for _ in 0..times {
        [points] = p.step(shape.doubles(curve), &[points]);
    }
    p.output("multiples", points);
    p.build()
}

pub(crate) fn of_width(limits: &Limits, count: usize, width: u32, scalars: &Scalars) -> Shape {
    let (windows, tuning) = (Windows::new(width, scalars), Tuning::new(limits, count));
    Shape { count, given: count, windows, tables: false, tuning }
}

/// The digits of scalars, sorted. They serve the multiplication of any bases.
#[derive(Clone, Copy)]
pub(crate) struct Sorted<'p> {
    shape: Shape,
    entries: Value<'p>,
    starts: Value<'p>,
    levels: Value<'p>,
    list: Value<'p>,
    refused: Value<'p>,
}

impl<'p> Sorted<'p> {
    /// Adds the steps that sort the digits of scalars.
    pub(crate) fn new(p: &'p Pipeline, shape: Shape, of: &Scalars, scalars: Value<'p>) -> Self {
        let [keys, refused] = p.step(shape.digits(of), &[scalars]);
        let [_, low] = sort(p, shape, Pass::Low, keys, keys);
        let [_, entries] = sort(p, shape, Pass::High, low, low);
        let [starts] = p.step(shape.starts(), &[entries]);
        let [levels, list] = sort(p, shape, Pass::Levels, entries, starts);
        Self { shape, entries, starts, levels, list, refused }
    }

    /// Adds the steps that multiply bases by the scalars. Returns two points for each window, and statuses.
    pub(crate) fn times(self, p: &'p Pipeline, curve: &Curve, points: usize, bases: Value<'p>) -> [Value<'p>; 2] {
        let Self { shape, entries, starts, levels, list, refused } = self;
        let [mut slots] = p.step(shape.pairs(curve, points), &[bases, entries, starts, levels, list]);
        for level in 1..shape.pair_levels() {
            [slots] = p.step(shape.level(curve, level), &[levels, list, slots]);
        }
        for level in shape.group_levels() {
            [slots] = p.step(shape.groups(curve, level), &[entries, starts, levels, list, slots]);
        }
        let [mut sums] = p.step(shape.halves(curve), &[slots, starts]);
        for level in 1..=shape.folds(curve) {
            [sums] = p.step(shape.fold(curve, level), &[sums]);
        }
        p.step(shape.windows(curve), &[sums, refused])
    }
}

/// Adds the steps of a pass of the sort. Returns the places of bins and tiles, and the sorted values.
fn sort<'p>(p: &'p Pipeline, shape: Shape, pass: Pass, values: Value<'p>, starts: Value<'p>) -> [Value<'p>; 2] {
    let [counts] = p.step(shape.count(pass), &[values, starts]);
    let [sums] = p.step(shape.sums(pass), &[counts]);
    let [places] = p.step(shape.prefix(pass), &[sums, counts]);
    let [sorted] = p.step(shape.scatter(pass), &[values, starts, places]);
    [places, sorted]
}

/// The plan of multiplications on a GPU: from scalars, and the points of each curve, to two points for each window, and
/// statuses. All curves share the scalars. [`names`] has the arguments' names.
pub(crate) fn on_gpu(planner: &Planner, shape: Shape, of: &Scalars, terms: &[(Curve, usize)]) -> Result<Plan> {
    let p = planner.pipeline(title(shape.given, terms));
    let scalars = p.input("scalars");
    let inputs = inputs(&p, terms);
    let sorted = Sorted::new(&p, shape, of, scalars);
    for (([_, totals, statuses], (curve, points)), bases) in names(terms.len()).iter().zip(terms).zip(inputs) {
        let outputs = sorted.times(&p, curve, *points, bases);
        p.output(totals, outputs[0]);
        p.output(statuses, outputs[1]);
    }
    p.build()
}

fn title(count: usize, terms: &[(Curve, usize)]) -> String {
    let curves: Vec<_> = terms.iter().map(|(curve, _)| curve.name()).collect();
    format!("multi-scalar multiplication, {}, {count}", curves.join(", "))
}

fn inputs<'p>(p: &'p Pipeline, terms: &[(Curve, usize)]) -> Vec<Value<'p>> {
    let names = names(terms.len());
    names.iter().zip(terms).map(|([name, ..], (curve, points))| p.shared(name, points * curve.point_bytes())).collect()
}

/// The plan of multiplications on a CPU: from scalars, and the points of each curve, to sums in XYZZ coordinates, and
/// statuses.
pub(crate) fn on_cpu(planner: &Planner, count: usize, of: &Scalars, terms: &[(Curve, usize)]) -> Result<Plan> {
    let p = planner.pipeline(title(count, terms));
    let scalars = p.input("scalars");
    let inputs = inputs(&p, terms);
    for (([_, totals, statuses], (curve, points)), bases) in names(terms.len()).iter().zip(terms).zip(inputs) {
        let outputs: [Value<'_>; 2] = p.step(cpu_kernel(count, of, curve, *points), &[scalars, bases]);
        p.output(totals, outputs[0]);
        p.output(statuses, outputs[1]);
    }
    p.build()
}

/// The kernel of a multiplication on a CPU.
fn cpu_kernel(count: usize, of: &Scalars, curve: &Curve, points: usize) -> CustomKernel {
    let (bytes, group, scalars) = (curve.point_bytes(), curve.group(), *of);
    let refuse = |_: &Limits| -> Result<Built> {
        Err(Error::Unsupported { job: "msm".into(), why: "this kernel is for CPUs".into() })
    };
    let ports = [
        Port::input(SCALAR * count).secret(),
        Port::shared(points * bytes),
        Port::output(2 * bytes).secret(),
        Port::status(),
    ];
    // SAFETY: there is no CUDA source.
    #[allow(unsafe_code)]
    let kernel = unsafe {
        CustomKernel::new(("msm", "", &[]), ports, refuse, move |items, args| {
            with_group!(&group, group => args.each(items, |_, (of, bases, total, status): (&[_], &[_], &mut _, &mut u32)| {
                *status = match of.iter().position(|scalar| !scalars.is_reduced(scalar)) {
                    None => OK,
                    Some(i) => OK + 1 + i as u32,
                };
                *total = if *status == OK { cpu::msm(group, &bases[..count], &scalars, of) } else { group.zero() };
                Ok(())
            }))
        })
    };
    kernel.described(format!("{curve:?}, {of:?}"))
}
