//! Prime fields of up to 64 L bits and their quadratic extensions, on residues in Montgomery form with R = 2^(64 L). The
//! representation is that of `field.cuh` and `extension.cuh`.

use core::fmt::Debug;

use bytemuck::Pod;
use zeroize::Zeroize;

/// The arithmetic of a field. Words are canonical.
pub(crate) trait Field: Copy + Debug + Send + Sync + 'static {
    type Word: Pod + Eq + Debug + Send + Sync + Zeroize;

    fn zero(&self) -> Self::Word;
    fn one(&self) -> Self::Word;
    fn add(&self, a: Self::Word, b: Self::Word) -> Self::Word;
    fn sub(&self, a: Self::Word, b: Self::Word) -> Self::Word;
    fn mul(&self, a: Self::Word, b: Self::Word) -> Self::Word;
    /// Returns 1 / a, or 0 for 0.
    fn inverse(&self, a: Self::Word) -> Self::Word;
    /// Returns true if all coordinates are below the prime.
    fn is_canonical(&self, a: Self::Word) -> bool;

    fn square(&self, a: Self::Word) -> Self::Word {
        self.mul(a, a)
    }

    fn negate(&self, a: Self::Word) -> Self::Word {
        self.sub(self.zero(), a)
    }

    fn is_zero(&self, a: Self::Word) -> bool {
        a == self.zero()
    }
}

/// A prime field. The prime is odd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Prime<const L: usize> {
    pub(crate) q: [u64; L],
    /// −q^-1 mod 2^64
    inverse: u64,
    pub(crate) one: [u64; L],
    pub(crate) r2: [u64; L],
}

impl<const L: usize> Prime<L> {
    pub(crate) const fn new(q: [u64; L]) -> Self {
        // Newton's iteration: q is its own inverse modulo 8, and each step doubles the number of correct bits
        let (mut inverse, mut step) = (q[0], 0);
        while step < 5 {
            inverse = inverse.wrapping_mul(2u64.wrapping_sub(q[0].wrapping_mul(inverse)));
            step += 1;
        }
        let mut one = [0; L];
        one[0] = 1;
        let one = shifted(one, &q);
        Self { q, inverse: inverse.wrapping_neg(), one, r2: shifted(one, &q) }
    }

    /// −q^-1 mod 2^32
    pub(crate) const fn inverse_u32(self) -> u32 {
        self.inverse as u32
    }

    /// Converts from plain to Montgomery form.
    pub(crate) fn to_montgomery(self, a: [u64; L]) -> [u64; L] {
        self.mul(a, self.r2)
    }

    /// Converts from Montgomery to plain form.
    pub(crate) fn plain(self, a: [u64; L]) -> [u64; L] {
        let mut one = [0; L];
        one[0] = 1;
        self.mul(a, one)
    }
}

/// Returns x·2^(64 L) mod q, for x below q.
const fn shifted<const L: usize>(mut x: [u64; L], q: &[u64; L]) -> [u64; L] {
    let mut doublings = 0;
    while doublings < 64 * L {
        let (mut twice, mut i) = ([0; L], 0);
        while i < L {
            twice[i] = x[i] << 1 | if i > 0 { x[i - 1] >> 63 } else { 0 };
            i += 1;
        }
        let (less, borrow) = sub_limbs(&twice, q);
        x = if borrow && x[L - 1] >> 63 == 0 { twice } else { less };
        doublings += 1;
    }
    x
}

/// Returns a − b mod 2^(64 L) and the borrow.
pub(crate) const fn sub_limbs<const L: usize>(a: &[u64; L], b: &[u64; L]) -> ([u64; L], bool) {
    let (mut difference, mut borrow, mut i) = ([0; L], false, 0);
    while i < L {
        let (x, first) = a[i].overflowing_sub(b[i]);
        let (x, second) = x.overflowing_sub(borrow as u64);
        (difference[i], borrow) = (x, first | second);
        i += 1;
    }
    (difference, borrow)
}

/// Returns a + b mod 2^(64 L) and the carry.
#[inline(always)]
pub(crate) fn add_limbs<const L: usize>(a: &[u64; L], b: &[u64; L]) -> ([u64; L], bool) {
    let (mut sum, mut carry) = ([0; L], false);
    for i in 0..L {
        (sum[i], carry) = a[i].carrying_add(b[i], carry);
    }
    (sum, carry)
}

/// Returns (x + 2^(64 L)·over) mod q, for x + 2^(64 L)·over below 2q.
#[inline(always)]
fn sub_once<const L: usize>(x: [u64; L], over: bool, q: &[u64; L]) -> [u64; L] {
    let (less, borrow) = sub_limbs(&x, q);
    let keep = u64::from(borrow & !over).wrapping_neg();
    core::array::from_fn(|i| less[i] ^ (x[i] ^ less[i]) & keep)
}

