//! Evaluation of polynomials on ciphertexts.
//!
//! Scales are fixed from the result down (Bossuat, Mouchet, Troncoso-Pastoriza and Hubaux, eprint 2020/1203): every
//! coefficient becomes an integer at the scale that its term needs, so that all terms of a sum have the same scale.

use core::cell::OnceCell;
use std::collections::BTreeMap;

use ringforge::{Pipeline, U256, Value};
use ringforge_rlwe::{RelinearisationKey, bytes_of};

use crate::embedding::{Reduction, scaled};
use crate::error::{Error, Result};
use crate::polynomial::{Basis, Node, Polynomial, factors};
use crate::programs::Programmed;
use crate::scheme::Ckks;
use crate::types::Ciphertext;

/// The evaluation of a polynomial, with the scales of the input, of powers and of the result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Evaluate {
    pub(crate) polynomial: Polynomial,
    pub(crate) scales: [f64; 3],
}

impl Programmed for Evaluate {
    fn build(&self, ckks: &Ckks, level: usize, p: &Pipeline) -> Result<()> {
        let (steps, [scale, own, to]) = (ckks.level(level)?, self.scales);
        let (value, key) = (steps.ciphertext(p, "a"), OnceCell::new());
        let key = || *key.get_or_init(|| steps.switching_key(p, "key"));
        p.output("to", ckks.evaluated(p, &self.polynomial, Term { value, level, scale }, [own, to], &key)?);
        Ok(())
    }
}

impl Ckks {
    /// Evaluates a polynomial on the number in every slot. The result has the scale of the parameters, and is
    /// [`Polynomial::levels`] lower. All products are steps of one program.
    ///
    /// The scale of `a` may exceed that of the parameters by 1 %. For a Chebyshev polynomial on an interval shorter
    /// than 2 it may be larger, by the ratio of 2 to the length. For a longer interval any scale will do.
    ///
    /// # Errors
    /// [`Error::NoLevel`] if there are not enough levels; [`Error::Scales`] if the scale of `a` is too large;
    /// [`Error::Scale`] if another scale does not fit its level; [`Error::Number`] if a coefficient times its scale is
    /// not below half of the modulus; [`Foreign`](crate::rlwe::Error::Foreign) if an argument was made for parameters
    /// other than this scheme's; [`Error::Engine`] if the engine fails.
    pub fn evaluate(&self, polynomial: &Polynomial, a: &Ciphertext, key: &RelinearisationKey) -> Result<Ciphertext> {
        self.evaluate_to(polynomial, a, self.parameters().scale(), key)
    }

    /// Evaluates like [`Ckks::evaluate`], to a result of the given scale.
    ///
    /// # Errors
    /// The errors of [`Ckks::evaluate`].
    pub fn evaluate_to(
        &self,
        polynomial: &Polynomial,
        a: &Ciphertext,
        scale: f64,
        key: &RelinearisationKey,
    ) -> Result<Ciphertext> {
        self.evaluate_with(polynomial, a, [self.parameters().scale(), scale], key)
    }

    /// Evaluates a polynomial, with powers and sums of about the first scale, to a result of the second scale.
    pub(crate) fn evaluate_with(
        &self,
        polynomial: &Polynomial,
        a: &Ciphertext,
        [own, scale]: [f64; 2],
        key: &RelinearisationKey,
    ) -> Result<Ciphertext> {
        self.own(&a.0.parameters, "the ciphertext")?;
        self.keys().own(key.parameters(), "the relinearisation key")?;
        let (level, batch) = (a.level(), a.batch());
        let wanted = level as i64 - polynomial.levels() as i64;
        let to_level = usize::try_from(wanted).map_err(|_| Error::NoLevel { from: level, wanted })?;
        self.parameters().check_scale(scale, to_level)?;
        let operation = Evaluate { polynomial: polynomial.clone(), scales: [a.scale(), own, scale] };
        let program = self.program(operation, level, batch)?;
        self.ciphertext(to_level, scale, batch, |to| {
            let call = program.on(self.stream()?, batch).input("a", &a.0.buffer).output("to", to);
            let has_key = bytes_of(&program, "key") > 0;
            Ok(if has_key { call.input("key", key.buffer()) } else { call }.run()?)
        })
    }

