//! Algebraic laws of transforms and products on fixed and on random rings. Most need no second implementation.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use ringforge::factorization::{Factorization, MAX_LEAF_DEGREE};
use ringforge::{Device, Error, Form, Job, Modulus, Op, Order, Planner, PolyType, Quotient, Ring, U256};
use ringforge_testkit::{self, Random, naive, residues, seed};

use crate::support::{devices, prime};
use ringforge_testkit::run;

/// The ring, transform depth, order, batch size and seed of one round of checks.
#[derive(Debug, Clone)]
struct Case {
    ring: PolyType,
    depth: Option<u32>,
    order: Order,
    batch: usize,
    seed: u64,
}

impl Case {
    fn job(&self, op: Op) -> Job {
        let job = Job::new(&self.ring, op).order(self.order);
        match self.depth {
            Some(depth) => job.depth(depth),
            None => job,
        }
    }

    /// True if the leaf degree is too high for products of evaluations.
    fn ends_high(&self) -> bool {
        Factorization::of(&self.ring, self.depth)
            .is_ok_and(|factorization| factorization.leaf_degree() > MAX_LEAF_DEGREE)
    }

    fn run(&self, device: &Device, op: Op, inputs: &[&[u8]]) -> Vec<u8> {
        run(device, &self.job(op), inputs[0].len() / self.ring.bytes(), inputs)
    }

    fn sample(&self, number: u64) -> Vec<u8> {
        residues(&self.ring, self.seed.wrapping_add(number), self.batch)
    }

    /// The sum of two stored elements, in stored form.
    fn sum(&self, a: &[u8], b: &[u8]) -> Vec<u8> {
        let ring = &self.ring;
        naive::to_stored(ring, &naive::add(ring, &naive::to_plain(ring, a), &naive::to_plain(ring, b)))
    }
}

macro_rules! same {
    ($a:expr, $b:expr, $case:expr, $device:expr, $law:literal) => {
        prop_assert!($a == $b, "{} on {}: {:?}", $law, $device, $case)
    };
}

fn check_transforms(device: &Device, case: &Case) -> Result<(), TestCaseError> {
    let (a, b, c) = (case.sample(0), case.sample(1), case.sample(2));
    let reduced = naive::to_stored(&case.ring, &naive::to_plain(&case.ring, &a));
    let forward = |x: &[u8]| case.run(device, Op::Forward, &[x]);
    let inverse = |x: &[u8]| case.run(device, Op::Inverse, &[x]);
    let (fa, fb) = (forward(&a), forward(&b));
    same!(forward(&case.sum(&a, &b)), case.sum(&fa, &fb), case, device, "forward is additive");
    same!(inverse(&case.sum(&a, &b)), case.sum(&inverse(&a), &inverse(&b)), case, device, "inverse is additive");
    same!(inverse(&fa), reduced, case, device, "inverse undoes forward");
    same!(forward(&inverse(&a)), reduced, case, device, "forward undoes inverse");
    if !case.ends_high() {
        let product = case.run(device, Op::PointMul, &[&fa, &fb]);
        let added = case.run(device, Op::MulAdd, &[&fa, &fb, &c]);
        same!(added, case.sum(&product, &c), case, device, "mul_add adds a product");
        same!(inverse(&product), case.run(device, Op::Mul, &[&a, &b]), case, device, "values multiply as elements do");
    }
    check_impulse(device, case)
}

