//! Raising of ciphertexts from level 0 to the top level.
//!
//! A key switches to a sparse secret modulo q_0·P', where P' is the product of the first primes of P. Under it,
//! c_0 + c_1·s is known up to a small multiple of q_0. Both parts are taken as integers in (−q_0/2, q_0/2] and reduced
//! modulo all primes of Q. Then another key switches back, modulo Q·P'.

use ringforge::kernels::Distribution;
use ringforge::{Buffer, Job, Modulus, Op, Pipeline, PolyType, U256, Value};
use ringforge_rlwe::{Randomness, SecretKey, bits, bytes_of};

use crate::error::Result;
use crate::params::refused;
use crate::programs::Programmed;
use crate::scheme::Ckks;
use crate::steps::Level;
use crate::types::Ciphertext;

/// Number of coefficients of the sparse secret that are not 0.
const WEIGHT: usize = 32;

/// log2 of the degree, and the largest log2(q_0·P') for 128-bit security with a secret of weight 32. Bossuat,
/// Troncoso-Pastoriza and Hubaux (eprint 2022/024) and Lattigo's parameters have these sizes.
const MOST_BITS: [(u32, u32); 3] = [(15, 96), (16, 121), (17, 121)];

/// An operation of raising.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum RaisingOperation {
    /// The keys, for the top level.
    Keys,
    /// From level 0 to the top level.
    Raise,
}

impl Programmed for RaisingOperation {
    fn build(&self, ckks: &Ckks, level: usize, p: &Pipeline) -> Result<()> {
        let raising = Raising::new(ckks)?;
        match self {
            Self::Keys => raising.make_keys(p, ckks.parameters().rlwe().errors().distribution()),
            Self::Raise => {
                p.output("to", raising.raised(p, ckks.level(level)?.ciphertext(p, "a"))?);
                Ok(())
            }
        }
    }
}

/// Keys for raising: from the secret key to the sparse secret, and back.
#[derive(Debug)]
pub(super) struct RaisingKeys {
    down: Buffer,
    up: Buffer,
}

impl RaisingKeys {
    /// Makes the sparse secret, which nothing keeps, and the keys to and from it.
    pub(super) fn new(ckks: &Ckks, secret: &SecretKey, randomness: &mut Randomness) -> Result<Self> {
        ckks.keys().own(secret.parameters(), "the secret key")?;
        let (program, stream) = (ckks.program(RaisingOperation::Keys, ckks.top_level(), 1)?, ckks.stream()?);
        let (seed, random_key) =
            (stream.upload(randomness.random_key()?.as_bytes())?, ckks.keys().random_key(randomness)?);
        let buffer = |name| ckks.engine().device().buffer(bytes_of(&program, name));
        let (mut down, mut up) = (buffer("down")?, buffer("up")?);
        let call = program.on(stream, 1).input("s", secret.buffer()).input("seed", &seed);
        call.input("random_key", &random_key).output("down", &mut down).output("up", &mut up).run()?;
        Ok(Self { down, up })
    }

    pub(super) fn bytes(&self) -> usize {
        self.down.len() + self.up.len()
    }

    /// Raises ciphertexts from level 0 to the top level. They then have the scale q_0.
    pub(super) fn raised(&self, ckks: &Ckks, a: &Ciphertext) -> Result<Ciphertext> {
        let (parameters, batch) = (ckks.parameters(), a.batch());
        let scale = bits(&parameters.q()[..parameters.limbs(0)]).exp2();
        let program = ckks.program(RaisingOperation::Raise, 0, batch)?;
        ckks.ciphertext(ckks.top_level(), scale, batch, |to| {
            let call = program.on(ckks.stream()?, batch).input("a", &a.0.buffer).output("to", to);
            Ok(call.input("down", &self.down).input("up", &self.up).run()?)
        })
    }
}

