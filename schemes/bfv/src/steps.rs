//! The operations of the scheme as steps of a pipeline.
//!
//! With the secret key s, c_0 + c_1·s = ⌊Q·m/t⌉ + e for a plaintext m and noise e. A product is computed as by Halevi,
//! Polyakov and Shoup (eprint 2018/117). The centred parts of both ciphertexts are converted to R, and multiplied modulo R
//! and Q, where nothing wraps around. Scaled by t/Q and rounded, the product is known modulo R, and converted back to Q.
//! All conversions are exact.

use core::ops::Deref;

use ringforge::{Job, Modulus, Op, Order, Pipeline, PolyType, Ring, U256, Value};
use ringforge_rlwe::Basis;

use crate::error::Result;
use crate::params::Parameters;

/// Rings of the scheme, and its operations on ciphertexts as steps of a [`Pipeline`]. Sums, rotations and inputs are those
/// of [`Basis`], to which it dereferences.
///
/// ```
/// use ringforge_bfv::{Bfv, Parameters, ringforge::Engine};
///
/// let bfv = Bfv::new(&Engine::best(), Parameters::new(13, 65537, &[53; 3], &[54])?)?;
/// let (steps, p) = (bfv.steps(), bfv.engine().pipeline("a² b"));
/// let key = steps.switching_key(&p, "relinearisation");
/// let [a, b] = ["a", "b"].map(|name| steps.ciphertext(&p, name));
/// let square = steps.multiply(&p, a, None, key)?;
/// p.output("product", steps.multiply(&p, square, Some(b), key)?);
/// let program = bfv.engine().compile(p)?;
/// # Ok::<(), ringforge_bfv::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Steps {
    basis: Basis,
    /// Coefficients modulo t, in the width of ciphertexts.
    pub(crate) plain: PolyType,
    /// Coefficients modulo R.
    r: PolyType,
    t: U256,
    /// For each prime of R, 1/Q.
    inverses_of_q: Vec<U256>,
    /// For each prime of Q, −1/t.
    minus_inverses_of_t: Vec<U256>,
    /// Q and −1/Q modulo t.
    q_modulo_t: U256,
    minus_inverse_of_q: U256,
}

/// The operations that do not depend on plaintexts.
impl Deref for Steps {
    type Target = Basis;

    fn deref(&self) -> &Basis {
        &self.basis
    }
}

impl Steps {
    /// Creates the rings.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine) if a ring is not supported.
    pub fn new(parameters: &Parameters) -> Result<Self> {
        Self::of(parameters, Basis::new(parameters.rlwe(), parameters.q().len())?)
    }

    /// Like [`Steps::new`], but with the given basis.
    pub(crate) fn of(parameters: &Parameters, basis: Basis) -> Result<Self> {
        let ((t, r), q) = (parameters.moduli(), basis.plaintext_type());
        let ring = |moduli: &[Modulus]| -> Result<PolyType> {
            Ok(PolyType::from(Ring::rns(parameters.degree(), moduli)?).with_width(q.width())?)
        };
        let inverse = |q: &Modulus, x: &U256| q.inverse(&q.reduce(x)).unwrap_or(U256::ZERO);
        let minus_inverse = |q: &Modulus, x: &U256| q.neg(&inverse(q, x));
        let inverses_of_q: Vec<U256> = r.iter().map(|r| inverse(r, &parameters.q_modulo(r))).collect();
        let q_modulo_t = parameters.q_modulo(t);
        Ok(Self {
            plain: ring(&[*t])?,
            r: ring(r)?,
            t: t.value(),
            inverses_of_q,
            minus_inverses_of_t: q.basis().iter().map(|q| minus_inverse(q, &t.value())).collect(),
            minus_inverse_of_q: minus_inverse(t, &q_modulo_t),
            q_modulo_t,
            basis,
        })
    }

    fn q(&self) -> PolyType {
        self.basis.plaintext_type().coefficients()
    }

    fn converted<'p>(p: &'p Pipeline, x: Value<'p>, from: &PolyType, to: &PolyType) -> Value<'p> {
        p.job(&Job::new(from, Op::ConvertCentred).to(to), &[x])
    }

    /// The coefficients of t times an element of this ring, given as evaluations.
    fn times_t<'p>(&self, p: &'p Pipeline, x: Value<'p>, ring: &PolyType) -> Value<'p> {
        p.job(&Job::new(ring, Op::Inverse).scale(self.t), &[x])
    }