/// Checks the forward transform of x^k: modulo a leaf x^d − β it is β^⌊k/d⌋·x^(k mod d). Also checks that the leaves
/// multiply to the ring's polynomial f: each leaf divides f, and all leaves are distinct.
fn check_impulse(device: &Device, case: &Case) -> Result<(), TestCaseError> {
    let ring = &case.ring;
    let factorization = Factorization::of(ring, case.depth).map_err(|e| TestCaseError::fail(e.to_string()))?;
    let (n, d) = (factorization.poly().degree(), factorization.leaf_degree());
    let k = Random::new(case.seed).below(n);
    let mut element = vec![U256::ZERO; n * ring.basis().len()];
    let mut wanted = element.clone();
    let places = match case.order {
        Order::Natural => factorization.natural_places(),
        Order::DigitReversed => (0..factorization.leaves()).collect(),
    };
    for (row, q) in ring.basis().iter().enumerate() {
        element[row * n + k] = q.reduce(&U256::ONE);
        let constants: Vec<U256> =
            (0..factorization.leaves()).filter_map(|leaf| factorization.leaf_constant(row, leaf)).collect();
        for (beta, place) in constants.iter().zip(&places) {
            let power = |e: usize| q.pow(beta, &U256::from(e as u64));
            wanted[row * n + place * d + k % d] = power(k / d);
            let tail = ring.ring().quotient().tail(q);
            let tail = tail.iter().fold(U256::ZERO, |sum, (e, c)| q.add(&sum, &q.mul(c, &power(e / d))));
            same!(power(n / d), tail, case, device, "a leaf divides f");
        }
        let mut sorted = constants;
        sorted.sort_unstable();
        prop_assert!(sorted.windows(2).all(|pair| pair[0] != pair[1]), "two leaves are equal: {case:?}");
    }
    let values = case.run(device, Op::Forward, &[&naive::to_stored(ring, &element)]);
    same!(naive::to_plain(ring, &values), wanted, case, device, "an impulse has powers of the leaves' constants");
    Ok(())
}

fn check_products(device: &Device, case: &Case) -> Result<(), TestCaseError> {
    let (a, b, c) = (case.sample(0), case.sample(1), case.sample(2));
    let mul = |x: &[u8], y: &[u8]| case.run(device, Op::Mul, &[x, y]);
    let ab = mul(&a, &b);
    same!(ab, mul(&b, &a), case, device, "products commute");
    same!(mul(&ab, &c), mul(&a, &mul(&b, &c)), case, device, "products associate");
    same!(mul(&a, &case.sum(&b, &c)), case.sum(&ab, &mul(&a, &c)), case, device, "products distribute");
    let size = case.ring.bytes() * Random::new(case.seed).below(case.batch + 1);
    let halves = [mul(&a[..size], &b[..size]), mul(&a[size..], &b[size..])].concat();
    same!(ab, halves, case, device, "items do not depend on each other");
    Ok(())
}

fn check_oracle(device: &Device, case: &Case) -> Result<(), TestCaseError> {
    let ring = &case.ring;
    let (a, b) = (case.sample(0), case.sample(1));
    let plain = |bytes: &[u8]| naive::to_plain(ring, bytes);
    let wanted = naive::to_stored(ring, &naive::mul(ring, &plain(&a), &plain(&b)));
    same!(case.run(device, Op::Mul, &[&a, &b]), wanted, case, device, "products equal the oracle's");
    Ok(())
}

/// Checks random cases, determined by `RINGFORGE_SEED`. The CPU gets more cases, because it compiles nothing.
fn check_random(cases: impl Strategy<Value = Case>, check: impl Fn(&Device, &Case) -> Result<(), TestCaseError>) {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed().to_le_bytes());
    for device in devices() {
        let count = if device.limits().is_cpu() { 250 } else { 12 };
        let config = Config { cases: count, failure_persistence: None, ..Config::default() };
        let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &key));
        match runner.run(&cases, |case| check(&device, &case)) {
            Ok(()) => {}
            Err(TestError::Fail(why, case)) => panic!("{why}\nsmallest case: {case:?}"),
            Err(TestError::Abort(why)) => panic!("no cases: {why}"),
        }
    }
}

/// A function that gives a ring a random stored form that it supports (plain or Montgomery, reduced or any word). Often
/// the ring stays unchanged.
fn stored() -> impl Strategy<Value = fn(PolyType) -> PolyType> {
    fn montgomery(ring: PolyType) -> PolyType {
        ring.clone().with_form(Form::Montgomery).unwrap_or(ring)
    }
    let ways: [fn(PolyType) -> PolyType; 5] = [
        |ring| ring,
        montgomery,
        |ring| ring.with_form(Form::Plain).expect("a form of all"),
        |ring| ring.accepting_any_word(),
        |ring| montgomery(ring).accepting_any_word(),
    ];
    prop_oneof![3 => Just(ways[0]), 1 => Just(ways[1]), 1 => Just(ways[2]), 1 => Just(ways[3]), 1 => Just(ways[4])]
}

fn order() -> impl Strategy<Value = Order> {
    prop_oneof![Just(Order::DigitReversed), Just(Order::Natural)]
}