    /// Adds the steps of [`Ckks::evaluate_with`] to a pipeline.
    pub(crate) fn evaluated<'p>(
        &self,
        p: &'p Pipeline,
        polynomial: &Polynomial,
        a: Term<'p>,
        [own, scale]: [f64; 2],
        key: &dyn Fn() -> Value<'p>,
    ) -> Result<Value<'p>> {
        let mut evaluation =
            Evaluation { ckks: self, p, key, own, basis: polynomial.basis, powers: [].into(), lowered: [].into() };
        // x/half is x at another scale; the numbers of the interval are then between middle − 1 and middle + 1
        let (half, [from, to]) = (polynomial.half(), polynomial.interval);
        let middle = f64::midpoint(from, to) / half;
        let x = Term { scale: a.scale * half, ..a };
        let first = if polynomial.is_shortened() {
            let above = self.scale_above(x.level, own)?;
            let sum = evaluation.shifted(x, above, -middle)?;
            Term { value: evaluation.rescaled(sum, x.level)?, level: x.level - 1, scale: own }
        } else if x.scale > own * ALIKE {
            return Err(Error::Scales { left: a.scale, right: own / half });
        } else {
            let x = evaluation.raised(x)?;
            let sum = evaluation.shifted(x, x.scale, -middle)?;
            Term { value: evaluation.pair(sum, x.level)?, ..x }
        };
        evaluation.powers.insert(1, first);
        // the levels at which the sum and its doublings are rescaled, and their scales after that
        let (doublings, last) = (polynomial.doublings, a.level + 1 - polynomial.levels());
        let above = |scale, level| self.scale_above(level, scale).map(f64::sqrt);
        let (level, scale) = (last + doublings, (last..last + doublings).try_fold(scale, above)?);
        let value = evaluation.sum(&polynomial.plan(), level, self.scale_above(level, scale)?)?;
        let sum = Term { value, level: level - 1, scale };
        Ok((0..doublings).try_fold(sum, |term, _| evaluation.doubled(term))?.value)
    }

    /// The scale at a level that becomes `scale` by rescaling to the next lower level.
    fn scale_above(&self, level: usize, scale: f64) -> Result<f64> {
        let parameters = self.parameters();
        let gone = &parameters.q()[parameters.limbs(level - 1)..parameters.limbs(level)];
        let scale = gone.iter().filter_map(|q| q.value_u64()).fold(scale, |scale, q| scale * q as f64);
        parameters.check_scale(scale, level)?;
        Ok(scale)
    }
}

/// The most by which the scale of an input may exceed that of the parameters. Each squaring squares the ratio, and what
/// a basis polynomial's scale has too much, its factors have too little.
const ALIKE: f64 = 1.01;

/// A ciphertext in a pipeline.
#[derive(Clone, Copy)]
pub(crate) struct Term<'p> {
    pub(crate) value: Value<'p>,
    pub(crate) level: usize,
    pub(crate) scale: f64,
}

/// A sum before it is relinearised and rescaled: pair + square·s² + constant.
#[derive(Default)]
struct Sum<'p> {
    pair: Option<Value<'p>>,
    square: Option<Value<'p>>,
    /// An integer, in all slots.
    constant: f64,
}

impl<'p> Sum<'p> {
    fn add(&mut self, pair: Value<'p>) {
        self.pair = Some(self.pair.map_or(pair, |sum| sum + pair));
    }

    fn add_product(&mut self, a: Value<'p>, b: Value<'p>) {
        let [pair, square] = a.tensor(b);
        self.add(pair);
        self.square = Some(self.square.map_or(square, |sum| sum + square));
    }
}

struct Evaluation<'c, 'p> {
    ckks: &'c Ckks,
    p: &'p Pipeline,
    /// Adds the relinearisation key as an input, if it was not added before.
    key: &'c dyn Fn() -> Value<'p>,
    /// The scale that basis polynomials have, nearly.
    own: f64,
    basis: Basis,
    /// The basis polynomials of the input that were made so far, by degree.
    powers: BTreeMap<usize, Term<'p>>,
    /// The same at lower levels, by degree and level.
    lowered: BTreeMap<(usize, usize), Value<'p>>,
}

