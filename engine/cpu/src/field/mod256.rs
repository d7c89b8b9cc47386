//! Odd q below 2^256 on limbs: everything in Montgomery form with R = 2^256.

use super::Field;
use crate::Limbs;
use crate::choice::{mask, select};
use crate::simd::Vectors;

/// Odd q below 2^256; with `SPARE`, below 2^255 − 2^192, where no sum needs a fifth limb.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mod256<const SPARE: bool> {
    q: Limbs,
    /// −q^-1 mod 2^64
    inverse: u64,
}

/// a b + c + carry, as (low, high); never more than two limbs
#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // halves
fn mad(a: u64, b: u64, c: u64, carry: u64) -> (u64, u64) {
    let sum = u128::from(a) * u128::from(b) + u128::from(c) + u128::from(carry);
    (sum as u64, (sum >> 64) as u64)
}

#[inline(always)]
fn add_limbs(a: &Limbs, b: &Limbs) -> (Limbs, bool) {
    let mut sum = [0; 4];
    let mut carry = false;
    for i in 0..4 {
        let (s, first) = a[i].overflowing_add(b[i]);
        let (s, second) = s.overflowing_add(u64::from(carry));
        (sum[i], carry) = (s, first | second);
    }
    (sum, carry)
}

#[inline(always)]
fn sub_limbs(a: &Limbs, b: &Limbs) -> (Limbs, bool) {
    let mut difference = [0; 4];
    let mut borrow = false;
    for i in 0..4 {
        let (d, first) = a[i].overflowing_sub(b[i]);
        let (d, second) = d.overflowing_sub(u64::from(borrow));
        (difference[i], borrow) = (d, first | second);
    }
    (difference, borrow)
}

impl<const SPARE: bool> Mod256<SPARE> {
    /// in: x + 2^256 over < 2q   out: canonical
    #[inline(always)]
    fn sub_once(&self, x: &Limbs, over: bool) -> Limbs {
        let (less, borrow) = sub_limbs(x, &self.q);
        select(borrow & (SPARE | !over), *x, less)
    }

    /// in: a canonical, any b   out: a b 2^-256, canonical
    ///
    /// t stays below a + q < 2q, a limb of b after the other, and ends below q (b / 2^256 + 1) < 2q.
    #[inline(always)]
    fn montgomery(&self, a: &Limbs, b: &Limbs) -> Limbs {
        let q = &self.q;
        let mut t = [0; 4];
        let mut over = 0; // limb above t: 0 with SPARE, else 0 or 1
        for &b in b {
            let (t0, mut high) = mad(a[0], b, t[0], 0);
            let m = t0.wrapping_mul(self.inverse);
            let (_, mut carry) = mad(m, q[0], t0, 0);
            for j in 1..4 {
                let (sum, up) = mad(a[j], b, t[j], high);
                high = up;
                (t[j - 1], carry) = mad(m, q[j], sum, carry);
            }
            if SPARE {
                t[3] = high.wrapping_add(carry);
            } else {
                let (sum, first) = high.overflowing_add(carry);
                let (sum, second) = sum.overflowing_add(over);
                (t[3], over) = (sum, u64::from(first) + u64::from(second));
            }
        }
        self.sub_once(&t, over != 0)
    }
}

impl<const SPARE: bool> Field for Mod256<SPARE> {
    type Word = Limbs;
    type Twiddle = Limbs;
    type Wide = Limbs;

    fn new(q: &Limbs) -> Self {
        let inverse = 0u64.wrapping_sub(super::mod64::inverse(q[0]));
        Self { q: *q, inverse }
    }

    #[inline(always)]
    fn twiddle(&self, w: Limbs) -> Limbs {
        w
    }

    #[inline(always)]
    fn mul(&self, x: Limbs, w: &Limbs) -> Limbs {
        self.montgomery(&x, w)
    }

    #[inline(always)]
    fn reduce_any(&self, x: Limbs, one: &Limbs) -> Limbs {
        self.montgomery(one, &x)
    }

    #[inline(always)]
    fn add(&self, a: Limbs, b: Limbs) -> Limbs {
        let (sum, over) = add_limbs(&a, &b);
        self.sub_once(&sum, over)
    }

    #[inline(always)]
    fn sub(&self, a: Limbs, b: Limbs) -> Limbs {
        let (difference, borrow) = sub_limbs(&a, &b);
        let mask = mask(borrow);
        add_limbs(&difference, &self.q.map(|limb| limb & mask)).0
    }

    #[inline(always)]
    fn wide_zero(&self) -> Limbs {
        [0; 4]
    }

    #[inline(always)]
    fn wide_mad(&self, acc: Limbs, a: Limbs, b: Limbs) -> Limbs {
        self.add(acc, self.montgomery(&a, &b))
    }

    #[inline(always)]
    fn wide_reduce(&self, acc: Limbs) -> Limbs {
        acc
    }

    fn vectors(&self) -> Option<Vectors> {
        Vectors::of_256_bits(self.q).next()
    }
}