    /// The plaintext with these integers in its slots, as evaluations in natural order.
    pub(crate) fn encode<'p>(&self, p: &'p Pipeline, name: &str) -> Value<'p> {
        p.evaluations(name, &self.plain, Order::Natural).secret().inverse()
    }

    /// A plaintext m as an element modulo Q, m with coefficients in (−t/2, t/2]: a factor of ciphertexts.
    pub(crate) fn lifted<'p>(&self, p: &'p Pipeline, m: Value<'p>) -> Value<'p> {
        Self::converted(p, m, &self.plain, &self.q()).forward()
    }

    /// A plaintext m as a term of ciphertexts: ⌊Q·m/t⌉ = (Q·m − x)/t for the centred remainder x of Q·m modulo t, hence
    /// −x/t modulo Q.
    pub(crate) fn scaled<'p>(&self, p: &'p Pipeline, m: Value<'p>) -> Value<'p> {
        let remainder = Self::converted(p, m.scale(&[self.q_modulo_t]), &self.plain, &self.q());
        remainder.scale(&self.minus_inverses_of_t).forward()
    }

    /// Decrypts a ciphertext to the integers in its slots, as evaluations in natural order, and its noise: t times the
    /// phase, modulo Q, as integers. With that remainder x, the plaintext is (t·phase − x)/Q, hence −x/Q modulo t.
    pub(crate) fn decrypted<'p>(&self, p: &'p Pipeline, ciphertext: Value<'p>) -> [Value<'p>; 2] {
        let remainder = self.times_t(p, self.basis.phase(p, ciphertext), &self.q());
        let message = Self::converted(p, remainder, &self.q(), &self.plain).scale(&[self.minus_inverse_of_q]);
        [message.forward_to(Order::Natural), p.job(&Job::new(self.q(), Op::Compose), &[remainder])]
    }

    /// The product of two ciphertexts before it is relinearised: the coefficients of 1 and s, and that of s². The square of
    /// `a` without `b`.
    fn scaled_tensor<'p>(&self, p: &'p Pipeline, a: Value<'p>, b: Option<Value<'p>>) -> Result<[Value<'p>; 2]> {
        let (q, r) = (self.q(), &self.r);
        let (q2, r2) = (q.vector(2)?, r.vector(2)?);
        let extended = |c: Value<'p>| Self::converted(p, c.inverse(), &q2, &r2).forward();
        let extended_a = extended(a);
        let (b, extended_b) = b.map_or((a, extended_a), |b| (b, extended(b)));
        // t/Q times an integer: (t·x − y)/Q modulo R, for the centred remainder y of t·x modulo Q
        let scaled = |of_q: Value<'p>, of_r: Value<'p>, elements: usize| -> Result<Value<'p>> {
            let (q, r) = (q.vector(elements)?, r.vector(elements)?);
            let remainder = Self::converted(p, self.times_t(p, of_q, &q), &q, &r);
            let quotient = (self.times_t(p, of_r, &r) - remainder).scale(&self.inverses_of_q.repeat(elements));
            Ok(Self::converted(p, quotient, &r, &q).forward())
        };
        let ([pair, square], [pair_of_r, square_of_r]) = (a.tensor(b), extended_a.tensor(extended_b));
        Ok([scaled(pair, pair_of_r, 2)?, scaled(square, square_of_r, 1)?])
    }

    /// Product of two ciphertexts, relinearised with `key`; the square of `a` without `b`.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine) if a ring has too many primes.
    pub fn multiply<'p>(
        &self,
        p: &'p Pipeline,
        a: Value<'p>,
        b: Option<Value<'p>>,
        key: Value<'p>,
    ) -> Result<Value<'p>> {
        let [pair, square] = self.scaled_tensor(p, a, b)?;
        // P times the pair, which the division by P leaves
        let digits = self.basis.raised(square).plus(pair, &self.basis.product_of_special(), &[]);
        Ok(digits.inner_product(key, 2).divide_round(self.basis.special()))
    }
}

#[cfg(test)]
mod tests {
    use num_bigint::BigInt;
    use ringforge::Engine;
    use ringforge_testkit::{Random, seed};

    use super::*;

    const N: usize = 16;

