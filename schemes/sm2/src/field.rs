//! Residues modulo p and modulo n: canonical, in Montgomery form with R = 2^256, in time that tells nothing of them.

use core::marker::PhantomData;
use core::ops::{Add, Mul, Neg, Sub};

use bytemuck::{Pod, Zeroable};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroize;

/// Four words, the least first.
pub(crate) type Limbs = [u64; 4];

/// An odd modulus above 2^255.
pub(crate) trait Modulus: Pod + Send + Sync {
    const Q: Limbs;
    /// −q^-1 mod 2^64.
    const INVERSE: u64 = minus_inverse(Self::Q[0]);
    /// 2^256 mod q, that is 2^256 − q.
    const ONE: Limbs = sub([0; 4], Self::Q).0;
    /// 2^512 mod q.
    const R2: Limbs = square_of_r(Self::Q);

    /// x 2^-256 mod q, below q, for x below 2^256 q.
    #[inline(always)]
    fn reduce(mut x: [u64; 8]) -> Limbs {
        let mut top = 0;
        for i in 0..4 {
            let m = x[i].wrapping_mul(Self::INVERSE);
            let mut carry = 0;
            for j in 0..4 {
                (x[i + j], carry) = mad(m, Self::Q[j], x[i + j], carry);
            }
            (x[i + 4], top) = add_with(x[i + 4], carry, top);
        }
        sub_once([x[4], x[5], x[6], x[7]], top, Self::Q)
    }
}

/// The coordinates' modulus p.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub(crate) struct Field;

/// The scalars' modulus n.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub(crate) struct Scalars;

impl Modulus for Field {
    const Q: Limbs = limbs("fffffffeffffffffffffffffffffffffffffffff00000000ffffffffffffffff");

    /// Without products: −p^-1 = 1 mod 2^64, so the multiple of p that clears a word m is m p, and
    /// m p + m = 2^64 (m (2^192 − 2^160 − 2^32 + 1)).
    #[inline(always)]
    fn reduce(mut x: [u64; 8]) -> Limbs {
        let mut top = 0;
        for i in 0..4 {
            let m = x[i];
            let (low, high) = (m << 32, m >> 32);
            // m (2^192 − 2^160 − 2^32 + 1), which is not negative
            let (d0, borrow) = sub_with(m, low, 0);
            let (d1, borrow) = sub_with(0, high, borrow);
            let (d2, borrow) = sub_with(0, low, borrow);
            let (d3, _) = sub_with(m, high, borrow);
            let mut carry;
            (x[i + 1], carry) = add_with(x[i + 1], d0, 0);
            (x[i + 2], carry) = add_with(x[i + 2], d1, carry);
            (x[i + 3], carry) = add_with(x[i + 3], d2, carry);
            let (sum, over) = add_with(x[i + 4], d3, carry);
            let (sum, again) = add_with(sum, top, 0);
            (x[i + 4], top) = (sum, over + again);
        }
        sub_once([x[4], x[5], x[6], x[7]], top, Self::Q)
    }
}

impl Modulus for Scalars {
    const Q: Limbs = limbs("fffffffeffffffffffffffffffffffff7203df6b21c6052b53bbf40939d54123");
}

/// A residue modulo p.
pub(crate) type Fp = Residue<Field>;
/// A residue modulo n.
pub(crate) type Scalar = Residue<Scalars>;

/// A residue in Montgomery form, below q.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub(crate) struct Residue<M>(pub(crate) Limbs, PhantomData<M>);

impl<M: Modulus> Residue<M> {
    pub(crate) const ZERO: Self = Self::new([0; 4]);
    pub(crate) const ONE: Self = Self::new(M::ONE);

    /// The residue with this Montgomery form, which is below q.
    pub(crate) const fn new(montgomery: Limbs) -> Self {
        Self(montgomery, PhantomData)
    }

    /// The residue of a number below q, for constants: 256 doublings.
    pub(crate) const fn from_plain(mut x: Limbs) -> Self {
        let mut i = 0;
        while i < 256 {
            x = add_mod(x, x, M::Q);
            i += 1;
        }
        Self::new(x)
    }

    /// The residue of any number of 256 bits.
    pub(crate) fn reduced(x: Limbs) -> Self {
        Self::new(M::reduce(wide(x, M::R2)))
    }

    /// The residue of a big-endian number, if that is below q.
    pub(crate) fn from_bytes(bytes: &[u8; 32]) -> Option<Self> {
        let x = from_be(bytes);
        // whether a number is in range may be known, its bits may not
        (sub(x, M::Q).1 == 1).then(|| Self::reduced(x))
    }

    /// The number itself, below q.
    pub(crate) fn plain(&self) -> Limbs {
        let x = self.0;
        M::reduce([x[0], x[1], x[2], x[3], 0, 0, 0, 0])
    }

