//! Arithmetic modulo an odd q below 2^256, on four 64-bit limbs in Montgomery form, x·2^256 mod q.

use super::Field;
use crate::simd::Vectors;
use crate::{Limbs, Montgomery256};

/// Arithmetic modulo an odd q below 2^256. With `SPARE`, q must be below 2^255 − 2^192, so that no sum needs a fifth
/// limb.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mod256<const SPARE: bool>(Montgomery256<SPARE>);

impl<const SPARE: bool> Field for Mod256<SPARE> {
    type Word = Limbs;
    type Twiddle = Limbs;
    type Wide = Limbs;

    fn new(q: &Limbs) -> Self {
        Self(Montgomery256::new(*q))
    }

    #[inline(always)]
    fn twiddle(&self, w: Limbs) -> Limbs {
        w
    }

    #[inline(always)]
    fn mul(&self, x: Limbs, w: &Limbs) -> Limbs {
        self.0.mul(x, *w)
    }

    #[inline(always)]
    fn reduce_any(&self, x: Limbs, one: &Limbs) -> Limbs {
        self.0.mul(*one, x)
    }

    #[inline(always)]
    fn add(&self, a: Limbs, b: Limbs) -> Limbs {
        self.0.add(a, b)
    }

    #[inline(always)]
    fn sub(&self, a: Limbs, b: Limbs) -> Limbs {
        self.0.sub(a, b)
    }

    #[inline(always)]
    fn wide_zero(&self) -> Limbs {
        [0; 4]
    }

    #[inline(always)]
    fn wide_mad(&self, acc: Limbs, a: Limbs, b: Limbs) -> Limbs {
        self.add(acc, self.0.mul(a, b))
    }

    #[inline(always)]
    fn wide_reduce(&self, acc: Limbs) -> Limbs {
        acc
    }

    fn vectors(&self) -> Option<Vectors> {
        Vectors::of_256_bits(self.0.q).next()
    }
}
