//! Products via a larger NTT, and CRT composition of RNS limbs, compared with slow reference code and big integers.
use num_bigint::BigUint;
use ringforge::factorization::Factorization;
use ringforge::{Device, Error, Job, Limits, Modulus, Op, Planner, PolyType, Quotient, Ring, U256};
use ringforge_testkit::naive;

/// A function that fills operands: the residue modulo q of the coefficient with this index.
type Fill = fn(&Modulus, u64) -> U256;

fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

fn number(below: u64, i: u64) -> u64 {
    mix(i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15)) % below
}

fn random(q: &Modulus, i: u64) -> U256 {
    let words = (0..4).map(|word| U256::from(number(u64::MAX, i << 2 | word)));
    q.reduce(&words.fold(U256::ZERO, |x, word| x.shl_vartime(64).bitor(&word)))
}

/// The largest centred residue modulo q, for every coefficient.
fn highest(q: &Modulus, _: u64) -> U256 {
    q.value().shr_vartime(1)
}

/// The smallest centred residue modulo q, for every coefficient.
fn lowest(q: &Modulus, i: u64) -> U256 {
    q.add(&q.reduce(&highest(q, i)), &q.reduce_i64(1))
}

/// The largest or the smallest centred residue modulo q, at random.
fn extreme(q: &Modulus, i: u64) -> U256 {
    if number(2, i) == 0 { highest(q, i) } else { lowest(q, i) }
}

fn modulus(q: u64) -> Modulus {
    Modulus::new(q).unwrap()
}

fn elements(ring: &PolyType, batch: usize, seed: u64, fill: Fill) -> Vec<U256> {
    let n = ring.degree();
    let rows = ring.basis().len();
    let values = (0..batch * rows * n).map(|i| fill(&ring.basis()[i / n % rows], (seed << 32) + i as u64));
    values.collect()
}

fn check_job(job: &Job, batch: usize, a: &[U256], b: &[U256]) {
    let ring = &job.poly;
    let plan = Planner::default().plan(job).unwrap();
    let lifted = plan.kernels().next().unwrap().name().starts_with("lift_");
    assert_eq!(lifted, Factorization::of(ring, None).is_err(), "{plan}");
    let program = Device::cpu().compile(&plan).unwrap();
    let (left, right) = (naive::to_stored(ring, a), naive::to_stored(ring, b));
    let mut out = vec![0xa5u8; left.len()];
    program.on_host(batch).input("a", &left).input("b", &right).output("product", &mut out).run().unwrap();
    let size = ring.basis().len() * ring.degree();
    let expected: Vec<U256> = a.chunks(size).zip(b.chunks(size)).flat_map(|(a, b)| naive::mul(ring, a, b)).collect();
    assert!(naive::to_plain(ring, &out) == expected, "{plan}");
}

fn check(ring: &PolyType, batch: usize) {
    let job = Job::new(ring, Op::Mul);
    check_job(&job, batch, &elements(ring, batch, 1, random), &elements(ring, batch, 2, random));
    for (left, right) in [(highest as Fill, highest as Fill), (highest, lowest), (lowest, lowest), (extreme, extreme)] {
        check_job(&job, 1, &elements(ring, 1, 3, left), &elements(ring, 1, 4, right));
    }
}

fn sparse(q: u64, n: usize, terms: &[(usize, i64)]) -> PolyType {
    PolyType::from(Ring::new(&[modulus(q)], Quotient::Sparse { n, terms: terms.to_vec() }).unwrap())
}

#[test]
fn powers_of_two() {
    check(&PolyType::from(Ring::negacyclic(256, modulus(1024)).unwrap()), 3);
    check(&PolyType::from(Ring::negacyclic(256, modulus(8192)).unwrap()), 2);
    check(&PolyType::from(Ring::cyclic(384, modulus(1 << 16)).unwrap()), 1);
    check(&PolyType::from(Ring::trinomial(96, modulus(2048)).unwrap()), 2);
    check(&PolyType::from(Ring::cyclic(509, modulus(2048)).unwrap()), 1);
}

#[test]
fn prime_trinomials() {
    for (p, q) in [(653, 4621), (761, 4591), (1277, 7879)] {
        let ring = PolyType::from(Ring::prime_trinomial(p, modulus(q)).unwrap());
        let job = Job::new(&ring, Op::Mul);
        check_job(&job, 1, &elements(&ring, 1, 1, random), &elements(&ring, 1, 2, random));
        check_job(&job, 1, &elements(&ring, 1, 1, extreme), &elements(&ring, 1, 2, extreme));
    }
}

