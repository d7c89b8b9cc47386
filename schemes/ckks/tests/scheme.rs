//! Tests of all operations: decrypted results against the same arithmetic on complex doubles, and errors for invalid
//! arguments.

use ringforge::Engine;
use ringforge_ckks::{Ciphertext, Ckks, Complex64, Error, GaloisKeys, Parameters, PublicKey, Randomness};
use ringforge_ckks::{RelinearisationKey, Result, SecretKey, rlwe};

/// A CKKS scheme with all its keys and a source of randomness.
struct Scheme {
    ckks: Ckks,
    secret: SecretKey,
    public: PublicKey,
    relinearise: RelinearisationKey,
    turn: GaloisKeys,
    random: Randomness,
}

const ROTATIONS: [i64; 7] = [1, 2, 3, 4, -1, 100, 200];

impl Scheme {
    fn new(engine: &Engine, parameters: Parameters) -> Result<Self> {
        let ckks = Ckks::new(engine, parameters)?;
        let mut random = Randomness::from_seed([7; 32]);
        let secret = ckks.keys().secret_key(&mut random)?;
        let public = ckks.keys().public_key(&secret, &mut random)?;
        let relinearise = ckks.keys().relinearisation_key(&secret, &mut random)?;
        let turn = ckks.keys().galois_keys(&secret, &ROTATIONS, true, &mut random)?;
        Ok(Self { ckks, secret, public, relinearise, turn, random })
    }

    fn encrypt(&mut self, items: &[Vec<Complex64>], level: usize) -> Result<Ciphertext> {
        self.ckks.encrypt(&self.ckks.encode(items, level)?, &self.public, &mut self.random)
    }

    fn numbers(&self, seed: u64, batch: usize) -> Vec<Vec<Complex64>> {
        let mut state = seed | 1;
        let mut next = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / f64::from(1u32 << 30) - 1.0
        };
        let slots = self.ckks.parameters().slots();
        (0..batch).map(|_| (0..slots).map(|_| Complex64::new(next(), next())).collect()).collect()
    }

    #[track_caller]
    fn check(&self, found: &Ciphertext, wanted: &[Vec<Complex64>], most: f64) {
        let found = self.ckks.decrypt(found, &self.secret).expect("decrypted");
        assert_eq!(found.len(), wanted.len());
        let pairs = found.iter().flatten().zip(wanted.iter().flatten());
        let error = pairs.map(|(x, y)| (x - y).norm()).fold(0.0, f64::max);
        assert!(error < most, "an error of {error:e}, at most {most:e}");
    }
}

fn each(
    a: &[Vec<Complex64>],
    b: &[Vec<Complex64>],
    f: impl Fn(Complex64, Complex64) -> Complex64,
) -> Vec<Vec<Complex64>> {
    a.iter().zip(b).map(|(a, b)| a.iter().zip(b).map(|(a, b)| f(*a, *b)).collect()).collect()
}

fn rotated(a: &[Vec<Complex64>], steps: i64) -> Vec<Vec<Complex64>> {
    let mut a = a.to_vec();
    a.iter_mut().for_each(|item| {
        let steps = steps.rem_euclid(item.len() as i64) as usize;
        item.rotate_left(steps);
    });
    a
}

/// Returns parameters with 64-bit and with 32-bit words, with one and several key-switching digits, with a shorter last
/// digit, and with primes of both widths.
fn parameters() -> Result<Vec<Parameters>> {
    Ok(vec![
        Parameters::insecure(10, &[55, 40, 40, 40], &[56])?,
        Parameters::insecure(9, &[55, 45, 45, 45, 45], &[55, 55])?,
        Parameters::insecure(9, &[50, 45, 45], &[50, 50, 50])?.with_errors(ringforge_ckks::Errors::Binomial),
        Parameters::insecure(9, &[31, 31, 26, 26, 26, 26], &[31, 31])?.rescaling_by(2)?,
        Parameters::insecure(9, &[50, 31, 31, 31], &[50, 31])?,
        Parameters::insecure(9, &[32, 30, 30], &[45])?,
    ])
}

