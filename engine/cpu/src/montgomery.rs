//! Arithmetic modulo an odd q of up to 256 bits, in Montgomery form with R = 2^256.

use crate::Limbs;
use crate::choice::mask;
use crate::limbs::{Wide, add_limbs, add_mod, sub_limbs, sub_limbs_once, sub_mod};

/// Arithmetic modulo an odd q on residues below q. Multiplication expects Montgomery form, x·2^256 mod q. With `SPARE`,
/// q must be below 2^255 − 2^192, so that no sum needs a fifth limb. Residues may be secret; q must not be.
///
/// ```
/// use ringforge_cpu::Montgomery256;
///
/// const M: Montgomery256 = Montgomery256::new([u64::MAX - 188, u64::MAX, u64::MAX, u64::MAX]); // 2^256 − 189
/// let [one, three] = [1, 3].map(|x| M.shifted([x, 0, 0, 0]));
/// let six = M.mul(three, M.sub(three, one));
/// assert_eq!(M.mul(six, [1, 0, 0, 0]), [6, 0, 0, 0]); // out of Montgomery form
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Montgomery256<const SPARE: bool = false> {
    pub(crate) q: Limbs,
    /// −q^-1 mod 2^64
    inverse: u64,
}

impl<const SPARE: bool> Montgomery256<SPARE> {
    /// Precomputes the constants for a modulus q. If q is even, or too large for `SPARE`, results are meaningless.
    #[must_use]
    pub const fn new(q: Limbs) -> Self {
        Self { q, inverse: inverse(q[0]).wrapping_neg() }
    }

    /// Converts a number to Montgomery form by 256 doublings. Branches depend on the number, so it must not be secret.
    ///
    /// in: below q   out: x·2^256 mod q
    #[must_use]
    pub const fn shifted(&self, mut x: Limbs) -> Limbs {
        let mut doublings = 0;
        while doublings < 256 {
            let (twice, over) = add_limbs(x, x);
            let (less, borrow) = sub_limbs(twice, self.q);
            x = if borrow && !over { twice } else { less };
            doublings += 1;
        }
        x
    }

    /// Montgomery reduction of a 512-bit number.
    ///
    /// in: x below 2^256·q   out: x·2^-256 mod q
    #[inline(always)]
    #[must_use]
    pub fn reduce(&self, mut x: Wide) -> Limbs {
        let mut over = false;
        for i in 0..4 {
            let m = x[i].wrapping_mul(self.inverse);
            let mut carry = 0;
            for j in 0..4 {
                (x[i + j], carry) = m.carrying_mul_add(self.q[j], x[i + j], carry);
            }
            (x[i + 4], over) = x[i + 4].carrying_add(carry, over);
        }
        sub_limbs_once([x[4], x[5], x[6], x[7]], over, &self.q)
    }

    /// Montgomery multiplication with interleaved reduction: for each limb of b, adds the product of a and this
    /// limb to a sum t, then divides t by 2^64 modulo q.
    ///
    /// in: a below q, any b   out: a·b·2^-256 mod q
    ///
    /// After each limb of b, t is below a + q < 2q. At the end it is below q·(b / 2^256 + 1) < 2q.
    #[inline(always)]
    #[must_use]
    pub fn mul(&self, a: Limbs, b: Limbs) -> Limbs {
        let q = &self.q;
        let (mut t, mut over) = ([0; 4], false);
        for b in b {
            let (t0, mut high) = a[0].carrying_mul_add(b, t[0], 0);
            let m = t0.wrapping_mul(self.inverse);
            let (_, mut carry) = m.carrying_mul_add(q[0], t0, 0);
            for j in 1..4 {
                let sum;
                (sum, high) = a[j].carrying_mul_add(b, t[j], high);
                (t[j - 1], carry) = m.carrying_mul_add(q[j], sum, carry);
            }
            (t[3], over) = if SPARE { (high.wrapping_add(carry), false) } else { high.carrying_add(carry, over) };
        }
        sub_limbs_once(t, over, &self.q)
    }

