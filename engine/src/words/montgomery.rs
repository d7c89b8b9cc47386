//! Four 64-bit limbs modulo q in Montgomery form, R = 2^256.

/// A number below 2^256, the least limb first.
pub type Limbs = [u64; 4];

/// A product of two.
pub type Wide = [u64; 8];

/// Arithmetic modulo an odd q above 2^255: residues are below q, and in Montgomery form, x·2^256 mod q, where they are
/// multiplied. Made by a constant function, so that q can be one.
///
/// ```
/// use ringforge::words::Montgomery256;
///
/// const M: Montgomery256 = Montgomery256::new([u64::MAX - 188, u64::MAX, u64::MAX, u64::MAX]); // 2^256 − 189
/// let three = M.to_montgomery([3, 0, 0, 0]);
/// assert_eq!(M.from_montgomery(M.mul(three, M.sub(three, M.one()))), [6, 0, 0, 0]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Montgomery256 {
    q: Limbs,
    /// −q^-1 mod 2^64
    inverse: u64,
    /// 2^256 mod q, that is 2^256 − q
    one: Limbs,
    /// 2^512 mod q
    r2: Limbs,
}

impl Montgomery256 {
    /// Modulo q, which is odd and above 2^255: for any other, results mean nothing.
    #[must_use]
    pub const fn new(q: Limbs) -> Self {
        // Newton's iteration: each step doubles the right bits
        let (mut inverse, mut step) = (1u64, 0);
        while step < 6 {
            inverse = inverse.wrapping_mul(2u64.wrapping_sub(q[0].wrapping_mul(inverse)));
            step += 1;
        }
        let one = Self::sub_limbs([0; 4], q).0;
        let mut this = Self { q, inverse: inverse.wrapping_neg(), one, r2: one };
        this.r2 = this.shifted(one);
        this
    }

    /// The modulus.
    #[must_use]
    pub const fn q(&self) -> Limbs {
        self.q
    }

    /// 1 in Montgomery form.
    #[must_use]
    pub const fn one(&self) -> Limbs {
        self.one
    }

    /// in: below q   out: x·2^256 mod q, by 256 doublings, for constants
    #[must_use]
    pub const fn shifted(&self, mut x: Limbs) -> Limbs {
        let mut doublings = 0;
        while doublings < 256 {
            x = self.add(x, x);
            doublings += 1;
        }
        x
    }

    /// in: any number   out: its residue in Montgomery form
    #[inline(always)]
    #[must_use]
    pub fn to_montgomery(&self, x: Limbs) -> Limbs {
        self.reduce(self.shifted_wide(x))
    }

    /// in: any number   out: a number whose [reduction](Self::reduce) is its residue in Montgomery form
    #[inline(always)]
    #[must_use]
    pub fn shifted_wide(&self, x: Limbs) -> Wide {
        Self::mul_wide(x, self.r2)
    }

    /// in: below q, in Montgomery form   out: the residue itself
    #[inline(always)]
    #[must_use]
    pub fn from_montgomery(&self, x: Limbs) -> Limbs {
        self.reduce([x[0], x[1], x[2], x[3], 0, 0, 0, 0])
    }

    /// in: below 2^256·q   out: x·2^-256 mod q, below q
    #[inline(always)]
    #[must_use]
    pub fn reduce(&self, mut x: Wide) -> Limbs {
        let mut top = 0;
        for i in 0..4 {
            let m = x[i].wrapping_mul(self.inverse);
            let mut carry = 0;
            for j in 0..4 {
                (x[i + j], carry) = mul_add(m, self.q[j], x[i + j], carry);
            }
            (x[i + 4], top) = add_with(x[i + 4], carry, top);
        }
        self.sub_once([x[4], x[5], x[6], x[7]], top)
    }

    /// in: below q   out: a·b·2^-256 mod q
    #[inline(always)]
    #[must_use]
    pub fn mul(&self, a: Limbs, b: Limbs) -> Limbs {
        self.reduce(Self::mul_wide(a, b))
    }

