//! Rings of homomorphic encryption: x^n + 1 for n from 2^10 to 2^17, modulo the largest primes of each width. Reference
//! code in plain 128-bit arithmetic checks jobs by evaluation at powers of a root ψ of x^n + 1. All other devices must
//! agree with the CPU bit for bit.

use rayon::prelude::*;
use ringforge::{Device, Job, Modulus, Op, Order, PolyType, Quotient, Ring, U256};
use ringforge_testkit::{Random, Target, seed};

/// The number of modular products that the reference code may use for a ring. If this is too few for all positions of
/// each limb, only some positions are checked.
const FEW_PRODUCTS: usize = 1 << 22;

fn mul(q: u64, a: u64, b: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(q)) as u64
}

fn add(q: u64, a: u64, b: u64) -> u64 {
    ((u128::from(a) + u128::from(b)) % u128::from(q)) as u64
}

fn pow(q: u64, a: u64, e: u64) -> u64 {
    (0..64).rev().fold(1, |power, bit| {
        let square = mul(q, power, power);
        if e >> bit & 1 == 1 { mul(q, square, a) } else { square }
    })
}

/// ψ, ψ^3, ψ^5, …: all n roots of x^n + 1, if ψ is one of them.
fn odd_powers(q: u64, n: usize, psi: u64) -> Vec<u64> {
    let square = mul(q, psi, psi);
    std::iter::successors(Some(psi), |x| Some(mul(q, *x, square))).take(n).collect()
}

/// All roots of x^n + 1 modulo q, as odd powers of the first root that a search finds.
fn roots(q: &Modulus, n: usize) -> Vec<u64> {
    let q = value(q);
    let powers = (2..q).map(|x| pow(q, x, (q - 1) / (2 * n as u64)));
    let psi = powers.into_iter().find(|psi| pow(q, *psi, n as u64) == q - 1);
    odd_powers(q, n, psi.expect("a prime that is 1 modulo 2n"))
}

fn value(q: &Modulus) -> u64 {
    q.value_u64().expect("up to 64 bits")
}

/// The largest primes of these widths that are 1 modulo 2n.
fn primes(n: usize, widths: &[u32]) -> Vec<Modulus> {
    widths.iter().flat_map(|bits| Modulus::ntt_primes(2 * n as u64, *bits, 1).expect("a prime")).collect()
}

/// The contents of one limb of an input.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    /// q − 1 for every coefficient.
    Largest,
    Random,
    /// q − 1 for the last coefficient, else 0.
    Impulse,
    Zero,
}

/// A limb of an item: its modulus q, its inputs a and b, its output, and the positions to check (`places`).
struct Row<'a> {
    kind: Kind,
    q: u64,
    /// The odd powers of ψ, by ascending exponent.
    x: &'a [u64],
    a: &'a [u64],
    b: &'a [u64],
    out: &'a [u64],
    places: &'a [usize],
}

impl Row<'_> {
    fn n(&self) -> usize {
        self.a.len()
    }

    /// The evaluation point at position `place` of this order.
    fn point(&self, order: Order, place: usize) -> u64 {
        let bits = self.n().trailing_zeros();
        self.x[if order == Order::Natural { place } else { place.reverse_bits() >> (usize::BITS - bits) }]
    }

    /// True if `values` are the evaluations of `coefficients` at the positions in `places`; ignores other positions.
    fn are_values(&self, order: Order, coefficients: &[u64], values: &[u64]) -> bool {
        self.places.iter().all(|&place| {
            let x = self.point(order, place);
            values[place] == coefficients.iter().rev().fold(0, |sum, c| add(self.q, mul(self.q, sum, x), *c))
        })
    }

    /// True if `out` is the forward transform of a.
    fn is_forward(&self, order: Order) -> bool {
        let q = self.q;
        let at_all = |right: &dyn Fn(u64, u64) -> bool| {
            self.out.iter().enumerate().all(|(place, v)| right(self.point(order, place), *v))
        };
        self.are_values(order, self.a, self.out)
            && match self.kind {
                // the evaluation is −(x^n − 1)/(x − 1), with x^n = −1
                Kind::Largest => at_all(&|x, v| mul(q, v, x - 1) == 2),
                // the evaluation is −x^(n−1) = 1/x
                Kind::Impulse => at_all(&|x, v| mul(q, v, x) == 1),
                Kind::Zero => at_all(&|_, v| v == 0),
                Kind::Random => true,
            }
    }

    /// True if `out` is the inverse transform of a.
    fn is_inverse(&self, order: Order) -> bool {
        let (q, n) = (self.q, self.n());
        self.are_values(order, self.out, self.a)
            && match self.kind {
                Kind::Largest => self.out[0] == q - 1 && self.out[1..].iter().all(|c| *c == 0),
                // with the last evaluation point x, coefficient j is −x^−j/n = x^(n−j)/n
                Kind::Impulse => {
                    let x = self.point(order, n - 1);
                    let powers = std::iter::successors(Some(x), |power| Some(mul(q, *power, x)));
                    self.out.iter().rev().zip(powers).all(|(c, power)| mul(q, *c, n as u64) == power)
                }
                Kind::Zero => self.out.iter().all(|c| *c == 0),
                Kind::Random => true,
            }
    }

    /// True if `out` is the product a·b in the ring.
    fn is_product(&self) -> bool {
        let Self { kind, q, a, b, out, .. } = *self;
        let n = self.n();
        let schoolbook = |place: usize| {
            let (low, high) = (b[..=place].iter().rev(), b[place + 1..].iter().rev().map(|b| q - b));
            let terms = a.iter().zip(low.copied().chain(high));
            out[place] == terms.fold(0, |sum, (a, b)| add(q, sum, mul(q, *a, b)))
        };
        self.places.iter().all(|place| schoolbook(*place))
            && match kind {
                // the product is (1 + x + …)^2: coefficient j − 1 sums j terms below x^n, and n − j terms that wrap
                // around with a minus sign
                Kind::Largest => out.iter().zip(1..).all(|(c, j)| *c == (2 * j + q - n as u64) % q),
                // a is −x^(n−1) = 1/x
                Kind::Impulse => out[n - 1] == (q - b[0]) % q && out[..n - 1] == b[1..],
                Kind::Zero => out.iter().all(|c| *c == 0),
                Kind::Random => true,
            }
    }

    /// True if `out` is `right` applied to each pair of residues of a and b.
    fn is_each(&self, right: impl Fn(u64, u64) -> u64) -> bool {
        self.a.iter().zip(self.b).zip(self.out).all(|((a, b), out)| *out == right(*a, *b))
    }
}

