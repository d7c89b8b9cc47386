//! The operations of the scheme as steps of a pipeline.

use std::sync::Arc;

use ringforge::kernels::Distribution;
use ringforge::{Digits, Job, Modulus, Op, Order, Pipeline, PolyType, Ring, U256, Value};

use crate::embedding::{Embedding, MOST, Reduction};
use crate::error::{Error, Result};
use crate::kernels::COMPLEX;
use crate::params::{Parameters, bits};

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
    /// Elements modulo Q, the product of the primes that remain at this level. All types of this struct hold
    /// evaluations.
    q: PolyType,
    /// Vector of two elements modulo Q: a ciphertext.
    pair: PolyType,
    /// Elements modulo Q·P; the limbs of P are last.
    pub(crate) qp: PolyType,
    /// Elements modulo Q·P of the top level. A switching key is a vector of such elements, of type `keys`.
    pub(crate) key: PolyType,
    pub(crate) keys: PolyType,
    /// Number of primes of P, which is also the number of primes per key-switching digit.
    pub(crate) special: usize,
    digits: usize,
    pub(crate) drop: usize,
    embedding: Arc<Embedding>,
    /// Coefficients modulo the first primes of Q, from which integers are composed.
    composed: PolyType,
}

/// The most moduli from which integers are composed, and the most bits of their product: a double cannot hold integers of
/// more bits.
const COMPOSED: (usize, f64) = (64, 1024.0);

/// Source and target secrets of a switching key, where s is the secret key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Switch {
    /// From s² to s, for relinearisation.
    Square,
    /// From σ(s) to s, where σ is the automorphism x → x^k for this k. Key switching takes σ(c_1) of a ciphertext under
    /// s.
    Automorphism(u64),
}

impl Level {
    /// Creates the rings of a level.
    ///
    /// # Errors
    /// [`Error::NoLevel`] if the level is above the top level; [`Error::Engine`] if a ring is not supported.
    pub fn new(parameters: &Parameters, level: usize) -> Result<Self> {
        let embedding = Arc::new(Embedding::new(parameters.degree()));
        Self::of_key(&Self::key_type(parameters)?, &embedding, parameters, level)
    }

    /// Element type of keys: evaluations modulo all primes of Q and P. Finding the primes' roots of unity dominates the
    /// set-up of a level, so all levels share this type.
    pub(crate) fn key_type(parameters: &Parameters) -> Result<PolyType> {
        let basis = [parameters.q(), parameters.p()].concat();
        Ok(PolyType::from(Ring::rns(parameters.degree(), &basis)?).evaluations(Order::DigitReversed)?)
    }

    /// Like [`Level::new`], but with the given element type of keys, from [`Level::key_type`], and embedding.
    pub(crate) fn of_key(
        key: &PolyType,
        embedding: &Arc<Embedding>,
        parameters: &Parameters,
        level: usize,
    ) -> Result<Self> {
        if level > parameters.top_level() {
            return Err(Error::NoLevel { from: parameters.top_level(), wanted: level as i64 });
        }
        // All levels store residues in the format of the top level, regardless of the remaining primes.
        let limbs = parameters.limbs(level);
        let qp = key.with_limbs(&(0..limbs).chain(parameters.q().len()..key.basis().len()).collect::<Vec<_>>())?;
        let q = key.limbs(0..limbs)?;
        let (special, digits, drop) = (parameters.p().len(), parameters.digits(), parameters.dropped());
        let (pair, keys) = (q.vector(2)?, key.vector(2 * digits)?);
        let (moduli, most) = COMPOSED;
        let fits = |composed: &usize| bits(&q.basis()[..*composed]) <= most;
        let composed = (1..=limbs.min(moduli)).rev().find(fits).unwrap_or(1);
        let (composed, embedding) = (q.limbs(0..composed)?.coefficients(), embedding.clone());
        Ok(Self { q, pair, qp, key: key.clone(), keys, special, digits, drop, embedding, composed })
    }

    /// Type of a ciphertext: evaluations of c_0, then of c_1, limb by limb.
    #[must_use]
    pub fn ciphertext_type(&self) -> &PolyType {
        &self.pair
    }

