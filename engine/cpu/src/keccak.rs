//! SHAKE (FIPS 202) of several inputs at once, one in each 64-bit lane of SIMD vectors.

use crate::simd;
use crate::wipe;

/// Round constants of Keccak-f\[1600\] (FIPS 202, algorithm 5).
const ROUNDS: [u64; 24] = [
    0x0000_0000_0000_0001,
    0x0000_0000_0000_8082,
    0x8000_0000_0000_808a,
    0x8000_0000_8000_8000,
    0x0000_0000_0000_808b,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8009,
    0x0000_0000_0000_008a,
    0x0000_0000_0000_0088,
    0x0000_0000_8000_8009,
    0x0000_0000_8000_000a,
    0x0000_0000_8000_808b,
    0x8000_0000_0000_008b,
    0x8000_0000_0000_8089,
    0x8000_0000_0000_8003,
    0x8000_0000_0000_8002,
    0x8000_0000_0000_0080,
    0x0000_0000_0000_800a,
    0x8000_0000_8000_000a,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8080,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8008,
];

/// L states, interleaved by word: word `w` of state `l` is at `[w][l]`.
pub(crate) type States<const L: usize> = [[u64; L]; 25];

/// SIMD vectors of `L` words of 64 bits, with the operations of Keccak.
pub(crate) trait Lanes<const L: usize>: Copy {
    type Vector: Copy;