impl<'p> Evaluation<'_, 'p> {
    /// The basis polynomial of this degree, which is at least 1.
    fn power(&mut self, degree: usize) -> Result<Term<'p>> {
        if let Some(power) = self.powers.get(&degree) {
            return Ok(*power);
        }
        let [a, b] = factors(degree);
        let (x, y) = (self.power(a)?, self.power(b)?);
        let power = if a == b && self.basis == Basis::Chebyshev {
            self.doubled(x)?
        } else {
            let (level, scale) = (x.level.min(y.level), x.scale * y.scale);
            let [left, right] = [self.power_at(a, level)?, self.power_at(b, level)?];
            let mut sum = Sum::default();
            if self.basis == Basis::Chebyshev {
                // 2·T_a·T_b − T_(a − b), with b = a − 1
                let first = self.power(1)?;
                sum.add_product(left + left, right);
                sum.add(self.multiple(first, -1.0, level, scale)?);
            } else {
                sum.add_product(left, right);
            }
            self.product(sum, level, scale)?
        };
        let power = self.raised(power)?;
        self.powers.insert(degree, power);
        Ok(power)
    }

    /// The basis polynomial of this degree at a level, which is at most its own.
    fn power_at(&mut self, degree: usize, level: usize) -> Result<Value<'p>> {
        let power = self.power(degree)?;
        if power.level == level {
            return Ok(power.value);
        }
        let limbs = self.ckks.level(level)?.plaintext_type().basis().len();
        let lower = || power.value.each().limbs(0..limbs).together();
        Ok(*self.lowered.entry((degree, level)).or_insert_with(lower))
    }

    /// 2x² − 1, one level lower.
    fn doubled(&self, x: Term<'p>) -> Result<Term<'p>> {
        let (level, scale) = (x.level, x.scale * x.scale);
        self.ckks.parameters().check_scale(scale, level)?;
        let (below, rescaled) = self.ckks.below(level, scale)?;
        let ([pair, square], minus) = (x.value.tensor(x.value), self.number(-1.0, level, scale)?);
        let value = self.ckks.level(level)?.relinearised_rescaled([pair, square + square], (self.key)(), 2, minus);
        Ok(Term { value, level: below, scale: rescaled })
    }

    /// The rescaled sum, for a sum of this level and scale.
    fn product(&self, sum: Sum<'p>, level: usize, scale: f64) -> Result<Term<'p>> {
        self.ckks.parameters().check_scale(scale, level)?;
        let (below, rescaled) = self.ckks.below(level, scale)?;
        Ok(Term { value: self.rescaled(sum, level)?, level: below, scale: rescaled })
    }

    /// The rescaled sum of a node. Before that, its terms have this level and scale.
    fn sum(&mut self, node: &Node, level: usize, scale: f64) -> Result<Value<'p>> {
        let mut sum = Sum::default();
        for (factor, giant) in &node.products {
            let above = self.ckks.scale_above(level + 1, scale / self.power(*giant)?.scale)?;
            let factor = self.sum(factor, level + 1, above)?;
            sum.add_product(factor, self.power_at(*giant, level)?);
        }
        for &(degree, coefficient) in &node.terms {
            if degree == 0 {
                sum.constant += self.number(coefficient, level, scale)?;
            } else {
                let power = self.power(degree)?;
                sum.add(self.multiple(power, coefficient, level, scale)?);
            }
        }
        if sum.pair.is_none() {
            let x = self.power(1)?;
            sum.add(self.multiple(x, 0.0, level, scale)?);
        }
        self.rescaled(sum, level)
    }

    /// The term at a scale that is close to that of basis polynomials and does not exceed it.
    fn raised(&self, term: Term<'p>) -> Result<Term<'p>> {
        let factor = (self.own / term.scale).floor();
        if factor < 2.0 {
            return Ok(term);
        }
        let scale = term.scale * factor;
        Ok(Term { value: self.multiple(term, 1.0, term.level, scale)?, scale, ..term })
    }

    /// A term at its level and this scale, plus a number.
    fn shifted(&self, term: Term<'p>, scale: f64, by: f64) -> Result<Sum<'p>> {
        let pair = if scale == term.scale { term.value } else { self.multiple(term, 1.0, term.level, scale)? };
        Ok(Sum { pair: Some(pair), square: None, constant: self.number(by, term.level, scale)? })
    }

    /// A number at this scale, as an integer.
    fn number(&self, number: f64, level: usize, scale: f64) -> Result<f64> {
        scaled(number, scale, self.ckks.level(level)?.most_coefficient())
    }

    /// A multiple of a term at this level and scale.
    fn multiple(&self, term: Term<'p>, factor: f64, level: usize, scale: f64) -> Result<Value<'p>> {
        let integer = self.number(factor, level, scale / term.scale)?;
        let moduli = Reduction::of(self.ckks.level(level)?.plaintext_type().basis());
        let numbers: Vec<U256> = moduli.into_iter().map(|modulus| U256::from(modulus.residue_of(integer))).collect();
        Ok(term.value.each().limbs(0..numbers.len()).scale(&numbers).together())
    }

    fn rescaled(&self, sum: Sum<'p>, level: usize) -> Result<Value<'p>> {
        let steps = self.ckks.level(level)?;
        Ok(match (sum.pair, sum.square) {
            (Some(pair), Some(square)) => steps.relinearised_rescaled([pair, square], (self.key)(), 1, sum.constant),
            _ => steps.rescaled(self.pair(sum, level)?),
        })
    }

    /// The pair of a sum without products, with the constant added.
    fn pair(&self, sum: Sum<'p>, level: usize) -> Result<Value<'p>> {
        let steps = self.ckks.level(level)?;
        let pair = sum.pair.ok_or(Error::Polynomial { why: "a sum has no terms".into() })?;
        if sum.constant == 0.0 {
            return Ok(pair);
        }
        let first = pair.element(0) + steps.integer(self.p, sum.constant);
        Ok(self.p.join(steps.ciphertext_type(), &[first, pair.element(1)]))
    }
}
