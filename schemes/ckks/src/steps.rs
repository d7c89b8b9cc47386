//! The operations of the scheme as steps of a pipeline.

use core::ops::Deref;
use std::sync::Arc;

use ringforge::{Job, Op, Pipeline, PolyType, U256, Value};
use ringforge_rlwe::{Basis, bits};

use crate::embedding::{Embedding, MOST, Reduction};
use crate::error::{Error, Result};
use crate::kernels::COMPLEX;
use crate::params::Parameters;

/// A level of the modulus chain: its rings, and operations on its ciphertexts as steps of a [`Pipeline`].
///
/// Each operation of [`Ckks`](crate::Ckks) is a pipeline of its own. A custom pipeline combines several operations in
/// one program, so that intermediate ciphertexts need no buffers of their own. A GPU can capture a run of the program
/// as a graph ([`Program::capture`](ringforge::Program::capture)). A level does not track scales.
///
/// ```
/// use ringforge_ckks::{Ckks, Parameters, ringforge::Engine};
///
/// let ckks = Ckks::new(&Engine::best(), Parameters::new(13, &[50, 38, 38, 38], &[50])?)?;
/// let [top, below] = [3, 2].map(|level| ckks.level(level).expect("a level"));
/// let p = ckks.engine().pipeline("a² b");
/// let key = top.switching_key(&p, "relinearisation");
/// let [a, b] = ["a", "b"].map(|name| top.ciphertext(&p, name));
/// let square = top.multiply_rescaled(a, a, key);
/// let b = top.rescaled(b);
/// p.output("product", below.multiply(square, b, key));
/// let program = ckks.engine().compile(p)?;
/// # Ok::<(), ringforge_ckks::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Level {
    basis: Basis,
    pub(crate) drop: usize,
    embedding: Arc<Embedding>,
    /// Coefficients modulo the first primes of Q, from which integers are composed.
    composed: PolyType,
}

/// The most moduli from which integers are composed, and the most bits of their product: a double cannot hold integers
/// of more bits.
const COMPOSED: (usize, f64) = (64, 1024.0);

/// The operations that do not depend on the encoding.
impl Deref for Level {
    type Target = Basis;

    fn deref(&self) -> &Basis {
        &self.basis
    }
}

impl Level {
    /// Creates the rings of a level.
    ///
    /// # Errors
    /// [`Error::NoLevel`] if the level is above the top level; [`Error::Engine`] if a ring is not supported.
    pub fn new(parameters: &Parameters, level: usize) -> Result<Self> {
        let embedding = Arc::new(Embedding::new(parameters.degree()));
        Self::with(&embedding, parameters, level, |limbs| Ok(Basis::new(parameters.rlwe(), limbs)?))
    }

    /// Like [`Level::new`], but with the given embedding, and a function from a number of primes to their basis.
    pub(crate) fn with(
        embedding: &Arc<Embedding>,
        parameters: &Parameters,
        level: usize,
        basis: impl FnOnce(usize) -> Result<Basis>,
    ) -> Result<Self> {
        if level > parameters.top_level() {
            return Err(Error::NoLevel { from: parameters.top_level(), wanted: level as i64 });
        }
        let limbs = parameters.limbs(level);
        let basis = basis(limbs)?;
        let (moduli, most) = COMPOSED;
        let q = basis.plaintext_type();
        let fits = |composed: &usize| bits(&q.basis()[..*composed]) <= most;
        let composed = (1..=limbs.min(moduli)).rev().find(fits).unwrap_or(1);
        let composed = q.limbs(0..composed)?.coefficients();
        Ok(Self { basis, drop: parameters.dropped(), embedding: embedding.clone(), composed })
    }

