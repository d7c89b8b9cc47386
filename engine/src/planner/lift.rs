//! Products in any ring via a larger NTT: a product of equal or larger degree modulo auxiliary primes.

use crypto_bigint::{U256, U768};

use crate::job::{Job, Op};
use crate::kernels::lift::LargerNtt;
use crate::pipeline::Value;
use crate::planner::{Planner, rns};
use ringforge_math::error::{Error, Result};
use ringforge_math::factorization::{Factorization, MAX_LEAF_DEGREE};
use ringforge_math::modulus::Modulus;
use ringforge_math::poly::{Form, PolyType};
use ringforge_math::ring::{Quotient, Ring};
use ringforge_runtime::plan::Plan;

/// Upper bounds on the bits of auxiliary primes: first primes for 32-bit arithmetic, then, if there are too few, primes
/// for 64-bit arithmetic.
const PRIME_BITS: [u32; 2] = [30, 62];

/// Lower bound on the bits of auxiliary primes, so that residues are stored in at least 32 bits.
const LEAST_BITS: u32 = 17;

/// Strategy: a product via a larger NTT, for each limb of the basis separately.
///
/// # Errors
/// [`Error::Unsupported`] if the unreduced product has more coefficients than a ring can have, or if there are too few
/// auxiliary primes. Also the planner's errors for the auxiliary product. The auxiliary ring has an NTT, so planning
/// that product does not come back to this function.
pub(super) fn mul(planner: &Planner, job: &Job) -> Result<Plan> {
    let poly = &job.poly;
    let auxiliary = auxiliary_ring(poly, job.bounds)?;
    let factorization = Factorization::of(&auxiliary, None)?;
    let inner = Job::new(&auxiliary, Op::Mul).batch_hint(job.batch_hint);
    let untuned = Planner::new(planner.limits().clone());
    let p = untuned.of_kernels(job);
    let factors = ["a", "b"].map(|name| p.coefficients(name, poly));
    let mut product: Option<Value<'_>> = None;
    for row in 0..poly.basis().len() {
        let lift = LargerNtt::new(poly, row, &auxiliary);
        let load = |factor| p.dynamic_step(lift.load(), &[factor]).first().copied().unwrap_or(factor);
        let (mut values, kernels) = match lift.mul(&factorization, planner.limits())? {
            Some(kernel) => (factors.to_vec(), vec![kernel]),
            None => {
                let [product] = p.plan(&untuned.plan(&inner)?, &factors.map(load));
                (vec![product], lift.store(planner.limits())?)
            }
        };
        let last = kernels.len().saturating_sub(1);
        for (i, kernel) in kernels.into_iter().enumerate() {
            // the last kernel stores this limb into the element that has the limbs before it
            values.extend(product.filter(|_| i == last));
            values = p.dynamic_step(kernel, &values).last().copied().into_iter().collect();
        }
        product = values.pop();
    }
    if let Some(product) = product {
        p.output("product", product.holding(poly.coefficients()));
    }
    p.build()
}

/// The cheapest ring in which products of elements within these bounds are exact. Its quotient is that of `poly`, if
/// that quotient has an NTT, or is cyclic of degree at least 2n − 1, where n is the degree of `poly`.
fn auxiliary_ring(poly: &PolyType, [left, right]: [Option<u64>; 2]) -> Result<PolyType> {
    let half = poly.basis().iter().map(Modulus::value).max().unwrap_or(U256::ZERO).shr_vartime(1);
    let operand = |bound: Option<u64>| match bound {
        // residues in Montgomery form enter the product as they are stored, so bounds on values do not apply to them
        Some(bound) if poly.form() == Form::Plain => half.min(U256::from(bound)),
        _ => half,
    };
    let term = U768::from(&operand(left)).wrapping_mul(&operand(right));
    let shapes = shapes(poly);
    if shapes.is_empty() {
        let why = "the unreduced product has more coefficients than a ring can have";
        return Err(Error::unsupported(Op::Mul, poly, why));
    }
    for bits in PRIME_BITS {
        for shape in &shapes {
            let bound = term.wrapping_mul(&U768::from(shape.terms as u64));
            if let Some(primes) = small_primes(shape.order, bits, &bound) {
                return Ring::new(&primes, shape.quotient.clone()).map(PolyType::from);
            }
        }
    }
    Err(Error::unsupported(Op::Mul, poly, "there are too few auxiliary primes for an NTT of any length"))
}

