//! Sums of a few products modulo small numbers, in vectors: what two ways to make them have in common.

pub(super) mod sum30;
pub(super) mod sum60;

use core::fmt;
use core::ops::Range;

/// The most products of any sum.
pub(super) const MOST: usize = 16;
/// Sums that are worked on together: so many that compilers use vectors, so few that they stay in registers.
pub(super) const LANES: usize = 16;
/// Numbers of as many sums.
pub(super) type Lanes = [u64; LANES];

/// A modulus from 2 on, a constant, and weights below the modulus.
pub(super) trait Row: fmt::Debug + Clone + Send + Sync + Sized {
    /// Numbers of as many sums, as products take them.
    type Numbers: Copy + Default;

    /// What all numbers and moduli are below.
    const END: u64;
    /// The most products of a sum.
    const MOST: usize;

    /// Numbers as products take them.
    fn numbers(x: Lanes) -> Self::Numbers;
    /// A row for a modulus q.
    fn new(q: u64, constant: u64, weights: impl IntoIterator<Item = u64>) -> Self;
    /// The same with a constant below q for the first term of a sum.
    fn with_first(self, first: u64) -> Self;
    /// The constant.
    fn constant(&self) -> u64;
    /// What `convert.cu` reads of a row with so many weights, of which those that are missing count nothing.
    fn words(&self, weights: usize) -> Vec<u64>;
    /// What `convert.cu` reads of a row of which it takes one weight alone: q, the weight, ⌊2^64 weight / q⌋ and 0.
    fn known(&self, number: usize) -> [u64; 4];
    /// A first term such as [`Row::with_first`] makes it, or 0, and the numbers in this range times their weights; modulo q.
    fn sum(&self, first: Lanes, numbers: &[Self::Numbers; MOST], range: Range<usize>) -> Lanes;
}

const HALF: u64 = 0xffff_ffff;

/// The product of numbers below 2^32, as the compiler finds it in vectors.
#[inline(always)]
fn product(a: u64, b: u64) -> u64 {
    (a & HALF).wrapping_mul(b & HALF)
}

/// ⌊a·b / 2^64⌋, or one less.
#[inline(always)]
fn product_high(a: u64, b: u64) -> u64 {
    let (a, b) = ([a & HALF, a >> 32], [b & HALF, b >> 32]);
    let cross = product(a[0], b[1]);
    let other = product(a[1], b[0]).wrapping_add(cross & HALF);
    product(a[1], b[1]).wrapping_add(cross >> 32).wrapping_add(other >> 32)
}

/// x mod m, for x below 2m and m ≤ 2^62.
#[inline(always)]
fn sub_once(x: u64, m: u64) -> u64 {
    let difference = x.wrapping_sub(m);
    if difference.cast_signed() < 0 { x } else { difference }
}

/// What `known` gives.
fn known(q: u64, weight: u64) -> [u64; 4] {
    [q, weight, ((u128::from(weight) << 64) / u128::from(q)) as u64, 0]
}

#[cfg(test)]
pub(super) fn sums_are_exact<R: Row>(moduli: &[u64]) {
    for &q in moduli {
        for weight in [0, 1, q / 2, q - 1] {
            for x in [0, 1, (1 << 15) - 1, 1 << 29, q - 1, q, R::END / 2, R::END - 1] {
                for first in [0, q / 2, q - 1] {
                    let row = R::new(q, 0, vec![weight; R::MOST]).with_first(first);
                    let numbers = [R::numbers([x; LANES]); MOST];
                    for terms in 0..=R::MOST {
                        let expected =
                            (u128::from(x) * u128::from(weight) * terms as u128 + u128::from(first)) % u128::from(q);
                        let found = row.sum([row.constant(); LANES], &numbers, 0..terms);
                        assert!(found.iter().all(|&r| u128::from(r) == expected), "{terms} {x} {weight} {first} {q}");
                    }
                }
            }
        }
    }
}