    /// in: below q   out: a + b mod q
    #[inline(always)]
    #[must_use]
    pub const fn add(&self, a: Limbs, b: Limbs) -> Limbs {
        let (x, carry) = Self::add_limbs(a, b);
        self.sub_once(x, carry)
    }

    /// in: below q   out: a − b mod q
    #[inline(always)]
    #[must_use]
    pub const fn sub(&self, a: Limbs, b: Limbs) -> Limbs {
        let (x, borrow) = Self::sub_limbs(a, b);
        Self::add_limbs(x, self.q_if(borrow)).0
    }

    /// in: below q   out: x / 2 mod q
    #[inline(always)]
    #[must_use]
    pub const fn half(&self, x: Limbs) -> Limbs {
        let (x, carry) = Self::add_limbs(x, self.q_if(x[0] & 1));
        [x[0] >> 1 | x[1] << 63, x[1] >> 1 | x[2] << 63, x[2] >> 1 | x[3] << 63, x[3] >> 1 | carry << 63]
    }

    /// in: x + 2^256·top below 2q   out: that mod q
    #[inline(always)]
    #[must_use]
    pub const fn sub_once(&self, x: Limbs, top: u64) -> Limbs {
        let (y, borrow) = Self::sub_limbs(x, self.q);
        let keep = (borrow & (top ^ 1)).wrapping_neg();
        [x[0] & keep | y[0] & !keep, x[1] & keep | y[1] & !keep, x[2] & keep | y[2] & !keep, x[3] & keep | y[3] & !keep]
    }

    #[inline(always)]
    const fn q_if(&self, bit: u64) -> Limbs {
        let mask = bit.wrapping_neg();
        [self.q[0] & mask, self.q[1] & mask, self.q[2] & mask, self.q[3] & mask]
    }

    /// a + b, and the carry.
    #[inline(always)]
    #[must_use]
    pub const fn add_limbs(a: Limbs, b: Limbs) -> (Limbs, u64) {
        let (x0, c) = add_with(a[0], b[0], 0);
        let (x1, c) = add_with(a[1], b[1], c);
        let (x2, c) = add_with(a[2], b[2], c);
        let (x3, c) = add_with(a[3], b[3], c);
        ([x0, x1, x2, x3], c)
    }

    /// a − b, and the borrow.
    #[inline(always)]
    #[must_use]
    pub const fn sub_limbs(a: Limbs, b: Limbs) -> (Limbs, u64) {
        let (x0, c) = sub_with(a[0], b[0], 0);
        let (x1, c) = sub_with(a[1], b[1], c);
        let (x2, c) = sub_with(a[2], b[2], c);
        let (x3, c) = sub_with(a[3], b[3], c);
        ([x0, x1, x2, x3], c)
    }

    /// a·b.
    #[inline(always)]
    #[must_use]
    pub fn mul_wide(a: Limbs, b: Limbs) -> Wide {
        let mut x = [0; 8];
        for i in 0..4 {
            let mut carry = 0;
            for j in 0..4 {
                (x[i + j], carry) = mul_add(a[i], b[j], x[i + j], carry);
            }
            x[i + 4] = carry;
        }
        x
    }

