//! Sums of up to sixteen products of numbers below 2^30, and their remainders: constants and CPU reference of
//! `sum30.cuh`.

use core::array::from_fn;
use core::ops::Range;

use super::{Lanes, MOST, Row, known, product, product_high, sub_once};

/// A modulus q from 2 to 2^30, a constant, and weights below q.
#[derive(Debug, Clone)]
pub(in crate::kernels) struct Row30 {
    q: u64,
    /// ⌊2^64 / q⌋.
    ratio: u64,
    constant: u64,
    weights: Vec<u64>,
}

impl Row for Row30 {
    type Numbers = Lanes;

    const END: u64 = 1 << 30;
    const MOST: usize = 16;

    #[inline(always)]
    fn numbers(x: Lanes) -> Lanes {
        x
    }

    fn new(q: u64, constant: u64, weights: impl IntoIterator<Item = u64>) -> Self {
        Self { q, ratio: ((1u128 << 64) / u128::from(q)) as u64, constant, weights: weights.into_iter().collect() }
    }

    fn with_first(self, first: u64) -> Self {
        Self { constant: first, ..self }
    }

    fn constant(&self) -> u64 {
        self.constant
    }

    fn words(&self, weights: usize) -> Vec<u64> {
        let mut words = vec![self.q, self.ratio, 0, self.constant];
        words.extend(&self.weights);
        words.resize((4 + weights).next_multiple_of(2), 0);
        words
    }

    fn known(&self, number: usize) -> [u64; 4] {
        known(self.q, self.weights[number], 32)
    }

    /// Barrett reduction with a quotient that is at most two too small: the ratio, the product and its lowest partial
    /// product are truncated, and each truncation costs less than one.
    #[inline(always)]
    fn sum(&self, first: Lanes, numbers: &[Lanes; MOST], range: Range<usize>) -> Lanes {
        let mut sum = first;
        for (x, &weight) in numbers[range.clone()].iter().zip(&self.weights[range]) {
            sum.iter_mut().zip(x).for_each(|(sum, &x)| *sum = sum.wrapping_add(product(x, weight)));
        }
        from_fn(
            #[inline(always)]
            |lane| {
                let r = sum[lane].wrapping_sub(product_high(sum[lane], self.ratio).wrapping_mul(self.q));
                sub_once(sub_once(r, 2 * self.q), self.q)
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact() {
        let moduli = [2, 3, 4, 1024, 12_289, (1 << 29) - 1, 1 << 29, (1 << 29) + 1, (1 << 30) - 35, (1 << 30) - 1];
        super::super::sums_are_exact::<Row30>(&moduli);
    }
}
