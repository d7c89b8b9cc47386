//! Vectorised sums of a few products modulo small numbers: shared parts of `sum30` and `sum60`.

pub(super) mod sum30;
pub(super) mod sum60;

use core::fmt;
use core::ops::Range;

/// Maximum number of products of any sum.
pub(super) const MOST: usize = 16;
/// Number of sums computed together: enough for the compiler to vectorise, few enough to stay in registers.
pub(super) const LANES: usize = 16;
/// One number for each of the sums computed together.
pub(super) type Lanes = [u64; LANES];

/// The constants of a sum Σ number·weight modulo q: the modulus q of at least 2, a constant, and weights below q.
pub(super) trait Row: fmt::Debug + Clone + Send + Sync + Sized {
    /// One number per lane, in the form that products take.
    type Numbers: Copy + Default;

    /// Exclusive upper bound of all numbers and moduli.
    const END: u64;
    /// Maximum number of products of a sum with this type.
    const MOST: usize;

    /// Converts numbers to the form that products take.
    fn numbers(x: Lanes) -> Self::Numbers;
    /// Creates a row with modulus q, a constant and weights.
    fn new(q: u64, constant: u64, weights: impl IntoIterator<Item = u64>) -> Self;
    /// The same row with a new constant: `first`, which is below q, in the form that [`Row::sum`] takes as its first
    /// term.
    fn with_first(self, first: u64) -> Self;
    /// The constant.
    fn constant(&self) -> u64;
    /// The words that `convert.cu` reads for a row, with the weights padded with zeros to `weights` weights.
    fn words(&self, weights: usize) -> Vec<u64>;
    /// The words that `convert.cu` reads for a row in which only the weight with this index is used: q, the weight,
    /// ⌊2^w weight / q⌋ for words of w bits, and 0.
    fn known(&self, number: usize) -> [u64; 4];
    /// The first term plus Σ number·weight over this range of indices, modulo q. The first term is 0 or a constant of
    /// [`Row::with_first`].
    fn sum(&self, first: Lanes, numbers: &[Self::Numbers; MOST], range: Range<usize>) -> Lanes;
}

const HALF: u64 = 0xffff_ffff;

/// The product of numbers below 2^32, in a form that compilers vectorise.
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

/// The words that [`Row::known`] returns, for words of this many bits.
fn known(q: u64, weight: u64, bits: u32) -> [u64; 4] {
    [q, weight, ((u128::from(weight) << bits) / u128::from(q)) as u64, 0]
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
