//! Operations whose result is in another ring.

use core::ops::Range;
use std::sync::Arc;

use crypto_bigint::U256;

use crate::job::{Job, Op};
use crate::kernels::copy::Copy;
use crate::kernels::digits::digits;
use ringforge_math::error::Result;
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
        // divides one element at a time, so that the subtraction is fused into its transform
        let divide = |i: usize| {
            let of = |limbs: Range<usize>| self.limbs(i * basis.len() + limbs.start..i * basis.len() + limbs.end);
            let [quotient, rest] = [0..left, left..basis.len()].map(of);
            let Some(to) = quotient.content(&[quotient]) else { return self.nothing() };
            let rest = if content.order().is_some() { rest.inverse() } else { rest };
            let remainder = rest.job(|rest| Job::new(rest, Op::ConvertCentred).to(&to), &[rest]);
            quotient.linear(&[quotient, remainder.transformed_as(&content)], |_| Ok(divided.clone()))
        };
        self.side_by_side(&(0..count).map(divide).collect::<Vec<_>>())
    }

    /// ModUp of hybrid key switching (Han–Ki, eprint 2019/688): cuts the limbs into groups of `limbs`, and converts
    /// each group to the whole basis of `to`. The result is a vector with one element of `to` for each group. The
    /// first moduli of `to` must be those of this ring. The last group may have fewer limbs.
    ///
    /// For a group of k limbs with product Q_j, the result is (x mod Q_j) + u·Q_j for the element x, with 0 ≤ u < k as
    /// for [`Op::ConvertFast`]. Takes coefficients or evaluations, and stays in that domain.
    ///
    /// ```
    /// # use ringforge::{Engine, Ring};
    /// # let engine = Engine::cpu();
    /// let [ring, larger]: [Ring; 2] = ["97,193:x^2+1".parse()?, "97,193,257:x^2+1".parse()?];
    /// let p = engine.pipeline("a limb each");
    /// p.output("b", p.coefficients("a", &ring).raise(1, &larger));
    /// let mut b = [0u16; 12];
    /// let program = engine.compile(p)?;
    /// program.on_host(1).input("a", &[96u16, 5, 192, 7]).output("b", &mut b).run()?;
    /// assert_eq!(b, [96, 5, 96, 5, 96, 5, 95, 7, 192, 7, 192, 7]);
    /// # Ok::<(), ringforge::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn raise(self, limbs: usize, to: impl Into<PolyType>) -> Self {
        let Some(content) = self.content(&[self]) else { return self.nothing() };
        let (poly, to) = (&content.coefficients(), to.into().coefficients());
        let (own, all) = (poly.basis().len(), to.basis().len());
        if limbs == 0 || to.repeats_moduli() || to.limbs(0..own).as_ref() != Ok(poly) {
            let why = format!(
                "{} cannot be raised in groups of {limbs} limbs: {to} must begin with the same distinct moduli",
                content.described()
            );
            return self.pipeline.fail(self.pipeline.refused(why));
        }
        let coefficients = if content.order().is_some() { self.inverse() } else { self };
        let raised = |from: Range<usize>, limbs: Range<usize>| -> Result<Self> {
            let job = Job::new(poly.limbs(from.clone())?, Op::ConvertFast).to(to.limbs(limbs)?);
            Ok(self.pipeline.job(&job, &[coefficients.limbs(from)]).transformed_as(&content))
        };
        let parts = || -> Result<(PolyType, Vec<Self>)> {
            let mut parts = Vec::new();
            for first in (0..own).step_by(limbs) {
                let group = first..own.min(first.saturating_add(limbs));
                if group.start > 0 {
                    parts.push(raised(group.clone(), 0..group.start)?);
                }
                parts.push(self.limbs(group.clone()));
                if group.end < all {
                    parts.push(raised(group.clone(), group.end..all)?);
                }
            }
            Ok((to.vector(own.div_ceil(limbs))?.in_domain_of(&content), parts))
        };
        match parts() {
            Ok((whole, parts)) => self.pipeline.join(whole, &parts),
            Err(error) => self.pipeline.fail(error),
        }
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
    fn transformed_as(self, content: &PolyType) -> Self {
        match content.domain() {
            None => self,
            Some((depth, order)) => {
                self.job(|content| Job::new(content, Op::Forward).order(order).depth(depth), &[self])
            }
        }
    }

    /// Concatenates elements of the same type to a vector.
    #[track_caller]
    fn side_by_side(self, elements: &[Self]) -> Self {
        let Some(content) = self.content(elements) else { return self.nothing() };
        match (content.vector(elements.len()), elements) {
            (_, [one]) => *one,
            (Ok(all), _) => self.pipeline.join(all, elements),
            (Err(error), _) => self.pipeline.fail(error),
        }
    }
}
