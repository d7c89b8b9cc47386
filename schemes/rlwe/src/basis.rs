//! Operations on ciphertexts and keys as steps of a pipeline.

use ringforge::kernels::Distribution;
use ringforge::{Digits, Modulus, Order, Pipeline, PolyType, Result, Ring, U256, Value};

use crate::keys::Switch;
use crate::params::Parameters;

/// The rings of ciphertexts modulo the first primes of Q, and operations on these ciphertexts as steps of a
/// [`Pipeline`].
#[derive(Debug, Clone)]
pub struct Basis {
    /// Elements modulo Q, the product of the primes of the ciphertexts. All types of this struct hold evaluations.
    q: PolyType,
    /// Vector of two elements modulo Q: a ciphertext.
    pair: PolyType,
    /// Elements modulo Q·P; the limbs of P are last.
    qp: PolyType,
    /// Elements modulo all primes of Q and P. A switching key is a vector of such elements, of type `keys`.
    key: PolyType,
    keys: PolyType,
    /// Number of all primes of Q.
    top: usize,
    /// Number of primes of P, which is also the number of primes per key-switching digit.
    special: usize,
    digits: usize,
}

impl Basis {
    /// Element type of keys: evaluations modulo all primes of Q and P. Finding the primes' roots of unity dominates the
    /// set-up of a basis, so all share this type.
    pub(crate) fn key_type(parameters: &Parameters) -> Result<PolyType> {
        let basis = [parameters.q(), parameters.p()].concat();
        PolyType::from(Ring::rns(parameters.degree(), &basis)?).evaluations(Order::DigitReversed)
    }

    /// The basis of the first `limbs` primes of Q, all if there are fewer.
    ///
    /// # Errors
    /// The errors of [`Ring::rns`].
    pub fn new(parameters: &Parameters, limbs: usize) -> Result<Self> {
        Self::of_type(&Self::key_type(parameters)?, parameters, limbs)
    }

