//! Tests of [`Flow`], which divides the work on one large item into slabs. A slab is some thread blocks of a step, with
//! the copies to and from the GPU that belong to them.

use ringforge::{Job, Limits, Modulus, Op, Order, Planner, PolyType, Ring};
use ringforge_runtime::kernel::Source;
use ringforge_runtime::tiles::Shape;
use ringforge_runtime::transfer::chunks::flow::{Binding, Flow, Moved, Slab};

fn flow(job: &Job) -> Option<Flow> {
    let limits = Limits::of_capability(90);
    let plan = Planner::new(limits.clone()).plan(job).unwrap();
    let sources = plan.kernels().map(|kernel| Source::of(&**kernel, &limits).unwrap());
    let shares: Vec<_> = sources.map(|source| (source.shares(), source.parts().ports.clone())).collect();
    let steps = plan.steps.iter().zip(&shares);
    let steps: Vec<_> = steps.map(|(step, (shares, ports))| Binding { slots: &step.slots, ports, shares }).collect();
    Flow::of(plan.args(), &steps)
}

fn zk(log_n: u32) -> Ring {
    let r = Modulus::from_hex("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001").unwrap();
    Ring::cyclic(1 << log_n, r).unwrap()
}

/// The number of a step's slabs, and the shapes of the first slab's first copy in and first copy out.
fn summary(slabs: &[Slab]) -> (usize, Option<Shape>, Option<Shape>) {
    let first = |moved: &[Moved]| moved.first().map(|moved| moved.shape);
    (slabs.len(), first(&slabs[0].ins), first(&slabs[0].outs))
}

#[test]
fn transforms_flow_by_columns() {
    // the transform has four kernels, of 4, 6, 4 and 6 layers: a slab of the first or last kernel is an eighth of each
    // row of the item
    let columns = |rows: usize| Shape { offset: 0, rows, width: (4 << 20) / rows, pitch: (32 << 20) / rows };
    let [coefficients, values] = [16, 64].map(|rows| Some(columns(rows)));
    let piece = Some(Shape::run(0, 4 << 20));
    for (op, [enters, leaves], [enters_tree, leaves_tree]) in [
        (Op::Forward, [coefficients, values], [coefficients, piece]),
        (Op::Inverse, [values, coefficients], [piece, coefficients]),
    ] {
        for job in [Job::new(zk(20), op), Job::new(zk(20), op).in_place()] {
            let ends = |job: &Job| {
                let Flow(steps) = flow(job).unwrap();
                [summary(&steps[0]), summary(steps.last().unwrap())]
            };
            let natural = ends(&job.clone().order(Order::Natural));
            assert_eq!(natural, [(8, enters, None), (8, None, leaves)], "{job}");
            // in `Order::DigitReversed`, a slab's evaluations are contiguous
            assert_eq!(ends(&job), [(8, enters_tree, None), (8, None, leaves_tree)], "{job}");
        }
    }
}

#[test]
fn every_byte_is_copied_once() {
    let primes = Modulus::ntt_primes(1 << 17, 60, 40).unwrap();
    for poly in [zk(18), zk(20), Ring::rns(1 << 16, &primes).unwrap(), Ring::rns(1 << 16, &primes[..9]).unwrap()] {
        let bytes = PolyType::from(&poly).bytes();
        for op in [Op::Forward, Op::Inverse, Op::Mul] {
            let Some(Flow(steps)) = flow(&Job::new(&poly, op)) else { panic!("{poly}") };
            for (args, moved) in [
                (
                    0..if op == Op::Mul { 2 } else { 1 },
                    steps.iter().flatten().flat_map(|slab| &slab.ins).collect::<Vec<_>>(),
                ),
                (if op == Op::Mul { 2..3 } else { 1..2 }, steps.iter().flatten().flat_map(|slab| &slab.outs).collect()),
            ] {
                for arg in args.clone() {
                    let shapes = moved.iter().filter(|moved| moved.arg == arg).map(|moved| moved.shape);
                    assert_eq!(shapes.map(|shape| shape.bytes()).sum::<usize>(), bytes, "{op} {poly} {arg}");
                }
                assert!(moved.iter().all(|moved| args.contains(&moved.arg)));
            }
        }
    }
}

#[test]
fn small_and_single_kernel_plans_are_not_cut() {
    assert_eq!(flow(&Job::new(zk(16), Op::Forward)), None);
    let primes = Modulus::ntt_primes(1 << 13, 60, 200).unwrap();
    assert_eq!(flow(&Job::new(Ring::rns(1 << 12, &primes).unwrap(), Op::Forward)), None);
}