    /// a²: the six products of different limbs twice, and the four squares.
    #[inline(always)]
    #[must_use]
    pub fn square_wide(a: Limbs) -> Wide {
        let (x1, c) = mul_add(a[0], a[1], 0, 0);
        let (x2, c) = mul_add(a[0], a[2], 0, c);
        let (x3, x4) = mul_add(a[0], a[3], 0, c);
        let (x3, c) = mul_add(a[1], a[2], x3, 0);
        let (x4, x5) = mul_add(a[1], a[3], x4, c);
        let (x5, x6) = mul_add(a[2], a[3], x5, 0);
        let twice = [0, x1 << 1, x2 << 1 | x1 >> 63, x3 << 1 | x2 >> 63, x4 << 1 | x3 >> 63, x5 << 1 | x4 >> 63];
        let (t6, t7) = (x6 << 1 | x5 >> 63, x6 >> 63);
        let (y0, h) = mul_add(a[0], a[0], 0, 0);
        let (y1, c) = add_with(twice[1], h, 0);
        let (l, h) = mul_add(a[1], a[1], 0, 0);
        let (y2, c) = add_with(twice[2], l, c);
        let (y3, c) = add_with(twice[3], h, c);
        let (l, h) = mul_add(a[2], a[2], 0, 0);
        let (y4, c) = add_with(twice[4], l, c);
        let (y5, c) = add_with(twice[5], h, c);
        let (l, h) = mul_add(a[3], a[3], 0, 0);
        let (y6, c) = add_with(t6, l, c);
        let (y7, _) = add_with(t7, h, c);
        [y0, y1, y2, y3, y4, y5, y6, y7]
    }
}

/// a·b + c + d, low and high limb.
#[inline(always)]
const fn mul_add(a: u64, b: u64, c: u64, d: u64) -> (u64, u64) {
    let x = a as u128 * b as u128 + c as u128 + d as u128;
    (x as u64, (x >> 64) as u64)
}

/// a + b + carry, and the carry.
#[inline(always)]
#[must_use]
pub const fn add_with(a: u64, b: u64, carry: u64) -> (u64, u64) {
    let x = a as u128 + b as u128 + carry as u128;
    (x as u64, (x >> 64) as u64)
}

/// a − b − borrow, and the borrow.
#[inline(always)]
#[must_use]
pub const fn sub_with(a: u64, b: u64, borrow: u64) -> (u64, u64) {
    let x = (a as u128).wrapping_sub(b as u128).wrapping_sub(borrow as u128);
    (x as u64, (x >> 64) as u64 & 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the integers, at the edges and on multiples of an odd number.
    #[test]
    fn arithmetic_is_that_of_the_integers() {
        use num_bigint::BigUint;
        let integer = |x: &[u64]| x.iter().rev().fold(BigUint::ZERO, |sum, limb| (sum << 64u32) + limb);
        for q in [[u64::MAX - 188, u64::MAX, u64::MAX, u64::MAX], [1, 0, 0, 1 << 63], [u64::MAX, 0, 0, u64::MAX << 32]]
        {
            let (m, big_q) = (Montgomery256::new(q), integer(&q));
            let less = |limbs: Limbs| Montgomery256::sub_limbs(q, limbs).0;
            let mut numbers =
                vec![[0; 4], [1, 0, 0, 0], m.one(), less([1, 0, 0, 0]), less([0, 1, 0, 0]), [u64::MAX, 0, 0, 7]];
            let odd = [0x9e37_79b9_7f4a_7c15, 3, 5 << 60, 1 << 61];
            (0..9).for_each(|i| numbers.push(m.add(numbers[i], odd)));
            for &a in &numbers {
                assert_eq!(integer(&m.to_montgomery(a)), (integer(&a) << 256u32) % &big_q);
                assert_eq!(m.to_montgomery(a), m.shifted(a));
                assert_eq!(m.from_montgomery(m.to_montgomery(a)), a);
                assert_eq!(integer(&Montgomery256::square_wide(a)), integer(&a).pow(2));
                assert_eq!(m.add(m.half(a), m.half(a)), a);
                for &b in &numbers {
                    assert_eq!(integer(&m.add(a, b)), (integer(&a) + integer(&b)) % &big_q);
                    assert_eq!(m.add(m.sub(a, b), b), a);
                    assert_eq!(integer(&Montgomery256::mul_wide(a, b)), integer(&a) * integer(&b));
                    let product = m.from_montgomery(m.mul(m.to_montgomery(a), m.to_montgomery(b)));
                    assert_eq!(integer(&product), integer(&a) * integer(&b) % &big_q);
                }
            }
        }
    }
}