    /// Like [`Basis::new`], but with the given element type of keys.
    pub(crate) fn of_type(key: &PolyType, parameters: &Parameters, limbs: usize) -> Result<Self> {
        // All ciphertexts store residues in the format of keys, regardless of their primes.
        let (top, digits) = (parameters.q().len(), parameters.digits());
        let limbs = limbs.min(top);
        let qp = key.with_limbs(&(0..limbs).chain(top..key.basis().len()).collect::<Vec<_>>())?;
        let q = key.limbs(0..limbs)?;
        let (pair, keys) = (q.vector(2)?, key.vector(2 * digits)?);
        Ok(Self { q, pair, qp, key: key.clone(), keys, top, special: parameters.p().len(), digits })
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

    /// Type of elements modulo Q·P: evaluations; the limbs of P are last.
    #[must_use]
    pub fn extended_type(&self) -> &PolyType {
        &self.qp
    }

    /// Type of secret keys: evaluations modulo all primes of Q and P.
    #[must_use]
    pub fn all_type(&self) -> &PolyType {
        &self.key
    }

    /// Number of primes of P, which is also the number of primes per key-switching digit.
    #[must_use]
    pub fn special(&self) -> usize {
        self.special
    }

    /// Type of switching keys for these primes of Q, or fewer.
    ///
    /// # Errors
    /// The errors of [`PolyType::vector`].
    pub fn trimmed_key_type(&self) -> Result<PolyType> {
        self.qp.vector(2 * self.own_digits())
    }

    fn own_digits(&self) -> usize {
        self.q.basis().len().div_ceil(self.special)
    }

    /// Adds an input `name` of such a switching key, shared by all items.
    ///
    /// # Errors
    /// The errors of [`Basis::trimmed_key_type`].
    pub fn trimmed_key<'p>(&self, p: &'p Pipeline, name: &str) -> Result<Value<'p>> {
        let keys = self.trimmed_key_type()?;
        Ok(p.shared(name, keys.bytes()).holding(keys))
    }

    /// Adds an input `name` of a switching key for all primes of Q, shared by all items.
    pub fn switching_key<'p>(&self, p: &'p Pipeline, name: &str) -> Value<'p> {
        p.shared(name, self.keys.bytes()).holding(&self.keys)
    }

    /// ModUp, the first step of hybrid key switching (Han–Ki, eprint 2019/688): decomposes an element into digits and
    /// extends each digit to Q·P. Rotations of the same ciphertext can share the result.
    #[must_use]
    pub fn raised<'p>(&self, d: Value<'p>) -> Digits<'p> {
        d.raise(self.special, &self.qp)
    }

    /// Image of a ciphertext (c_0, c_1) under x → x^k. Takes c_0, the [raised digits](Basis::raised) of c_1, and the
    /// key for that automorphism.
    #[must_use]
    pub fn automorphism<'p>(&self, k: u64, c0: Value<'p>, digits: &Digits<'p>, key: Value<'p>) -> Value<'p> {
        // P times the image of c_0, which the division by P leaves
        let digits = digits.clone().automorphism(k).plus(c0, &self.product_of_special(), &[]);
        digits.inner_product(key, 2).divide_round(self.special)
    }

    /// Returns P, the product of the special primes, modulo each prime of Q.
    #[must_use]
    pub fn product_of_special(&self) -> Vec<U256> {
        let (limbs, basis) = (self.q.basis().len(), self.qp.basis());
        let product = |q: &Modulus| basis[limbs..].iter().fold(U256::ONE, |x, p| q.mul(&x, &q.reduce(&p.value())));
        basis[..limbs].iter().map(product).collect()
    }

    /// Samples a uniform ternary secret key, and outputs `s` as evaluations modulo all primes of Q and P.
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
    pub fn secret<'p>(&self, p: &'p Pipeline) -> Value<'p> {
        p.shared("s", self.key.bytes()).holding(&self.key).secret()
    }

    /// Outputs a public key: (e − a·s, a) with an error e. a is uniform and expanded from a seed.
    pub(crate) fn public_key(&self, p: &Pipeline, errors: Distribution) {
        let (limbs, a) = (self.q.basis().len(), uniform(p, &self.q));
        let e = p.sample(&self.q, errors, p.input("random_key")).secret().forward();
        p.output("key", p.join(&self.pair, &[e - a * self.secret(p).limbs(0..limbs), a]));
    }

    /// Outputs a public key (b, a) for a given half b and the seed of a.
    pub(crate) fn expand_public_key(&self, p: &Pipeline) {
        p.output("key", p.join(&self.pair, &[p.elements("b", &self.q), uniform(p, &self.q)]));
    }

    /// The secret key, the input `s`, modulo Q·P.
    fn own_secret<'p>(&self, p: &'p Pipeline) -> Value<'p> {
        let (s, limbs, all) = (self.secret(p), self.q.basis().len(), self.key.basis().len());
        match limbs + self.special == all {
            true => s,
            false => p.join(&self.qp, &[s.limbs(0..limbs), s.limbs(all - self.special..all)]),
        }
    }

    /// Outputs the secret `from` of a switching key to s.
    pub(crate) fn source_of_switch(&self, p: &Pipeline, switch: Switch) {
        let s = self.own_secret(p);
        p.output(
            "from",
            match switch {
                Switch::Square => s * s,
                Switch::Automorphism(k) => s.automorphism(k),
            },
        );
    }

    /// Outputs a switching key for these primes of Q, from the input `from`, a secret s', to s. For digit j, b_j =
    /// e_j − a_j·s + P·g_j·s', where e_j is an error and g_j is 1 modulo the primes of the digit and 0 modulo all others.
    /// All b_j come first, then all a_j, which are expanded from a seed.
    pub(crate) fn make_switching_key(&self, p: &Pipeline, errors: Distribution) -> Result<()> {
        let digits = self.own_digits();
        let a = uniform(p, &self.qp.vector(digits)?);
        let (random_key, s, limbs) = (p.input("random_key"), self.own_secret(p), self.qp.basis().len());
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
        p.output("key", p.join(self.trimmed_key_type()?, &parts));
        Ok(())
    }

    /// Type of the half of a switching key that is not expanded from its seed: the elements b_j of all digits.
    pub(crate) fn half_of_key(&self) -> Result<PolyType> {
        self.key.vector(self.digits)
    }

    /// Outputs a switching key for its given half, all b_j, and the seed of the other half, all a_j.
    pub(crate) fn expand_switching_key(&self, p: &Pipeline) -> Result<()> {
        let all = self.key.vector(self.digits)?;
        p.output("key", p.join(&self.keys, &[p.elements("b", &all), uniform(p, &all)]));
        Ok(())
    }

    /// Encrypts a plaintext m, the input `message`, under a public key (b, a), the input `key`: (v·b + e_0 + m,
    /// v·a + e_1), with ternary v and errors e_0 and e_1.
    pub(crate) fn encrypt(&self, p: &Pipeline, errors: Distribution) -> Result<()> {
        let (limbs, top) = (self.q.basis().len(), self.key.limbs(0..self.top)?);
        let key = p.shared("key", 2 * top.bytes()).holding(top.vector(2)?);
        let [b, a] = [0, 1].map(|part| key.element(part).limbs(0..limbs));
        let random_key = p.input("random_key");
        let sample = |distribution| p.sample(&self.q, distribution, random_key).secret().forward();
        let (v, message) = (sample(Distribution::Ternary), p.elements("message", &self.q).secret());
        let parts = [v * b + (sample(errors) + message), v * a + sample(errors)];
        p.output("ciphertext", p.join(&self.pair, &parts));
        Ok(())
    }

    /// Decrypts a ciphertext: c_0 + c_1·s, its plaintext plus noise, for the secret key at the input `s`.
    pub fn phase<'p>(&self, p: &'p Pipeline, ciphertext: Value<'p>) -> Value<'p> {
        let [c0, c1] = [0, 1].map(|part| ciphertext.element(part));
        c1 * self.secret(p).limbs(0..self.q.basis().len()) + c0
    }
}

/// Expands the input `seed` to uniform elements, as evaluations: the public half of keys.
fn uniform<'p>(p: &'p Pipeline, poly: &PolyType) -> Value<'p> {
    p.sample(poly, Distribution::Uniform, p.bytes("seed", 32)).holding(poly)
}