/// Like [`rns::primes`], but with fewer bits per prime if that takes no more primes: lazy residues then have more room
/// in a word.
fn small_primes(order: u64, bits: u32, bound: &U768) -> Option<Vec<Modulus>> {
    let largest = rns::primes(order, bits, bound)?;
    let least = (bound.bits_vartime() / largest.len() as u32).max(LEAST_BITS);
    let smaller = (least..bits).find_map(|bits| rns::primes(order, bits, bound).filter(|p| p.len() <= largest.len()));
    Some(smaller.unwrap_or(largest))
}

/// A quotient for the auxiliary ring, for which there is an NTT.
struct Shape {
    quotient: Quotient,
    /// Order of the roots of unity that the NTT needs.
    order: u64,
    /// Maximum number of products of operand coefficients whose signed sum is a coefficient of the result.
    terms: usize,
    cost: usize,
}

/// Quotients for the auxiliary ring of products in `poly`, cheapest first.
fn shapes(poly: &PolyType) -> Vec<Shape> {
    let n = poly.degree();
    let is = |quotient: &Quotient| poly.basis().iter().all(|q| quotient.tail(q) == poly.quotient().tail(q));
    let mut shapes = Vec::new();
    for (twos, threes, base) in splits(n, n) {
        let length = smooth(twos, threes) * base;
        let leaves = smooth(twos, threes) as u64;
        let cost = cost(length, twos, threes, base);
        let cyclic = Shape { quotient: Quotient::Cyclic { n }, order: leaves, terms: n, cost };
        let negacyclic = Shape { quotient: Quotient::Negacyclic { n }, order: 2 * leaves, terms: n, cost };
        shapes.extend([cyclic, negacyclic].into_iter().filter(|shape| is(&shape.quotient)));
    }
    if n.is_multiple_of(2) && is(&Quotient::Trinomial { n }) {
        // for the coefficients c of the unreduced product, the result is c_j − c_(j+n) − c_(j+3n/2) below x^(n/2), else
        // c_j + c_(j+n/2): sums of at most 3n/2 products
        shapes.extend(splits(n / 2, n / 2).map(|(twos, threes, base)| Shape {
            quotient: Quotient::Trinomial { n },
            order: 6 * smooth(twos, threes) as u64,
            terms: 3 * n / 2,
            cost: cost(n, twos + 1, threes, base),
        }));
    }
    let least = 2 * n - 1;
    // coefficient c_j of the unreduced product is a sum of min(j + 1, 2n - 1 - j) products: counts the products in c_i
    // + c0 c_(n+i) + c1 c_(n+i-1), or in c_i alone if [c0, c1] is `None`
    let terms = |row| match LargerNtt::fold_of(poly, row) {
        None | Some([_, 0]) => n,
        Some([0, _]) => n + 1,
        Some(_) => 2 * n - 1,
    };
    let terms = (0..poly.basis().len()).map(terms).max().unwrap_or(n);
    let longer = splits(least, (2 * least).min(Ring::MAX_DEGREE)).map(|(twos, threes, base)| {
        let length = smooth(twos, threes) * base;
        Shape {
            quotient: Quotient::Cyclic { n: length },
            order: smooth(twos, threes) as u64,
            terms,
            cost: cost(length, twos, threes, base),
        }
    });
    shapes.extend(longer);
    shapes.sort_by_key(|shape| shape.cost);
    shapes
}

/// All (a, b, d) with `least` ≤ 2^a·3^b·d ≤ `most`, for leaf degrees d up to [`MAX_LEAF_DEGREE`].
fn splits(least: usize, most: usize) -> impl Iterator<Item = (u32, u32, usize)> {
    let all = (1..=MAX_LEAF_DEGREE)
        .flat_map(|base| (0..=18).flat_map(move |threes| (0..=29).map(move |twos| (twos, threes, base))));
    all.filter(move |&(twos, threes, base)| (least..=most).contains(&(smooth(twos, threes) * base)))
}

fn smooth(twos: u32, threes: u32) -> usize {
    3usize.pow(threes) << twos
}

/// Estimated cost of a product of this length: for each coefficient three transforms, the product of leaves, and the
/// memory traffic. It is a quarter higher unless the length is a multiple of 32, because the threads of a limb then
/// fill no whole warps.
fn cost(length: usize, twos: u32, threes: u32, base: usize) -> usize {
    let cost = length * (6 * twos as usize + 10 * threes as usize + 3 * base + 16);
    if length.is_multiple_of(32) { cost } else { cost + cost / 4 }
}
