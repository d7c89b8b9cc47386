//! Polynomials and functions of encrypted numbers.

use core::ops::RangeInclusive;

use crate::error::{Error, Result};

/// A polynomial with real coefficients, to be [evaluated](crate::Ckks::evaluate) on encrypted numbers.
///
/// Chebyshev polynomials approximate functions with small coefficients, and so with more precision than monomials of
/// the same degree.
///
/// ```
/// use ringforge_ckks::Polynomial;
///
/// // 1/(1 + e^-x) on [-8, 8], in six levels: one for the interval, five for the degree
/// let logistic = Polynomial::interpolate(|x| 1.0 / (1.0 + (-x).exp()), -8.0..=8.0, 31)?;
/// assert_eq!((logistic.degree(), logistic.levels()), (31, 6));
/// assert!((logistic.value(1.0) - 0.7310586).abs() < 1e-5);
/// # Ok::<(), ringforge_ckks::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Polynomial {
    pub(crate) basis: Basis,
    /// The coefficient of each basis polynomial, from degree 0 on. The last one is not 0, unless it is the only one.
    pub(crate) coefficients: Vec<f64>,
    /// The interval that the basis polynomials map to [−1, 1].
    pub(crate) interval: [f64; 2],
    /// How many times T_2(y) = 2y² − 1 is applied to the sum.
    pub(crate) doublings: usize,
}

/// The basis polynomials of which a polynomial is a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Basis {
    /// x^i.
    Monomials,
    /// Chebyshev polynomials of the first kind: T_0 = 1, T_1 = x, T_(a + b) = 2·T_a·T_b − T_|a − b|.
    Chebyshev,
}

impl Polynomial {
    /// Σ c_i·x^i for these coefficients c_i, from degree 0 on.
    ///
    /// # Errors
    /// [`Error::Polynomial`] if a coefficient is not finite, or if there are none.
    pub fn monomials(coefficients: &[f64]) -> Result<Self> {
        Self::new(Basis::Monomials, coefficients, -1.0..=1.0)
    }

    /// Σ c_i·T_i(u) for these coefficients c_i, from degree 0 on. T_i are the Chebyshev polynomials of the first kind,
    /// and u = (2x − a − b)/(b − a) for x in the interval [a, b]. Outside the interval, T_i grows fast.
    ///
    /// # Errors
    /// [`Error::Polynomial`] if a coefficient is not finite, if there are none, or unless a < b, both finite.
    pub fn chebyshev(coefficients: &[f64], interval: RangeInclusive<f64>) -> Result<Self> {
        Self::new(Basis::Chebyshev, coefficients, interval)
    }

    /// The polynomial of at most this degree that equals `function` at the roots of the next Chebyshev polynomial on
    /// the interval, in the Chebyshev basis. For smooth functions it is close to the best approximation.
    ///
    /// # Errors
    /// The errors of [`Polynomial::chebyshev`]; [`Error::Polynomial`] also if `function` is not finite at a root.
    pub fn interpolate(function: impl Fn(f64) -> f64, interval: RangeInclusive<f64>, degree: usize) -> Result<Self> {
        let (count, [a, b]) = (degree + 1, [*interval.start(), *interval.end()]);
        let angle = |k: usize| core::f64::consts::PI * (k as f64 + 0.5) / count as f64;
        let values: Vec<f64> =
            (0..count).map(|k| function(f64::midpoint(a, b) + (b - a) / 2.0 * angle(k).cos())).collect();
        let coefficient = |i: usize| {
            let sum: f64 = values.iter().enumerate().map(|(k, value)| value * (i as f64 * angle(k)).cos()).sum();
            sum * if i == 0 { 1.0 } else { 2.0 } / count as f64
        };
        Self::new(Basis::Chebyshev, &(0..count).map(coefficient).collect::<Vec<_>>(), interval)
    }

    fn new(basis: Basis, coefficients: &[f64], interval: RangeInclusive<f64>) -> Result<Self> {
        let (a, b) = interval.into_inner();
        if coefficients.is_empty() || coefficients.iter().any(|c| !c.is_finite()) {
            return Err(Error::Polynomial { why: "it needs coefficients, all of them finite".into() });
        }
        if !(a.is_finite() && b.is_finite() && a < b) {
            return Err(Error::Polynomial { why: format!("its interval must have a finite length, not {a} to {b}") });
        }
        let last = coefficients.iter().rposition(|&c| c != 0.0).unwrap_or(0);
        Ok(Self { basis, coefficients: coefficients[..=last].to_vec(), interval: [a, b], doublings: 0 })
    }

    /// The composition with T_2(y) = 2y² − 1, this many times: cos x becomes cos(2^`times`·x).
    pub(crate) fn doubled(self, times: usize) -> Self {
        Self { doublings: self.doublings + times, ..self }
    }

