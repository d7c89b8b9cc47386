//! Conversions between integers and RNS limbs, and between bases, on every device, compared with big integers.

use num_bigint::BigUint;
use ringforge::{Device, Job, Modulus, Op, PolyType, Quotient, Ring, U256};
use ringforge_testkit::naive;
use ringforge_testkit::run;
use ringforge_testkit::{Random, Target, bytes, seed};

fn modulus(q: u64) -> Modulus {
    Modulus::new(q).expect("a modulus")
}

fn primes(bits: u32, count: usize) -> Vec<Modulus> {
    Modulus::ntt_primes(2, bits, count).expect("so many primes")
}

fn big(q: &Modulus) -> BigUint {
    BigUint::from_bytes_le(q.value().to_le_bytes().as_ref())
}

/// A ring, the product Q of its moduli, and the number of 64-bit words of an integer below Q.
struct Basis {
    ring: PolyType,
    product: BigUint,
    limbs: usize,
}

impl Basis {
    fn new(moduli: &[Modulus], n: usize) -> Self {
        Self::of(PolyType::from(Ring::new(moduli, Quotient::Cyclic { n }).expect("a ring")))
    }

    fn of(ring: PolyType) -> Self {
        let moduli = ring.basis();
        let product: BigUint = moduli.iter().map(big).product();
        let limbs = product.bits().div_ceil(64) as usize;
        Self { ring, product, limbs }
    }

    /// The weight Q/q of a modulus q, where Q is the product of all moduli.
    fn weight(&self, q: &Modulus) -> BigUint {
        &self.product / big(q)
    }

    /// The digit x·(Q/q)^-1 mod q of the fast base conversion, where Q is the product of all moduli.
    fn digit(&self, q: &Modulus, x: &BigUint) -> BigUint {
        let q_big = big(q);
        let weight = U256::from_le_slice(&bytes_of(&(self.weight(q) % &q_big), 4));
        let inverse = BigUint::from_bytes_le(q.inverse(&weight).expect("coprime moduli").to_le_bytes().as_ref());
        x % &q_big * inverse % q_big
    }

    /// Integers below Q, the product of the moduli: edge cases of every operation first, then random ones of random
    /// sizes.
    fn integers(&self, seed: u64, count: usize) -> Vec<BigUint> {
        let q = &self.product;
        let one = BigUint::from(1u32);
        // every digit of the fast conversion at its largest, which maximises the multiple of Q by which the result is
        // too large
        let weights: BigUint = self.ring.basis().iter().map(|p| self.weight(p)).sum();
        let most = q * self.ring.basis().len() as u64 - weights;
        let mut edges = vec![BigUint::ZERO, one.clone(), q - &one, q / 2u32, q / 2u32 + &one, most];
        edges.extend([(q + &one) / 2u32, big(&self.ring.basis()[0])]);
        let mut random = Random::new(seed);
        edges.extend(
            core::iter::repeat_with(|| {
                let x = (0..=self.limbs).fold(BigUint::ZERO, |x, _| (x << 64) + random.bits()) % q;
                if random.below(3) == 0 { x >> random.below(q.bits() as usize + 1) } else { x }
            })
            .take(count),
        );
        edges.truncate(count);
        edges.into_iter().map(|x| x % q).collect()
    }

    /// The residues of these integers, in the stored form, as elements with consecutive limbs.
    fn rows(&self, integers: &[BigUint]) -> Vec<u8> {
        let plain = integers.chunks(self.ring.degree()).flat_map(|element| {
            let row = |q: &Modulus| element.iter().map(|x| x % big(q)).collect::<Vec<_>>();
            self.ring.basis().iter().flat_map(row).collect::<Vec<_>>()
        });
        let plain: Vec<U256> = plain.map(|x| U256::from_le_slice(&bytes_of(&x, 4))).collect();
        naive::to_stored(&self.ring, &plain)
    }

    /// The residues of these integers as inputs: those of `rows`, plus random multiples of q if the ring accepts any
    /// word.
    fn inputs(&self, integers: &[BigUint]) -> Vec<u8> {
        let (ring, size) = (&self.ring, self.ring.width().bytes());
        let mut rows = self.rows(integers);
        if ring.accepts_any_word() {
            let mut random = Random::new(seed());
            for (i, word) in rows.chunks_exact_mut(size).enumerate() {
                let q = big(&ring.basis()[i / ring.degree() % ring.basis().len()]);
                let (x, end) = (BigUint::from_bytes_le(word), BigUint::from(1u32) << (8 * size));
                let most = (&end - 1u32 - &x) / &q;
                let factor = [BigUint::ZERO, most.clone(), BigUint::from(random.bits()) % (most + 1u32)];
                word.copy_from_slice(&bytes_of(&(x + q * &factor[random.below(3)]), size.div_ceil(8))[..size]);
            }
        }
        rows
    }
}