/// A ring and devices. The reference code checks the first device; the other devices are compared with the first.
struct Case {
    ring: PolyType,
    devices: Vec<Device>,
    batch: usize,
    /// For each modulus, the odd powers of its ψ.
    points: Vec<Vec<u64>>,
    places: Vec<usize>,
    seed: u64,
}

impl Case {
    /// A case for this ring. For each modulus, ψ is the root that the ring names, or else the smallest root.
    fn new(ring: Result<PolyType, ringforge::Error>, targets: &[Target]) -> Self {
        let ring = ring.expect("a ring");
        let (n, rows) = (ring.degree(), ring.basis().len());
        let psi = |(i, q): (usize, &Modulus)| match ring.ring().roots().get(i) {
            Some(named) => Some(named.as_words()[0]),
            None => roots(q, n).into_iter().min(),
        };
        let psi: Vec<_> = ring.moduli().par_iter().enumerate().map(|modulus| psi(modulus).expect("a root")).collect();
        let points =
            ring.basis().iter().zip(ring.limb_moduli()).map(|(q, &i)| odd_powers(value(q), n, psi[i])).collect();
        let mut random = Random::new(seed());
        let places = if rows * n * n <= FEW_PRODUCTS {
            (0..n).collect()
        } else {
            [0, 1, n / 2, n - 1].into_iter().chain((0..2).map(|_| random.below(n))).collect()
        };
        let devices = targets.iter().filter_map(|target| target.device()).collect();
        let batch = if rows < 4 { 4 } else { 2 };
        Self { ring, devices, batch, points, places, seed: random.bits() }
    }

    fn kind(&self, row: usize) -> Kind {
        let rows = self.points.len();
        [Kind::Largest, Kind::Random, Kind::Impulse, Kind::Zero][(row / rows + row % rows) % 4]
    }

    /// A batch of operands. Its limbs are of every `Kind` if `every_kind`, else only largest and random ones (used for
    /// the second operand).
    fn input(&self, number: u64, every_kind: bool) -> Vec<u64> {
        let mut random = Random::new(self.seed ^ number);
        let (n, basis) = (self.ring.degree(), self.ring.basis());
        let mut words = vec![0; self.batch * basis.len() * n];
        for (i, row) in words.chunks_exact_mut(n).enumerate() {
            let q = value(&basis[i % basis.len()]);
            match self.kind(i) {
                Kind::Largest => row.fill(q - 1),
                Kind::Impulse if every_kind => row[n - 1] = q - 1,
                Kind::Zero if every_kind => {}
                _ => row.fill_with(|| random.bits() % q),
            }
        }
        words
    }

