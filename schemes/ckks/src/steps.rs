//! The operations as steps of a pipeline.

use ringforge::kernels::Distribution;
use ringforge::{Modulus, Order, Pipeline, PolyType, Ring, U256, Value};

use crate::error::{Error, Result};
use crate::params::Parameters;

/// Both parts of a ciphertext in a pipeline: c_0 + c_1·s is the plaintext and noise.
pub type Pair<'p> = [Value<'p>; 2];

/// A level of the chain of moduli: its rings, and operations on its ciphertexts as steps of a [`Pipeline`].
///
/// The operations of [`Ckks`](crate::Ckks) are pipelines of one each. A pipeline of one's own makes one program of several,
/// with no ciphertext in memory between them, of which a GPU can capture the whole run
/// ([`Program::capture`](ringforge::Program::capture)). Here nobody looks after scales.
///
/// ```
/// use ringforge_ckks::{Ckks, Parameters, ringforge::Engine};
///
/// let ckks = Ckks::new(&Engine::best(), Parameters::new(13, &[50, 38, 38, 38], &[50])?)?;
/// let [top, below] = [3, 2].map(|level| ckks.level(level).expect("a level"));
/// let p = ckks.engine().pipeline("a² b");
/// let key = top.switching_key(&p, "relinearisation");
/// let [a, b] = ["a", "b"].map(|name| top.ciphertext(&p, name));
/// let square = top.multiply_rescaled(&p, a, a, key);
/// let b = top.rescaled(b);
/// below.output(&p, "product", below.multiply(square, b, key));
/// let program = ckks.engine().compile(p)?;
/// # Ok::<(), ringforge_ckks::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Level {
    /// Evaluations modulo Q, as all below are evaluations.
    q: PolyType,
    /// Two such elements.
    pair: PolyType,
    /// Modulo Q·P, the primes of P last.
    qp: PolyType,
    /// The same of the top level, which keys are of, and a switching key's elements.
    key: PolyType,
    pub(crate) keys: PolyType,
    /// Primes of P, and of a digit.
    special: usize,
    digits: usize,
    drop: usize,
}

/// What a switching key leads from and to, σ the automorphism x → x^k.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Switch {
    /// From s² to s.
    Square,
    /// From s to σ^-1(s), so that σ of the result is under s again.
    Automorphism(u64),
}

impl Level {
    /// A level of these parameters.
    ///
    /// # Errors
    /// [`Error::NoLevel`]; [`Error::Engine`] where the rings cannot be.
    pub fn new(parameters: &Parameters, level: usize) -> Result<Self> {
        Self::of_key(&Self::key_type(parameters)?, parameters, level)
    }

    /// What a key has one element of: evaluations modulo all primes. Finding their roots takes the most time of a level.
    pub(crate) fn key_type(parameters: &Parameters) -> Result<PolyType> {
        let basis = [parameters.q(), parameters.p()].concat();
        Ok(PolyType::from(Ring::rns(parameters.degree(), &basis)?).evaluations(Order::Tree)?)
    }

    /// A level of these parameters, whose keys have elements of this type.
    pub(crate) fn of_key(key: &PolyType, parameters: &Parameters, level: usize) -> Result<Self> {
        if level > parameters.top_level() {
            return Err(Error::NoLevel { from: parameters.top_level(), wanted: level as i64 });
        }
        // residues are stored alike at all levels, whichever primes are left
        let limbs = parameters.limbs(level);
        let qp = key.with_limbs(&(0..limbs).chain(parameters.q().len()..key.basis().len()).collect::<Vec<_>>())?;
        let q = key.limbs(0..limbs)?;
        let (special, digits, drop) = (parameters.p().len(), parameters.digits(), parameters.dropped());
        let (pair, keys) = (q.vector(2)?, key.vector(2 * digits)?);
        Ok(Self { q, pair, qp, key: key.clone(), keys, special, digits, drop })
    }

    /// What a ciphertext holds: evaluations of c_0 and of c_1, limb after limb.
    #[must_use]
    pub fn ciphertext_type(&self) -> &PolyType {
        &self.pair
    }

    /// What a plaintext holds: evaluations modulo Q.
    #[must_use]
    pub fn plaintext_type(&self) -> &PolyType {
        &self.q
    }

