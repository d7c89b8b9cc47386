//! Residues in CPU words, for the CPU references of kernels ([`Kernel::on_cpu`](crate::kernels::Kernel::on_cpu)).
//!
//! Numbers may be secret; moduli and divisors must not be. The functions of this module do not branch on a number,
//! index by it or pass it to a division instruction, whose time depends on its operands. [`Divisor`] divides by
//! Barrett's method, and [`Montgomery256`] multiplies by Montgomery's.

use ringforge_math::error::{Result, same_length};
use zeroize::zeroize_stack;

pub use crate::transform::{Transform, Word};
pub use ringforge_cpu::{
    Limbs, Montgomery256, Wide, add_limbs, mul_limbs, square_limbs, sub_limbs, sub_limbs_once, wide,
};

/// A divisor d with a precomputed reciprocal, by which it divides numbers without a division instruction.
///
/// Quotients and remainders are exact for every divisor d and all numbers x below 2^31. With 2^k the least power of two
/// not below d, the reciprocal is C = ⌈2^(31 + k) / d⌉, which is below 2^32. Then x·C/2^(31 + k) exceeds x/d by less
/// than 1/d.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Divisor {
    divisor: u32,
    reciprocal: u32,
    shift: u32,
}

impl Divisor {
    /// Computes the reciprocal of a divisor, which must not be secret. With the divisor 0, quotients are 0.
    #[must_use]
    pub const fn new(divisor: u32) -> Self {
        if divisor == 0 {
            return Self { divisor, reciprocal: 0, shift: 31 };
        }
        let shift = 31 + (u32::BITS - (divisor - 1).leading_zeros());
        Self { divisor, reciprocal: (1u64 << shift).div_ceil(divisor as u64) as u32, shift }
    }

    /// The divisor itself.
    #[inline(always)]
    #[must_use]
    pub const fn get(self) -> u32 {
        self.divisor
    }

    /// The reciprocal C, and the number of bits by which the product x·C is shifted right.
    #[must_use]
    pub const fn reciprocal(self) -> (u32, u32) {
        (self.reciprocal, self.shift)
    }

    /// x / d, rounded down, for x below 2^31.
    #[inline(always)]
    #[must_use]
    pub const fn quotient(self, x: u32) -> u32 {
        ((x as u64 * self.reciprocal as u64) >> self.shift) as u32
    }

    /// x mod d, for x below 2^31.
    #[inline(always)]
    #[must_use]
    pub const fn remainder(self, x: u32) -> u32 {
        x.wrapping_sub(self.quotient(x).wrapping_mul(self.divisor))
    }
}

/// The product of 64-bit words as 64-bit limbs, least significant first, without zero limbs at the top.
#[must_use]
pub fn product(factors: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut product = vec![1];
    for factor in factors {
        let mut carry = 0;
        for limb in &mut product {
            let sum = u128::from(*limb) * u128::from(factor) + carry;
            *limb = sum as u64;
            carry = sum >> 64;
        }
        if carry > 0 {
            product.push(carry as u64);
        }
    }
    product
}

/// x mod q, for x below 2q and q below 2^31.
#[inline(always)]
#[must_use]
pub fn sub_once(x: u32, q: u32) -> u32 {
    x.min(x.wrapping_sub(q))
}

/// The residue in [0, q) of an integer x in (-q, q).
#[inline(always)]
#[must_use]
pub const fn residue(x: i32, q: u32) -> u32 {
    (x as u32).wrapping_add(q & (x >> 31) as u32)
}

/// Writes the residues in [0, q) of integers in (-q, q).
pub fn residues(small: &[i16], q: u32, out: &mut [u32]) {
    out.iter_mut().zip(small).for_each(|(out, &x)| *out = residue(x.into(), q));
}

/// The representative in [-q/2, q/2] of a residue below q, for q below 2^31.
#[inline(always)]
#[must_use]
pub const fn centred(x: u32, q: u32) -> i32 {
    let above = (q / 2).wrapping_sub(x) >> 31;
    x.wrapping_sub(above.wrapping_neg() & q) as i32
}

/// Packs numbers of `bits` bits each, at most 32, the least significant bit first: `ByteEncode` of FIPS 203, and
/// `SimpleBitPack` of FIPS 204. Fills `out`, with zeros after the last number. Numbers that do not fit may be taken from
/// `values`.
#[inline(always)]
pub fn pack_bits(bits: usize, values: impl IntoIterator<Item = u32>, out: &mut [u8]) {
    let (mut held, mut filled, mut values) = (0u64, 0, values.into_iter());
    let mut next = || {
        while filled < 32 {
            held |= u64::from(values.next().unwrap_or(0)) << filled;
            filled += bits.max(1);
        }
        let word = (held as u32).to_le_bytes();
        (held, filled) = (held >> 32, filled - 32);
        word
    };
    let (words, rest) = out.as_chunks_mut();
    words.iter_mut().for_each(|word| *word = next());
    if !rest.is_empty() {
        rest.copy_from_slice(&next()[..rest.len()]);
    }
}

/// Unpacks numbers of `bits` bits each, at most 32, as [`pack_bits`] packs them. Fills `values`, with zeros after the last
/// byte.
#[inline(always)]
pub fn unpack_bits(bits: usize, bytes: &[u8], values: &mut [u32]) {
    let mask = (1 << bits) - 1;
    for (i, value) in values.iter_mut().enumerate() {
        let (first, shift) = (i * bits / 8, i * bits % 8);
        let word = match bytes.get(first..).and_then(<[u8]>::first_chunk) {
            Some(word) => u64::from_le_bytes(*word),
            None => bytes.iter().skip(first).rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
        };
        *value = (word >> shift & mask) as u32;
    }
}

