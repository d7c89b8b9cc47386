//! Operations whose result is in another ring.

use std::sync::Arc;

use crypto_bigint::U256;

use crate::job::{Job, Op};
use crate::kernels::copy::Copy;
use crate::kernels::digits::digits;
use ringforge_math::modulus::Modulus;
use ringforge_math::poly::PolyType;
use ringforge_runtime::kernel::Combination;

use super::Value;

impl<'p> Value<'p> {
    /// Divides by the product P of the last `moduli` moduli of the basis and rounds to nearest. The result has the
    /// remaining limbs. This is rescaling in RNS-CKKS (eprint 2018/931), modulus switching, and ModDown in hybrid key
    /// switching.
    ///
    /// Takes coefficients or evaluations, and stays in that domain. The moduli must be distinct and of up to 64 bits.
    /// Each element of a [vector](PolyType::vector) is divided by the last moduli of its own basis.
    ///
    /// ```
    /// # use ringforge::{Engine, PolyType};
    /// # let engine = Engine::cpu();
    /// let poly: PolyType = "97,193:x^2+1".parse()?;
    /// let p = engine.pipeline("two quotients by 193");
    /// p.output("b", p.coefficients("a", poly.vector(2)?).divide_round(1));
    /// let mut b = [0u16; 4];
    /// let program = engine.compile(p)?;
    /// // the elements 386 + 1000x and 97
    /// program.on_host(1).input("a", &[95u16, 30, 0, 35, 0, 0, 97, 0]).output("b", &mut b).run()?;
    /// assert_eq!(b, [2, 5, 1, 0]);
    /// # Ok::<(), ringforge::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn divide_round(self, moduli: usize) -> Self {
        let Some(content) = self.content(&[self]) else { return self.nothing() };
        let (one, count) = content.of_vector().unwrap_or_else(|| (content.clone(), 1));
        let basis = one.basis();
        if moduli == 0 || moduli >= basis.len() || one.repeats_moduli() {
            let why = format!(
                "{} cannot be divided by {moduli} of its {} moduli: at least one must remain, and all must be distinct",
                content.described(),
                basis.len()
            );
            return self.pipeline.fail(self.pipeline.refused(why));
        }
        let left = basis.len() - moduli;
        let inverse = |q: &Modulus| {
            let product = basis[left..].iter().fold(U256::ONE, |product, p| q.mul(&product, &q.reduce(&p.value())));
            q.inverse(&product)
        };
        let inverses: Option<Vec<U256>> = basis[..left].iter().map(inverse).collect();
        let divided = inverses.ok_or_else(|| format!("the moduli of {one} have common factors"));
        let Some(divided) = self.pipeline.keep(divided.map(|inverses| Combination::of(&[false, true]).times(inverses)))
        else {
            return self.nothing();
        };
        let all = if count > 1 { self.each() } else { self };
        let Some(content) = all.content(&[all]) else { return self.nothing() };
        let [quotient, rest] = [all.limbs(0..left), all.limbs(left..basis.len())];
        let Some(to) = quotient.content(&[quotient]) else { return self.nothing() };
        let rest = if content.order().is_some() { rest.inverse() } else { rest };
        let remainder = rest.job(|rest| Job::new(rest, Op::ConvertCentred).to(&to), &[rest]);
        let divided = quotient.linear(&[quotient, remainder.transformed_as(&content)], |_| Ok(divided));
        if count > 1 { divided.together() } else { divided }
    }

    /// Signed digits to the base 2^w, for w = `bits`, of each limb's coefficients: the gadget decomposition. A
    /// coefficient x in (−q/2, q/2], for the modulus q of the limb, is Σ d_i·2^(w·i), where −2^(w−1) ≤ d_i < 2^(w−1).
    /// The last digit takes the remainder, at most 2^(w−1). The result is a vector with one element of `to` for each
    /// digit, reduced modulo all moduli of `to`, which may be the ring of `self`.
    ///
    /// A limb has ⌈b/w⌉ digits, least significant digit first, where b is the bit length of the largest modulus. The
    /// digits of the first limb come first. w is from 1 to 63, and moduli have up to 64 bits.
    ///
    /// ```
    /// # use ringforge::{Engine, Ring};
    /// # let engine = Engine::cpu();
    /// let ring: Ring = "97:x^2+1".parse()?;
    /// let p = engine.pipeline("digits to the base 16");
    /// p.output("d", p.coefficients("a", &ring).digits(4, &ring));
    /// let mut d = [0u16; 4];
    /// let program = engine.compile(p)?;
    /// program.on_host(1).input("a", &[60u16, 8]).output("d", &mut d).run()?;
    /// assert_eq!(d, [92, 89, 95, 1]); // 60 = −37 = −5 − 2·16, 8 = −8 + 16
    /// # Ok::<(), ringforge::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn digits(self, bits: u32, to: impl Into<PolyType>) -> Self {
        let to = to.into().coefficients();
        let Some(from) = self.coefficients() else { return self.nothing() };
        if (to.quotient(), to.columns()) != (from.quotient(), from.columns()) {
            let why = format!("digits of {from} do not fit in {to}: both must have the same quotient and columns");
            return self.pipeline.fail(self.pipeline.refused(why));
        }
        let made = digits(&from, bits, &to).and_then(|(kernel, count)| {
            let all = to.vector(from.basis().len().saturating_mul(count))?;
            Ok((kernel, all))
        });
        match made {
            Ok((kernel, content)) => self.one(kernel, &[self], content),
            Err(error) => self.pipeline.fail(error),
        }
    }

    /// Pads coefficients with zeros to a ring of the same or a larger degree. Its moduli, the form in which it stores
    /// residues and its number of columns must be the same. Low-degree extensions do this before a longer transform.
    ///
    /// ```
    /// # use ringforge::{Engine, Ring};
    /// # let engine = Engine::cpu();
    /// let [short, long]: [Ring; 2] = ["17:x^2-1".parse()?, "17:x^4-1".parse()?];
    /// let p = engine.pipeline("values at twice as many points");
    /// p.output("b", p.coefficients("a", &short).extend(&long));
    /// let mut b = [9u16; 4];
    /// let program = engine.compile(p)?;
    /// program.on_host(1).input("a", &[3u16, 5]).output("b", &mut b).run()?;
    /// assert_eq!(b, [3, 5, 0, 0]);
    /// # Ok::<(), ringforge::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn extend(self, to: impl Into<PolyType>) -> Self {
        let to = to.into().coefficients();
        let Some(from) = self.coefficients() else { return self.nothing() };
        let stored = |poly: &PolyType| (poly.form(), poly.accepts_any_word(), poly.columns());
        if to.basis() != from.basis() || stored(&to) != stored(&from) || to.degree() < from.degree() {
            let why = format!(
                "{from} cannot be extended to {to}: moduli and storage must agree, and the degree must not shrink"
            );
            return self.pipeline.fail(self.pipeline.refused(why));
        }
        self.one(Arc::new(Copy::padded(&from, &to)), &[self], to)
    }

    /// The type of the elements. Records an error and returns `None` unless they are coefficients.
    #[track_caller]
    fn coefficients(self) -> Option<PolyType> {
        let content = self.content(&[self])?;
        match content.order() {
            None => Some(content),
            Some(_) => self.pipeline.keep(Err(format!("expected coefficients, got {}", content.described()))),
        }
    }

    /// Transforms coefficients to the domain of `content` if `content` describes evaluations, else returns them
    /// unchanged.
    #[track_caller]
    pub(super) fn transformed_as(self, content: &PolyType) -> Self {
        match content.domain() {
            None => self,
            Some((depth, order)) => {
                self.job(|content| Job::new(content, Op::Forward).order(order).depth(depth), &[self])
            }
        }
    }
}