    /// An input of ciphertexts, one for each item.
    pub fn ciphertext<'p>(&self, p: &'p Pipeline, name: &str) -> Pair<'p> {
        let limbs = self.q.basis().len();
        let all = p.elements(name, self.ciphertext_type());
        [0..limbs, limbs..2 * limbs].map(|limbs| all.limbs(limbs))
    }

    /// An input of plaintexts, one for each item, or one that all items share.
    pub fn plaintext<'p>(&self, p: &'p Pipeline, name: &str, shared: bool) -> Value<'p> {
        match shared {
            true => p.shared(name, self.q.bytes()).holding(&self.q),
            false => p.elements(name, &self.q),
        }
    }

    /// An input of a switching key, which all items share.
    pub fn switching_key<'p>(&self, p: &'p Pipeline, name: &str) -> Value<'p> {
        p.shared(name, self.keys.bytes()).holding(&self.keys)
    }

    /// Gives ciphertexts of this level out.
    pub fn output(&self, p: &Pipeline, name: &str, pair: Pair<'_>) {
        p.output(name, p.join(self.ciphertext_type(), &pair));
    }

    /// The digits of an element, each raised to Q·P: what key switching begins with, and rotations of one ciphertext share.
    #[must_use]
    pub fn raised<'p>(&self, d: Value<'p>) -> Value<'p> {
        d.raise(self.special, &self.qp)
    }

    /// Digits times a switching key, still times P.
    fn times_key<'p>(&self, digits: Value<'p>, key: Value<'p>) -> Pair<'p> {
        let (all, limbs) = (digits.inner_product(&self.qp, key, 2), self.qp.basis().len());
        [0..limbs, limbs..2 * limbs].map(|limbs| all.limbs(limbs))
    }

    /// Of [raised digits](Level::raised) of d and a switching key from s' to s, a pair that decrypts under s to d·s' and noise.
    #[must_use]
    pub fn switched<'p>(&self, digits: Value<'p>, key: Value<'p>) -> Pair<'p> {
        self.times_key(digits, key).map(|part| part.divide_round(self.special))
    }

    /// The product in three parts, of which the last one is times s².
    fn tensor<'p>(&self, [a0, a1]: Pair<'p>, [b0, b1]: Pair<'p>) -> [Value<'p>; 3] {
        [a0 * b0, a0.mul_add(b1, a1 * b0), a1 * b1]
    }

    /// The product, relinearised.
    #[must_use]
    pub fn multiply<'p>(&self, a: Pair<'p>, b: Pair<'p>, key: Value<'p>) -> Pair<'p> {
        let [c0, c1, c2] = self.tensor(a, b);
        let [k0, k1] = self.switched(self.raised(c2), key);
        [c0 + k0, c1 + k1]
    }

    /// The product, relinearised and rescaled: divided once by P and the dropped primes. Of the level below.
    #[must_use]
    pub fn multiply_rescaled<'p>(&self, p: &'p Pipeline, a: Pair<'p>, b: Pair<'p>, key: Value<'p>) -> Pair<'p> {
        let [c0, c1, c2] = self.tensor(a, b);
        let [k0, k1] = self.times_key(self.raised(c2), key);
        let (limbs, all) = (self.q.basis().len(), self.qp.basis().len());
        let special = self.product_of_special();
        let whole = |part: Value<'p>, key: Value<'p>| {
            let sum = part.scale(&special) + key.limbs(0..limbs);
            let joined = p.join(&self.qp, &[sum, key.limbs(limbs..all)]);
            joined.divide_round(self.special + self.drop)
        };
        [whole(c0, k0), whole(c1, k1)]
    }

    /// The quotient by the dropped primes, rounded: of the level below.
    #[must_use]
    pub fn rescaled<'p>(&self, pair: Pair<'p>) -> Pair<'p> {
        pair.map(|part| part.divide_round(self.drop))
    }

    /// The image under x → x^k of a ciphertext, of whose second part these are the [raised digits](Level::raised), by the key
    /// for that automorphism.
    #[must_use]
    pub fn automorphism<'p>(&self, k: u64, c0: Value<'p>, digits: Value<'p>, key: Value<'p>) -> Pair<'p> {
        let [k0, k1] = self.switched(digits, key);
        [c0 + k0, k1].map(|part| part.automorphism(k))
    }

    /// P modulo each prime of Q.
    fn product_of_special(&self) -> Vec<U256> {
        let (limbs, basis) = (self.q.basis().len(), self.qp.basis());
        let product = |q: &Modulus| basis[limbs..].iter().fold(U256::ONE, |x, p| q.mul(&x, &q.reduce(&p.value())));
        basis[..limbs].iter().map(product).collect()
    }

    /// A secret key, from draws: evaluations modulo Q·P of the top level.
    pub(crate) fn secret_key(&self, p: &Pipeline) {
        let s = p.sample(&self.key, Distribution::Ternary, p.input("draws"));
        p.output("s", s.secret().forward());
    }

    /// The coefficients of a secret key modulo q_0.
    pub(crate) fn secret_coefficients(&self, p: &Pipeline) {
        let s = p.elements("s", &self.key).secret();
        p.output("coefficients", s.limbs(0..1).inverse());
    }

    /// A secret key from its coefficients modulo Q·P.
    pub(crate) fn secret_evaluations(&self, p: &Pipeline) {
        p.output("s", p.coefficients("coefficients", &self.key).secret().forward());
    }

    /// An input of a secret key, which all items share.
    pub(crate) fn secret<'p>(&self, p: &'p Pipeline) -> Value<'p> {
        p.shared("s", self.key.bytes()).holding(&self.key).secret()
    }

    /// A public key at the top level: e − a·s, and a from a seed.
    pub(crate) fn public_key(&self, p: &Pipeline, errors: Distribution) {
        let (limbs, a) = (self.q.basis().len(), uniform(p, &self.q));
        let e = p.sample(&self.q, errors, p.input("draws")).secret().forward();
        self.output(p, "key", [e - a * self.secret(p).limbs(0..limbs), a]);
    }

    /// A public key from its seed and what is not made from it.
    pub(crate) fn expand_public_key(&self, p: &Pipeline) {
        self.output(p, "key", [p.elements("b", &self.q), uniform(p, &self.q)]);
    }

    /// A switching key: for digit j, b_j = e_j − a_j·s + P·g_j·s', where g_j is 1 modulo the primes of that digit and 0 modulo the
    /// others; all b_j, then all a_j, which come from a seed.
    pub(crate) fn make_switching_key(&self, p: &Pipeline, switch: Switch, errors: Distribution) -> Result<()> {
        let all = self.key.vector(self.digits)?;
        let a = uniform(p, &all);
        let (draws, s, limbs) = (p.input("draws"), self.secret(p), self.key.basis().len());
        let (from, to) = match switch {
            Switch::Square => (s * s, s),
            Switch::Automorphism(k) => (s, s.automorphism(inverse(k, 2 * self.q.degree() as u64))),
        };
        let product = self.product_of_special();
        let of = |j: usize| a.limbs(j * limbs..(j + 1) * limbs);
        let b = (0..self.digits).map(|j| {
            let number = |limb: usize| match product.get(limb) {
                Some(product) if limb / self.special == j => *product,
                _ => U256::ZERO,
            };
            let e = p.sample(&self.key, errors, draws).secret().forward();
            e - of(j) * to + from.scale(&(0..limbs).map(number).collect::<Vec<_>>())
        });
        let parts: Vec<Value<'_>> = b.chain((0..self.digits).map(of)).collect();
        p.output("key", p.join(&self.keys, &parts));
        Ok(())
    }

    /// What of a switching key is not made from its seed: all b_j.
    pub(crate) fn half_of_key(&self) -> Result<PolyType> {
        Ok(self.key.vector(self.digits)?)
    }

    /// A switching key from its seed and what is not made from it.
    pub(crate) fn expand_switching_key(&self, p: &Pipeline) -> Result<()> {
        let all = self.key.vector(self.digits)?;
        p.output("key", p.join(&self.keys, &[p.elements("b", &all), uniform(p, &all)]));
        Ok(())
    }

    /// Encryptions of plaintexts under a public key of the top level.
    pub(crate) fn encrypt(&self, p: &Pipeline, parameters: &Parameters) -> Result<()> {
        let (limbs, top) = (self.q.basis().len(), self.key.limbs(0..parameters.q().len())?);
        let key = p.shared("key", 2 * top.bytes()).holding(top.vector(2)?);
        let [b, a] = [0, top.basis().len()].map(|first| key.limbs(first..first + limbs));
        let (draws, errors) = (p.input("draws"), parameters.errors().distribution());
        let sample = |distribution| p.sample(&self.q, distribution, draws).secret().forward();
        let (v, message) = (sample(Distribution::Ternary), p.elements("message", &self.q).secret());
        self.output(p, "ciphertext", [v * b + (sample(errors) + message), v * a + sample(errors)]);
        Ok(())
    }

    /// The coefficients of what ciphertexts hold, with noise of these layers.
    pub(crate) fn decrypt(&self, p: &Pipeline, noise: &[u128]) {
        let [c0, c1] = self.ciphertext(p, "ciphertext");
        let s = self.secret(p).limbs(0..self.q.basis().len());
        let message = (c1 * s + c0).inverse();
        let noise = (!noise.is_empty()).then(|| self.flood(p, noise, p.input("draws"))).flatten();
        p.output("message", noise.map_or(message, |noise| message + noise));
    }
}

/// Uniform elements from a seed, as evaluations: the public half of keys.
fn uniform<'p>(p: &'p Pipeline, poly: &PolyType) -> Value<'p> {
    p.sample(poly, Distribution::Uniform, p.bytes("seed", 32)).holding(poly)
}

/// k^-1 modulo a power of two.
pub(crate) fn inverse(k: u64, modulus: u64) -> u64 {
    let mut inverse = k; // right to 3 bits, and each step doubles them
    for _ in 0..5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(k.wrapping_mul(inverse)));
    }
    inverse % modulus
}