#[test]
fn every_kind_of_modulus() {
    let moduli = [
        2,
        3,
        6,
        4591,
        1 << 30,
        1 << 32,
        (1 << 63) - 1,
        1 << 63,
        (1 << 63) + 29,
        u64::MAX - 58,
        u64::MAX - 1,
        u64::MAX,
    ];
    for q in moduli {
        for n in [24, 37] {
            check(&PolyType::from(Ring::negacyclic(n, modulus(q)).unwrap()), 1);
            check(&PolyType::from(Ring::cyclic(n, modulus(q)).unwrap()), 1);
            check(&PolyType::from(Ring::prime_trinomial(n, modulus(q)).unwrap()), 1);
            check(&sparse(q, n, &[(0, 3), (1, -7), (n - 4, i64::MAX), (n - 3, i64::MIN)]), 1);
        }
        check(&PolyType::from(Ring::trinomial(48, modulus(q)).unwrap()), 1);
        check(&PolyType::from(Ring::trinomial(26, modulus(q)).unwrap()), 1);
    }
}

#[test]
fn degrees_that_do_not_split() {
    check(&PolyType::from(Ring::negacyclic(257, modulus(65537)).unwrap()), 2);
    check(&PolyType::from(Ring::negacyclic(263, modulus(3329)).unwrap()), 1);
}

#[test]
fn any_sparse_quotient() {
    let dense: Vec<(usize, i64)> = (0..40).map(|k| (k, k as i64 * 31 - 600)).collect();
    for q in [2, 1024, 4591, 1 << 40, u64::MAX] {
        check(&sparse(q, 40, &dense), 2);
        check(&sparse(q, 41, &dense), 1);
        check(&sparse(q, 90, &dense), 1);
        check(&sparse(q, 40, &[(39, -1)]), 1);
        check(&sparse(q, 40, &[(39, 1), (0, 1)]), 1);
        check(&sparse(q, 40, &[]), 1);
        check(&sparse(q, 40, &[(1, 2)]), 1);
        check(&sparse(q, 61, &[(30, 1), (17, -1), (0, -1)]), 3);
    }
}

#[test]
fn tiny_degrees() {
    for q in [4, 1 << 20, 1 << 50, u64::MAX] {
        for n in [1, 2, 3] {
            for c in [0u64, 1, 3, q - 1, q / 2] {
                check(
                    &PolyType::from(Ring::new(&[modulus(q)], Quotient::Binomial { n, c: U256::from(c) }).unwrap()),
                    5,
                );
            }
            check(&PolyType::from(Ring::negacyclic(n, modulus(q)).unwrap()), 3);
        }
        check(&PolyType::from(Ring::prime_trinomial(2, modulus(q)).unwrap()), 1);
        check(&PolyType::from(Ring::trinomial(2, modulus(q)).unwrap()), 1);
        check(&sparse(q, 2, &[(1, 3), (0, -5)]), 3);
    }
}

#[test]
fn rows_of_a_basis() {
    let basis: Vec<Modulus> = [1024, 4591, (1 << 61) - 1].map(modulus).to_vec();
    let terms = vec![(0, 5), (29, 1)];
    for quotient in [
        Quotient::Negacyclic { n: 48 },
        Quotient::Negacyclic { n: 37 },
        Quotient::Trinomial { n: 24 },
        Quotient::PrimeTrinomial { p: 31 },
        Quotient::Sparse { n: 30, terms },
    ] {
        check(&PolyType::from(Ring::new(&basis, quotient.clone()).unwrap()), 3);
        check(&PolyType::from(Ring::new(&basis[..2], quotient.clone()).unwrap()), 2);
        check(&PolyType::from(Ring::new(&basis, quotient).unwrap()).with_limbs(&[1, 2, 1]).unwrap(), 2);
    }
}