/// SHAKE128 (FIPS 202) of `count` inputs of equal length, which lie one after another. Fills `out` with outputs of equal
/// length. A CPU with AVX2 hashes four inputs at once, and one with AVX-512 eight. Copies on the stack are wiped.
///
/// # Errors
/// [`Error::Length`](crate::Error::Length) unless the lengths of `inputs` and `out` are multiples of `count`.
pub fn shake128(count: usize, inputs: &[u8], out: &mut [u8]) -> Result<()> {
    shake(168, count, inputs, out)
}

/// SHAKE256 (FIPS 202), as [`shake128`].
///
/// # Errors
/// As [`shake128`].
pub fn shake256(count: usize, inputs: &[u8], out: &mut [u8]) -> Result<()> {
    shake(136, count, inputs, out)
}

/// Bytes of the stack that SHAKE uses, with a margin.
const SHAKE_STACK: usize = if cfg!(ringforge_unoptimised) { 0x1_0000 } else { 0x2000 };

fn shake(rate: usize, count: usize, inputs: &[u8], out: &mut [u8]) -> Result<()> {
    for len in [inputs.len(), out.len()] {
        let expected = if count == 0 { 0 } else { len.next_multiple_of(count) };
        same_length("bytes of inputs or outputs of equal length", expected, len)?;
    }
    if count > 0 {
        ringforge_cpu::shake(rate, count, inputs, out);
        zeroize_stack::<SHAKE_STACK>();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_width_are_packed() {
        for bits in 1..=32 {
            let numbers: Vec<u32> =
                (1..=16u32).map(|i| (u64::from(i.wrapping_mul(0x9e37_79b9)) & ((1 << bits) - 1)) as u32).collect();
            let (mut bytes, mut unpacked) = (vec![1; 2 * bits], [1; 17]);
            pack_bits(bits, numbers.iter().copied(), &mut bytes);
            let bit = |i: usize| bytes[i / 8] >> (i % 8) & 1;
            for (i, number) in numbers.iter().enumerate() {
                assert!((0..bits).all(|place| u32::from(bit(i * bits + place)) == number >> place & 1), "{bits} bits");
            }
            unpack_bits(bits, &bytes, &mut unpacked);
            assert_eq!((&unpacked[..16], unpacked[16]), (&numbers[..], 0));
        }
        let mut bytes = [1; 3];
        pack_bits(5, [31, 1], &mut bytes);
        assert_eq!(bytes, [63, 0, 0]);
    }

    /// Depth of the stack that SHAKE writes to, at most [`SHAKE_STACK`].
    #[test]
    #[cfg(target_os = "linux")]
    fn shakes_use_less_stack_than_is_wiped() {
        for count in [1, 3, 4, 9] {
            let (inputs, mut out) = (vec![7; count * 34], vec![0; count * 400]);
            let depth = crate::transform::depth(&mut || ringforge_cpu::shake(136, count, &inputs, &mut out));
            assert!(depth + depth / 8 < SHAKE_STACK, "{count}: {depth} of {SHAKE_STACK} bytes");
        }
    }

    #[test]
    fn shakes_need_whole_items() {
        let mut out = [1; 6];
        assert!(shake128(2, &[0; 5], &mut out).is_err() && shake256(3, &[0; 3], &mut out[..5]).is_err());
        assert!(shake256(0, &[], &mut []).is_ok() && shake256(0, &[], &mut out).is_err() && out == [1; 6]);
    }

    /// Quotients are exact at multiples of the divisor and at their neighbours, where the quotient changes.
    #[test]
    fn quotients_are_exact() {
        const TOP: u64 = 1 << 31;
        let powers = (0..32).flat_map(|k| [(1u32 << k) - 1, 1 << k, (1 << k) + 1]);
        // divisors of all sizes, and moduli of schemes
        for d in powers.chain([2, 3, 3457, 4621, 4591, 7879, 12461, u32::MAX - 1, u32::MAX]).filter(|d| *d > 0) {
            let divisor = Divisor::new(d);
            assert_eq!(divisor.get(), d);
            let last = (TOP - 1) / u64::from(d);
            let multiples = (0..=last).step_by((last / 100_000 + 1) as usize).chain(last.saturating_sub(100)..=last);
            let around = multiples.flat_map(|k| [k * u64::from(d), (k + 1) * u64::from(d) - 1]);
            for x in around.chain([TOP - 1]).filter(|x| *x < TOP) {
                let x = x as u32;
                assert_eq!((divisor.quotient(x), divisor.remainder(x)), (x / d, x % d), "{x} by {d}");
            }
        }
        assert_eq!((Divisor::new(0).quotient(7), Divisor::new(0).remainder(7)), (0, 7));
    }

    #[test]
    fn residues_of_both_signs() {
        let mut found = [9; 5];
        residues(&[-10, -1, 0, 1, 10], 11, &mut found);
        assert_eq!(found, [1, 10, 0, 1, 10]);
        assert_eq!([0, 5, 6, 10].map(|x| centred(x, 11)), [0, 5, -5, -1]);
        assert_eq!([0, 4, 5, 9].map(|x| centred(x, 10)), [0, 4, 5, -1]);
        assert_eq!([0, 10, 11, 21].map(|x| sub_once(x, 11)), [0, 10, 0, 10]);
    }
}
