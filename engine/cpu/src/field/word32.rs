//! Code shared by the arithmetics on 32-bit words: Shoup multipliers, lazy sums for q below 2^30, and 64-bit sums of
//! products.

use bytemuck::{Pod, Zeroable};

/// A multiplier w < q with its Shoup quotient floor(2^32 w / q).
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C, align(8))]
pub(crate) struct Twiddle32 {
    w: u32,
    quotient: u32,
}

#[inline(always)]
pub(super) fn twiddle(w: u32, q: u32) -> Twiddle32 {
    #[allow(clippy::cast_possible_truncation)] // w < q
    let quotient = ((u64::from(w) << 32) / u64::from(q)) as u32;
    Twiddle32 { w, quotient }
}

#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // the high half
pub(super) fn mul_high(a: u32, b: u32) -> u32 {
    ((u64::from(a) * u64::from(b)) >> 32) as u32
}

/// Shoup multiplication. The estimated quotient is exact or one too small.
///
/// in: any word x   out: x·w modulo q, below 2q
#[inline(always)]
pub(super) fn shoup(x: u32, w: &Twiddle32, q: u32) -> u32 {
    x.wrapping_mul(w.w).wrapping_sub(mul_high(x, w.quotient).wrapping_mul(q))
}

/// Returns x mod m, for x < 2m.
#[inline(always)]
pub(super) fn sub_once(x: u32, m: u32) -> u32 {
    x.min(x.wrapping_sub(m))
}

macro_rules! lazy_32 {
    () => {
        type Word = u32;
        type Twiddle = $crate::field::word32::Twiddle32;

        #[inline(always)]
        fn twiddle(&self, w: u32) -> Twiddle32 {
            twiddle(w, self.q)
        }
        #[inline(always)]
        fn mul(&self, x: u32, w: &Twiddle32) -> u32 {
            shoup(x, w, self.q)
        }
        #[inline(always)]
        fn add(&self, a: u32, b: u32) -> u32 {
            a.wrapping_add(b)
        }
        #[inline(always)]
        fn sub(&self, a: u32, b: u32) -> u32 {
            a.wrapping_add((2 * self.q).wrapping_sub(b))
        }
        #[inline(always)]
        fn relax(&self, x: u32) -> u32 {
            sub_once(x, 2 * self.q)
        }
        #[inline(always)]
        fn canonical(&self, x: u32) -> u32 {
            sub_once(self.relax(x), self.q)
        }
    };
}

macro_rules! sums_64 {
    () => {
        type Wide = u64;

        #[inline(always)]
        fn wide_zero(&self) -> u64 {
            0
        }
        #[inline(always)]
        fn wide_mad(&self, acc: u64, a: u32, b: u32) -> u64 {
            acc.wrapping_add(u64::from(a) * u64::from(b))
        }
    };
}

pub(super) use {lazy_32, sums_64};