#[test]
fn bounds_save_primes() {
    let ring = PolyType::from(Ring::negacyclic(64, modulus(1 << 60)).unwrap());
    let primes = |job: &Job| -> usize {
        let plan = Planner::default().plan(job).unwrap();
        // for example "mod … <-> …, 5 primes"
        let about = plan.kernels().next().unwrap().describe();
        about.split(", ").find_map(|part| part.split_once(" prime")?.0.parse().ok()).unwrap_or(0)
    };
    assert_eq!(primes(&Job::new(&ring, Op::Mul)), 5);
    assert_eq!(primes(&Job::new(&ring, Op::Mul).bounds(1 << 40, 1)), 2);
    let small = Job::new(&ring, Op::Mul).bounds(1000, 3000);
    assert_eq!(primes(&small), 1);
    fn at(bound: u64, q: &Modulus, i: u64) -> U256 {
        if number(2, i) == 0 { U256::from(bound) } else { q.neg(&U256::from(bound)) }
    }
    let (left, right): (Fill, Fill) = (|q, i| at(1000, q, i), |q, i| at(3000, q, i));
    check_job(&small, 2, &elements(&ring, 2, 1, left), &elements(&ring, 2, 2, right));
    let (left, right): (Fill, Fill) = (|_, _| U256::from(1000u32), |q, _| q.neg(&U256::from(3000u32)));
    check_job(&small, 1, &elements(&ring, 1, 1, left), &elements(&ring, 1, 2, right));
    // bounds of 0 allow only zero operands; there is a plan nevertheless
    check_job(&Job::new(&ring, Op::Mul).bounds(0, 0), 1, &vec![U256::ZERO; 64], &vec![U256::ZERO; 64]);
}

/// The residue whose Montgomery form is x. Products via a larger NTT work on stored residues, so the stored form of a
/// test operand must be extreme.
fn stored(q: &Modulus, x: U256) -> U256 {
    q.from_montgomery(&x).unwrap_or(x)
}