    /// The degree; 0 for the polynomial 0.
    #[must_use]
    pub fn degree(&self) -> usize {
        (self.coefficients.len() - 1) << self.doublings
    }

    /// The levels that an evaluation takes: ⌈log2(degree + 1)⌉, and at least 1. Chebyshev polynomials on an interval
    /// that is longer than 2 take one more, which brings the numbers to [−1, 1].
    #[must_use]
    pub fn levels(&self) -> usize {
        self.depth() + usize::from(self.is_shortened()) + self.doublings
    }

    /// The levels of the sum, after the numbers were brought to [−1, 1].
    pub(crate) fn depth(&self) -> usize {
        log2(self.coefficients.len()).max(1)
    }

    /// Whether numbers must be divided to be in [−1, 1]. Otherwise they are multiplied, for which another scale
    /// suffices.
    pub(crate) fn is_shortened(&self) -> bool {
        self.half() > 1.0 && self.degree() > 0
    }

    /// Half of the length of the interval; 1 for monomials.
    pub(crate) fn half(&self) -> f64 {
        let [a, b] = self.interval;
        (b - a) / 2.0
    }

    /// The value at x, in doubles.
    #[must_use]
    pub fn value(&self, x: f64) -> f64 {
        let [a, b] = self.interval;
        let (c0, others) = self.coefficients.split_first().map_or((0.0, &[][..]), |(c0, others)| (*c0, others));
        let sum = match self.basis {
            Basis::Monomials => self.coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c),
            // Clenshaw's algorithm
            Basis::Chebyshev => {
                let u = (2.0 * x - a - b) / (b - a);
                let [b1, b2] = others.iter().rev().fold([0.0; 2], |[b1, b2], c| [c + 2.0 * u * b1 - b2, b1]);
                c0 + u * b1 - b2
            }
        };
        (0..self.doublings).fold(sum, |y, _| 2.0 * y * y - 1.0)
    }

    /// The evaluation with the fewest products at least depth.
    pub(crate) fn plan(&self) -> Node {
        let levels = self.depth() as u32;
        let plans = (1..=levels).map(|babies| self.node(self.coefficients.clone(), levels - 1, babies));
        plans.min_by_key(Node::products_in_all).unwrap_or_default()
    }

    /// The sum for these coefficients. Powers of degree up to 2^`spent` have used up at most `spent` levels, as has the
    /// sum before it is rescaled. It uses powers of degree below 2^`babies` (baby steps), and divides by powers of
    /// degree 2^k (giant steps) where that does not suffice.
    fn node(&self, mut coefficients: Vec<f64>, spent: u32, babies: u32) -> Node {
        let mut node = Node::default();
        loop {
            coefficients.truncate(coefficients.iter().rposition(|&c| c != 0.0).map_or(0, |last| last + 1));
            let degree = coefficients.len().saturating_sub(1);
            if degree < 1 << babies && log2(degree.max(1)) <= spent as usize {
                break;
            }
            let giant = 1 << degree.ilog2();
            let (quotient, remainder) = self.divided(&coefficients, giant);
            match quotient[..] {
                [constant] => node.terms.push((giant, constant)),
                _ => node.products.push((self.node(quotient, spent - 1, babies), giant)),
            }
            coefficients = remainder;
        }
        node.terms.extend(coefficients.into_iter().enumerate().filter(|(_, c)| *c != 0.0));
        node
    }

    /// Quotient and remainder of the division by the basis polynomial of degree `giant`, for a degree below
    /// 2·`giant`.
    fn divided(&self, coefficients: &[f64], giant: usize) -> (Vec<f64>, Vec<f64>) {
        let (low, high) = coefficients.split_at(giant);
        let mut remainder = low.to_vec();
        let mut quotient = high.to_vec();
        if self.basis == Basis::Chebyshev {
            // T_(giant + j) = 2·T_giant·T_j − T_(giant − j)
            for (j, c) in quotient.iter_mut().enumerate().skip(1) {
                remainder[giant - j] -= *c;
                *c *= 2.0;
            }
        }
        (quotient, remainder)
    }
}

/// A sum of multiples of basis polynomials and of products. All of it has the same level and scale, and is relinearised
/// and rescaled once (Paterson–Stockmeyer; Bossuat, Mouchet, Troncoso-Pastoriza and Hubaux, eprint 2020/1203).
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Node {
    /// Degree and coefficient of basis polynomials.
    pub(crate) terms: Vec<(usize, f64)>,
    /// Factors: another sum, and the basis polynomial of this degree.
    pub(crate) products: Vec<(Node, usize)>,
}

