//! Residues of up to 30 bits in 32-bit words: Shoup factors, lazy sums.

use bytemuck::{Pod, Zeroable};
use crypto_bigint::U256;

use super::Field;
use crate::modulus::{Modulus, low_u64};

/// A known factor w < q with floor(2^32 w / q).
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C, align(8))]
pub(crate) struct Twiddle32 {
    w: u32,
    quotient: u32,
}

#[inline(always)]
fn twiddle(w: u32, q: u32) -> Twiddle32 {
    #[allow(clippy::cast_possible_truncation)] // w < q
    let quotient = ((u64::from(w) << 32) / u64::from(q)) as u32;
    Twiddle32 { w, quotient }
}

#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // the high half
fn mul_high(a: u32, b: u32) -> u32 {
    ((u64::from(a) * u64::from(b)) >> 32) as u32
}

/// in: any x   out: x w, below 2q (the quotient is exact or one less)
#[inline(always)]
fn shoup(x: u32, w: &Twiddle32, q: u32) -> u32 {
    x.wrapping_mul(w.w).wrapping_sub(mul_high(x, w.quotient).wrapping_mul(q))
}

/// in: x < 2m   out: x mod m
#[inline(always)]
fn sub_once(x: u32, m: u32) -> u32 {
    x.min(x.wrapping_sub(m))
}

macro_rules! lazy_32 {
    () => {
        type Word = u32;
        type Twiddle = Twiddle32;

        #[inline(always)]
        #[allow(clippy::cast_possible_truncation)] // below q
        fn word(&self, _: &Modulus, x: &U256) -> u32 {
            low_u64(x) as u32
        }
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

/// Any q below 2^14: a sum of eight products fits 31 bits, and its Barrett quotient is exact or one less.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mod14 {
    q: u32,
    /// floor((2^32 − 1) / q)
    ratio: u32,
}

impl Field for Mod14 {
    type Wide = u32;

    #[allow(clippy::cast_possible_truncation)] // q < 2^14
    fn new(q: &Modulus) -> Self {
        let q = low_u64(&q.value()) as u32;
        Self { q, ratio: u32::MAX / q }
    }

    lazy_32!();

    #[inline(always)]
    fn wide_zero(&self) -> u32 {
        0
    }

    #[inline(always)]
    fn wide_mad(&self, acc: u32, a: u32, b: u32) -> u32 {
        acc.wrapping_add(a.wrapping_mul(b))
    }

    #[inline(always)]
    fn wide_reduce(&self, acc: u32) -> u32 {
        acc.wrapping_sub(mul_high(acc, self.ratio).wrapping_mul(self.q))
    }
}

/// Any q below 2^16: wide products are reduced by Barrett, so they carry no factor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mod16 {
    q: u32,
    /// floor((2^64 − 1) / q)
    ratio: u64,
}

impl Field for Mod16 {
    #[allow(clippy::cast_possible_truncation)] // q < 2^16
    fn new(q: &Modulus) -> Self {
        let q = low_u64(&q.value());
        Self { q: q as u32, ratio: u64::MAX / q }
    }

    lazy_32!();
    sums_64!();

    /// The quotient of a sum below 2^36 is exact or one less.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // the remainder is below 2q
    fn wide_reduce(&self, acc: u64) -> u32 {
        let quotient = ((u128::from(acc) * u128::from(self.ratio)) >> 64) as u64;
        acc.wrapping_sub(quotient.wrapping_mul(u64::from(self.q))) as u32
    }
}

/// Odd q below 2^30: wide products are reduced by Montgomery and carry 2^-32.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mod32 {
    q: u32,
    /// q^-1 mod 2^32
    inverse: u32,
}

impl Field for Mod32 {
    #[allow(clippy::cast_possible_truncation)] // q < 2^30
    fn new(q: &Modulus) -> Self {
        let q = low_u64(&q.value());
        Self { q: q as u32, inverse: super::word64::inverse(q) as u32 }
    }

    lazy_32!();
    sums_64!();

    /// A sum of eight products is below 2^63, and its high word below 2q: the difference is below 3q.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // halves
    fn wide_reduce(&self, acc: u64) -> u32 {
        let m = mul_high((acc as u32).wrapping_mul(self.inverse), self.q);
        self.relax(((acc >> 32) as u32).wrapping_add(self.q - m))
    }
}
