//! Vectorised sums of a few products modulo small numbers: shared parts of `sum30` and `sum60`.

pub(super) mod sum30;
pub(super) mod sum60;

use core::fmt;
use core::ops::Range;

/// Maximum number of products of any sum.
pub(super) const MOST: usize = 32;
/// Number of sums computed together: enough for the compiler to vectorise, few enough to stay in registers.
pub(super) const LANES: usize = 16;
/// One number for each of the sums computed together. Code on them is in loops, because closures, as `map` takes, are not
/// compiled for AVX2.
pub(super) type Lanes = [u64; LANES];

/// The constants of a sum Σ number·weight modulo an odd q: the modulus q of at least 3, a constant, and weights below q.
pub(super) trait Row: fmt::Debug + Clone + Send + Sync + Sized {
    /// One number per lane, in the form that products take.
    type Numbers: Copy + Default;

    /// Maximum number of bits of numbers and moduli.
    const BITS: u32;

    /// Whether there are sums of `count` products of numbers of up to `bits` bits, modulo numbers of up to `modulus_bits`.
    fn fits(count: usize, bits: u32, modulus_bits: u32) -> bool;
    /// Creates a row with modulus q, a constant and weights, for sums that are reduced to below 2^bits·q first (see
    /// [`sum60::Row60::bits`]).
    fn new(q: u64, bits: u32, constant: u64, weights: impl IntoIterator<Item = u64>) -> Self;
    /// The same row with a new constant: `first`, which is below q, in the form that [`Row::sum`] takes as its first
    /// term.
    fn with_first(self, first: u64) -> Self;
    /// The modulus.
    fn modulus(&self) -> u64;
    /// The constant.
    fn constant(&self) -> u64;
    /// Converts numbers to the form that products take.
    fn numbers(x: Lanes) -> Self::Numbers;
    /// The words that `convert.cu` reads for a row, with the weights padded with zeros to `weights` weights.
    fn words(&self, weights: usize) -> Vec<u64>;
    /// The words that `convert.cu` reads for a row in which only the weight with this index is used: q, the weight c, and
    /// ⌊2^w c / q⌋ for words of w bits.
    fn known(&self, number: usize) -> Vec<u64>;
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

/// q^-1 modulo 2^64, for odd q, by Newton iteration.
fn inverse(q: u64) -> u64 {
    // correct to 3 bits; each step doubles the number of correct bits
    (0..5).fold(q, |inverse, _| inverse.wrapping_mul(2u64.wrapping_sub(q.wrapping_mul(inverse))))
}

/// x mod m, for x below 2m and m ≤ 2^62.
#[inline(always)]
fn sub_once(x: u64, m: u64) -> u64 {
    let difference = x.wrapping_sub(m);
    if difference.cast_signed() < 0 { x } else { difference }
}

#[cfg(test)]
pub(super) fn sums_are_exact<R: Row>(moduli: &[u64]) {
    for &q in moduli {
        for weight in [0, 1, q / 2, q - 1] {
            for (count, bits) in (0..=MOST).flat_map(|count| [R::BITS - 10, R::BITS].map(|bits| (count, bits))) {
                if !R::fits(count, bits, u64::BITS - q.leading_zeros()) {
                    continue;
                }
                let end = 1 << bits;
                let row = R::new(q, sum60::Row60::bits(count, bits), 0, vec![weight; count]);
                for x in [0, 1, (1 << 15) - 1, 1 << (bits - 1), q - 1, q, end / 2, end - 1] {
                    let x = x.min(end - 1);
                    for first in [0, q / 2, q - 1] {
                        let row = row.clone().with_first(first);
                        let numbers = [R::numbers([x; LANES]); MOST];
                        let sum = u128::from(x) * u128::from(weight) * count as u128 + u128::from(first);
                        let found = row.sum([row.constant(); LANES], &numbers, 0..count);
                        let wanted = (sum % u128::from(q)) as u64;
                        assert!(found.iter().all(|&r| r == wanted), "{count} {x} {weight} {first} {q}");
                    }
                }
            }
        }
    }
}