/// The rings of raising.
pub(super) struct Raising<'c> {
    top: &'c Level,
    /// Number of primes of q_0 and of P'.
    own: usize,
    special: usize,
    /// Evaluations modulo P', q_0, q_0·P' and Q·P'.
    p: PolyType,
    q0: PolyType,
    low: PolyType,
    high: PolyType,
}

impl<'c> Raising<'c> {
    /// # Errors
    /// [`Parameters`](crate::rlwe::Error::Parameters) if P has fewer bits than q_0, or if q_0·P' has too many bits for
    /// the sparse secret.
    pub(super) fn new(ckks: &'c Ckks) -> Result<Self> {
        let (parameters, top) = (ckks.parameters(), ckks.level(ckks.top_level())?);
        let (q, p, own) = (parameters.q(), parameters.p(), parameters.limbs(0));
        let q0 = bits(&q[..own]);
        // primes of the same length differ by less than a bit
        let Some(special) = (1..=p.len()).find(|count| bits(&p[..*count]) > q0 - 1.0) else {
            return refused("bootstrapping needs a P with the bits of q_0");
        };
        let (log_n, all) = (parameters.degree().ilog2(), (q0 + bits(&p[..special])).ceil() as u32);
        let most = MOST_BITS.iter().find(|(log, _)| *log == log_n).map_or(0, |(_, most)| *most);
        if parameters.rlwe().is_secure() && all > most {
            let why = format!(
                "bootstrapping switches to a sparse secret modulo {all} bits, q_0 and the first {special} primes of P, but \
                 128-bit security at degree 2^{log_n} allows at most {most}"
            );
            return refused(why);
        }
        let special_limbs = q.len()..q.len() + special;
        let of_low: Vec<usize> = (0..own).chain(special_limbs.clone()).collect();
        let (low, high) = (top.all_type().with_limbs(&of_low)?, top.all_type().limbs(0..special_limbs.end)?);
        Ok(Self {
            top,
            own,
            special,
            p: top.all_type().limbs(special_limbs)?,
            q0: top.all_type().limbs(0..own)?,
            low,
            high,
        })
    }

    /// Outputs the keys `down`, from the secret key s to a sparse secret t modulo q_0·P', and `up`, from t to s modulo
    /// Q·P'. Each is a pair (e − a·to + P'·from, a) with an error e. Both a are expanded from a seed.
    fn make_keys(&self, p: &Pipeline, errors: Distribution) -> Result<()> {
        let (random_key, seed, s) = (p.input("random_key"), p.bytes("seed", 32), self.top.secret(p));
        let sample = |ring: &PolyType, distribution| p.sample(ring, distribution, random_key).secret().forward();
        let t = sample(&self.high, Distribution::FixedWeight { weight: WEIGHT });
        let (q, all) = (self.high.basis().len() - self.special, self.high.basis().len());
        let [low_s, low_t] = [s, t].map(|x| p.join(&self.low, &[x.limbs(0..self.own), x.limbs(q..all)]));
        for (name, ring, from, to) in [("down", &self.low, low_s, low_t), ("up", &self.high, t, s.limbs(0..all))] {
            let a = p.sample(ring, Distribution::Uniform, seed).holding(ring);
            let e = sample(ring, errors);
            let b = e - a * to + from.scale(&self.product(ring));
            p.output(name, p.join(ring.vector(2)?, &[b, a]));
        }
        Ok(())
    }

    /// A ciphertext of level 0 at the top level.
    fn raised<'p>(&self, p: &'p Pipeline, ciphertext: Value<'p>) -> Result<Value<'p>> {
        let [c0, c1] = [0, 1].map(|part| ciphertext.element(part));
        let input = |name: &str, ring: &PolyType| -> Result<Value<'p>> {
            let pair = ring.vector(2)?;
            Ok(p.shared(name, pair.bytes()).holding(pair))
        };
        let (down, up) = (input("down", &self.low)?, input("up", &self.high)?);
        let extended = p.join(&self.low, &[c1, self.lifted(p, c1, &self.p)]);
        let switched = self.switched(p, extended, down, &self.low)?;
        let (c0, c1) = (c0 + switched.element(0), switched.element(1));

