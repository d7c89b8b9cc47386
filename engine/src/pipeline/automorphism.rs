//! Galois automorphisms x → x^k as permutations of residues.

use crate::kernels::elementwise::place;
use ringforge_math::factorization::Factorization;
use ringforge_math::poly::{Order, PolyType};
use ringforge_math::ring::Quotient;

use super::graph::Refused;

/// The permutation of an automorphism: for each position in a limb, the position of the residue that moves there and
/// whether its sign changes.
///
/// A coefficient of x^i moves to x^(ik), where x^n is 1 or −1. The evaluation at a root w becomes the former
/// evaluation at w^k.
pub(super) fn places(content: &PolyType, k: u64) -> Result<Vec<u32>, Refused> {
    let poly = &content.coefficients();
    poly.check_single("an automorphism").map_err(|error| error.to_string())?;
    let n = poly.degree() as u64;
    let order = match poly.quotient() {
        Quotient::Cyclic { .. } => n,
        Quotient::Negacyclic { .. } => 2 * n,
        _ => return Err(format!("automorphisms need a ring modulo x^n - 1 or x^n + 1, not {poly}")),
    };
    if n >> 31 > 0 {
        return Err(format!("automorphisms need a degree below 2^31, but {poly} has {n}"));
    }
    let k = k % order;
    if gcd(k, order) != 1 {
        return Err(format!("x -> x^{k} is not an automorphism of {poly}: {k} and {order} have a common factor"));
    }
    // `i` and `k` are below 2^32, so the product fits
    let times = |i: u64| i * k % order;
    let mut places = vec![0; n as usize];
    match content.domain() {
        None => {
            for i in 0..n {
                let to = times(i);
                places[(to % n) as usize] = place(i as usize, to >= n);
            }
        }
        Some((depth, of_values)) => {
            let factorization = split(poly, depth)?;
            // at position i in natural order, the exponent of the root is i or 2i + 1
            let from = |i: u64| if order == n { times(i) } else { times(2 * i + 1) / 2 };
            let natural = match of_values {
                Order::Natural => (0..n as usize).collect(),
                Order::DigitReversed => factorization.natural_places(),
            };
            let mut tree = vec![0; natural.len()];
            natural.iter().enumerate().for_each(|(leaf, &at)| tree[at] = leaf);
            for (to, &at) in places.iter_mut().zip(&natural) {
                *to = place(tree[from(at as u64) as usize], false);
            }
        }
    }
    Ok(places)
}

/// The factorisation with `depth` layers, or an error unless its leaf degree is 1.
fn split(poly: &PolyType, depth: u32) -> Result<Factorization, Refused> {
    let factorization = Factorization::of(poly, Some(depth)).map_err(|error| error.to_string())?;
    match factorization.leaf_degree() {
        1 => Ok(factorization),
        base => Err(format!(
            "automorphisms of evaluations need leaves of degree 1, but those of {poly} have {base}: use coefficients"
        )),
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