    /// The residues of elements, of all coefficients modulo one prime after another.
    fn residues(elements: &[Vec<BigInt>], q: &[BigInt]) -> Vec<u64> {
        let residue = |x: &BigInt, q: &BigInt| u64::try_from(((x % q) + q) % q).expect("a word");
        elements.iter().flat_map(|x| q.iter().flat_map(|q| x.iter().map(|x| residue(x, q)))).collect()
    }

    /// t·a·b/Q modulo x^N + 1, with integers, rounded.
    fn product(terms: &[(&[BigInt], &[BigInt])], t: u64, q: &BigInt) -> Vec<BigInt> {
        let mut sums = vec![BigInt::ZERO; N];
        for (a, b) in terms {
            for (i, x) in a.iter().enumerate() {
                for (j, y) in b.iter().enumerate() {
                    let (place, is_negative) = ((i + j) % N, i + j >= N);
                    sums[place] += if is_negative { -(x * y) } else { x * y };
                }
            }
        }
        // the quotient rounded to the nearest integer: that of 2·t·x + Q by 2·Q, rounded down
        let floor = |x: BigInt, by: BigInt| {
            let (quotient, rest) = (&x / &by, &x % &by);
            if rest < BigInt::ZERO { quotient - 1 } else { quotient }
        };
        sums.into_iter().map(|x| floor(x * 2 * t + q, q * 2)).collect()
    }

    /// Tests products of ciphertexts against integers, also for coefficients that make the largest products.
    #[test]
    fn products_are_rounded_integers() -> Result<()> {
        let engine = Engine::cpu();
        let mut random = Random::new(seed());
        let large = Parameters::plain_modulus(4, 60)?;
        for (t, primes, special) in
            [(97, &[40, 40][..], 41), (large, &[60, 60, 60], 61), (193, &[31, 31, 30], 32), (65537, &[20], 20)]
        {
            let parameters = Parameters::insecure(4, t, primes, &[special])?;
            let steps = Steps::new(&parameters)?;
            let q: Vec<BigInt> = parameters.q().iter().filter_map(|q| q.value_u64()).map(BigInt::from).collect();
            let all: BigInt = q.iter().product();
            let p = engine.pipeline("a product");
            let pair = steps.q().vector(2)?;
            let [a, b] = ["a", "b"].map(|name| p.coefficients(name, &pair).forward());
            let [pair, square] = steps.scaled_tensor(&p, a, Some(b))?;
            p.output("to", p.join(steps.q().vector(3)?, &[pair.inverse(), square.inverse()]));
            let program = engine.compile(p)?;
            let half: BigInt = (&all - 1) / 2;
            let mut number = |kind: usize, i: usize| match kind {
                0 => half.clone(),
                1 => -half.clone(),
                2 => {
                    if i == 0 {
                        half.clone()
                    } else {
                        -half.clone()
                    }
                }
                _ => (0..4).fold(BigInt::ZERO, |x, _| (x << 62) + random.below(1 << 62)) % &all - &half,
            };
            for kinds in [[0, 0, 0, 0], [0, 0, 1, 1], [2, 2, 0, 0], [3, 3, 3, 3], [3, 0, 1, 3]] {
                let [a0, a1, b0, b1] = kinds.map(|kind| (0..N).map(|i| number(kind, i)).collect::<Vec<_>>());
                let wanted = [
                    product(&[(&a0, &b0)], t, &all),
                    product(&[(&a0, &b1), (&a1, &b0)], t, &all),
                    product(&[(&a1, &b1)], t, &all),
                ];
                let (inputs, wanted) = ([[a0, a1], [b0, b1]].map(|pair| residues(&pair, &q)), residues(&wanted, &q));
                let found = if parameters.rlwe().word() == 4 {
                    let [a, b] = inputs.map(|x| x.iter().map(|&x| x as u32).collect::<Vec<_>>());
                    let mut found = vec![0u32; wanted.len()];
                    program.on_host(1).input("a", &a).input("b", &b).output("to", &mut found).run()?;
                    found.into_iter().map(u64::from).collect()
                } else {
                    let mut found = vec![0u64; wanted.len()];
                    program.on_host(1).input("a", &inputs[0]).input("b", &inputs[1]).output("to", &mut found).run()?;
                    found
                };
                assert!(found == wanted, "{kinds:?} for t = {t}");
            }
        }
        Ok(())
    }
}