/// Rings that have an NTT: up to 3 primes of up to 256 bits with the required roots of unity. Degrees are 2^a·3^b·c
/// with c ≤ 8, or twice that for trinomials.
fn splitting() -> impl Strategy<Value = Case> {
    let shape = (0u32..4, 0u32..6, 0u32..3, 1u64..9);
    let bits = prop_oneof![
        4 => proptest::collection::vec(9u32..=64, 1..=3),
        1 => proptest::collection::vec(65u32..=256, 1..=1),
    ];
    let rest = (proptest::option::of(1u32..8), order(), 1usize..8, any::<u64>(), stored());
    (shape, bits, rest).prop_filter_map("no such ring", |((kind, twos, threes, base), bits, rest)| {
        let t = (1u64 << twos) * 3u64.pow(threes);
        let mut basis: Vec<Modulus> =
            bits.into_iter().filter_map(|bits| prime(bits, [1, 2, 6, 4][kind as usize] * t)).collect();
        basis.sort_unstable_by_key(Modulus::value);
        basis.dedup();
        let n = (t * base) as usize;
        let quotient = match kind {
            0 => Quotient::Cyclic { n },
            1 => Quotient::Negacyclic { n },
            2 => Quotient::Trinomial { n: 2 * n },
            _ => Quotient::Binomial { n, c: basis.first()?.root(4)? },
        };
        if kind == 3 {
            basis.truncate(1); // c is the right root of unity modulo the first prime only
        }
        let (depth, order, batch, seed, stored) = rest;
        let ring = stored(Ring::new(&basis, quotient).map(PolyType::from).ok()?);
        let depth = depth.filter(|_| Factorization::of(&ring, depth).is_ok());
        let high = Factorization::of(&ring, depth).ok()?.leaf_degree() > MAX_LEAF_DEGREE;
        let order = if high { Order::DigitReversed } else { order };
        Some(Case { ring, depth, order, batch, seed })
    })
}

/// Rings with an NTT whose evaluations can be multiplied.
fn multiplying() -> impl Strategy<Value = Case> {
    splitting().prop_map(|case| if case.ends_high() { Case { depth: None, ..case } } else { case })
}

/// Rings with any modulus of up to 256 bits and any quotient. If a ring has no NTT, its products use a larger NTT.
fn any_ring() -> impl Strategy<Value = Case> {
    let wide = (any::<[u64; 4]>(), 65u32..=256).prop_map(|(words, bits)| {
        let x = words.iter().fold(U256::ZERO, |x, &word| x.shl_vartime(64).bitor(&U256::from(word)));
        x.bitor(&U256::ONE.shl_vartime(255)).shr_vartime(256 - bits)
    });
    let modulus = prop_oneof![
        2 => (2u64..=70_000).prop_map(U256::from),
        2 => (2u64..=u64::MAX).prop_map(U256::from),
        2 => (1u32..256).prop_map(|bits| U256::ONE.shl_vartime(bits)),
        1 => prop_oneof![Just(u64::MAX.into()), Just(U256::MAX)],
        3 => wide,
    ];
    let term = (any::<prop::sample::Index>(), prop_oneof![-3i64..4, any::<i64>()]);
    let terms = proptest::collection::vec(term, 0..5);
    let rest = (1usize..6, any::<u64>(), stored());
    let parts = (proptest::collection::vec(modulus, 1..=2), 0u32..6, 1usize..80, terms, rest);
    parts.prop_filter_map("no such ring", |(moduli, kind, n, terms, (batch, seed, stored))| {
        let mut basis = moduli.into_iter().map(Modulus::new).collect::<Result<Vec<_>, _>>().ok()?;
        let terms: std::collections::BTreeMap<usize, i64> = terms.into_iter().map(|(k, c)| (k.index(n), c)).collect();
        let quotient = match kind {
            0 => Quotient::Cyclic { n },
            1 => Quotient::Negacyclic { n },
            2 => Quotient::Trinomial { n: 2 * n },
            3 => Quotient::PrimeTrinomial { p: n + 1 },
            _ => Quotient::Sparse { n, terms: terms.into_iter().collect() },
        };
        let ring = Ring::new(&basis, quotient.clone()).map(PolyType::from).or_else(|_| {
            basis.truncate(1);
            Ring::new(&basis, quotient).map(PolyType::from)
        });
        Some(Case { ring: stored(ring.ok()?), depth: None, order: Order::DigitReversed, batch, seed })
    })
}

