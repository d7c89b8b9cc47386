//! Signed digits of scalars.

use crate::field::{Field, Prime, add_limbs, sub_limbs};

/// Scalars: residues modulo the order r of the group, four limbs each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scalars {
    pub(crate) field: Prime<4>,
    /// Whether scalars are passed in Montgomery form.
    pub(crate) montgomery: bool,
    /// Whether a scalar above r / 2 is replaced by its negative. All points must have an order that divides r.
    pub(crate) flips: bool,
}

/// The digits of a scalar: `windows` of `width` bits, from the lowest. A digit d is between −2^(width − 1) and
/// 2^(width − 1) − 1; the top digit is between 0 and 2^(width − 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Windows {
    pub(crate) width: u32,
    pub(crate) count: usize,
}

impl Windows {
    /// Windows of this width for scalars.
    pub(crate) fn new(width: u32, scalars: &Scalars) -> Self {
        let bits = scalars
            .field
            .q
            .iter()
            .zip(1..)
            .filter(|(limb, _)| **limb != 0)
            .map(|(limb, i)| 64 * i - limb.leading_zeros());
        let bits = bits.max().unwrap_or(0);
        // the top digit needs a bit for the carry from below; a flipped scalar has one bit less
        Self { width, count: (bits + u32::from(!scalars.flips)).div_ceil(width) as usize }
    }

    /// Buckets of a window.
    pub(crate) const fn buckets(self) -> usize {
        1 << (self.width - 1)
    }

    /// Base-2 logarithm of the number of columns, for the buckets of a window as a matrix.
    pub(crate) const fn columns(self) -> u32 {
        (self.width - 1) / 2
    }

    /// The sum of 2^(width − 1) in every window but the top one. Adding it to a scalar makes its digits independent.
    pub(crate) fn offset(self) -> [u64; 4] {
        let mut offset = [0; 4];
        for window in 1..self.count {
            let bit = self.width as usize * window - 1;
            offset[bit / 64] |= 1 << (bit % 64);
        }
        offset
    }
}

impl Scalars {
    /// Returns the digits of a scalar, from the lowest. They have the opposite signs if the scalar is flipped.
    pub(crate) fn digits(self, scalar: [u64; 4], windows: Windows) -> impl Iterator<Item = i32> {
        let plain = if self.montgomery { self.field.plain(scalar) } else { scalar };
        let negative = sub_limbs(&self.field.q, &plain).0;
        let flipped = self.flips && sub_limbs(&negative, &plain).1;
        let (sum, carry) = add_limbs(if flipped { &negative } else { &plain }, &windows.offset());
        let words = [sum[0], sum[1], sum[2], sum[3], u64::from(carry), 0];
        let Windows { width, count } = windows;
        (0..count).map(move |window| {
            let bit = window * width as usize;
            let pair = u128::from(words[bit / 64]) | u128::from(words[bit / 64 + 1]) << 64;
            let bits = (pair >> (bit % 64)) as u32 & (u32::MAX >> (32 - width));
            let digit = if window + 1 < count { bits.wrapping_sub(1 << (width - 1)) } else { bits } as i32;
            if flipped { -digit } else { digit }
        })
    }

    /// Returns true if a scalar is below r.
    pub(crate) fn is_reduced(self, scalar: &[u64; 4]) -> bool {
        self.field.is_canonical(*scalar)
    }
}
