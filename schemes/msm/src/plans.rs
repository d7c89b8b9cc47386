//! Plans of multi-scalar multiplication for a device.

use ringforge::kernels::{Built, CustomKernel, Port};
use ringforge::{Error, Limits, Pipeline, Plan, Planner, Result, Value};

use crate::cpu;
use crate::curve::{Curve, with_group};
use crate::digits::{Scalars, Windows};
use crate::kernels::{OK, Pass, SCALAR, Shape, Tuning};

impl Tuning {
    /// Blocks for GPUs.
    pub(crate) fn new(limits: &Limits) -> Self {
        let blocks = 8 * limits.multiprocessors as usize;
        Self { threads: 128, most_per_thread: 32, blocks, sort_threads: 512, tile: 8192 }
    }

    /// Small blocks, for tests with an emulator, which is slow for large blocks.
    #[cfg(feature = "testkit")]
    pub(crate) const SMALL: Self = Self { threads: 8, most_per_thread: 2, blocks: 2, sort_threads: 64, tile: 128 };
}

/// Returns the shape of a multiplication of `count` scalars, with the width of windows that needs the least additions.
pub(crate) fn shape(count: usize, scalars: &Scalars, tuning: Tuning) -> Shape {
    let cost = |width: &u32| {
        let windows = Windows::new(*width, scalars);
        windows.count * (count + 2 * windows.buckets())
    };
    let width = (4..=22).min_by_key(cost).unwrap_or(4);
    of_width(count, width, scalars, tuning)
}

pub(crate) fn of_width(count: usize, width: u32, scalars: &Scalars, tuning: Tuning) -> Shape {
    Shape { count, width, windows: Windows::new(width, scalars).count, tuning }
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
        for level in 1..shape.levels() {
            [slots] = p.step(shape.level(curve, level), &[levels, list, slots]);
        }
        let [mut sums] = p.step(shape.halves(curve), &[slots, starts]);
        for level in 1..=shape.folds() {
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

/// The plan of a multiplication on a GPU: from scalars and bases to two points for each window, and statuses.
pub(crate) fn on_gpu(planner: &Planner, curve: &Curve, shape: Shape, of: &Scalars, points: usize) -> Result<Plan> {
    let p = planner.pipeline(format!("multi-scalar multiplication, {curve:?}, {}", shape.count));
    let scalars = p.input("scalars");
    let bases = p.shared("bases", points * curve.point_bytes());
    let [totals, statuses] = Sorted::new(&p, shape, of, scalars).times(&p, curve, points, bases);
    p.output("totals", totals);
    p.output("statuses", statuses);
    p.build()
}

/// The plan of a multiplication on a CPU: from scalars and bases to the sum, in XYZZ coordinates, and statuses.
pub(crate) fn on_cpu(planner: &Planner, curve: &Curve, count: usize, of: &Scalars, points: usize) -> Result<Plan> {
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
    let p = planner.pipeline(format!("multi-scalar multiplication, {curve:?}, {count}"));
    let inputs = [p.input("scalars"), p.shared("bases", points * bytes)];
    let [totals, statuses] = p.step(kernel.described(format!("{curve:?}, {of:?}")), &inputs);
    p.output("totals", totals);
    p.output("statuses", statuses);
    p.build()
}