#[test]
fn every_operation_decrypts_correctly() -> Result<()> {
    for parameters in parameters()? {
        let mut scheme = Scheme::new(&Engine::cpu(), parameters)?;
        let (batch, top) = (3, scheme.ckks.parameters().top_level());
        let [x, y] = [1, 2].map(|seed| scheme.numbers(seed, batch));
        let (a, b) = (scheme.encrypt(&x, top)?, scheme.encrypt(&y, top)?);
        let coarse = (f64::exp2(40.0) / scheme.ckks.parameters().scale()).max(1.0);
        let (c, tight, loose) = (scheme.ckks.clone(), 2e-7 * coarse, 2e-6 * coarse);
        scheme.check(&a, &x, tight);
        scheme.check(&c.add(&a, &b)?, &each(&x, &y, |x, y| x + y), tight);
        scheme.check(&c.sub(&a, &b)?, &each(&x, &y, |x, y| x - y), tight);
        scheme.check(&c.negate(&a)?, &each(&x, &y, |x, _| -x), tight);
        let transparent = [&a, &c.sub(&a, &a)?, &c.multiply_number(&a, 0.0)?].map(|a| c.are_transparent(a));
        assert_eq!(transparent, [false, true, true].map(|all| Ok(vec![all; batch])));
        let one = c.encode(&y[..1], top)?;
        let (all, ys) = (c.encode(&y, top)?, [y[0].clone(), y[0].clone(), y[0].clone()]);
        scheme.check(&c.add_plain(&a, &all)?, &each(&x, &y, |x, y| x + y), tight);
        scheme.check(&c.add_plain(&a, &one)?, &each(&x, &ys, |x, y| x + y), tight);
        scheme.check(&c.sub_plain(&a, &all)?, &each(&x, &y, |x, y| x - y), tight);
        scheme.check(&c.sub_plain(&a, &one)?, &each(&x, &ys, |x, y| x - y), tight);
        scheme.check(&c.rescale(&c.multiply_plain(&a, &all)?)?, &each(&x, &y, |x, y| x * y), loose);
        scheme.check(&c.multiply_plain(&a, &one)?, &each(&x, &ys, |x, y| x * y), loose);
        scheme.check(&c.add_number(&a, 0.25)?, &each(&x, &y, |x, _| x + 0.25), tight);
        scheme.check(&c.multiply_number(&a, -1.5)?, &each(&x, &y, |x, _| x * -1.5), loose);
        let inner = c.inner_product_plain(&[&a, &b], &[&one, &one])?;
        let sums = each(&x, &y, |x, y| x + y);
        scheme.check(&inner, &each(&sums, &ys, |x, y| x * y), loose);

        let product = each(&x, &y, |x, y| x * y);
        let key = &scheme.relinearise;
        let ab = c.multiply(&a, &b, key)?;
        scheme.check(&ab, &product, loose);
        scheme.check(&c.rescale(&ab)?, &product, loose);
        let ab = c.multiply_rescale(&a, &b, key)?;
        assert_eq!(ab.level(), top - 1);
        scheme.check(&ab, &product, loose);
        scheme.check(&c.square(&a, key)?, &each(&x, &x, |x, y| x * y), loose);
        let low = c.drop_to(&a, top - 1)?;
        scheme.check(&low, &x, tight);
        let alike = c.rescale_to(&a, ab.scale())?;
        scheme.check(&c.add(&ab, &alike)?, &each(&product, &x, |x, y| x + y), loose);
        // The relinearisation key, made at the top level, also serves lower levels.
        if top > 1 {
            scheme.check(&c.multiply_rescale(&ab, &alike, key)?, &each(&product, &x, |x, y| x * y), 2.0 * loose);
        }
        for (c, ciphertext, wanted) in [(&c, &a, &x), (&c, &ab, &product)] {
            let all = c.rotations(ciphertext, &[1, 0, -1, 100], &scheme.turn)?;
            for (found, steps) in all.iter().zip([1, 0, -1, 100]) {
                scheme.check(found, &rotated(wanted, steps), loose);
                let alone = c.rotate(ciphertext, steps, &scheme.turn)?;
                assert_eq!(c.ciphertext_to_bytes(&alone)?, c.ciphertext_to_bytes(found)?, "{steps}");
            }
            let conjugates = each(wanted, wanted, |x, _| x.conj());
            scheme.check(&c.conjugate(ciphertext, &scheme.turn)?, &conjugates, loose);
        }
    }
    Ok(())
}