#[test]
fn transforms_of_random_rings_keep_the_laws() {
    check_random(splitting(), check_transforms);
}

#[test]
fn products_of_random_rings_keep_the_laws() {
    check_random(prop_oneof![multiplying(), any_ring()], check_products);
}

#[test]
fn products_of_random_rings_equal_the_oracle() {
    check_random(prop_oneof![1 => multiplying(), 3 => any_ring()], check_oracle);
}

/// Transforms of few layers, as in the column transforms of an NTT over several devices, end at leaves of any degree.
#[test]
fn transforms_of_few_layers_end_at_any_degree() {
    let modulus = |bits, order| prime(bits, order).expect("a prime");
    let goldilocks = Modulus::new(0xffff_ffff_0000_0001u64).expect("a modulus");
    let rings = [
        Ring::cyclic(1 << 10, modulus(14, 1 << 10)).map(PolyType::from),
        Ring::negacyclic(1 << 12, modulus(30, 1 << 13)).map(PolyType::from),
        Ring::cyclic(1 << 12, modulus(31, 1 << 12)).map(PolyType::from),
        Ring::cyclic(1 << 11, modulus(50, 1 << 11)).map(PolyType::from),
        Ring::negacyclic(3 << 9, modulus(60, 3 << 10)).map(PolyType::from),
        Ring::cyclic(1 << 12, goldilocks).map(PolyType::from).map(|ring| ring.accepting_any_word()),
        Ring::cyclic(1 << 10, modulus(255, 1 << 10)).map(PolyType::from),
        Ring::cyclic(1 << 10, modulus(256, 1 << 10)).map(PolyType::from),
    ];
    for device in ringforge_testkit::devices() {
        for ring in &rings {
            let ring = ring.clone().expect("a ring");
            for layers in 1..=4 {
                let (depth, order) = (Some(layers), Order::DigitReversed);
                let case = Case { ring: ring.clone(), depth, order, batch: 3, seed: seed() };
                assert!(case.ends_high());
                check_transforms(&device, &case).unwrap_or_else(|e| panic!("{e}"));
                let factorization = Factorization::of(&ring, depth).expect("a factorization");
                let a = case.sample(0);
                let wanted = naive::forward(&ring, &factorization, order, &naive::to_plain(&ring, &a));
                let got = naive::to_plain(&ring, &case.run(&device, Op::Forward, &[&a]));
                assert!(got == wanted, "{ring}, {layers} layers on {device}");
                for op in [Op::Mul, Op::PointMul, Op::MulAdd] {
                    let plan = Planner::new(device.limits().clone()).plan(&case.job(op));
                    assert!(matches!(plan, Err(Error::Unsupported { .. })), "{op} of leaves of a high degree");
                }
                let natural = Planner::new(device.limits().clone()).plan(&case.job(Op::Forward).order(Order::Natural));
                assert!(matches!(natural, Err(Error::Unsupported { .. })), "leaves of a high degree have no order");
            }
        }
    }
}

/// Checks the laws at sizes that need several passes and blocks, which random cases do not reach.
#[test]
fn large_rings_keep_the_laws() {
    let modulus = |bits, order| prime(bits, order).expect("a prime");
    let rings = [
        Ring::trinomial(768, modulus(12, 1152)).map(PolyType::from),
        Ring::negacyclic(1 << 13, modulus(60, 1 << 14)).map(PolyType::from),
        Ring::cyclic(3 << 10, modulus(31, 3 << 10)).map(PolyType::from),
        Ring::cyclic(1 << 11, modulus(255, 1 << 11)).map(PolyType::from),
        Ring::rns(1 << 10, &[modulus(30, 1 << 11), modulus(29, 1 << 11)]).map(PolyType::from),
        Ring::prime_trinomial(761, modulus(13, 1)).map(PolyType::from),
        Ring::negacyclic(512, Modulus::new(8192u32).expect("a modulus")).map(PolyType::from),
    ];
    for device in devices() {
        for ring in &rings {
            let ring = ring.clone().expect("a ring");
            let case = Case { ring, depth: None, order: Order::Natural, batch: 3, seed: seed() };
            let splits = Factorization::of(&case.ring, None).is_ok();
            let transforms = if splits { check_transforms(&device, &case) } else { Ok(()) };
            transforms.and_then(|()| check_products(&device, &case)).unwrap_or_else(|e| panic!("{e}"));
        }
    }
}
