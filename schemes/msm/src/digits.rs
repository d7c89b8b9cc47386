//! Signed digits of scalars.

use crate::field::{Field, Prime, add_limbs, sub_limbs};

/// The minimum width of windows on a GPU.
pub(crate) const MIN_WIDTH: u32 = 4;

/// Scalars: residues modulo the order r of the group, four limbs each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scalars {
    pub(crate) field: Prime<4>,
    /// Whether scalars are passed in Montgomery form.
    pub(crate) montgomery: bool,
    /// Whether a scalar above r / 2 is replaced by its negative. All points must have an order that divides r.
    pub(crate) flips: bool,
}

/// The digits of a scalar, from the lowest: `count` windows, of which the first `full` have `width` bits and the others
/// one bit less, so that no window has few buckets for many points. A digit d of w bits is between −2^(w − 1) and
/// 2^(w − 1) − 1; the top digit is between 0 and 2^(w − 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Windows {
    pub(crate) width: u32,
    pub(crate) count: usize,
    pub(crate) full: usize,
}

impl Windows {
    /// As few windows of at most this width as scalars need.
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
        let bits = bits + u32::from(!scalars.flips);
        let count = bits.div_ceil(width);
        let width = bits.div_ceil(count).max(width.min(MIN_WIDTH));
        Self { width, count: count as usize, full: bits.saturating_sub(count * (width - 1)) as usize }
    }

    /// The width of a window.
    pub(crate) const fn width(self, window: usize) -> u32 {
        if window < self.full { self.width } else { self.width - 1 }
    }

    /// The lowest bit of a window.
    const fn bit(self, window: usize) -> usize {
        let short = window.saturating_sub(self.full);
        window * self.width as usize - short
    }

    /// Buckets of a window: enough for those of full width.
    pub(crate) const fn buckets(self) -> usize {
        1 << (self.width - 1)
    }

    /// Base-2 logarithm of the number of columns, for the buckets of a window as a matrix.
    pub(crate) const fn columns(self) -> u32 {
        (self.width - 1) / 2
    }

    /// The sum of 2^(w − 1) in every window but the top one. Adding it to a scalar makes its digits independent.
    pub(crate) fn offset(self) -> [u64; 4] {
        let mut offset = [0; 4];
        for window in 1..self.count {
            let bit = self.bit(window) - 1;
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
        (0..windows.count).map(move |window| {
            let (bit, width) = (windows.bit(window), windows.width(window));
            let pair = u128::from(words[bit / 64]) | u128::from(words[bit / 64 + 1]) << 64;
            let bits = (pair >> (bit % 64)) as u32 & (u32::MAX >> (32 - width));
            let digit = if window + 1 < windows.count { bits.wrapping_sub(1 << (width - 1)) } else { bits } as i32;
            if flipped { -digit } else { digit }
        })
    }

    /// Returns true if a scalar is below r.
    pub(crate) fn is_reduced(self, scalar: &[u64; 4]) -> bool {
        self.field.is_canonical(*scalar)
    }
}