        let switched = self.switched(p, self.lifted(p, c1, &self.high), up, &self.high)?;
        let raised = self.lifted(p, c0, self.top.plaintext_type()) + switched.element(0);
        Ok(p.join(self.top.ciphertext_type(), &[raised, switched.element(1)]))
    }

    /// An element modulo q_0, as an integer in (−q_0/2, q_0/2], modulo the primes of `to`.
    fn lifted<'p>(&self, p: &'p Pipeline, x: Value<'p>, to: &PolyType) -> Value<'p> {
        p.job(&Job::new(self.q0.coefficients(), Op::ConvertCentred).to(to.coefficients()), &[x.inverse()]).forward()
    }

    /// The product of an element with a key, divided by P'.
    fn switched<'p>(&self, p: &'p Pipeline, x: Value<'p>, key: Value<'p>, ring: &PolyType) -> Result<Value<'p>> {
        let pair = p.join(ring.vector(2)?, &[x * key.element(0), x * key.element(1)]);
        Ok(pair.each().divide_round(self.special).together())
    }

    /// P' modulo each prime of a ring.
    fn product(&self, ring: &PolyType) -> Vec<U256> {
        let of = |q: &Modulus| self.p.basis().iter().fold(U256::ONE, |x, p| q.mul(&x, &q.reduce(&p.value())));
        ring.basis().iter().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use ringforge::Engine;

    use super::*;
    use crate::Complex64;
    use crate::params::Parameters;
    use ringforge_rlwe::Errors;
    use ringforge_testkit::distributions::{assert_errors, centred, coefficients};

    /// A prime by its index in the basis: the primes of Q, then those of P.
    fn prime(ckks: &Ckks, limb: usize) -> u64 {
        let parameters = ckks.parameters();
        parameters.q().iter().chain(parameters.p()).nth(limb).and_then(|q| q.value_u64()).unwrap_or(1)
    }

    /// The product of two residues, and the inverse of a residue, modulo a prime.
    fn times(a: u64, b: u64, q: u64) -> u64 {
        (u128::from(a) * u128::from(b) % u128::from(q)) as u64
    }

    fn inverse(x: u64, q: u64) -> u64 {
        let power = |exponent: u32| -> u64 { ((q - 2) >> exponent) & 1 };
        (0..64).rev().fold(1, |y, bit| times(times(y, y, q), if power(bit) == 1 { x } else { 1 }, q))
    }

    /// Modulo P', b + a·to is only the error of a key, because the term with the other secret is a multiple of P'.
    #[test]
    fn keys_have_errors_and_few_bits_under_the_sparse_secret() -> Result<()> {
        for errors in [Errors::Gaussian, Errors::Binomial] {
            let parameters = Parameters::insecure(12, &[50, 40, 40], &[51])?.with_errors(errors);
            let (ckks, mut random) = (Ckks::new(&Engine::cpu(), parameters)?, Randomness::from_seed([8; 32]));
            let secret = ckks.keys().secret_key(&mut random)?;
            let keys = RaisingKeys::new(&ckks, &secret, &mut random)?;
            let s = ("s", secret.buffer());
            let (raising, [q, p]) = (Raising::new(&ckks)?, [0, 3].map(|limb| prime(&ckks, limb)));
            // two elements modulo q_0·P' and Q·P', and no other primes
            let row = 4096 * size_of::<u64>();
            assert_eq!((keys.down.len(), keys.up.len()), (2 * 2 * row, 2 * 4 * row));

            let up = |limb: usize| {
                coefficients(ckks.engine(), prime(&ckks, limb), &[s, ("key", &keys.up)], |p| {
                    let key = p.elements("key", raising.high.vector(2).expect("a type"));
                    key.limbs(4 + limb..5 + limb) * raising.top.secret(p).limbs(limb..limb + 1)
                        + key.limbs(limb..limb + 1)
                })
            };
            let e = up(3)?;
            assert_errors(&e, errors.distribution());
            // (b + a·s − e)/P' is the sparse secret
            let by = inverse(p % q, q);
            let residues: Vec<u64> =
                up(0)?.iter().zip(&e).map(|(x, e)| times((x - e).rem_euclid(q as f64) as u64, by, q)).collect();
            let sparse = centred(&residues, q);
            assert!(sparse.iter().all(|x| x.abs() <= 1.0), "{sparse:?}");
            assert_eq!(sparse.iter().filter(|x| **x != 0.0).count(), WEIGHT);

            let residues: Vec<u64> = sparse.iter().map(|x| if *x < 0.0 { p - 1 } else { *x as u64 }).collect();
            let uploaded = ckks.stream()?.upload(&residues)?;
            let e = coefficients(ckks.engine(), p, &[s, ("key", &keys.down), ("t", &uploaded)], |p| {
                let key = p.elements("key", raising.low.vector(2).expect("a type"));
                let t = p.coefficients("t", &raising.p).forward();
                // read, because every input must be
                let s = raising.top.secret(p).limbs(3..4);
                key.limbs(3..4) * t + key.limbs(1..2) + s - s
            })?;
            assert_errors(&e, errors.distribution());
        }
        Ok(())
    }

    /// Tests that raised coefficients are those of the ciphertext plus q_0·I, and the distribution of I: a rounded sum
    /// of 33 uniform numbers in [−½, ½].
    #[test]
    fn multiples_of_the_modulus_are_bounded() -> Result<()> {
        let parameters = Parameters::insecure(12, &[50, 40, 40], &[51])?.with_scale(2f64.powi(36))?;
        let (ckks, mut random) = (Ckks::new(&Engine::cpu(), parameters)?, Randomness::from_seed([9; 32]));
        let secret = ckks.keys().secret_key(&mut random)?;
        let public = ckks.keys().public_key(&secret, &mut random)?;
        let keys = RaisingKeys::new(&ckks, &secret, &mut random)?;
        let numbers: Vec<Complex64> = (0..2048).map(|i| Complex64::from(f64::from(i) / 2048.0)).collect();
        let a = ckks.encrypt(&ckks.encode(&vec![numbers; 16], 0)?, &public, &mut random)?;
        let raised = keys.raised(&ckks, &a)?;
        let message = |c: &Ciphertext| -> Result<Vec<Complex64>> { Ok(ckks.decrypt(c, &secret)?.concat()) };
        let (slots, wanted) = (message(&raised)?, message(&a)?);
        let ratio = prime(&ckks, 0) as f64 / a.scale();
        let embedding = ckks.level(0)?.embedding();
        let (mut squares, mut count) = (0.0, 0.0);
        for (item, wanted) in slots.chunks(2048).zip(wanted.chunks(2048)) {
            let elements = |slots: &[Complex64]| {
                let mut x: Vec<Complex64> = embedding.slots.iter().map(|&slot| slots[slot as usize] / 2048.0).collect();
                embedding.to_coefficients(1..2048, &mut x);
                let parts = x.iter().zip(embedding.twists()).map(|(x, twist)| x * twist.conj());
                parts.flat_map(|z| [z.re, z.im]).collect::<Vec<f64>>()
            };
            for (x, m) in elements(item).into_iter().zip(elements(wanted)) {
                let (i, rest) = (x.round(), x - x.round());
                assert!(i.abs() <= 16.0, "{x}");
                assert!((rest - m / ratio).abs() < 1e-9, "{x} for {}", m / ratio);
                (squares, count) = (squares + i * i, count + 1.0);
            }
        }
        let variance = 33.0 / 12.0;
        assert!((squares / count / variance - 1.0).abs() < 6.0 * (2.0f64 / count).sqrt() + 0.01, "{}", squares / count);
        Ok(())
    }
}