#[test]
fn matrices_multiply() -> Result<()> {
    let mut scheme = Scheme::new(&Engine::cpu(), Parameters::insecure(9, &[55, 45, 45], &[56])?)?;
    let (c, size, slots) = (scheme.ckks.clone(), 8, 256);
    let entries = scheme.numbers(5, 1)[0][..size * size].to_vec();
    let vector = scheme.numbers(6, 1)[0][..size].to_vec();
    let rows: Vec<&[Complex64]> = entries.chunks_exact(size).collect();
    let matrix = c.matrix(&rows, 2)?;
    let keys = c.keys().galois_keys(&scheme.secret, &matrix.rotations(), false, &mut scheme.random)?;
    let encrypted = scheme.encrypt(&[vector.repeat(slots / size)], 2)?;
    let found = c.apply(&matrix, &encrypted, &keys)?;
    let row = |i: usize| (0..size).map(|j| entries[i * size + j] * vector[j]).sum();
    let wanted: Vec<Complex64> = (0..size).map(row).collect();
    scheme.check(&found, &[wanted.repeat(slots / size)], 1e-7);
    // a vector of its own in each block of slots
    let vectors = scheme.numbers(7, 1);
    let blocks = c.block_matrix(&rows, 2)?;
    let keys = c.keys().galois_keys(&scheme.secret, &blocks.rotations(), false, &mut scheme.random)?;
    let found = c.apply(&blocks, &scheme.encrypt(&vectors, 2)?, &keys)?;
    let row = |vector: &[Complex64], i: usize| (0..size).map(|j| entries[i * size + j] * vector[j]).sum();
    let wanted = vectors[0].chunks(size).flat_map(|vector| (0..size).map(move |i| row(vector, i)));
    scheme.check(&found, &[wanted.collect()], 1e-7);
    let few = c.keys().galois_keys(&scheme.secret, &[1], false, &mut scheme.random)?;
    assert!(matches!(c.apply(&matrix, &encrypted, &few), Err(Error::Rlwe(rlwe::Error::NoRotationKey { steps: 2 }))));
    // This matrix has 64 numbers, but it is 4 × 16.
    let wide: Vec<&[Complex64]> = entries.chunks_exact(16).collect();
    assert!(matches!(c.matrix(&wide, 2), Err(Error::Matrix { rows: 4, columns: 16, slots: 256 })));
    assert!(matches!(c.matrix(&rows[..7], 2), Err(Error::Matrix { rows: 7, columns: 8, .. })));
    let none: [&[Complex64]; 0] = [];
    assert!(matches!(c.matrix(&none, 2), Err(Error::Matrix { rows: 0, .. })));
    assert!(matches!(c.matrix(&[[Complex64::ONE; 3]; 3], 2), Err(Error::Matrix { rows: 3, columns: 3, .. })));
    Ok(())
}