    /// Calls `run` compiled for the vectors' instructions. The closure and its callees must be inlined to profit.
    fn enter(self, run: impl FnOnce());
    fn load(self, words: &[u64; L]) -> Self::Vector;
    fn store(self, x: Self::Vector, words: &mut [u64; L]);
    fn splat(self, x: u64) -> Self::Vector;
    fn xor(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Returns a ⊕ (¬b ∧ c).
    fn chi(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;
    fn rotate_left<const BITS: i32>(self, x: Self::Vector) -> Self::Vector;
}

/// One word in a general register.
#[derive(Clone, Copy)]
struct One;

impl Lanes<1> for One {
    type Vector = u64;

    #[inline(always)]
    fn enter(self, run: impl FnOnce()) {
        simd::wide(run);
    }

    #[inline(always)]
    fn load(self, words: &[u64; 1]) -> u64 {
        words[0]
    }

    #[inline(always)]
    fn store(self, x: u64, words: &mut [u64; 1]) {
        words[0] = x;
    }

    #[inline(always)]
    fn splat(self, x: u64) -> u64 {
        x
    }

    #[inline(always)]
    fn xor(self, a: u64, b: u64) -> u64 {
        a ^ b
    }

    #[inline(always)]
    fn chi(self, a: u64, b: u64, c: u64) -> u64 {
        a ^ (!b & c)
    }

    #[inline(always)]
    fn rotate_left<const BITS: i32>(self, x: u64) -> u64 {
        x.rotate_left(BITS.unsigned_abs())
    }
}

/// Applies Keccak-f\[1600\] to each state.
#[inline(always)]
fn permute<const L: usize, K: Lanes<L>>(kind: K, states: &mut States<L>) {
    let mut s = states.each_ref().map(|words| kind.load(words));
    for constant in ROUNDS {
        let parity = |x: usize| (1..5).fold(s[x], |sum, y| kind.xor(sum, s[x + 5 * y]));
        let c = [parity(0), parity(1), parity(2), parity(3), parity(4)];
        for x in 0..5 {
            let d = kind.xor(c[(x + 4) % 5], kind.rotate_left::<1>(c[(x + 1) % 5]));
            for y in 0..5 {
                s[x + 5 * y] = kind.xor(s[x + 5 * y], d);
            }
        }
        // the steps rho and pi, along the one cycle of pi
        let mut last = s[1];
        macro_rules! rotate {
            ($($to:literal by $bits:literal),*) => {$(
                let next = s[$to];
                s[$to] = kind.rotate_left::<$bits>(last);
                last = next;
            )*};
        }
        rotate!(10 by 1, 7 by 3, 11 by 6, 17 by 10, 18 by 15, 3 by 21, 5 by 28, 16 by 36, 8 by 45, 21 by 55, 24 by 2);
        rotate!(4 by 14, 15 by 27, 23 by 41, 19 by 56, 13 by 8, 12 by 25, 2 by 43, 20 by 62, 14 by 18, 22 by 39);
        rotate!(9 by 61, 6 by 20, 1 by 44);
        let _ = last;
        for row in s.as_chunks_mut::<5>().0 {
            let [a, b, c, d, e] = *row;
            *row = [kind.chi(a, b, c), kind.chi(b, c, d), kind.chi(c, d, e), kind.chi(d, e, a), kind.chi(e, a, b)];
        }
        s[0] = kind.xor(s[0], kind.splat(constant));
    }
    states.iter_mut().zip(s).for_each(|(words, x)| kind.store(x, words));
}

/// Computes SHAKE of `count` inputs of equal length, which lie one after another. The outputs have equal lengths and fill
/// `out`. `rate` is 168 for SHAKE128 and 136 for SHAKE256.
///
/// # Panics
/// If `count` is 0, or if the length of `inputs` or of `out` is not a multiple of it.
pub fn shake(rate: usize, count: usize, inputs: &[u8], out: &mut [u8]) {
    assert!(count > 0 && inputs.len().is_multiple_of(count) && out.len().is_multiple_of(count), "whole items");
    let sizes = [inputs.len() / count, out.len() / count];
    #[cfg(target_arch = "x86_64")]
    {
        if count > 1
            && let Some(kind) = simd::keccak::eight()
        {
            return in_groups(kind, rate, sizes, inputs, out);
        }
        if count > 1
            && let Some(kind) = simd::keccak::four()
        {
            return in_groups(kind, rate, sizes, inputs, out);
        }
    }
    in_groups(One, rate, sizes, inputs, out);
}

/// [`shake`] for `L` inputs at a time, of sizes `[input, output]`.
fn in_groups<const L: usize, K: Lanes<L>>(kind: K, rate: usize, sizes: [usize; 2], inputs: &[u8], out: &mut [u8]) {
    let [length, to] = sizes;
    let mut states = [[0; L]; 25];
    let count = out.len().checked_div(to).unwrap_or(0);
    for first in (0..count).step_by(L) {
        let items = first..count.min(first + L);
        states.as_flattened_mut().fill(0);
        for start in (0..=length).step_by(rate) {
            for (lane, item) in items.clone().enumerate() {
                let (input, mut block) = (&inputs[item * length..][start..length.min(start + rate)], [0; 200]);
                block[..input.len()].copy_from_slice(input);
                if input.len() < rate {
                    block[input.len()] = 0x1f;
                    block[rate - 1] |= 0x80;
                }
                let words = states.iter_mut().zip(block.as_chunks().0);
                words.for_each(|(state, word)| state[lane] ^= u64::from_le_bytes(*word));
                wipe::bytes(&mut block);
            }
            kind.enter(
                #[inline(always)]
                || permute(kind, &mut states),
            );
        }
        for start in (0..to).step_by(rate) {
            if start > 0 {
                kind.enter(
                    #[inline(always)]
                    || permute(kind, &mut states),
                );
            }
            for (lane, item) in items.clone().enumerate() {
                let block = &mut out[item * to..][start..to.min(start + rate)];
                for (bytes, state) in block.chunks_mut(8).zip(&states) {
                    bytes.copy_from_slice(&state[lane].to_le_bytes()[..bytes.len()]);
                }
            }
        }
    }
    wipe::bytes(bytemuck::cast_slice_mut(states.as_flattened_mut()));
}

#[cfg(test)]
mod tests {
    use shake::{ExtendableOutput, Shake128, Shake256, Update, XofReader};

    use super::*;

    /// Every kind of vectors gives the outputs of the crate `shake`, at lengths around one and two blocks.
    #[test]
    fn outputs_are_those_of_the_crate_shake() {
        for (rate, count, length, to) in (1..=17).flat_map(|count| {
            [(168, 34, 840), (136, 66, 640), (136, 0, 1), (136, 135, 137), (136, 136, 136), (168, 400, 7)]
                .map(|(rate, length, to)| (rate, count, length, to))
        }) {
            let inputs: Vec<u8> = (0..count * length).map(|i| (i * i + i / 251) as u8).collect();
            let expected = (0..count).flat_map(|item| {
                let (input, mut out) = (&inputs[item * length..][..length], vec![0; to]);
                match rate {
                    168 => Shake128::default().chain(input).finalize_xof().read(&mut out),
                    _ => Shake256::default().chain(input).finalize_xof().read(&mut out),
                }
                out
            });
            let expected: Vec<u8> = expected.collect();
            let mut out = vec![1; count * to];
            shake(rate, count, &inputs, &mut out);
            assert_eq!(out, expected, "{count} of {length} bytes");
            in_groups(One, rate, [length, to], &inputs, &mut out);
            assert_eq!(out, expected, "{count} of {length} bytes, one at a time");
            #[cfg(target_arch = "x86_64")]
            if let Some(kind) = simd::keccak::four() {
                in_groups(kind, rate, [length, to], &inputs, &mut out);
                assert_eq!(out, expected, "{count} of {length} bytes, four at a time");
            }
        }
    }
}