    /// The number as big-endian bytes.
    pub(crate) fn to_bytes(self) -> [u8; 32] {
        to_be(self.plain())
    }

    pub(crate) fn is_zero(&self) -> Choice {
        self.ct_eq(&Self::ZERO)
    }

    pub(crate) fn square(self) -> Self {
        Self::new(M::reduce(wide_square(self.0)))
    }

    pub(crate) fn double(self) -> Self {
        self + self
    }

    /// x / 2.
    pub(crate) fn half(self) -> Self {
        let odd = (self.0[0] & 1).wrapping_neg();
        let (x, carry) = add(self.0, M::Q.map(|limb| limb & odd));
        Self::new([x[0] >> 1 | x[1] << 63, x[1] >> 1 | x[2] << 63, x[2] >> 1 | x[3] << 63, x[3] >> 1 | carry << 63])
    }

    /// The power with a public exponent: windows of four bits.
    pub(crate) fn power(self, exponent: Limbs) -> Self {
        let mut powers = [Self::ONE; 16];
        for i in 1..16 {
            powers[i] = powers[i - 1] * self;
        }
        let mut x = Self::ONE;
        for i in (0..64).rev() {
            if i != 63 {
                x = x.square().square().square().square();
            }
            x = x * powers[(exponent[i / 16] >> (4 * (i % 16)) & 15) as usize];
        }
        powers.iter_mut().for_each(Zeroize::zeroize);
        x
    }

    /// 1 / x, and 0 for 0. For a prime modulus.
    pub(crate) fn inverse(self) -> Self {
        self.power(sub(M::Q, [2, 0, 0, 0]).0)
    }

    /// Inverts all, with one inversion for them together; zeros stay and disturb nobody.
    pub(crate) fn invert_all(all: &mut [Self]) {
        let mut before = Vec::with_capacity(all.len());
        let mut product = Self::ONE;
        for x in all.iter() {
            before.push(product);
            product = product * Self::conditional_select(x, &Self::ONE, x.is_zero());
        }
        let mut inverse = product.inverse();
        for (x, before) in all.iter_mut().zip(&before).rev() {
            let zero = x.is_zero();
            let factor = Self::conditional_select(x, &Self::ONE, zero);
            *x = Self::conditional_select(&(inverse * *before), &Self::ZERO, zero);
            inverse = inverse * factor;
        }
        before.iter_mut().for_each(Zeroize::zeroize);
    }
}

impl<M: Modulus> Add for Residue<M> {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::new(add_mod(self.0, other.0, M::Q))
    }
}

impl<M: Modulus> Sub for Residue<M> {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        let (x, borrow) = sub(self.0, other.0);
        let mask = borrow.wrapping_neg();
        Self::new(add(x, M::Q.map(|limb| limb & mask)).0)
    }
}

impl<M: Modulus> Neg for Residue<M> {
    type Output = Self;
    fn neg(self) -> Self {
        Self::ZERO - self
    }
}

impl<M: Modulus> Mul for Residue<M> {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self::new(M::reduce(wide(self.0, other.0)))
    }
}

impl<M: Modulus> ConditionallySelectable for Residue<M> {
    fn conditional_select(a: &Self, b: &Self, choice: Choice) -> Self {
        Self::new(core::array::from_fn(|i| u64::conditional_select(&a.0[i], &b.0[i], choice)))
    }
}

impl<M: Modulus> ConstantTimeEq for Residue<M> {
    fn ct_eq(&self, other: &Self) -> Choice {
        self.0.ct_eq(&other.0)
    }
}