#[test]
fn mismatched_operands_are_refused() -> Result<()> {
    let mut scheme = Scheme::new(&Engine::cpu(), Parameters::insecure(6, &[55, 40, 40], &[56])?)?;
    let c = scheme.ckks.clone();
    let x = scheme.numbers(1, 2);
    let (a, low, one) = (scheme.encrypt(&x, 2)?, scheme.encrypt(&x, 1)?, scheme.encrypt(&x[..1], 2)?);
    assert_eq!(c.add(&a, &low).unwrap_err(), Error::Levels { left: 2, right: 1 });
    assert_eq!(c.add(&a, &one).unwrap_err(), Error::Batches { left: 2, right: 1 });
    let product = c.multiply(&a, &a, &scheme.relinearise)?;
    assert!(matches!(c.add(&a, &product), Err(Error::Scales { .. })));
    let fine = c.multiply(&product, &a, &scheme.relinearise)?;
    assert!(matches!(c.multiply(&fine, &a, &scheme.relinearise), Err(Error::Scale { level: 2, .. })));
    assert_eq!(c.drop_to(&low, 2).unwrap_err(), Error::NoLevel { from: 1, wanted: 2 });
    let bottom = c.drop_to(&a, 0)?;
    assert_eq!(c.rescale(&bottom).unwrap_err(), Error::NoLevel { from: 0, wanted: -1 });
    assert_eq!(c.rotate(&a, 5, &scheme.turn).unwrap_err(), rlwe::Error::NoRotationKey { steps: 5 }.into());
    assert_eq!(c.rotate(&a, -3, &scheme.turn).unwrap_err(), rlwe::Error::NoRotationKey { steps: 29 }.into());
    let none = c.keys().galois_keys(&scheme.secret, &[], false, &mut scheme.random)?;
    assert_eq!(c.conjugate(&a, &none).unwrap_err(), rlwe::Error::NoConjugationKey.into());
    assert_eq!(c.encode(&[vec![Complex64::ONE; 33]], 2).unwrap_err(), Error::Slots { slots: 32, got: 33 });
    assert_eq!(c.encode(&[vec![Complex64::from(f64::NAN)]], 2).unwrap_err(), Error::Number);
    assert_eq!(c.encode(&[vec![Complex64::from(1e40)]], 2).unwrap_err(), Error::Number);
    // The plaintext fits the modulus of 135 bits at level 2, but not that of 55 bits at level 0.
    let large = [vec![Complex64::from(1e6); 32]];
    assert!(c.encode(&large, 2).is_ok());
    assert_eq!(c.encode(&large, 0).unwrap_err(), Error::Number);
    assert_eq!(c.constant(-1e6, 0, f64::exp2(40.0)).unwrap_err(), Error::Number);
    // Half of the modulus at level 0 is about 2^54.
    assert!(c.constant(f64::exp2(13.9), 0, f64::exp2(40.0)).is_ok());
    assert_eq!(c.constant(f64::exp2(14.1), 0, f64::exp2(40.0)).unwrap_err(), Error::Number);
    // A second scheme with equal parameters accepts ciphertexts and keys of the first one.
    let again = Scheme::new(c.engine(), Parameters::insecure(6, &[55, 40, 40], &[56])?)?;
    assert!(again.ckks.decrypt(&again.ckks.negate(&a)?, &scheme.secret).is_ok());
    let other = Scheme::new(&Engine::cpu(), Parameters::insecure(6, &[55, 41, 41], &[56])?)?;
    assert_eq!(other.ckks.negate(&a).unwrap_err(), rlwe::Error::Foreign { what: "the ciphertext" }.into());
    assert_eq!(c.decrypt(&a, &other.secret).unwrap_err(), rlwe::Error::Foreign { what: "the secret key" }.into());
    Ok(())
}

#[test]
fn large_scales_are_exact_in_fixed_point() -> Result<()> {
    let ckks = Ckks::new(&Engine::cpu(), Parameters::insecure(10, &[60, 60, 60], &[60])?)?;
    let mut random = Randomness::from_seed([4; 32]);
    let secret = ckks.keys().secret_key(&mut random)?;
    let public = ckks.keys().public_key(&secret, &mut random)?;
    let numbers: Vec<Complex64> = (0..512).map(|i| Complex64::new(f64::from(i) / 7.0, f64::from(i) - 300.0)).collect();
    // a difference shows the error of doubles, which decoding cannot
    let scale = 2f64.powi(100);
    let exact = ckks.encrypt(&ckks.encode_exact(&[&numbers], 2, scale)?, &public, &mut random)?;
    let rounded = ckks.encrypt(&ckks.encode_at(&[&numbers], 2, scale)?, &public, &mut random)?;
    let wrong = |a: &Ciphertext| -> Result<f64> {
        Ok(ckks.decrypt(a, &secret)?[0].iter().map(|z| z.norm()).fold(0.0, f64::max))
    };
    let twice = ckks.encrypt(&ckks.encode_exact(&[&numbers], 2, scale)?, &public, &mut random)?;
    assert!(wrong(&ckks.sub(&exact, &twice)?)? < 2f64.powi(-84));
    let of_doubles = wrong(&ckks.sub(&exact, &rounded)?)?;
    assert!(of_doubles > 2f64.powi(-60) && of_doubles < 2f64.powi(-40), "{of_doubles}");
    let refused = ckks.encode_exact(&[[Complex64::from(2f64.powi(24))]], 2, 1.0);
    assert!(matches!(refused, Err(Error::Number)));
    assert!(matches!(ckks.encode_exact(&[vec![Complex64::ZERO; 513]], 2, 1.0), Err(Error::Slots { .. })));
    Ok(())
}

