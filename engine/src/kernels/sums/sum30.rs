//! Sums of up to sixteen products of numbers below 2^30, and their Montgomery reduction: constants and CPU reference of
//! `sum30.cuh`.

use core::ops::Range;

use super::{HALF, LANES, Lanes, MOST, Row, inverse, product, sub_once};

/// An odd modulus q below 2^30, a constant, and weights below q.
#[derive(Debug, Clone)]
pub(in crate::kernels) struct Row30 {
    q: u64,
    /// q^-1 mod 2^32.
    inverse: u64,
    constant: u64,
    /// Weights times R = 2^32 modulo q.
    weights: Vec<u64>,
}

impl Row for Row30 {
    type Numbers = Lanes;

    const BITS: u32 = 30;

    /// Unreduced numbers of 16 bits fit as well. The upper word of a sum is below count·q/4.
    fn fits(count: usize, bits: u32, modulus_bits: u32) -> bool {
        count <= 16 && bits.max(modulus_bits) <= Self::BITS
    }

    fn new(q: u64, _: u32, constant: u64, weights: impl IntoIterator<Item = u64>) -> Self {
        let scaled = |weight: u64| (weight << 32) % q;
        Self { q, inverse: inverse(q) & HALF, constant, weights: weights.into_iter().map(scaled).collect() }
    }

    fn with_first(self, first: u64) -> Self {
        Self { constant: (first << 32) % self.q, ..self }
    }

    fn modulus(&self) -> u64 {
        self.q
    }

    fn constant(&self) -> u64 {
        self.constant
    }

    #[inline(always)]
    fn numbers(x: Lanes) -> Lanes {
        x
    }

    fn words(&self, weights: usize) -> Vec<u64> {
        let mut words = vec![self.q, self.inverse, self.constant, 0];
        words.extend(&self.weights);
        words.resize((4 + weights).next_multiple_of(4), 0);
        pairs(&words)
    }

    fn known(&self, number: usize) -> Vec<u64> {
        let weight = self.reduce(self.weights[number]);
        pairs(&[self.q, weight, (weight << 32) / self.q, 0])
    }

    #[inline(always)]
    fn sum(&self, first: Lanes, numbers: &[Lanes; MOST], range: Range<usize>) -> Lanes {
        let mut sum = first;
        for (x, &weight) in numbers[range.clone()].iter().zip(&self.weights[range]) {
            for lane in 0..LANES {
                sum[lane] = sum[lane].wrapping_add(product(x[lane], weight));
            }
        }
        for sum in &mut sum {
            *sum = self.reduce(*sum);
        }
        sum
    }
}

impl Row30 {
    /// sum / 2^32 modulo q, for a sum below 16·2^30·q.
    #[inline(always)]
    fn reduce(&self, sum: u64) -> u64 {
        let r = (sum >> 32) + self.q - (product(product(sum, self.inverse), self.q) >> 32);
        sub_once(sub_once(sub_once(r, 2 * self.q), 2 * self.q), self.q)
    }
}

/// Words of 32 bits as words of 64 bits, the first of each pair in the lower half.
fn pairs(words: &[u64]) -> Vec<u64> {
    words.chunks_exact(2).map(|pair| pair[1] << 32 | pair[0]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact() {
        let moduli = [3, 5, 1023, 12_289, (1 << 29) - 1, (1 << 29) + 1, (1 << 30) - 35, (1 << 30) - 1];
        super::super::sums_are_exact::<Row30>(&moduli);
    }
}