    /// Returns a + b mod q, for a and b below q.
    #[inline(always)]
    #[must_use]
    pub fn add(&self, a: Limbs, b: Limbs) -> Limbs {
        add_mod(a, b, &self.q)
    }

    /// Returns a − b mod q, for a and b below q.
    #[inline(always)]
    #[must_use]
    pub fn sub(&self, a: Limbs, b: Limbs) -> Limbs {
        sub_mod(a, b, &self.q)
    }

    /// Returns x / 2 mod q, for x below q.
    #[inline(always)]
    #[must_use]
    pub fn half(&self, x: Limbs) -> Limbs {
        let odd = mask(x[0] & 1 == 1);
        let (x, carry) = add_limbs(x, self.q.map(|limb| limb & odd));
        core::array::from_fn(|i| x[i] >> 1 | x.get(i + 1).map_or(u64::from(carry), |&above| above) << 63)
    }
}

/// Returns q^-1 mod 2^64 for odd q, by Newton iteration.
pub(crate) const fn inverse(q: u64) -> u64 {
    // The start value q is correct in its low 3 bits. Each step doubles the number of correct bits.
    let (mut inverse, mut step) = (q, 0);
    while step < 5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(q.wrapping_mul(inverse)));
        step += 1;
    }
    inverse
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;

    use super::*;
    use crate::limbs::{mul_limbs, square_limbs};
    use crate::testing::{from, of};

    /// Compares [`Montgomery256`] with arbitrary-precision integers: at edge values, and at multiples of an odd number.
    fn is_that_of_the_integers<const SPARE: bool>(q: Limbs) {
        let (m, big_q) = (Montgomery256::<SPARE>::new(q), from(&q));
        let integer = |x: Wide| BigUint::from_bytes_le(bytemuck::bytes_of(&x));
        let wide = |x: &BigUint| {
            let mut wide = [0; 8];
            wide.iter_mut().zip(x.iter_u64_digits()).for_each(|(limb, digit)| *limb = digit);
            wide
        };
        let odd = from(&[0x9e37_79b9_7f4a_7c15, 3, 5 << 60, 1 << 61]);
        let edges = [0u32, 1, 2].map(BigUint::from).into_iter().chain([&big_q >> 1, &big_q - 1u32]);
        let numbers: Vec<BigUint> = edges.chain((1..9u32).map(|i| &odd * i)).map(|x| x % &big_q).collect();
        for a in &numbers {
            let limbs = of(a);
            assert_eq!(from(&m.shifted(limbs)), (a << 256u32) % &big_q);
            assert_eq!(integer(square_limbs(limbs)), a.pow(2));
            assert_eq!(m.add(m.half(limbs), m.half(limbs)), limbs);
            for b in &numbers {
                let (other, shifted) = (of(b), m.shifted(of(b)));
                assert_eq!(from(&m.add(limbs, other)), (a + b) % &big_q);
                assert_eq!(from(&m.sub(limbs, other)), (a + &big_q - b) % &big_q);
                assert_eq!(integer(mul_limbs(limbs, other)), a * b);
                assert_eq!(from(&m.mul(limbs, shifted)), a * b % &big_q);
                assert_eq!(m.reduce(mul_limbs(limbs, shifted)), m.mul(limbs, shifted));
            }
            let most = (&big_q << 256u32) - 1u32 - a;
            assert_eq!(m.shifted(m.reduce(wide(&most))), of(&(most % &big_q)));
        }
    }

    #[test]
    fn arithmetic_matches_the_integers() {
        for q in [[u64::MAX - 188, u64::MAX, u64::MAX, u64::MAX], [1, 0, 0, 1 << 63], [u64::MAX, 0, 0, u64::MAX << 32]]
        {
            is_that_of_the_integers::<false>(q);
        }
        for q in [[3, 0, 0, 0], [1, 1, 0, 0], [u64::MAX, u64::MAX, u64::MAX, (1 << 63) - 2]] {
            is_that_of_the_integers::<false>(q);
            is_that_of_the_integers::<true>(q);
        }
    }
}