#[test]
fn lossy_scales_are_refused() -> Result<()> {
    let mut scheme = Scheme::new(&Engine::cpu(), Parameters::insecure(6, &[55, 40, 40], &[56])?)?;
    let c = scheme.ckks.clone();
    let x = scheme.numbers(1, 1);
    let a = scheme.encrypt(&x, 2)?;
    // Without a product before it, rescaling would leave a scale of about 1.
    assert!(matches!(c.rescale(&a), Err(Error::LowScale { .. })));
    // The square has a scale of 2^80, which does not fit the modulus of 55 bits at level 0.
    let square = c.square(&a, &scheme.relinearise)?;
    assert!(matches!(c.drop_to(&square, 0), Err(Error::Scale { level: 0, .. })));
    let dropped = c.drop_to(&square, 1)?;
    scheme.check(&dropped, &each(&x, &x, |x, y| x * y), 1e-6);
    // Valid scales survive serialisation; invalid scales are rejected.
    for written in [&a, &square, &dropped, &c.rescale(&square)?, &scheme.encrypt(&[], 2)?] {
        assert_eq!(c.ciphertext_from_bytes(&c.ciphertext_to_bytes(written)?)?.scale(), written.scale());
    }
    let mut bytes = c.ciphertext_to_bytes(&a)?;
    for scale in [f64::exp2(135.0), 0.5, -1.0, f64::NAN, f64::INFINITY] {
        bytes[24..32].copy_from_slice(&scale.to_le_bytes());
        assert!(matches!(c.ciphertext_from_bytes(&bytes), Err(Error::Rlwe(rlwe::Error::Malformed { .. }))), "{scale}");
    }
    // The scale of the square is above half of the modulus, at which even the number 1 would overflow.
    let mut scheme = Scheme::new(&Engine::cpu(), Parameters::insecure(6, &[40, 40], &[41])?)?;
    let a = scheme.encrypt(&x, 1)?;
    let refused = scheme.ckks.square(&a, &scheme.relinearise);
    assert!(matches!(refused, Err(Error::Scale { level: 1, .. })), "{refused:?}");
    // If Q has one prime, the default scale leaves room for numbers of about 1000.
    let one_prime = Parameters::insecure(6, &[50], &[50])?;
    assert_eq!(one_prime.clone().rescaling_by(1)?.scale(), one_prime.scale());
    let mut scheme = Scheme::new(&Engine::cpu(), one_prime)?;
    let y: Vec<_> = x.iter().map(|numbers| numbers.iter().map(|x| x * 1000.0).collect::<Vec<_>>()).collect();
    let a = scheme.encrypt(&y, 0)?;
    scheme.check(&a, &y, 1e-2);
    Ok(())
}

#[test]
fn insecure_parameters_are_refused() {
    assert_eq!(Parameters::new(13, &[50, 38, 38, 38], &[50]).map(|parameters| parameters.bits()), Ok(214));
    // A modulus Q·P of exactly the allowed bits is accepted, and one bit more is rejected. The primes have 20 to 60
    // bits.
    for (log_n, bits) in [(11, 53u32), (12, 106), (13, 214), (14, 430), (15, 868), (16, 1747), (17, 3523)] {
        let p = if bits < 100 { bits.div_ceil(2) } else { 60 };
        let (count, rest) = ((bits - p - 20) / 40, (bits - p - 20) % 40);
        let q = |last: u32| [vec![40; count as usize], vec![last]].concat();
        let exact = if bits < 100 { vec![bits - p] } else { q(20 + rest) };
        assert_eq!(Parameters::new(log_n, &exact, &[p]).map(|found| found.bits()), Ok(bits), "{log_n}");
        let mut beyond = exact;
        *beyond.last_mut().expect("a prime") += 1;
        let refused = Parameters::new(log_n, &beyond, &[p.max(beyond[0])]);
        assert!(
            matches!(refused, Err(Error::Rlwe(rlwe::Error::Insecure { most, .. })) if most == bits),
            "{log_n}: {refused:?}"
        );
    }
    for log_n in [9, 10] {
        assert!(matches!(Parameters::new(log_n, &[20], &[20]), Err(Error::Rlwe(rlwe::Error::Insecure { .. }))));
        assert!(Parameters::insecure(log_n, &[20], &[20]).is_ok());
    }
    for (log_n, q, p) in
        [(3, &[50][..], &[50][..]), (18, &[50], &[50]), (12, &[], &[50]), (12, &[50], &[]), (12, &[50], &[49])]
    {
        assert!(
            matches!(Parameters::insecure(log_n, q, p), Err(Error::Rlwe(rlwe::Error::Parameters { .. }))),
            "{log_n} {q:?} {p:?}"
        );
    }
    for bits in [0, 19, 62, u32::MAX] {
        assert!(Parameters::insecure(12, &[bits], &[50]).is_err() && Parameters::insecure(12, &[50], &[bits]).is_err());
    }
}
