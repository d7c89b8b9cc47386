//! ModUp of hybrid key switching.

use std::sync::Arc;

use crypto_bigint::U256;
use ringforge_math::poly::PolyType;

use super::Value;
use super::automorphism::places;
use crate::kernels::convert::{Convert, RaisedRows};
use crate::kernels::inner_product::{Plus, Terms, Turn};

/// The digits of an element, each raised to a larger basis, as [`Value::raise`] computes them. Limbs that a digit has
/// from the element are not copied.
#[derive(Debug, Clone)]
pub struct Digits<'p> {
    element: Value<'p>,
    /// The [`RaisedRows`] of all digits.
    raised: Value<'p>,
    rows: RaisedRows,
    to: PolyType,
    /// x → x^k, under which inner products take images of the digits.
    automorphism: Option<u64>,
    /// Further terms of inner products.
    plus: Option<(Value<'p>, Plus)>,
}

impl<'p> Value<'p> {
    /// ModUp of hybrid key switching (Han–Ki, eprint 2019/688): cuts the limbs into digits of `limbs` limbs, and converts
    /// each digit to the whole basis of `to`. The first moduli of `to` must be those of this ring. The last digit may
    /// have fewer limbs.
    ///
    /// For a digit of k limbs with product Q_j, the result is (x mod Q_j) + u·Q_j for the element x, with 0 ≤ u < k as
    /// for [`Op::ConvertFast`](crate::Op::ConvertFast). Takes coefficients or evaluations, and stays in that domain.
    ///
    /// ```
    /// # use ringforge::{Engine, Ring};
    /// # let engine = Engine::cpu();
    /// let [ring, larger]: [Ring; 2] = ["97,193:x^2+1".parse()?, "97,193,257:x^2+1".parse()?];
    /// let p = engine.pipeline("digits of a limb each");
    /// p.output("b", p.coefficients("a", &ring).raise(1, &larger).vector());
    /// let mut b = [0u16; 12];
    /// let program = engine.compile(p)?;
    /// program.on_host(1).input("a", &[96u16, 5, 192, 7]).output("b", &mut b).run()?;
    /// assert_eq!(b, [96, 5, 96, 5, 96, 5, 95, 7, 192, 7, 192, 7]);
    /// # Ok::<(), ringforge::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn raise(self, limbs: usize, to: impl Into<PolyType>) -> Digits<'p> {
        let to = to.into().coefficients();
        let digits = |raised, limbs| {
            let rows = RaisedRows { limbs, group: 1 };
            Digits { element: self, raised, rows, to: to.clone(), automorphism: None, plus: None }
        };
        let Some(content) = self.content(&[self]) else { return digits(self.nothing(), 1) };
        let (poly, own) = (content.coefficients(), content.basis().len());
        let fits = limbs > 0 && !to.repeats_moduli() && to.limbs(0..own).as_ref() == Ok(&poly);
        // a single digit has nothing to be raised to if it has all moduli
        if !fits || (limbs >= own && to.basis().len() == own) {
            let why = format!(
                "{} cannot be raised in digits of {limbs} limbs: {to} must begin with the same distinct moduli, and have \
                 more of them than a digit",
                content.described()
            );
            return digits(self.pipeline.fail(self.pipeline.refused(why)), own);
        }
        let rows = RaisedRows { limbs: own, group: limbs.min(own) };
        let coefficients = if content.order().is_some() { self.inverse() } else { self };
        let kernel = Convert::raised(&poly, rows.group, &to, self.items());
        let others = to.with_limbs(&rows.moduli(to.basis().len()));
        let raised = match kernel.and_then(|kernel| Ok((kernel, others?))) {
            Ok((kernel, others)) => {
                coefficients.one(Arc::new(kernel), &[coefficients], others).transformed_as(&content)
            }
            Err(error) => self.pipeline.fail(error),
        };
        Digits { element: self, raised, rows, to, automorphism: None, plus: None }
    }
}