/// The basis of a ring modulo x^n − 1 that stores residues in the form `how`.
fn stored(moduli: &[Modulus], n: usize, how: &str) -> Basis {
    let ring = PolyType::from(Ring::new(moduli, Quotient::Cyclic { n }).expect("a ring"));
    Basis::of(format!("{ring:#} : {how}").parse().expect("a ring"))
}

/// An integer as little-endian bytes of this many 64-bit words.
fn bytes_of(x: &BigUint, limbs: usize) -> Vec<u8> {
    let mut bytes = x.to_bytes_le();
    bytes.resize(8 * limbs, 0);
    bytes
}

/// The result of the fast conversion (BEHZ) before reduction: x plus a multiple of the product of the moduli of `from`.
fn fast(from: &Basis, x: &BigUint) -> BigUint {
    let moduli = from.ring.basis();
    let sum: BigUint = moduli.iter().map(|q| from.digit(q, x) * from.weight(q)).sum();
    assert!(&sum % &from.product == *x && sum < &from.product * moduli.len() as u64);
    sum
}

fn check_conversions(device: &Device, from: &[Modulus], to: &[Modulus], n: usize, batch: usize) {
    check_bases(device, &Basis::new(from, n), &Basis::new(to, n), batch);
}

fn check_bases(device: &Device, from: &Basis, to: &Basis, batch: usize) {
    let n = from.ring.degree();
    let integers = from.integers(seed(), batch * n);
    let rows = from.inputs(&integers);
    // negative integers are represented by adding Q·P, the product of all moduli, which changes no residue modulo the
    // target moduli
    let (q, p) = (&from.product, &to.product);
    let centred = |x: &BigUint| if *x > q / 2u32 { q * p + x - q } else { x.clone() };
    let expected = |op, what: &dyn Fn(&BigUint) -> BigUint| {
        let expected = to.rows(&integers.iter().map(what).collect::<Vec<_>>());
        let found = run(device, &Job::new(&from.ring, op).to(&to.ring), batch, &[&rows]);
        assert!(found == expected, "{op} {:?} to {:?}, n {n}, on {device}", from.ring, to.ring);
    };
    expected(Op::Convert, &BigUint::clone);
    expected(Op::ConvertCentred, &centred);
    expected(Op::ConvertFast, &|x| fast(from, x));
}

fn check_integers(device: &Device, moduli: &[Modulus], n: usize, batch: usize) {
    check_basis(device, &Basis::new(moduli, n), batch);
}

fn check_basis(device: &Device, basis: &Basis, batch: usize) {
    let (ring, n) = (&basis.ring, basis.ring.degree());
    let integers = basis.integers(seed(), batch * n);
    let limbs: Vec<u8> = integers.iter().flat_map(|x| bytes_of(x, basis.limbs)).collect();
    let (rows, inputs) = (basis.rows(&integers), basis.inputs(&integers));
    assert!(run(device, &Job::new(ring, Op::Compose), batch, &[&inputs]) == limbs, "compose {ring:?} on {device}");
    let decompose = |limbs: &[u8]| run(device, &Job::new(ring, Op::Decompose), batch, &[limbs]);
    assert!(decompose(&limbs) == rows, "decompose {ring:?} on {device}");
    // integers of this many words may exceed Q: the largest one first, then random ones
    let size = 8 * basis.limbs;
    let mut any = bytes(seed(), batch * n * size);
    any[..size].fill(0xff);
    let integers: Vec<BigUint> = any.chunks(size).map(BigUint::from_bytes_le).collect();
    assert!(decompose(&any) == basis.rows(&integers), "decompose any limbs, {ring:?} on {device}");
}

/// 64 pairwise coprime moduli, of all widths up to 62 bits.
fn mixed() -> Vec<Modulus> {
    let mut moduli: Vec<Modulus> = (3..=62).map(|bits| primes(bits, 1)[0]).collect();
    moduli.extend([1 << 40, 3, 25, 121].map(modulus));
    moduli
}