impl<const L: usize> Field for Prime<L> {
    type Word = [u64; L];

    fn zero(&self) -> [u64; L] {
        [0; L]
    }

    fn one(&self) -> [u64; L] {
        self.one
    }

    #[inline(always)]
    fn add(&self, a: [u64; L], b: [u64; L]) -> [u64; L] {
        let (sum, over) = add_limbs(&a, &b);
        sub_once(sum, over, &self.q)
    }

    #[inline(always)]
    fn sub(&self, a: [u64; L], b: [u64; L]) -> [u64; L] {
        let (difference, borrow) = sub_limbs(&a, &b);
        let mask = u64::from(borrow).wrapping_neg();
        add_limbs(&difference, &self.q.map(|limb| limb & mask)).0
    }

    /// Montgomery multiplication with interleaved reduction (CIOS): after each limb of b, the sum is below 2q.
    #[inline(always)]
    fn mul(&self, a: [u64; L], b: [u64; L]) -> [u64; L] {
        let (mut t, mut over) = ([0; L], false);
        for b in b {
            let (t0, mut high) = a[0].carrying_mul_add(b, t[0], 0);
            let m = t0.wrapping_mul(self.inverse);
            let (_, mut carry) = m.carrying_mul_add(self.q[0], t0, 0);
            for j in 1..L {
                let sum;
                (sum, high) = a[j].carrying_mul_add(b, t[j], high);
                (t[j - 1], carry) = m.carrying_mul_add(self.q[j], sum, carry);
            }
            (t[L - 1], over) = high.carrying_add(carry, over);
        }
        sub_once(t, over, &self.q)
    }

    /// By Fermat's little theorem.
    fn inverse(&self, a: [u64; L]) -> [u64; L] {
        let mut two = [0; L];
        two[0] = 2;
        let (exponent, _) = sub_limbs(&self.q, &two);
        let bits = (0..64 * L).rev().map(|bit| exponent[bit / 64] >> (bit % 64) & 1 == 1);
        bits.fold(self.one, |power, bit| {
            let square = self.square(power);
            if bit { self.mul(square, a) } else { square }
        })
    }

    fn is_canonical(&self, a: [u64; L]) -> bool {
        sub_limbs(&a, &self.q).1
    }
}

/// The quadratic extension of a prime field by a root u of −`minus_beta`, with words c0, c1 for c0 + c1 u.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quadratic<const L: usize> {
    pub(crate) base: Prime<L>,
    pub(crate) minus_beta: u32,
}

impl<const L: usize> Quadratic<L> {
    fn times(&self, x: [u64; L]) -> [u64; L] {
        (1..self.minus_beta).fold(x, |sum, _| self.base.add(sum, x))
    }
}

impl<const L: usize> Field for Quadratic<L> {
    type Word = [[u64; L]; 2];

    fn zero(&self) -> Self::Word {
        [[0; L]; 2]
    }

    fn one(&self) -> Self::Word {
        [self.base.one, [0; L]]
    }

    #[inline(always)]
    fn add(&self, a: Self::Word, b: Self::Word) -> Self::Word {
        [self.base.add(a[0], b[0]), self.base.add(a[1], b[1])]
    }

    #[inline(always)]
    fn sub(&self, a: Self::Word, b: Self::Word) -> Self::Word {
        [self.base.sub(a[0], b[0]), self.base.sub(a[1], b[1])]
    }

    #[inline(always)]
    fn mul(&self, a: Self::Word, b: Self::Word) -> Self::Word {
        let f = &self.base;
        let (low, high) = (f.mul(a[0], b[0]), f.mul(a[1], b[1]));
        let cross = f.mul(f.add(a[0], a[1]), f.add(b[0], b[1]));
        [f.sub(low, self.times(high)), f.sub(f.sub(cross, low), high)]
    }

    /// Two products: c0² + β c1² = (c0 + c1) (c0 + β c1) − (1 + β) c0 c1.
    #[inline(always)]
    fn square(&self, a: Self::Word) -> Self::Word {
        let f = &self.base;
        let (both, product) = (f.mul(a[0], a[1]), f.mul(f.add(a[0], a[1]), f.sub(a[0], self.times(a[1]))));
        [f.add(f.sub(product, both), self.times(both)), f.add(both, both)]
    }

    fn inverse(&self, a: Self::Word) -> Self::Word {
        let f = &self.base;
        let norm = f.inverse(f.add(f.square(a[0]), self.times(f.square(a[1]))));
        [f.mul(a[0], norm), f.mul(f.negate(a[1]), norm)]
    }

    fn is_canonical(&self, a: Self::Word) -> bool {
        a.iter().all(|c| self.base.is_canonical(*c))
    }
}
