//! Transforms and products in doubles, which plans for GPUs with fast ones take, against the oracle.

#[path = "support/rings.rs"]
mod rings;

use ringforge::testkit::{Target, residues};
use ringforge::{Arg, Arithmetic, Device, Job, Limits, Op, Order, Plan, Planner, Quotient, Ring, Split, naive};

use rings::prime;

/// Planned for an H100 or H200.
fn planned(job: &Job) -> Plan {
    let limits = Limits::of_capability(90);
    let plan = Planner::new(limits.clone()).plan(job).unwrap_or_else(|e| panic!("{job}: {e}"));
    for step in plan.steps() {
        let built = step.kernel.build(&limits).unwrap_or_else(|e| panic!("{plan}: {e}"));
        assert!(built.prelude.contains("using M = rf::Mod50;"), "{plan}");
    }
    plan
}

fn run(device: &Device, plan: &Plan, batch: usize, ins: &[&[u8]]) -> Vec<u8> {
    let program = device.compile(plan).unwrap_or_else(|e| panic!("{plan}: {e}"));
    let stream = device.stream().expect("a stream");
    let ins: Vec<_> = ins.iter().map(|bytes| stream.upload(bytes).expect("a buffer")).collect();
    let mut out = device.buffer(ins[0].len()).expect("a buffer");
    let mut args: Vec<Arg<'_>> = ins.iter().map(Into::into).collect();
    args.push((&mut out).into());
    program.run(&stream, batch, &mut args).unwrap_or_else(|e| panic!("{plan}: {e}"));
    stream.download(&out).expect("bytes")
}

/// The CPU, the kernels' text, and a GPU where there is one.
fn devices() -> Vec<Device> {
    [Target::Cpu, Target::TextSanitized, Target::Cuda].into_iter().filter_map(Target::device).collect()
}

fn check(ring: &Ring, a: &[u8], b: &[u8]) {
    let split = Split::of(ring, None).expect("a split");
    let batch = a.len() / ring.bytes();
    let [x, y] = [a, b].map(|bytes| naive::to_plain(ring, bytes));
    let product = naive::to_stored(ring, &naive::mul(ring, &x, &y));
    for device in devices() {
        assert!(run(&device, &planned(&Job::new(ring, Op::Mul)), batch, &[a, b]) == product, "mul {ring} on {device}");
        for order in [Order::Any, Order::Natural] {
            let wanted = naive::to_stored(ring, &naive::forward(ring, &split, order, &x));
            let forward = planned(&Job::new(ring, Op::Forward).order(order));
            assert!(run(&device, &forward, batch, &[a]) == wanted, "forward {ring} {order} on {device}");
            let inverse = planned(&Job::new(ring, Op::Inverse).order(order));
            assert!(run(&device, &inverse, batch, &[&wanted]) == a, "inverse {ring} {order} on {device}");
        }
    }
}

/// 50 bits leave room for 4q, 49 for 8q: every other layer, or every eighth, reduces.
#[test]
fn transforms_and_products_in_doubles_equal_the_oracle() {
    for bits in [50, 49, 48, 33] {
        for n in [2, 64, 512] {
            let ring = Ring::negacyclic(n, prime(bits, 2 * n as u64)).expect("a ring");
            check(&ring, &residues(&ring, 1, 3), &residues(&ring, 2, 3));
            let largest: Vec<_> = ring.basis().iter().flat_map(|q| vec![q.neg(&q.reduce_i64(1)); n]).collect();
            let largest = naive::to_stored(&ring, &largest);
            check(&ring, &largest, &largest);
        }
    }
    let basis = [prime(50, 256), prime(40, 256), prime(30, 256)];
    for quotient in [Quotient::Negacyclic { n: 128 }, Quotient::Cyclic { n: 256 }] {
        let ring = Ring::new(&basis, quotient).expect("a ring");
        check(&ring, &residues(&ring, 3, 2), &residues(&ring, 4, 2));
    }
}

#[test]
fn doubles_are_taken_where_they_are_fast_and_serve() {
    let [fast, slow] = [90, 89].map(Limits::of_capability);
    let [small, large] = [50, 51].map(|bits| Ring::negacyclic(64, prime(bits, 128)).expect("a ring"));
    assert_eq!(Arithmetic::of_device(&small, &fast), Arithmetic::Mod50);
    assert_eq!(Arithmetic::of(&small), Arithmetic::Mod64);
    for (ring, limits) in [(&small, &slow), (&small, &Limits::cpu()), (&large, &fast)] {
        assert_eq!(Arithmetic::of_device(ring, limits), Arithmetic::Mod64);
    }
    let narrow = Ring::negacyclic(64, prime(30, 128)).expect("a ring");
    assert_eq!(Arithmetic::of_device(&narrow, &fast), Arithmetic::Mod32);
    // down to degree 2 only, and by thirds
    for ring in [Ring::negacyclic(64, prime(49, 64)), Ring::cyclic(72, prime(50, 72))] {
        let plan = Planner::new(fast.clone()).plan(&Job::new(&ring.expect("a ring"), Op::Forward)).expect("a plan");
        let built = plan.steps()[0].kernel.build(&fast).expect("a kernel");
        assert!(built.prelude.contains("using M = rf::Mod64;"), "{plan}");
    }
}