    /// Type of a plaintext: evaluations modulo Q.
    #[must_use]
    pub fn plaintext_type(&self) -> &PolyType {
        &self.q
    }

    /// Adds an input `name` of one ciphertext per item: a vector (c_0, c_1). With the secret key s, c_0 + c_1·s =
    /// plaintext + noise.
    pub fn ciphertext<'p>(&self, p: &'p Pipeline, name: &str) -> Value<'p> {
        p.elements(name, self.ciphertext_type())
    }

    /// Adds an input `name` of one plaintext per item or, if `shared`, of one plaintext for all items.
    pub fn plaintext<'p>(&self, p: &'p Pipeline, name: &str, shared: bool) -> Value<'p> {
        match shared {
            true => p.shared(name, self.q.bytes()).holding(&self.q),
            false => p.elements(name, &self.q),
        }
    }

    /// Adds an input `name` of numbers to [encode](Level::encode): for each item one double-precision complex number per
    /// slot, first the real and then the imaginary part.
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
        self.encode_to(p, numbers, scale, &self.q)
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
        let [plaintext] = p.step(self.embedding.constant(&self.q, None), &[residues]);
        plaintext.holding(&self.q)
    }

    /// A plaintext with this integer in all slots.
    pub(crate) fn integer<'p>(&self, p: &'p Pipeline, integer: f64) -> Value<'p> {
        self.integer_in(p, integer, &self.q)
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
        (bits(self.q.basis()) - 1.0).exp2()
    }

    /// Type of switching keys for this level and lower ones only.
    pub(crate) fn keys_of_level(&self) -> Result<PolyType> {
        Ok(self.qp.vector(2 * self.digits_of_level())?)
    }

    fn digits_of_level(&self) -> usize {
        self.q.basis().len().div_ceil(self.special)
    }

    /// Adds an input `name` of such a switching key, shared by all items.
    pub(crate) fn switching_key_of_level<'p>(&self, p: &'p Pipeline, name: &str) -> Result<Value<'p>> {
        let keys = self.keys_of_level()?;
        Ok(p.shared(name, keys.bytes()).holding(keys))
    }

    /// Adds an input `name` of a switching key for all levels, shared by all items.
    pub fn switching_key<'p>(&self, p: &'p Pipeline, name: &str) -> Value<'p> {
        p.shared(name, self.keys.bytes()).holding(&self.keys)
    }

    /// ModUp, the first step of hybrid key switching (Han–Ki, eprint 2019/688): decomposes an element into digits and
    /// extends each digit to Q·P. Rotations of the same ciphertext can share the result.
    #[must_use]
    pub fn raised<'p>(&self, d: Value<'p>) -> Digits<'p> {
        d.raise(self.special, &self.qp)
    }

    /// Product of two ciphertexts, relinearised with `key`.
    #[must_use]
    pub fn multiply<'p>(&self, a: Value<'p>, b: Value<'p>, key: Value<'p>) -> Value<'p> {
        let [pair, square] = a.tensor(b);
        let key = self.raised(square).inner_product(key, 2);
        // the sum is fused into the last step of the division
        (pair.each() + key.each().divide_round(self.special)).together()
    }

    /// Product of two ciphertexts, relinearised with `key` and rescaled to the next lower level. ModDown and rescaling
    /// are a single division, by P and the primes that rescaling drops.
    #[must_use]
    pub fn multiply_rescaled<'p>(&self, a: Value<'p>, b: Value<'p>, key: Value<'p>) -> Value<'p> {
        let [pair, square] = a.tensor(b);
        self.relinearised_rescaled([pair, square], key, 1, 0.0)
    }

    /// Relinearises and rescales `times`·(pair + square·s²) plus an integer in all slots, given that `key` switches from
    /// `times`·s² to s.
    pub(crate) fn relinearised_rescaled<'p>(
        &self,
        [pair, square]: [Value<'p>; 2],
        key: Value<'p>,
        times: u32,
        integer: f64,
    ) -> Value<'p> {
        let (product, moduli) = (self.product_of_special(), self.q.basis());
        let each = |number: &dyn Fn(usize) -> U256| -> Vec<U256> {
            product.iter().enumerate().map(|(i, p)| moduli[i].mul(p, &moduli[i].reduce(&number(i)))).collect()
        };
        let factors = each(&|_| U256::from(times));
        let residues: Vec<u64> = Reduction::of(moduli).into_iter().map(|modulus| modulus.residue_of(integer)).collect();
        let constants = if integer == 0.0 { Vec::new() } else { each(&|i| U256::from(residues[i])) };
        let sums = self.raised(square).plus(pair, &factors, &constants).inner_product(key, 2);
        sums.each().divide_round(self.special + self.drop).together()
    }

    /// Rescales a ciphertext to the next lower level: divides by the primes that rescaling drops, and rounds.
    #[must_use]
    pub fn rescaled<'p>(&self, ciphertext: Value<'p>) -> Value<'p> {
        ciphertext.divide_round(self.drop)
    }

    /// Image of a ciphertext (c_0, c_1) under x → x^k. Takes c_0, the [raised digits](Level::raised) of c_1, and the
    /// key for that automorphism.
    #[must_use]
    pub fn automorphism<'p>(&self, k: u64, c0: Value<'p>, digits: &Digits<'p>, key: Value<'p>) -> Value<'p> {
        // P times the image of c_0, which the division by P leaves
        let digits = digits.clone().automorphism(k).plus(c0, &self.product_of_special(), &[]);
        digits.inner_product(key, 2).divide_round(self.special)
    }

    /// Returns P, the product of the special primes, modulo each prime of Q.
    pub(crate) fn product_of_special(&self) -> Vec<U256> {
        let (limbs, basis) = (self.q.basis().len(), self.qp.basis());
        let product = |q: &Modulus| basis[limbs..].iter().fold(U256::ONE, |x, p| q.mul(&x, &q.reduce(&p.value())));
        basis[..limbs].iter().map(product).collect()
    }

    /// Samples a uniform ternary secret key, and outputs `s` as evaluations modulo Q·P of the top level.
    pub(crate) fn secret_key(&self, p: &Pipeline) {
        let s = p.sample(&self.key, Distribution::Ternary, p.input("random_key"));
        p.output("s", s.secret().forward());
    }

    /// Outputs the coefficients of the secret key `s` modulo q_0.
    pub(crate) fn secret_coefficients(&self, p: &Pipeline) {
        let s = p.elements("s", &self.key).secret();
        p.output("coefficients", s.limbs(0..1).inverse());
    }

    /// Outputs the secret key `s` for given coefficients modulo Q·P.
    pub(crate) fn secret_evaluations(&self, p: &Pipeline) {
        p.output("s", p.coefficients("coefficients", &self.key).secret().forward());
    }

    /// Adds an input `s` of a secret key, shared by all items.
    pub(crate) fn secret<'p>(&self, p: &'p Pipeline) -> Value<'p> {
        p.shared("s", self.key.bytes()).holding(&self.key).secret()
    }

    /// Outputs a public key at the top level: (e − a·s, a) with an error e. a is uniform and expanded from a seed.
    pub(crate) fn public_key(&self, p: &Pipeline, errors: Distribution) {
        let (limbs, a) = (self.q.basis().len(), uniform(p, &self.q));
        let e = p.sample(&self.q, errors, p.input("random_key")).secret().forward();
        p.output("key", p.join(&self.pair, &[e - a * self.secret(p).limbs(0..limbs), a]));
    }

    /// Outputs a public key (b, a) for a given half b and the seed of a.
    pub(crate) fn expand_public_key(&self, p: &Pipeline) {
        p.output("key", p.join(&self.pair, &[p.elements("b", &self.q), uniform(p, &self.q)]));
    }

    /// The secret key, the input `s`, modulo the primes of Q and P at this level.
    fn secret_of_level<'p>(&self, p: &'p Pipeline) -> Value<'p> {
        let (s, limbs, all) = (self.secret(p), self.q.basis().len(), self.key.basis().len());
        match limbs + self.special == all {
            true => s,
            false => p.join(&self.qp, &[s.limbs(0..limbs), s.limbs(all - self.special..all)]),
        }
    }

    /// Outputs the secret `from` of a switching key to s.
    pub(crate) fn source_of_switch(&self, p: &Pipeline, switch: Switch) {
        let s = self.secret_of_level(p);
        p.output(
            "from",
            match switch {
                Switch::Square => s * s,
                Switch::Automorphism(k) => s.automorphism(k),
            },
        );
    }

    /// Outputs a switching key for this level and lower ones, from the input `from`, a secret s', to s. For digit j, b_j =
    /// e_j − a_j·s + P·g_j·s', where e_j is an error and g_j is 1 modulo the primes of the digit and 0 modulo all others.
    /// All b_j come first, then all a_j, which are expanded from a seed.
    pub(crate) fn make_switching_key(&self, p: &Pipeline, errors: Distribution) -> Result<()> {
        let digits = self.digits_of_level();
        let a = uniform(p, &self.qp.vector(digits)?);
        let (random_key, s, limbs) = (p.input("random_key"), self.secret_of_level(p), self.qp.basis().len());
        let from = p.shared("from", self.qp.bytes()).holding(&self.qp).secret();
        let product = self.product_of_special();
        let of = |j: usize| a.limbs(j * limbs..(j + 1) * limbs);
        let b = (0..digits).map(|j| {
            let number = |limb: usize| match product.get(limb) {
                Some(product) if limb / self.special == j => *product,
                _ => U256::ZERO,
            };
            let e = p.sample(&self.qp, errors, random_key).secret().forward();
            e - of(j) * s + from.scale(&(0..limbs).map(number).collect::<Vec<_>>())
        });
        let parts: Vec<Value<'_>> = b.chain((0..digits).map(of)).collect();
        p.output("key", p.join(self.keys_of_level()?, &parts));
        Ok(())
    }

    /// Type of the half of a switching key that is not expanded from its seed: the elements b_j of all digits.
    pub(crate) fn half_of_key(&self) -> Result<PolyType> {
        Ok(self.key.vector(self.digits)?)
    }

    /// Outputs a switching key for its given half, all b_j, and the seed of the other half, all a_j.
    pub(crate) fn expand_switching_key(&self, p: &Pipeline) -> Result<()> {
        let all = self.key.vector(self.digits)?;
        p.output("key", p.join(&self.keys, &[p.elements("b", &all), uniform(p, &all)]));
        Ok(())
    }

    /// Encrypts a plaintext m under a public key (b, a) of the top level: (v·b + e_0 + m, v·a + e_1), with ternary v
    /// and errors e_0 and e_1.
    pub(crate) fn encrypt(&self, p: &Pipeline, parameters: &Parameters) -> Result<()> {
        let (limbs, top) = (self.q.basis().len(), self.key.limbs(0..parameters.q().len())?);
        let key = p.shared("key", 2 * top.bytes()).holding(top.vector(2)?);
        let [b, a] = [0, 1].map(|part| key.element(part).limbs(0..limbs));
        let (random_key, errors) = (p.input("random_key"), parameters.errors().distribution());
        let sample = |distribution| p.sample(&self.q, distribution, random_key).secret().forward();
        let (v, message) = (sample(Distribution::Ternary), p.elements("message", &self.q).secret());
        let parts = [v * b + (sample(errors) + message), v * a + sample(errors)];
        p.output("ciphertext", p.join(&self.pair, &parts));
        Ok(())
    }

    /// Decrypts and decodes. Before decoding, adds flooding noise with one layer for each multiplier in `noise`; none if
    /// the list is empty.
    pub(crate) fn decrypt(&self, p: &Pipeline, noise: &[u128]) {
        let ciphertext = self.ciphertext(p, "ciphertext");
        let [c0, c1] = [0, 1].map(|part| ciphertext.element(part));
        let s = self.secret(p).limbs(0..self.q.basis().len());
        let message = (c1 * s + c0).inverse();
        let noise = (!noise.is_empty()).then(|| self.flood(p, noise, p.input("random_key"))).flatten();
        let message = noise.map_or(message, |noise| message + noise);
        p.output("numbers", self.decode(p, message, self.scale(p, "scale")));
    }
}

/// Expands the input `seed` to uniform elements, as evaluations: the public half of keys.
fn uniform<'p>(p: &'p Pipeline, poly: &PolyType) -> Value<'p> {
    p.sample(poly, Distribution::Uniform, p.bytes("seed", 32)).holding(poly)
}
