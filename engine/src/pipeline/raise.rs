//! ModUp of hybrid key switching.

use std::sync::Arc;

use ringforge_math::poly::PolyType;

use super::Value;
use crate::kernels::convert::{Convert, RaisedRows};
use crate::kernels::inner_product::Terms;

/// The digits of an element, each raised to a larger basis, as [`Value::raise`] computes them. Limbs that a digit has
/// from the element are not copied.
#[derive(Debug, Clone)]
pub struct Digits<'p> {
    element: Value<'p>,
    /// The [`RaisedRows`] of all digits.
    raised: Value<'p>,
    rows: RaisedRows,
    to: PolyType,
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
        let digits =
            |raised, limbs| Digits { element: self, raised, rows: RaisedRows { limbs, group: 1 }, to: to.clone() };
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
        Digits { element: self, raised, rows, to }
    }
}

impl<'p> Digits<'p> {
    /// Inner products of the digits with keys that are evaluations in the same order: Σ_j digit_j·key_(s,j) for each
    /// set s of keys. The layout of keys and result is that of [`Value::inner_product`].
    #[must_use]
    #[track_caller]
    pub fn inner_product(&self, keys: Value<'p>, sets: usize) -> Value<'p> {
        self.raised.times_keys(self.element, (&self.to, Terms::Digits(self.rows)), keys, sets)
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
        self.element.pipeline.join(whole, &parts.collect::<Vec<_>>())
    }
}