    /// Adds an input `name` of numbers to [encode](Level::encode): for each item one double-precision complex number
    /// per slot, first the real and then the imaginary part.
    pub fn numbers<'p>(&self, p: &'p Pipeline, name: &str) -> Value<'p> {
        p.bytes(name, self.embedding.count() * COMPLEX).secret()
    }

    /// Adds an input `name` of a scale, one double that all items share.
    pub fn scale<'p>(&self, p: &'p Pipeline, name: &str) -> Value<'p> {
        p.shared(name, size_of::<f64>())
    }

    /// Encodes [numbers](Level::numbers) at a [scale](Level::scale) as a plaintext, by an FFT in doubles with the same
    /// bits on every device. Also returns statuses: 1 for an item whose coefficients are all below 2^120 and below half
    /// of the modulus in absolute value. The plaintext of another item is wrong.
    pub fn encode<'p>(&self, p: &'p Pipeline, numbers: Value<'p>, scale: Value<'p>) -> [Value<'p>; 2] {
        self.encode_to(p, numbers, scale, self.plaintext_type())
    }

    /// Encodes like [`Level::encode`], but modulo the primes of `ring`.
    pub(crate) fn encode_to<'p>(
        &self,
        p: &'p Pipeline,
        numbers: Value<'p>,
        scale: Value<'p>,
        ring: &PolyType,
    ) -> [Value<'p>; 2] {
        let [tiles, statuses] = p.step(self.embedding.slots_to_tiles(), &[numbers]);
        let rounding = self.embedding.tiles_to_integers(self.most_coefficient().min(MOST));
        let [integers, statuses] = p.step(rounding, &[tiles, scale, statuses]);
        let [residues] = p.step(self.embedding.integers_to_residues(ring), &[integers]);
        [residues.holding(ring.coefficients()).forward(), statuses]
    }

    /// A plaintext with one number in all slots, from its `residues`: one 64-bit word per prime of Q.
    pub(crate) fn constant<'p>(&self, p: &'p Pipeline, residues: Value<'p>) -> Value<'p> {
        let [plaintext] = p.step(self.embedding.constant(self.plaintext_type(), None), &[residues]);
        plaintext.holding(self.plaintext_type())
    }

    /// A plaintext with this integer in all slots.
    pub(crate) fn integer<'p>(&self, p: &'p Pipeline, integer: f64) -> Value<'p> {
        self.integer_in(p, integer, self.plaintext_type())
    }

    /// The same, modulo the primes of `ring`.
    pub(crate) fn integer_in<'p>(&self, p: &'p Pipeline, integer: f64, ring: &PolyType) -> Value<'p> {
        let residues = Reduction::of(ring.basis()).into_iter().map(|modulus| modulus.residue_of(integer));
        let [plaintext] = p.step(self.embedding.constant(ring, Some(residues.collect())), &[]);
        plaintext.holding(ring)
    }

    /// Decodes a plaintext, given as coefficients, at a [scale](Level::scale) to the numbers in its slots. The bits are
    /// the same on every device.
    pub fn decode<'p>(&self, p: &'p Pipeline, coefficients: Value<'p>, scale: Value<'p>) -> Value<'p> {
        let basis = self.composed.basis();
        let integers = p.job(&Job::new(&self.composed, Op::Compose), &[coefficients.limbs(0..basis.len())]);
        let [elements] = p.step(self.embedding.integers_to_elements(basis), &[integers, scale]);
        let [tiles] = p.step(self.embedding.elements_to_tiles(), &[elements]);
        let [numbers] = p.step(self.embedding.tiles_to_slots(), &[tiles]);
        numbers
    }

    pub(crate) fn embedding(&self) -> &Embedding {
        &self.embedding
    }

    /// Half of the modulus: a bound on the absolute value of coefficients.
    pub(crate) fn most_coefficient(&self) -> f64 {
        (bits(self.plaintext_type().basis()) - 1.0).exp2()
    }

    /// Product of two ciphertexts, relinearised with `key`.
    #[must_use]
    pub fn multiply<'p>(&self, a: Value<'p>, b: Value<'p>, key: Value<'p>) -> Value<'p> {
        let [pair, square] = a.tensor(b);
        let key = self.raised(square).inner_product(key, 2);
        // the sum is fused into the last step of the division
        (pair.each() + key.each().divide_round(self.special())).together()
    }

    /// Product of two ciphertexts, relinearised with `key` and rescaled to the next lower level. ModDown and rescaling
    /// are a single division, by P and the primes that rescaling drops.
    #[must_use]
    pub fn multiply_rescaled<'p>(&self, a: Value<'p>, b: Value<'p>, key: Value<'p>) -> Value<'p> {
        let [pair, square] = a.tensor(b);
        self.relinearised_rescaled([pair, square], key, 1, 0.0)
    }

    /// Relinearises and rescales `times`·(pair + square·s²) plus an integer in all slots, given that `key` switches
    /// from `times`·s² to s.
    pub(crate) fn relinearised_rescaled<'p>(
        &self,
        [pair, square]: [Value<'p>; 2],
        key: Value<'p>,
        times: u32,
        integer: f64,
    ) -> Value<'p> {
        let (product, moduli) = (self.product_of_special(), self.plaintext_type().basis());
        let each = |number: &dyn Fn(usize) -> U256| -> Vec<U256> {
            product.iter().enumerate().map(|(i, p)| moduli[i].mul(p, &moduli[i].reduce(&number(i)))).collect()
        };
        let factors = each(&|_| U256::from(times));
        let residues: Vec<u64> = Reduction::of(moduli).into_iter().map(|modulus| modulus.residue_of(integer)).collect();
        let constants = if integer == 0.0 { Vec::new() } else { each(&|i| U256::from(residues[i])) };
        let sums = self.raised(square).plus(pair, &factors, &constants).inner_product(key, 2);
        sums.each().divide_round(self.special() + self.drop).together()
    }

    /// Rescales a ciphertext to the next lower level: divides by the primes that rescaling drops, and rounds.
    #[must_use]
    pub fn rescaled<'p>(&self, ciphertext: Value<'p>) -> Value<'p> {
        ciphertext.divide_round(self.drop)
    }

    /// Decrypts and decodes. Before decoding, adds flooding noise with one layer for each multiplier in `noise`; none
    /// if the list is empty.
    pub(crate) fn decrypt(&self, p: &Pipeline, noise: &[u128]) {
        let message = self.phase(p, self.ciphertext(p, "ciphertext")).inverse();
        let noise = (!noise.is_empty()).then(|| self.flood(p, noise, p.input("random_key"))).flatten();
        let message = noise.map_or(message, |noise| message + noise);
        p.output("numbers", self.decode(p, message, self.scale(p, "scale")));
    }
}