    /// Runs a job, checks that all devices agree, and checks the result of the first device with the reference code.
    fn check(&self, job: &Job, inputs: &[&[u64]], right: impl Fn(&Row<'_>) -> bool + Sync) -> Vec<u64> {
        let size = self.ring.width().bytes();
        let bytes = |words: &&[u64]| words.iter().flat_map(|word| word.to_le_bytes().into_iter().take(size)).collect();
        let stored: Vec<Vec<u8>> = inputs.iter().map(bytes).collect();
        let stored: Vec<&[u8]> = stored.iter().map(|bytes| &bytes[..]).collect();
        let run = |device: &Device| ringforge_testkit::run(device, job, self.batch, &stored);
        let found = run(&self.devices[0]);
        for device in &self.devices[1..] {
            assert!(run(device) == found, "{job} on {device}, RINGFORGE_SEED={}", seed());
        }
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        let out: Vec<u64> = found.chunks_exact(size).map(word).collect();
        let (n, rows) = (self.ring.degree(), self.points.len());
        assert_eq!(out.len(), self.batch * rows * n);
        out.par_chunks_exact(n).enumerate().for_each(|(i, out)| {
            let of = |input: usize| &inputs[input.min(inputs.len() - 1)][i * n..][..n];
            let (kind, q, x) = (self.kind(i), value(&self.ring.basis()[i % rows]), &*self.points[i % rows]);
            let row = Row { kind, q, x, a: of(0), b: of(1), out, places: &self.places };
            assert!(right(&row), "{job} on {}, row {i}, {kind:?}, RINGFORGE_SEED={}", self.devices[0], seed());
        });
        out
    }

    fn check_all(&self, orders: &[Order]) {
        let job = |op, order| Job::new(&self.ring, op).order(order);
        let (a, b) = (self.input(0, true), self.input(1, false));
        for &order in orders {
            let values = self.check(&job(Op::Forward, order), &[&a], |row| row.is_forward(order));
            let coefficients = self.check(&job(Op::Inverse, order), &[&a], |row| row.is_inverse(order));
            let in_place = |op, from: &[u64], to: &[u64]| {
                assert!(self.check(&job(op, order).in_place(), &[from], |_| true) == to, "{op} {:?}", self.ring);
            };
            in_place(Op::Forward, &a, &values);
            in_place(Op::Inverse, &values, &a);
            in_place(Op::Forward, &coefficients, &a);
        }
        let order = orders[0];
        self.check(&job(Op::PointMul, order), &[&a, &b], |row| row.is_each(|a, b| mul(row.q, a, b)));
        self.check(&job(Op::MulAdd, order), &[&a, &b, &a], |row| row.is_each(|a, b| add(row.q, a, mul(row.q, a, b))));
        self.check(&job(Op::Mul, order), &[&a, &b], |row| row.is_product());
    }
}

const BOTH: [Order; 2] = [Order::DigitReversed, Order::Natural];
const EVERY: [Target; 3] = [Target::Cpu, Target::Emulator, Target::Cuda];
const FAST: [Target; 2] = [Target::Cpu, Target::Cuda];
/// Bit widths at the limits of the arithmetics (62, 50 and 30 bits) and at the limits of lazy residues.
const WIDTHS: [u32; 8] = [62, 61, 60, 51, 50, 49, 32, 30];

#[test]
fn the_shortest_and_the_longest_rings() {
    let cases: Vec<_> = [10, 17].into_iter().flat_map(|log| WIDTHS.map(|bits| (log, bits))).collect();
    cases.into_par_iter().for_each(|(log, bits)| {
        let n = 1 << log;
        Case::new(Ring::rns(n, &primes(n, &[bits])).map(PolyType::from), &FAST).check_all(&BOTH);
    });
}

#[test]
fn the_rings_between() {
    let cases = (12..=16).into_par_iter().flat_map(|log| [(log, 62 - log % 3), (log, 49 + log % 2)]);
    cases.for_each(|(log, bits)| {
        let n = 1 << log;
        Case::new(Ring::rns(n, &primes(n, &[bits])).map(PolyType::from), &FAST).check_all(&BOTH);
    });
}

#[test]
fn the_source_of_short_rings() {
    let short = [vec![62], vec![61], vec![50], vec![32], vec![62, 60, 50, 30]].map(|widths| (10, widths));
    let cases: Vec<_> = short.into_iter().chain([(11, vec![60]), (11, vec![49])]).collect();
    cases.into_par_iter().for_each(|(log, widths)| {
        let n = 1 << log;
        Case::new(Ring::rns(n, &primes(n, &widths)).map(PolyType::from), &EVERY).check_all(&BOTH[log - 10..][..1]);
    });
}

#[test]
fn sixty_four_moduli() {
    let ring = |n: usize, bits| {
        Ring::rns(n, &Modulus::ntt_primes(2 * n as u64, bits, 64).expect("so many primes")).map(PolyType::from)
    };
    Case::new(ring(1 << 10, 62), &EVERY).check_all(&BOTH[..1]);
    Case::new(ring(1 << 12, 60), &FAST).check_all(&BOTH);
    if Target::Cuda.device().is_some() {
        Case::new(ring(1 << 16, 60), &FAST).check_all(&BOTH[..1]);
        Case::new(ring(1 << 16, 50), &FAST).check_all(&BOTH[1..]);
    }
}

#[test]
fn rows_of_mapped_moduli_by_named_roots() {
    for (log, targets) in [(10, &EVERY[..]), (13, &FAST), (16, &FAST)] {
        let n = 1 << log;
        let moduli = primes(n, &[62, 60, 61]);
        let ring = Ring::new(&moduli, Quotient::Negacyclic { n }).expect("a ring");
        // names the largest root, which is neither the smallest nor the first root found by the search
        let largest = |q| U256::from(*roots(q, n).iter().max().expect("a root"));
        let named: Vec<U256> = ring.basis().iter().map(largest).collect();
        let rows = ring.with_roots(&named).and_then(|ring| PolyType::from(ring).with_limbs(&[2, 0, 1, 0, 2]));
        Case::new(rows, targets).check_all(&BOTH[..1]);
    }
}