impl Node {
    /// Degrees of all basis polynomials that are needed, those from which others are made included.
    fn powers(&self, of: &mut std::collections::BTreeSet<usize>) {
        let degrees = self.terms.iter().map(|(degree, _)| *degree).chain(self.products.iter().map(|(_, giant)| *giant));
        degrees.for_each(|degree| add_power(degree, of));
        self.products.iter().for_each(|(factor, _)| factor.powers(of));
    }

    /// Relinearisations: one for each sum with products, and one for each basis polynomial of a degree above 1.
    fn products_in_all(&self) -> usize {
        let mut powers = std::collections::BTreeSet::new();
        self.powers(&mut powers);
        self.sums() + powers.len()
    }

    fn sums(&self) -> usize {
        usize::from(!self.products.is_empty()) + self.products.iter().map(|(factor, _)| factor.sums()).sum::<usize>()
    }
}

/// Adds a degree, and those of the two factors of its basis polynomial.
fn add_power(degree: usize, of: &mut std::collections::BTreeSet<usize>) {
    if degree > 1 && of.insert(degree) {
        factors(degree).into_iter().for_each(|factor| add_power(factor, of));
    }
}

/// The degrees of the factors from which a basis polynomial of a degree above 1 is made. They differ by at most 1.
pub(crate) fn factors(degree: usize) -> [usize; 2] {
    [degree.div_ceil(2), degree / 2]
}

/// ⌈log2(x)⌉, for x of at least 1.
pub(crate) fn log2(x: usize) -> usize {
    x.next_power_of_two().ilog2() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of a sum at u, by the products of the plan.
    fn value(basis: Basis, node: &Node, u: f64) -> f64 {
        let power = |degree: usize| match basis {
            Basis::Monomials => u.powi(degree as i32),
            Basis::Chebyshev => (degree as f64 * u.acos()).cos(),
        };
        let terms: f64 = node.terms.iter().map(|(degree, c)| c * power(*degree)).sum();
        terms + node.products.iter().map(|(factor, giant)| value(basis, factor, u) * power(*giant)).sum::<f64>()
    }

    /// Levels that a sum takes, with those of its powers.
    fn depth(node: &Node) -> usize {
        let terms = node.terms.iter().map(|(degree, _)| log2((*degree).max(1))).max().unwrap_or(0);
        let products = node.products.iter().map(|(factor, giant)| depth(factor).max(log2(*giant))).max().unwrap_or(0);
        terms.max(products) + 1
    }

    #[test]
    fn plans_have_the_value_and_the_least_depth() -> Result<()> {
        for degree in 0..70 {
            for parity in [1, 2] {
                let c = |i: usize| {
                    if (degree - i).is_multiple_of(parity) { ((i * 37 + 11) % 29) as f64 / 29.0 - 0.4 } else { 0.0 }
                };
                let coefficients: Vec<f64> = (0..=degree).map(c).collect();
                let both = [Polynomial::monomials(&coefficients)?, Polynomial::chebyshev(&coefficients, -1.0..=1.0)?];
                for polynomial in both {
                    let plan = polynomial.plan();
                    assert!(depth(&plan) <= polynomial.depth(), "{polynomial:?}: {plan:?}");
                    for u in [-1.0, -0.7, 0.0, 0.3, 1.0] {
                        let wrong = value(polynomial.basis, &plan, u) - polynomial.value(u);
                        assert!(wrong.abs() < 1e-11, "{wrong} at {u}: {polynomial:?}, {plan:?}");
                    }
                }
            }
        }
        Ok(())
    }

    #[test]
    fn plans_have_few_products() -> Result<()> {
        let products = |degree: usize| -> Result<usize> {
            Ok(Polynomial::chebyshev(&vec![1.0; degree + 1], -1.0..=1.0)?.plan().products_in_all())
        };
        // degree, most products
        for (degree, most) in [(1, 0), (2, 1), (3, 2), (7, 5), (15, 9), (31, 13), (63, 20)] {
            assert!(products(degree)? <= most, "degree {degree}: {}", products(degree)?);
        }
        Ok(())
    }

    #[test]
    fn interpolation_meets_the_function() -> Result<()> {
        let polynomial = Polynomial::interpolate(f64::exp, 2.0..=5.0, 15)?;
        for i in 0..=30 {
            let x = 2.0 + f64::from(i) / 10.0;
            assert!((polynomial.value(x) - x.exp()).abs() < 1e-10, "{x}");
        }
        let refused = [
            Polynomial::monomials(&[]),
            Polynomial::monomials(&[f64::NAN]),
            Polynomial::chebyshev(&[1.0], 1.0..=1.0),
            Polynomial::interpolate(f64::ln, -1.0..=1.0, 3),
        ];
        assert!(refused.iter().all(|refused| matches!(refused, Err(Error::Polynomial { .. }))), "{refused:?}");
        Ok(())
    }
}
