//! Arithmetic modulo the Goldilocks prime q = 2^64 − 2^32 + 1. Modulo q, 2^64 = 2^32 − 1 and 2^96 = −1, so a product is
//! reduced by additions alone. Products with twiddle factors use Montgomery reduction, which divides by 2^64 and needs
//! fewer additions.

use super::Field;
use crate::Limbs;
use crate::choice::mask;

const Q: u64 = 0xffff_ffff_0000_0001;
/// 2^64 mod q.
const EPSILON: u64 = 0xffff_ffff;

/// Goldilocks arithmetic, which keeps every residue below q.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Goldilocks;

/// Returns x mod q, for any word x.
#[inline(always)]
fn canonical(x: u64) -> u64 {
    // x + 2^64 − q overflows exactly when x ≥ q
    let (_, carry) = x.overflowing_add(EPSILON);
    x.wrapping_add(EPSILON & mask(carry))
}

/// Returns a − b modulo q, as a word: on a borrow, also subtracts 2^64 − q from the difference modulo 2^64. The caller
/// must ensure that this second subtraction does not borrow.
#[inline(always)]
fn sub_borrowing(a: u64, b: u64) -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        let mut difference = a;
        // `sbb` of a register with itself leaves 2^32 − 1 in its lower half after a borrow, else 0. This is two
        // instructions shorter than a mask.
        // SAFETY: these instructions access only the named registers and the flags.
        #[allow(unsafe_code)]
        unsafe {
            core::arch::asm!(
                "sub {a}, {b}",
                "sbb {borrowed:e}, {borrowed:e}",
                "sub {a}, {borrowed}",
                a = inout(reg) difference,
                b = in(reg) b,
                borrowed = out(reg) _,
                options(pure, nomem, nostack),
            );
        }
        difference
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let (difference, borrow) = a.overflowing_sub(b);
        difference.wrapping_sub(EPSILON & mask(borrow))
    }
}

/// Returns x mod q, for any x below 2^128.
#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // splits x into parts
fn reduce(x: u128) -> u64 {
    let (low, middle, top) = (x as u64, (x >> 64) as u32, (x >> 96) as u64);
    // `top` is below 2^32, so there is no second borrow, as `sub_borrowing` requires
    let difference = sub_borrowing(low, top);
    let (sum, carry) = difference.overflowing_add(u64::from(middle) * EPSILON);
    // after a carry the sum is at most 2^64 − 2^33, so there is no second carry
    canonical(sum.wrapping_add(EPSILON & mask(carry)))
}

/// Montgomery reduction: subtracts the multiple of q whose lower half equals that of x.
///
/// in: x < 2^64·q   out: x·2^-64 mod q, below q
#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // splits x into parts
fn montgomery(x: u128) -> u64 {
    let (low, high) = (x as u64, (x >> 64) as u64);
    let (factor, carry) = low.overflowing_add(low << 32);
    sub_borrowing(high, factor - (factor >> 32) - u64::from(carry))
}

impl Field for Goldilocks {
    type Word = u64;
    /// A multiplier in Montgomery form, w·2^64 mod q.
    type Twiddle = u64;
    type Wide = u64;

    fn new(_: &Limbs) -> Self {
        Self
    }

    #[inline(always)]
    fn twiddle(&self, w: u64) -> u64 {
        reduce(u128::from(w) * u128::from(EPSILON))
    }

    #[inline(always)]
    fn mul(&self, x: u64, w: &u64) -> u64 {
        montgomery(u128::from(x) * u128::from(*w))
    }

    #[inline(always)]
    fn reduce_any(&self, x: u64, _: &u64) -> u64 {
        canonical(x)
    }

    #[inline(always)]
    fn add(&self, a: u64, b: u64) -> u64 {
        self.sub(a, Q.wrapping_sub(b))
    }

    #[inline(always)]
    fn sub(&self, a: u64, b: u64) -> u64 {
        sub_borrowing(a, b)
    }

    #[inline(always)]
    fn wide_zero(&self) -> u64 {
        0
    }

    #[inline(always)]
    fn wide_mad(&self, acc: u64, a: u64, b: u64) -> u64 {
        self.add(acc, reduce(u128::from(a) * u128::from(b)))
    }

    #[inline(always)]
    fn wide_reduce(&self, acc: u64) -> u64 {
        acc
    }
}
