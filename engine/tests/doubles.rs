//! Transforms and products in double precision, which plans use on GPUs with fast doubles, against slow reference code.

use ringforge::factorization::Factorization;
use ringforge::kernels::Arithmetic;
use ringforge::{Device, Job, Limits, Modulus, Op, Order, Plan, Planner, PolyType, Ring};
use ringforge_testkit::naive;
use ringforge_testkit::{Target, residues};

/// The largest primes of these bit lengths with roots of unity of order 1024.
const BITS_30: u64 = 1_073_738_753;
const BITS_33: u64 = 8_589_921_281;
const BITS_40: u64 = 1_099_511_592_961;
const BITS_49: u64 = 562_949_953_408_001;
const BITS_50: u64 = 1_125_899_906_826_241;
const BITS_51: u64 = 2_251_799_813_667_841;
/// The largest primes of 49 bits with a root of unity of order 64 but not 128, and of 50 bits with one of order 72.
const HALF: u64 = 562_949_953_420_609;
const THIRDS: u64 = 1_125_899_906_839_489;

fn modulus(q: u64) -> Modulus {
    Modulus::new(q).expect("a modulus")
}

/// The plan of a job for an H100 or H200. Panics if a kernel of the plan does not use doubles.
fn planned(job: &Job) -> Plan {
    let limits = Limits::of_capability(90);
    let plan = Planner::new(limits.clone()).plan(job).unwrap_or_else(|e| panic!("{job}: {e}"));
    for kernel in plan.kernels() {
        let source = kernel.source(&limits).unwrap_or_else(|e| panic!("{plan}: {e}"));
        assert!(source.prelude().contains("using M = rf::Mod50;"), "{plan}");
    }
    plan
}

fn run(device: &Device, plan: &Plan, batch: usize, ins: &[&[u8]]) -> Vec<u8> {
    let program = device.compile(plan).unwrap_or_else(|e| panic!("{plan}: {e}"));
    let stream = device.stream().expect("a stream");
    let ins: Vec<_> = ins.iter().map(|bytes| stream.upload(bytes).expect("a buffer")).collect();
    let mut out = device.buffer(ins[0].len()).expect("a buffer");
    let call = plan.args().iter().zip(&ins).fold(program.on(&stream, batch), |call, (arg, x)| call.input(&arg.name, x));
    call.output(&plan.args()[ins.len()].name, &mut out).run().unwrap_or_else(|e| panic!("{plan}: {e}"));
    stream.download(&out).expect("bytes")
}

/// The CPU, the emulator, and a GPU if there is one.
fn devices() -> Vec<Device> {
    [Target::Cpu, Target::Emulator, Target::Cuda].into_iter().filter_map(Target::device).collect()
}

fn check(ring: &PolyType, a: &[u8], b: &[u8]) {
    let factorization = Factorization::of(ring, None).expect("a factorization");
    let batch = a.len() / ring.bytes();
    let [x, y] = [a, b].map(|bytes| naive::to_plain(ring, bytes));
    let product = naive::to_stored(ring, &naive::mul(ring, &x, &y));
    for device in devices() {
        assert!(run(&device, &planned(&Job::new(ring, Op::Mul)), batch, &[a, b]) == product, "mul {ring} on {device}");
        for order in [Order::DigitReversed, Order::Natural] {
            let wanted = naive::to_stored(ring, &naive::forward(ring, &factorization, order, &x));
            let forward = planned(&Job::new(ring, Op::Forward).order(order));
            assert!(run(&device, &forward, batch, &[a]) == wanted, "forward {ring} {order} on {device}");
            let inverse = planned(&Job::new(ring, Op::Inverse).order(order));
            assert!(run(&device, &inverse, batch, &[&wanted]) == a, "inverse {ring} {order} on {device}");
        }
    }
}

/// Residues may grow to 4q for 50-bit primes, to 8q for 49-bit primes, and further for the 33-bit prime. So the three
/// reduce after different numbers of layers.
#[test]
fn transforms_and_products_in_doubles_equal_the_oracle() {
    for (q, n) in [(BITS_50, 2), (BITS_50, 512), (BITS_49, 64), (BITS_49, 512), (BITS_33, 512)] {
        let ring = PolyType::from(Ring::negacyclic(n, modulus(q)).expect("a ring"));
        check(&ring, &residues(&ring, 1, 3), &residues(&ring, 2, 3));
        let largest: Vec<_> = ring.basis().iter().flat_map(|q| vec![q.neg(&q.reduce_i64(1)); n]).collect();
        let largest = naive::to_stored(&ring, &largest);
        check(&ring, &largest, &largest);
    }
    let basis = [BITS_50, BITS_40, BITS_30].map(modulus);
    let ring = PolyType::from(Ring::rns(128, &basis).expect("a ring"));
    check(&ring, &residues(&ring, 3, 2), &residues(&ring, 4, 2));
}

#[test]
fn doubles_are_used_where_they_are_fast_and_exact() {
    let [fast, slow] = [90, 89].map(Limits::of_capability);
    let [small, large] = [BITS_50, BITS_51].map(|q| PolyType::from(Ring::negacyclic(64, modulus(q)).expect("a ring")));
    assert_eq!(Arithmetic::of_device(&small, &fast), Arithmetic::Mod50);
    assert_eq!(Arithmetic::of(&small), Arithmetic::Mod64);
    for (ring, limits, wanted) in [
        (&small, &slow, Arithmetic::Mod61),
        (&small, &Limits::cpu(), Arithmetic::Mod64),
        (&large, &fast, Arithmetic::Mod61),
    ] {
        assert_eq!(Arithmetic::of_device(ring, limits), wanted);
    }
    let narrow = PolyType::from(Ring::negacyclic(64, modulus(BITS_30)).expect("a ring"));
    assert_eq!(Arithmetic::of_device(&narrow, &fast), Arithmetic::Mod32);
    // leaf degree 2, and radix-3 layers, for which plans do not use doubles
    for ring in
        [Ring::negacyclic(64, modulus(HALF)).map(PolyType::from), Ring::cyclic(72, modulus(THIRDS)).map(PolyType::from)]
    {
        let plan = Planner::new(fast.clone()).plan(&Job::new(ring.expect("a ring"), Op::Forward)).expect("a plan");
        let source = plan.kernels().next().expect("a kernel").source(&fast).expect("its text");
        assert!(source.prelude().contains("using M = rf::Mod64;"), "{plan}");
    }
}
