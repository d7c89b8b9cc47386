//! The E8 code: four bits to a block of eight coordinates, and the nearest codeword back; and whole messages in polynomials.

use ringforge::words::Divisor;

/// The codeword of a nibble, bit j for coordinate j. Bits of `nibble` above the lowest four do not count.
#[must_use]
pub fn encode(nibble: u8) -> u8 {
    let row = |bit: u32, row: u8| (nibble >> bit & 1).wrapping_neg() & row;
    row(0, 0x55) ^ row(1, 0x0F) ^ row(2, 0x3C) ^ row(3, 0xF0)
}

/// The nibble whose codeword, with its ones at q2/2, is nearest to eight coordinates modulo q2.
///
/// `q2` is a power of two of at least 4, coordinates are below it; for others the nibble means nothing. Of pairs of
/// coordinates, and then of cosets of the code, that are equally near, the first one is taken.
#[must_use]
pub fn decode(v: &[u16; 8], q2: u16) -> u8 {
    // as in e8.cuh, where the reasons stand: distances from 0 are enough, and sums of them
    let q2 = i32::from(q2);
    let distance = v.map(|v| i32::from(v).min(q2 - i32::from(v)));
    let pairs: [[i32; 2]; 4] = core::array::from_fn(|i| [distance[2 * i], distance[2 * i + 1]]);
    let same = pairs.map(|[a, b]| (q2 >> 1) - a - b);
    let other = pairs.map(|[a, b]| a - b);
    let (even, odd) = (Coset::new(same), Coset::new(other));
    let t = (even.score - odd.score) >> 31; // all ones for the odd coset
    let choose = |even: i32, odd: i32| even ^ ((even ^ odd) & t);
    let [x0, x1, _, x3]: [i32; 4] = core::array::from_fn(|i| choose(same[i], other[i]));
    let bits = (t & 1) | (x0 >> 31 & 2) | ((x0 ^ x1) >> 31 & 4) | (x3 >> 31 & 8);
    (bits ^ choose(even.flips, odd.flips)) as u8
}

/// Rounds coefficients below q, as sums below 2^(31 - `q2_bits`) may be, to numbers modulo q2, and adds half of the modulus
/// where a message's codewords have ones: of q before rounding where `early`, else of q2 after it. What is behind the last
/// codeword carries nothing.
#[inline]
pub fn compress(message: &[u8], sigma: &[u32], by_q: Divisor, q2_bits: u32, early: bool, out: &mut [u16]) {
    let (q, q2) = (by_q.get(), 1 << q2_bits);
    let (before, after) = if early { (q.div_ceil(2), 0) } else { (0, q2 / 2) };
    let codewords = message.iter().flat_map(|byte| [byte & 15, byte >> 4]).map(encode).chain(core::iter::repeat(0));
    for ((codeword, sigma), out) in codewords.zip(sigma.chunks(8)).zip(out.chunks_mut(8)) {
        for (j, (sigma, out)) in sigma.iter().zip(out).enumerate() {
            let bit = u32::from(codeword >> j & 1);
            let rounded = by_q.quotient((sigma + bit * before) * q2 + q / 2);
            *out = ((rounded + bit * after) & (q2 - 1)) as u16;
        }
    }
}

/// The message whose codewords are nearest to coordinates modulo q2, as [`decode`] has it.
#[inline]
pub fn decompress(v: &[u16], q2: u16, message: &mut [u8]) {
    let (blocks, _) = v.as_chunks::<8>();
    let (pairs, _) = blocks.as_chunks::<2>();
    for (byte, [low, high]) in message.iter_mut().zip(pairs) {
        *byte = decode(low, q2) | decode(high, q2) << 4;
    }
}

/// A coset of the code: a bit for each pair of coordinates, and their parity must be even.
struct Coset {
    /// 64 times the sum of |x|, less twice the least of them where a bit is flipped, plus a constant.
    score: i32,
    /// The bits of the nibble that this flip changes.
    flips: i32,
}

impl Coset {
    /// Pair i wants bit 1 where x\[i\] < 0, and another bit costs |x\[i\]| < 2^18.
    fn new(x: [i32; 4]) -> Self {
        // the cost, then the pair's number, then the flips; so the least key is the first of the least costs
        const BELOW_COST: [i32; 4] = [0x06, 0x14, 0x20, 0x38];
        let keys: [i32; 4] = core::array::from_fn(|i| 64 * x[i].abs() + BELOW_COST[i]);
        let [k0, k1, k2, k3] = keys;
        let least = k0.min(k1).min(k2.min(k3));
        let flipped = least & ((x[0] ^ x[1] ^ x[2] ^ x[3]) >> 31);
        Self { score: k0 + k1 + k2 + k3 - 2 * (flipped & !63), flips: flipped & 15 }
    }
}

#[cfg(all(test, feature = "testkit"))]
mod tests {
    use ringforge_testkit::{Random, seed};

    use super::*;
    use crate::kernels::coordinates;
    use crate::oracle;

    #[test]
    fn a_nearest_codeword_is_found_and_ties_go_as_specified() {
        for q2 in [1024, 2048] {
            let mut ties = 0;
            for v in coordinates(seed(), 30_000, q2) {
                let found = decode(&v, q2);
                let (integers, modulus) = (v.map(i64::from), q2.into());
                assert_eq!(i64::from(found), oracle::decode(&integers, modulus), "{v:?} modulo {q2}");
                let distances = oracle::distances(&integers, modulus);
                let nearest = distances.iter().min().unwrap();
                assert_eq!(distances[usize::from(found)], *nearest, "{v:?} modulo {q2}");
                ties += u32::from(distances.iter().filter(|distance| *distance == nearest).count() > 1);
            }
            assert!(ties > 1000, "samples are poor: {ties} ties");
        }
    }

    #[test]
    fn noise_below_the_radius_is_corrected() {
        let mut random = Random::new(seed());
        for _ in 0..10_000 {
            let nibble = random.below(16) as u8;
            // 8 times 181^2 is just below 512^2
            let noise: [i32; 8] = core::array::from_fn(|_| random.below(363) as i32 - 181);
            let codeword = encode(nibble);
            let v = core::array::from_fn(|j| (i32::from(codeword >> j & 1) * 512 + noise[j]).rem_euclid(1024) as u16);
            assert_eq!(decode(&v, 1024), nibble, "{noise:?}");
        }
    }

    #[test]
    fn nothing_panics_beyond_the_ranges() {
        for q2 in [0, 1, 4, 3457, u16::MAX] {
            for v in [[0; 8], [u16::MAX; 8], [0, u16::MAX, 1, q2, 0, 0, u16::MAX, 7]] {
                assert!(decode(&v, q2) < 16);
            }
        }
        assert_eq!((encode(0xF5), encode(16)), (encode(5), 0));
    }
}
