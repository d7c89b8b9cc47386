//! The E8 code: encodes four bits as a block of eight coordinates, and decodes a block to the nearest codeword. Also
//! encodes and decodes whole messages.

use ringforge::words::Divisor;

/// Encodes a nibble; bit j of the codeword belongs to coordinate j. The upper four bits of `nibble` are ignored.
#[must_use]
pub fn encode(nibble: u8) -> u8 {
    let row = |bit: u32, row: u8| (nibble >> bit & 1).wrapping_neg() & row;
    row(0, 0x55) ^ row(1, 0x0F) ^ row(2, 0x3C) ^ row(3, 0xF0)
}

/// Returns the nibble whose codeword, scaled by q2/2, is nearest to these eight coordinates modulo q2.
///
/// `q2` must be a power of two of at least 4 and exceed all coordinates; otherwise the result is meaningless.
///
/// The code has two cosets: the coordinates 2i and 2i + 1 of each pair are equal in the even coset, and differ in the
/// odd one. The bit of a pair is that of coordinate 2i + 1; within a coset, these bits have even parity. On ties, a
/// pair takes bit 0, the first of the cheapest pairs is flipped to restore even parity, and the even coset is chosen.
#[must_use]
pub fn decode(v: &[u16; 8], q2: u16) -> u8 {
    // Same algorithm as in e8.cuh, which explains why sums of distances from 0 suffice in place of squared distances.
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

/// Compresses coefficients `sigma` modulo q to numbers modulo q2 = 2^`q2_bits` by rounding. Where the codewords of the
/// message have ones, half of a modulus is added: with `early`, q/2 (rounded up) before rounding; otherwise q2/2 after
/// rounding. Coefficients after the last codeword carry no message. `sigma` may be unreduced, below 2^(31 − `q2_bits`).
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

/// Decodes all blocks of coordinates modulo q2 with [`decode`], and writes the nibbles to `message`, low nibble first.
#[inline]
pub fn decompress(v: &[u16], q2: u16, message: &mut [u8]) {
    let (blocks, _) = v.as_chunks::<8>();
    let (pairs, _) = blocks.as_chunks::<2>();
    for (byte, [low, high]) in message.iter_mut().zip(pairs) {
        *byte = decode(low, q2) | decode(high, q2) << 4;
    }
}

/// Result of decoding within one coset of the E8 code. In a coset, each of the four pairs of coordinates has one bit,
/// that of its second coordinate, and these bits have even parity.
struct Coset {
    /// 64·Σ|x_i| plus a constant, minus twice the smallest 64·|x_i| if a bit is flipped. |x_i| is the cost of the worse
    /// bit of pair i. A larger score means a nearer codeword.
    score: i32,
    /// Bits of the nibble that the flip changes; 0 without a flip.
    flips: i32,
}

impl Coset {
    /// Decodes within a coset. Pair i prefers bit 1 if x\[i\] < 0; its other bit costs |x\[i\]|, which must be below
    /// 2^18.
    fn new(x: [i32; 4]) -> Self {
        // A key holds, from the highest bits down: the cost, the index of the pair, and the bits of the nibble to flip.
        // The smallest key is therefore that of the first of the cheapest pairs.
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
    fn decoding_finds_a_nearest_codeword() {
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
            assert!(ties > 1000, "too few samples are ties: {ties}");
        }
    }

    #[test]
    fn noise_below_the_radius_is_corrected() {
        let mut random = Random::new(seed());
        for _ in 0..10_000 {
            let nibble = random.below(16) as u8;
            // Each coordinate's noise is at most 181, and 8 · 181^2 is just below 512^2, the square of the decoding
            // radius.
            let noise: [i32; 8] = core::array::from_fn(|_| random.below(363) as i32 - 181);
            let codeword = encode(nibble);
            let v = core::array::from_fn(|j| (i32::from(codeword >> j & 1) * 512 + noise[j]).rem_euclid(1024) as u16);
            assert_eq!(decode(&v, 1024), nibble, "{noise:?}");
        }
    }

    #[test]
    fn out_of_range_inputs_never_panic() {
        for q2 in [0, 1, 4, 3457, u16::MAX] {
            for v in [[0; 8], [u16::MAX; 8], [0, u16::MAX, 1, q2, 0, 0, u16::MAX, 7]] {
                assert!(decode(&v, q2) < 16);
            }
        }
        assert_eq!((encode(0xF5), encode(16)), (encode(5), 0));
    }
}