impl<M> Zeroize for Residue<M> {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

/// a b + c + d.
#[inline(always)]
const fn mad(a: u64, b: u64, c: u64, d: u64) -> (u64, u64) {
    let x = a as u128 * b as u128 + c as u128 + d as u128;
    (x as u64, (x >> 64) as u64)
}

#[inline(always)]
const fn add_with(a: u64, b: u64, carry: u64) -> (u64, u64) {
    let x = a as u128 + b as u128 + carry as u128;
    (x as u64, (x >> 64) as u64)
}

#[inline(always)]
const fn sub_with(a: u64, b: u64, borrow: u64) -> (u64, u64) {
    let x = (a as u128).wrapping_sub(b as u128).wrapping_sub(borrow as u128);
    (x as u64, (x >> 64) as u64 & 1)
}

/// a + b, and the carry.
#[inline(always)]
pub(crate) const fn add(a: Limbs, b: Limbs) -> (Limbs, u64) {
    let (x0, c) = add_with(a[0], b[0], 0);
    let (x1, c) = add_with(a[1], b[1], c);
    let (x2, c) = add_with(a[2], b[2], c);
    let (x3, c) = add_with(a[3], b[3], c);
    ([x0, x1, x2, x3], c)
}

/// a − b, and the borrow.
#[inline(always)]
pub(crate) const fn sub(a: Limbs, b: Limbs) -> (Limbs, u64) {
    let (x0, c) = sub_with(a[0], b[0], 0);
    let (x1, c) = sub_with(a[1], b[1], c);
    let (x2, c) = sub_with(a[2], b[2], c);
    let (x3, c) = sub_with(a[3], b[3], c);
    ([x0, x1, x2, x3], c)
}

/// x + 2^256 top, less q unless it is below q.
#[inline(always)]
const fn sub_once(x: Limbs, top: u64, q: Limbs) -> Limbs {
    let (y, borrow) = sub(x, q);
    let keep = (borrow & (top ^ 1)).wrapping_neg();
    [x[0] & keep | y[0] & !keep, x[1] & keep | y[1] & !keep, x[2] & keep | y[2] & !keep, x[3] & keep | y[3] & !keep]
}

#[inline(always)]
const fn add_mod(a: Limbs, b: Limbs, q: Limbs) -> Limbs {
    let (x, carry) = add(a, b);
    sub_once(x, carry, q)
}

#[inline(always)]
fn wide(a: Limbs, b: Limbs) -> [u64; 8] {
    let mut x = [0; 8];
    for i in 0..4 {
        let mut carry = 0;
        for j in 0..4 {
            (x[i + j], carry) = mad(a[i], b[j], x[i + j], carry);
        }
        x[i + 4] = carry;
    }
    x
}

/// The six products of different words twice, and the four squares.
#[inline(always)]
fn wide_square(a: Limbs) -> [u64; 8] {
    let (x1, c) = mad(a[0], a[1], 0, 0);
    let (x2, c) = mad(a[0], a[2], 0, c);
    let (x3, x4) = mad(a[0], a[3], 0, c);
    let (x3, c) = mad(a[1], a[2], x3, 0);
    let (x4, x5) = mad(a[1], a[3], x4, c);
    let (x5, x6) = mad(a[2], a[3], x5, 0);
    let twice = [0, x1 << 1, x2 << 1 | x1 >> 63, x3 << 1 | x2 >> 63, x4 << 1 | x3 >> 63, x5 << 1 | x4 >> 63];
    let (t6, t7) = (x6 << 1 | x5 >> 63, x6 >> 63);
    let (y0, h) = mad(a[0], a[0], 0, 0);
    let (y1, c) = add_with(twice[1], h, 0);
    let (l, h) = mad(a[1], a[1], 0, 0);
    let (y2, c) = add_with(twice[2], l, c);
    let (y3, c) = add_with(twice[3], h, c);
    let (l, h) = mad(a[2], a[2], 0, 0);
    let (y4, c) = add_with(twice[4], l, c);
    let (y5, c) = add_with(twice[5], h, c);
    let (l, h) = mad(a[3], a[3], 0, 0);
    let (y6, c) = add_with(t6, l, c);
    let (y7, _) = add_with(t7, h, c);
    [y0, y1, y2, y3, y4, y5, y6, y7]
}

/// −q^-1 mod 2^64 for odd q, by Newton's iteration: each step doubles the right bits.
const fn minus_inverse(q: u64) -> u64 {
    let mut x = 1u64;
    let mut i = 0;
    while i < 6 {
        x = x.wrapping_mul(2u64.wrapping_sub(q.wrapping_mul(x)));
        i += 1;
    }
    x.wrapping_neg()
}

const fn square_of_r(q: Limbs) -> Limbs {
    let mut x = sub([0; 4], q).0;
    let mut i = 0;
    while i < 256 {
        x = add_mod(x, x, q);
        i += 1;
    }
    x
}

/// A number of 64 hexadecimal digits, for constants.
pub(crate) const fn limbs(digits: &str) -> Limbs {
    let digits = digits.as_bytes();
    let mut x = [0; 4];
    let mut i = 0;
    while i < 64 {
        let digit = if digits[i] >= b'a' { digits[i] - b'a' + 10 } else { digits[i] - b'0' };
        x[3 - i / 16] = x[3 - i / 16] << 4 | digit as u64;
        i += 1;
    }
    x
}

pub(crate) fn from_be(bytes: &[u8; 32]) -> Limbs {
    let (words, _) = bytes.as_chunks::<8>();
    core::array::from_fn(|i| u64::from_be_bytes(words[3 - i]))
}

pub(crate) fn to_be(x: Limbs) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (bytes, limb) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(x.iter().rev()) {
        *bytes = limb.to_be_bytes();
    }
    bytes
}
