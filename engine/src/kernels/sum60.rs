//! Sums of up to eight products of numbers below 2^60, and their remainders: constants and CPU twin of `sum60.cuh`.

use core::array::from_fn;
use core::ops::Range;

/// The most products of a sum.
pub(super) const MOST: usize = 8;
/// What all numbers are below.
pub(super) const END: u64 = 1 << 60;
/// Sums that are worked on together: so many that compilers use vectors, so few that they stay in registers.
pub(super) const LANES: usize = 16;
/// Numbers of as many sums.
pub(super) type Lanes = [u64; LANES];
/// Numbers below 2^60, each as its lower 30 bits and those above.
pub(super) type Halves = [Lanes; 2];

#[inline(always)]
pub(super) fn halves(x: Lanes) -> Halves {
    [x.map(|x| x & 0x3fff_ffff), x.map(|x| x >> 30)]
}

/// A modulus q from 2 to 2^60, a constant, and weights below q.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// 2^shift q, from 2^59 to 2^60.
    d: u64,
    /// ⌊2^123 / d⌋, at most 2^64 − 1.
    ratio: u64,
    shift: u32,
    pub(super) constant: u64,
    /// Times 2^shift, in halves.
    weights: Vec<[u64; 2]>,
}

impl Row {
    pub(super) fn new(q: u64, constant: u64, weights: impl IntoIterator<Item = u64>) -> Self {
        let shift = q.leading_zeros() - END.leading_zeros() - 1;
        let d = q << shift;
        let ratio = u64::try_from((1 << 123) / u128::from(d)).unwrap_or(u64::MAX);
        let weights = weights.into_iter().map(|weight| weight << shift);
        let weights = weights.map(|weight| [weight & 0x3fff_ffff, weight >> 30]).collect();
        Self { d, ratio, shift, constant, weights }
    }

    /// The same with a constant below q for the first term of a sum.
    pub(super) fn with_first(self, first: u64) -> Self {
        Self { constant: first << self.shift, ..self }
    }

    /// What `convert.cu` reads of a row with so many weights, of which those that are missing count nothing.
    pub(super) fn words(&self, weights: usize) -> Vec<u64> {
        let mut words = vec![self.d, self.ratio, self.shift.into(), self.constant];
        words.extend(self.weights.iter().map(|[low, high]| high << 32 | low));
        words.resize((4 + weights).next_multiple_of(2), 0);
        words
    }

    /// What `convert.cu` reads of a row of which it takes one weight alone: q, the weight, ⌊2^64 weight / q⌋ and 0.
    pub(super) fn known(&self, number: usize) -> [u64; 4] {
        let ([low, high], q) = (self.weights[number], self.d >> self.shift);
        let weight = (high << 30 | low) >> self.shift;
        [q, weight, ((u128::from(weight) << 64) / u128::from(q)) as u64, 0]
    }

    /// A first term, a multiple of 2^shift, and the numbers in this range times their weights; over 2^shift, modulo q.
    #[inline(always)]
    pub(super) fn sum(&self, first: Lanes, numbers: &[Halves; MOST], range: Range<usize>) -> Lanes {
        let [mut low, mut middle, mut high] = [first, [0; LANES], [0; LANES]];
        for (&[x0, x1], &[y0, y1]) in numbers[range.clone()].iter().zip(&self.weights[range]) {
            for lane in 0..LANES {
                low[lane] = low[lane].wrapping_add(product(x0[lane], y0));
                middle[lane] = middle[lane].wrapping_add(product(x0[lane], y1)).wrapping_add(product(x1[lane], y0));
                high[lane] = high[lane].wrapping_add(product(x1[lane], y1));
            }
        }
        from_fn(
            #[inline(always)]
            |lane| self.rem(low[lane], middle[lane], high[lane]),
        )
    }

    /// (low + 2^30 middle + 2^60 high) / 2^shift modulo q: Barrett's method, with a quotient at most three too small.
    #[inline(always)]
    fn rem(&self, low: u64, middle: u64, high: u64) -> u64 {
        let top = (high << 1).wrapping_add(middle.wrapping_add(low >> 30) >> 29);
        let (top, ratio) = ([top & HALF, top >> 32], [self.ratio & HALF, self.ratio >> 32]);
        let cross = product(top[0], ratio[1]);
        let other = product(top[1], ratio[0]).wrapping_add(cross & HALF);
        let quotient = product(top[1], ratio[1]).wrapping_add(cross >> 32).wrapping_add(other >> 32);
        let rest = low.wrapping_add(middle << 30).wrapping_add(high << 60);
        let r = rest.wrapping_sub(quotient.wrapping_mul(self.d));
        sub_once(sub_once(r, 2 * self.d), self.d) >> self.shift
    }
}

const HALF: u64 = 0xffff_ffff;

/// The product of numbers below 2^32, as the compiler finds it in vectors.
#[inline(always)]
fn product(a: u64, b: u64) -> u64 {
    (a & HALF).wrapping_mul(b & HALF)
}

/// x mod m, for x below 2m and m ≤ 2^62.
#[inline(always)]
fn sub_once(x: u64, m: u64) -> u64 {
    let difference = x.wrapping_sub(m);
    if difference.cast_signed() < 0 { x } else { difference }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact() {
        let moduli =
            [2, 3, 4, 1024, 12_289, 1 << 32, (1 << 59) - 1, 1 << 59, (1 << 59) + 1, END - 93, END - 2, END - 1];
        for q in moduli {
            for weight in [0, 1, q / 2, q - 1] {
                for x in [0, 1, (1 << 30) - 1, 1 << 30, q - 1, q, END / 2, END - 1] {
                    for first in [0, q / 2, q - 1] {
                        let row = Row::new(q, 0, [weight; MOST]).with_first(first);
                        let numbers = [halves([x; LANES]); MOST];
                        for terms in 0..=MOST {
                            let expected = (u128::from(x) * u128::from(weight) * terms as u128 + u128::from(first))
                                % u128::from(q);
                            let found = row.sum([row.constant; LANES], &numbers, 0..terms);
                            assert!(
                                found.iter().all(|&r| u128::from(r) == expected),
                                "{terms} {x} {weight} {first} {q}"
                            );
                        }
                    }
                }
            }
        }
    }
}