/// Checks a few shapes of conversions, for devices where each shape must be compiled.
fn check_few(target: Target) {
    let Some(device) = target.device() else { return };
    // sums of digits just below 2^64, modulo the largest 64-bit moduli
    check_conversions(&device, &primes(62, 4), &primes(64, 3), 300, 2);
    check_conversions(&device, &mixed(), &primes(62, 64), 12, 2);
    // moduli below 2^60: sums of 8, 5, 1 and 9 digits, from even and tiny moduli, too; the first conversion divides its
    // 30 target moduli into parts
    check_conversions(&device, &primes(60, 8), &primes(59, 30), 300, 2);
    check_conversions(
        &device,
        &[4, 3, 25, 49, 121].map(modulus),
        &[modulus(3), modulus(1 << 59), primes(60, 1)[0]],
        40,
        9,
    );
    check_conversions(&device, &primes(60, 1), &[1 << 59, 3, 25].map(modulus), 300, 1);
    check_conversions(&device, &primes(50, 9), &primes(60, 4), 40, 2);
    // sums that are carried once and twice, the longest ones, and those that are one too long
    check_conversions(&device, &primes(50, 15), &primes(50, 16), 40, 2);
    check_conversions(&device, &primes(31, 29), &primes(40, 3), 40, 1);
    check_conversions(&device, &primes(57, 32), &primes(57, 2), 40, 2);
    check_conversions(&device, &primes(58, 28), &primes(58, 2), 40, 2);
    check_conversions(&device, &primes(58, 29), &primes(58, 2), 40, 1);
    check_conversions(&device, &primes(50, 33), &primes(50, 2), 40, 1);
    // moduli below 2^30: sums of sixteen digits, and of seventeen
    check_conversions(&device, &primes(30, 16), &primes(29, 30), 300, 2);
    check_conversions(&device, &primes(30, 10), &[3, 25, 1 << 29].map(modulus), 40, 3);
    check_conversions(&device, &primes(30, 17), &primes(30, 2), 40, 1);
    check_conversions(&device, &primes(64, 64), &mixed(), 12, 1);
    check_conversions(&device, &[modulus(256), modulus(81)], &primes(16, 2), 40, 9);
    check_integers(&device, &primes(60, 3), 300, 2);
    check_integers(&device, &mixed(), 12, 2);
    check_integers(&device, &[modulus(u64::MAX)], 7, 5);
    check_stored(&device);
}

/// Checks conversions of residues in other forms than plain, and of arbitrary words.
fn check_stored(device: &Device) {
    let goldilocks = modulus(0xffff_ffff_0000_0001);
    let plain = [
        Basis::new(&primes(62, 4), 40),
        Basis::new(&[goldilocks, primes(40, 1)[0], modulus(3)], 40),
        Basis::new(&[modulus(1 << 40), modulus(3), modulus(625)], 40),
    ];
    let otherwise = [
        stored(&primes(62, 4), 40, "montgomery"),
        stored(&[goldilocks, primes(40, 1)[0], modulus(3)], 40, "montgomery, any word"),
        stored(&primes(31, 3), 40, "montgomery, any word"),
        stored(&[modulus(1 << 40), modulus(3), modulus(625)], 40, "any word"),
        stored(&primes(16, 3), 40, "any word"),
        stored(&primes(64, 2), 40, "montgomery"),
    ];
    for (basis, next) in otherwise.iter().zip(otherwise.iter().cycle().skip(1)) {
        check_basis(device, basis, 2);
        check_bases(device, basis, next, 2);
    }
    for plain in &plain {
        check_bases(device, plain, &otherwise[0], 2);
        check_bases(device, &otherwise[1], plain, 2);
    }
    // between two stored forms of the same moduli
    check_bases(device, &plain[0], &otherwise[0], 2);
    check_bases(device, &otherwise[0], &plain[0], 2);
}

#[test]
fn cpu() {
    let device = Device::cpu();
    check_few(Target::Cpu);
    let small = [vec![2], vec![3, 2], vec![1024], vec![1 << 63, u64::MAX], vec![5, 6, 7, 11], vec![u64::MAX]];
    let mut bases: Vec<Vec<Modulus>> = small.iter().map(|basis| basis.iter().copied().map(modulus).collect()).collect();
    bases.extend([primes(62, 64), primes(64, 5), mixed(), primes(30, 9), primes(61, 1)]);
    bases.extend((1..=16).map(|count| primes(60 - count as u32, count)));
    bases.extend([1, 8, 10, 16, 17].map(|count| primes(30, count)));
    for from in &bases {
        check_integers(&device, from, 20, 3);
        for to in [&bases[1], &bases[3], &bases[8], &bases[9], from] {
            check_conversions(&device, from, to, 20, 2);
        }
    }
}

#[test]
fn emulator() {
    check_few(Target::EmulatorSanitized);
}

#[test]
fn cuda() {
    check_few(Target::Cuda);
}