#[test]
fn large_moduli() {
    let digits = [
        "10000000000000001",
        "1000000000000000000",
        "20000000000000000000000000000000000000000001",
        "ffffffffffffffffffffffffffffffff00000000000000000000000000000000",
        "8000000000000000000000000000000000000000000000000000000000000000",
        "fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff3c1",
        "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    ];
    for q in digits.map(|digits| Modulus::from_hex(digits).unwrap()) {
        let binomial = |n, c| Ring::new(&[q], Quotient::Binomial { n, c }).map(PolyType::from);
        let sparse = |n, terms: &[(usize, i64)]| {
            Ring::new(&[q], Quotient::Sparse { n, terms: terms.to_vec() }).map(PolyType::from)
        };
        let rings = [
            Ring::prime_trinomial(37, q).map(PolyType::from),
            Ring::negacyclic(24, q).map(PolyType::from),
            Ring::trinomial(26, q).map(PolyType::from),
            binomial(13, q.value().shr_vartime(2)),
            sparse(31, &[(0, 3), (1, -7), (27, i64::MAX), (28, i64::MIN)]),
            sparse(20, &[(19, -1), (0, 1)]),
            sparse(3, &[]),
            Ring::new(&[q, modulus(3)], Quotient::PrimeTrinomial { p: 17 })
                .map(PolyType::from)
                .or_else(|_| Ring::new(&[q, modulus(4)], Quotient::PrimeTrinomial { p: 17 }).map(PolyType::from))
                .or_else(|_| Ring::prime_trinomial(2, q).map(PolyType::from)),
        ];
        for ring in rings.map(|ring| ring.unwrap()) {
            check(&ring, 1);
            let job = Job::new(&ring, Op::Mul);
            let extremes = elements(&ring, 2, 5, |q, i| stored(q, extreme(q, i)));
            let (a, b) = extremes.split_at(extremes.len() / 2);
            check_job(&job, 1, a, b);
            let high = elements(&ring, 1, 6, |q, i| stored(q, highest(q, i)));
            check_job(&job, 1, &high, &high);
        }
    }
    let q = Modulus::from_hex("10000000000000001").unwrap();
    let plan = Planner::default().plan(&Job::new(Ring::prime_trinomial(7, q).unwrap(), Op::Compose));
    assert!(matches!(plan, Err(Error::Unsupported { .. })), "{plan:?}");
}

/// Extension fields of small degree that proof systems use, such as x^4 − 11 over BabyBear's field and x^2 − 7 over
/// Goldilocks, have a single leaf.
#[test]
fn small_extensions_multiply_in_one_leaf() {
    for (q, n, c, leaf) in [(0x7800_0001, 4, 11u32, 4), (0xffff_ffff_0000_0001, 2, 7, 2), (0x7800_0001, 8, 11, 8)] {
        let ring = PolyType::from(Ring::new(&[modulus(q)], Quotient::Binomial { n, c: U256::from(c) }).unwrap());
        assert_eq!(Factorization::of(&ring, None).unwrap().leaf_degree(), leaf);
        check(&ring, 3);
    }
}

/// Plans for these rings are fast: no roots of their constants are searched for, which could take minutes or never end.
#[test]
fn roots_of_constants_are_not_searched_for() {
    let p224 = "0xffffffffffffffffffffffffffffffff000000000000000000000001";
    for ring in ["18446744069414584321:x^2-9668162425460973202", "2013265921:x^64-5", &format!("{p224}:x^16-1234567")] {
        check(&ring.parse().unwrap(), 1);
    }
}

/// On a GPU, limbs that do not fit shared memory are reduced modulo f in device memory, for any length.
#[test]
fn folding_in_rounds_in_device_memory() {
    let limits = Limits::of_capability(90);
    for (n, steps) in [(1000, 1), (200_000, 2)] {
        let ring = sparse(4591, n, &[(n - 1, 1), (0, 1)]);
        let plan = Planner::new(limits.clone()).plan(&Job::new(&ring, Op::Mul)).unwrap();
        let names: Vec<_> = plan.kernels().map(|kernel| kernel.name()).collect();
        assert!(names.ends_with(&["lift_store", "lift_fold"][2 - steps..]), "{plan}");
        assert_eq!(names.contains(&"lift_store"), steps == 2, "{plan}");
        plan.kernels().for_each(|kernel| drop(kernel.source(&limits).unwrap()));
    }
    // the product before reduction would be longer than a ring can be
    let ring = PolyType::from(Ring::prime_trinomial(1 << 28, modulus(4591)).unwrap());
    let plan = Planner::default().plan(&Job::new(&ring, Op::Mul));
    assert!(matches!(plan, Err(Error::Unsupported { .. })), "{plan:?}");
}

fn check_compose(moduli: &[u64], n: usize, batch: usize, kind: fn(u64) -> u64) {
    let moduli: Vec<Modulus> = moduli.iter().copied().map(modulus).collect();
    let ring = PolyType::from(Ring::new(&moduli, Quotient::Cyclic { n }).unwrap());
    let plan = Planner::default().plan(&Job::new(&ring, Op::Compose)).unwrap();
    let program = Device::cpu().compile(&plan).unwrap();
    let big = |q: &Modulus| BigUint::from(q.value_u64().unwrap());
    let product: BigUint = moduli.iter().map(big).product();
    let limbs = product.bits().div_ceil(64) as usize;
    let digits = |i: usize| match kind(i as u64) {
        0 => BigUint::ZERO,
        1 => product.clone() - 1u32,
        2 => product.clone() >> (number(u64::MAX, i as u64) % (product.bits() + 1)),
        _ => (0..2 * limbs).fold(BigUint::ZERO, |x, l| (x << 32) + number(1 << 32, (l + i * 99) as u64)) % &product,
    };
    let integers: Vec<BigUint> = (0..batch * n).map(digits).map(|x| x % &product).collect();
    let residues = integers.chunks(n).flat_map(|item| {
        moduli.iter().flat_map(|q| item.iter().map(|x| (x % big(q)).to_u64_digits().first().copied().unwrap_or(0)))
    });
    let input = naive::to_stored(&ring, &residues.map(U256::from).collect::<Vec<_>>());
    let mut out = vec![u64::MAX; batch * n * limbs];
    program.on_host(batch).input("from", &input).output("to", &mut out).run().unwrap();
    for (limbs, x) in out.chunks(limbs).zip(&integers) {
        let mut expected = x.to_u64_digits();
        expected.resize(limbs.len(), 0);
        assert_eq!(limbs, expected, "{moduli:?}");
    }
}

/// The `count` largest primes below 2^bits.
fn primes_below(bits: u32, count: usize) -> Vec<u64> {
    let top = u64::MAX >> (64 - bits);
    (0..).map(|i| top - i).filter(|&q| modulus(q).is_prime()).take(count).collect()
}

#[test]
fn integers_from_rows() {
    for kind in [|i| number(4, i), |_| 0, |_| 1, |_| 2, |_| 3] as [fn(u64) -> u64; 5] {
        for moduli in [&[2][..], &[1024], &[u64::MAX], &[3, 2], &[1 << 63, u64::MAX], &[4591, 1 << 16, 7681]] {
            check_compose(moduli, 5, 3, kind);
        }
        check_compose(&primes_below(64, 2), 7, 2, kind);
        check_compose(&primes_below(64, 64), 3, 2, kind);
        check_compose(&primes_below(30, 64), 2, 3, kind);
        let mut mixed = primes_below(62, 10);
        mixed.extend([1 << 40, 3, 5]);
        check_compose(&mixed, 64, 1, kind);
    }
}
