//! Sums of up to eight products of numbers below 2^60, and their remainders: constants and CPU reference of
//! `sum60.cuh`.

use core::array::from_fn;
use core::ops::Range;

use super::{LANES, Lanes, MOST, Row, known, product, product_high, sub_once};

/// A modulus q from 2 to 2^60, a constant, and weights below q.
#[derive(Debug, Clone)]
pub(in crate::kernels) struct Row60 {
    /// 2^shift q, from 2^59 to 2^60.
    d: u64,
    /// ⌊2^123 / d⌋, at most 2^64 − 1.
    ratio: u64,
    shift: u32,
    constant: u64,
    /// Weights times 2^shift, split into 30-bit halves.
    weights: Vec<[u64; 2]>,
}

impl Row for Row60 {
    /// The lower 30 bits of each number, and the bits above them.
    type Numbers = [Lanes; 2];

    const END: u64 = 1 << 60;
    const MOST: usize = 8;

    #[inline(always)]
    fn numbers(x: Lanes) -> [Lanes; 2] {
        [x.map(|x| x & 0x3fff_ffff), x.map(|x| x >> 30)]
    }

    fn new(q: u64, constant: u64, weights: impl IntoIterator<Item = u64>) -> Self {
        let shift = q.leading_zeros() - Self::END.leading_zeros() - 1;
        let d = q << shift;
        let ratio = u64::try_from((1 << 123) / u128::from(d)).unwrap_or(u64::MAX);
        let weights = weights.into_iter().map(|weight| weight << shift);
        let weights = weights.map(|weight| [weight & 0x3fff_ffff, weight >> 30]).collect();
        Self { d, ratio, shift, constant, weights }
    }

    fn with_first(self, first: u64) -> Self {
        Self { constant: first << self.shift, ..self }
    }

    fn constant(&self) -> u64 {
        self.constant
    }

    fn words(&self, weights: usize) -> Vec<u64> {
        let mut words = vec![self.d, self.ratio, self.shift.into(), self.constant];
        words.extend(self.weights.iter().map(|[low, high]| high << 32 | low));
        words.resize((4 + weights).next_multiple_of(2), 0);
        words
    }

    fn known(&self, number: usize) -> [u64; 4] {
        let [low, high] = self.weights[number];
        known(self.d >> self.shift, (high << 30 | low) >> self.shift, 64)
    }

    /// The first term (a multiple of 2^shift) plus Σ number·weight over this range, divided by 2^shift, modulo q.
    #[inline(always)]
    fn sum(&self, first: Lanes, numbers: &[[Lanes; 2]; MOST], range: Range<usize>) -> Lanes {
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
}

impl Row60 {
    /// (low + 2^30 middle + 2^60 high) / 2^shift modulo q, by Barrett reduction with a quotient at most three too
    /// small.
    #[inline(always)]
    fn rem(&self, low: u64, middle: u64, high: u64) -> u64 {
        let top = (high << 1).wrapping_add(middle.wrapping_add(low >> 30) >> 29);
        let quotient = product_high(top, self.ratio);
        let rest = low.wrapping_add(middle << 30).wrapping_add(high << 60);
        let r = rest.wrapping_sub(quotient.wrapping_mul(self.d));
        sub_once(sub_once(r, 2 * self.d), self.d) >> self.shift
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact() {
        let end = Row60::END;
        let moduli =
            [2, 3, 4, 1024, 12_289, 1 << 32, (1 << 59) - 1, 1 << 59, (1 << 59) + 1, end - 93, end - 2, end - 1];
        super::super::sums_are_exact::<Row60>(&moduli);
    }
}
