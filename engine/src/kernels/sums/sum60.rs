//! Sums of a few products of numbers below 2^60, and their Montgomery reduction: constants and CPU reference of
//! `sum60.cuh`.

use core::ops::Range;

use super::{LANES, Lanes, MOST, Row, inverse, product, sub_once};

/// The lower half of a number.
const LOW: u64 = (1 << 30) - 1;
/// Number of products of lower halves after which the bits above a half are carried.
const CARRY: usize = 14;

/// An odd modulus q below 2^60, a constant, and weights below q.
#[derive(Debug, Clone)]
pub(in crate::kernels) struct Row60 {
    q: u64,
    /// −q^-1 mod 2^30.
    inverse: u64,
    /// Number of bits b for which a reduced sum is below 2^b·q before the last subtractions.
    bits: u32,
    constant: u64,
    /// Weights times R = 2^60 modulo q, split into 30-bit halves.
    weights: Vec<[u64; 2]>,
}

impl Row60 {
    /// Number of bits b for which the sum of `count` products of numbers of this many bits with weights below q, divided
    /// by 2^60, is below 2^b·q.
    pub(in crate::kernels) fn bits(count: usize, bits: u32) -> u32 {
        // the sum is below (count·2^(bits − 60) + 1)·q
        let multiple = ((count as u128) << bits).div_ceil(1 << 60) + 1;
        multiple.next_power_of_two().ilog2()
    }
}

impl Row for Row60 {
    /// The lower 30 bits of each number, and the bits above them.
    type Numbers = [Lanes; 2];

    const BITS: u32 = 60;

    /// The sum of mixed products and of two products more, of the reduction, fits 64 bits.
    fn fits(count: usize, bits: u32, modulus_bits: u32) -> bool {
        let mixed = (count as u128) * ((1 << bits) + (1 << modulus_bits));
        count <= MOST && bits.max(modulus_bits) <= Self::BITS && mixed <= 14 << 60
    }

    fn new(q: u64, bits: u32, constant: u64, weights: impl IntoIterator<Item = u64>) -> Self {
        let weights = weights.into_iter().map(|weight| scaled(weight, q));
        let weights = weights.map(|weight| [weight & LOW, weight >> 30]).collect();
        Self { q, inverse: inverse(q).wrapping_neg() & LOW, bits, constant, weights }
    }

    fn with_first(self, first: u64) -> Self {
        Self { constant: scaled(first, self.q), ..self }
    }

    fn modulus(&self) -> u64 {
        self.q
    }

    fn constant(&self) -> u64 {
        self.constant
    }

    #[inline(always)]
    fn numbers(x: Lanes) -> [Lanes; 2] {
        let mut halves = [[0; LANES]; 2];
        for lane in 0..LANES {
            (halves[0][lane], halves[1][lane]) = (x[lane] & LOW, x[lane] >> 30);
        }
        halves
    }

    fn words(&self, weights: usize) -> Vec<u64> {
        let mut words = vec![self.q, self.inverse, self.constant];
        words.extend(self.weights.iter().map(|[low, high]| high << 32 | low));
        words.resize((3 + weights).next_multiple_of(2), 0);
        words
    }

    fn known(&self, number: usize) -> Vec<u64> {
        let [low, high] = self.weights[number];
        let weight = (0..self.bits).rev().fold(self.divide(low, high, 0), |r, bit| sub_once(r, self.q << bit));
        vec![self.q, weight, ((u128::from(weight) << 64) / u128::from(self.q)) as u64, 0]
    }

    #[inline(always)]
    fn sum(&self, first: Lanes, numbers: &[[Lanes; 2]; MOST], range: Range<usize>) -> Lanes {
        let [mut low, mut middle, mut high] = [first, [0; LANES], [0; LANES]];
        let (numbers, weights) = (&numbers[range.clone()], &self.weights[range]);
        for (numbers, weights) in numbers.chunks(CARRY).zip(weights.chunks(CARRY)) {
            for lane in 0..LANES {
                (low[lane], middle[lane]) = (low[lane] & LOW, middle[lane].wrapping_add(low[lane] >> 30));
            }
            for (&[x0, x1], &[y0, y1]) in numbers.iter().zip(weights) {
                for lane in 0..LANES {
                    low[lane] = low[lane].wrapping_add(product(x0[lane], y0));
                    middle[lane] = middle[lane].wrapping_add(product(x0[lane], y1)).wrapping_add(product(x1[lane], y0));
                    high[lane] = high[lane].wrapping_add(product(x1[lane], y1));
                }
            }
        }
        for lane in 0..LANES {
            high[lane] = self.divide(low[lane], middle[lane], high[lane]);
        }
        for bit in (0..self.bits).rev() {
            for high in &mut high {
                *high = sub_once(*high, self.q << bit);
            }
        }
        high
    }
}

impl Row60 {
    /// (low + 2^30 middle + 2^60 high) / 2^60 modulo q, below 2^bits·q, in two steps that divide by 2^30 each.
    #[inline(always)]
    fn divide(&self, low: u64, middle: u64, high: u64) -> u64 {
        let [q0, q1] = [self.q & LOW, self.q >> 30];
        let m = product(low, self.inverse) & LOW;
        let middle = middle.wrapping_add(product(m, q1)).wrapping_add(low.wrapping_add(product(m, q0)) >> 30);
        let m = product(middle, self.inverse) & LOW;
        high.wrapping_add(product(m, q1)).wrapping_add(middle.wrapping_add(product(m, q0)) >> 30)
    }
}

/// x·2^60 modulo q.
fn scaled(x: u64, q: u64) -> u64 {
    ((u128::from(x) << 60) % u128::from(q)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact() {
        let end = 1 << 60;
        let moduli = [3, 5, 1023, 12_289, (1 << 32) + 1, (1 << 59) - 1, (1 << 59) + 1, end - 93, end - 1];
        super::super::sums_are_exact::<Row60>(&moduli);
    }
}