impl<'p> Digits<'p> {
    /// The digits of element `i`, for digits of the elements of a vector, from [`Value::each`].
    #[must_use]
    #[track_caller]
    pub fn element(&self, i: usize) -> Self {
        let part = |all: Value<'p>| {
            let Some(one) = all.content(&[all]) else { return all.nothing() };
            let limbs = one.basis().len();
            all.together().limbs(i.saturating_mul(limbs)..(i.saturating_add(1)).saturating_mul(limbs))
        };
        Self { element: part(self.element), raised: part(self.raised), ..self.clone() }
    }

    /// The images of the digits under the automorphism x → x^k of the ring, for digits that are evaluations. Nothing is
    /// copied: inner products read the evaluations in another order. They are also digits of the element's image, so
    /// several automorphisms of an element can share its digits.
    #[must_use]
    pub fn automorphism(self, k: u64) -> Self {
        Self { automorphism: Some(k), ..self }
    }

    /// Adds multiples of other elements to inner products: of `other`, or of each element of the vector `other`, to one of
    /// the first sums. The elements have the type of the raised one. Each limb is multiplied by one of the `factors`, and
    /// the other limbs of the sum stay the same. If there are `constants`, one for each limb, they are added to all
    /// evaluations of the first sum. The automorphism of the digits applies to the elements as well.
    #[must_use]
    #[track_caller]
    pub fn plus(self, other: Value<'p>, factors: &[U256], constants: &[U256]) -> Self {
        let element = self.element;
        let (Some(one), Some(all)) = (element.content(&[element]), other.content(&[other])) else { return self };
        let (limbs, sums) = (one.basis().len(), all.basis().len() / one.basis().len());
        let fits = one.vector(sums).is_ok_and(|vector| vector == all);
        if !fits || factors.len() != limbs || ![0, limbs].contains(&constants.len()) {
            let why = format!(
                "expected elements of {} and a number for each of {limbs} limbs, got {}, {} factors and {} constants",
                one.described(),
                all.described(),
                factors.len(),
                constants.len()
            );
            return Self { element: element.pipeline.fail(element.pipeline.refused(why)), ..self };
        }
        let plus = Plus { sums, factors: factors.to_vec(), constants: constants.to_vec() };
        Self { plus: Some((other, plus)), ..self }
    }

    /// Inner products of the digits with keys that are evaluations in the same order: Σ_j digit_j·key_(s,j) for each
    /// set s of keys. The layout of keys and result is that of [`Value::inner_product`].
    #[must_use]
    #[track_caller]
    pub fn inner_product(&self, keys: Value<'p>, sets: usize) -> Value<'p> {
        let Some(content) = self.element.content(&[self.element]) else { return self.element.nothing() };
        let refuse = |why: String| self.element.pipeline.fail(self.element.pipeline.refused(why));
        let image = match self.automorphism.map(|k| places(&content, k)).transpose() {
            Ok(image) => image.map(Arc::from),
            Err(why) => return refuse(why),
        };
        let (further, plus) = match &self.plus {
            Some((_, plus)) if plus.sums > sets => {
                return refuse(format!("{} elements cannot be added to {sets} sums", plus.sums));
            }
            Some((other, plus)) => (*other, Some(plus.clone())),
            None => (self.element, None),
        };
        let terms = (&self.to, Terms::Digits(self.rows), Turn { image, plus });
        self.raised.times_keys([self.element, further], terms, keys, sets)
    }

    /// The digits as a vector, which is a copy.
    #[must_use]
    #[track_caller]
    pub fn vector(&self) -> Value<'p> {
        let Some(content) = self.element.content(&[self.element]) else { return self.element.nothing() };
        let whole = match self.to.vector(self.rows.digits()) {
            Ok(whole) => whole.in_domain_of(&content),
            Err(error) => return self.element.pipeline.fail(error),
        };
        let limbs = (0..self.rows.digits()).flat_map(|digit| (0..self.to.basis().len()).map(move |limb| (digit, limb)));
        let parts = limbs.map(|(digit, limb)| match self.rows.own(digit).contains(&limb) {
            true => self.element.limbs(limb..limb + 1),
            false => {
                let row = self.rows.row(digit, limb);
                self.raised.limbs(row..row + 1)
            }
        });
        let joined = self.element.pipeline.join(whole, &parts.collect::<Vec<_>>());
        self.automorphism.map_or(joined, |k| joined.automorphism(k))
    }
}
