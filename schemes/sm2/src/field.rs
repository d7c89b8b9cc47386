//! Residues modulo the field prime p and modulo the group order n. A residue is below its modulus and in Montgomery
//! form (1985) with R = 2^256. The arithmetic takes constant time.

use core::marker::PhantomData;
use core::ops::{Add, Mul, Neg, Sub};

use bytemuck::{Pod, Zeroable};
use ringforge::words::{Limbs, Montgomery256, Wide, mul_limbs, square_limbs, sub_limbs, sub_limbs_once};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroize;

/// An odd modulus q above 2^255.
pub(crate) trait Modulus: Pod + Send + Sync {
    const Q: Limbs;
    const M: Montgomery256 = Montgomery256::new(Self::Q);
    /// 2^256 mod q: 1 in Montgomery form.
    const ONE: Limbs = sub_limbs([0; 4], Self::Q).0;
    /// 2^512 mod q. The Montgomery product of a number and this constant is the Montgomery form of the number.
    const SQUARE: Limbs = Self::M.shifted(Self::ONE);

    /// Montgomery reduction: returns x 2^-256 mod q, below q. x must be below 2^256 q.
    #[inline(always)]
    fn reduce(x: Wide) -> Limbs {
        Self::M.reduce(x)
    }
}

/// The modulus p of coordinates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub(crate) struct Field;

/// The modulus n of scalars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub(crate) struct Scalars;

impl Modulus for Field {
    const Q: Limbs = limbs("fffffffeffffffffffffffffffffffffffffffff00000000ffffffffffffffff");

    /// Montgomery reduction without multiplications. Let m be the lowest word of x. Because −p^-1 = 1 mod 2^64, adding
    /// m p clears this word: m p + m = 2^64 (m (2^192 − 2^160 − 2^32 + 1)).
    #[inline(always)]
    fn reduce(mut x: Wide) -> Limbs {
        let mut top = false;
        for i in 0..4 {
            let m = x[i];
            let (low, high) = (m << 32, m >> 32);
            // m (2^192 − 2^160 − 2^32 + 1), which is not negative
            let (d0, borrow) = m.overflowing_sub(low);
            let (d1, borrow) = 0u64.borrowing_sub(high, borrow);
            let (d2, borrow) = 0u64.borrowing_sub(low, borrow);
            let (d3, _) = m.borrowing_sub(high, borrow);
            let mut carry;
            (x[i + 1], carry) = x[i + 1].overflowing_add(d0);
            (x[i + 2], carry) = x[i + 2].carrying_add(d1, carry);
            (x[i + 3], carry) = x[i + 3].carrying_add(d2, carry);
            let (sum, over) = x[i + 4].carrying_add(d3, carry);
            let (sum, again) = sum.overflowing_add(u64::from(top));
            (x[i + 4], top) = (sum, over ^ again);
        }
        sub_limbs_once([x[4], x[5], x[6], x[7]], top, &Self::Q)
    }
}

impl Modulus for Scalars {
    const Q: Limbs = limbs("fffffffeffffffffffffffffffffffff7203df6b21c6052b53bbf40939d54123");
}

/// A residue modulo p.
pub(crate) type Fp = Residue<Field>;
/// A residue modulo n.
pub(crate) type Scalar = Residue<Scalars>;

/// A residue modulo q, the modulus of `M`, in Montgomery form and below q.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub(crate) struct Residue<M>(pub(crate) Limbs, PhantomData<M>);

impl<M: Modulus> Residue<M> {
    pub(crate) const ZERO: Self = Self::new([0; 4]);
    pub(crate) const ONE: Self = Self::new(M::ONE);

    /// Creates a residue from its Montgomery form, which must be below q.
    pub(crate) const fn new(montgomery: Limbs) -> Self {
        Self(montgomery, PhantomData)
    }

    /// Converts a number below q to Montgomery form by 256 doublings. For constants only.
    pub(crate) const fn from_plain(x: Limbs) -> Self {
        Self::new(M::M.shifted(x))
    }

    /// Converts any 256-bit number to a residue.
    pub(crate) fn reduced(x: Limbs) -> Self {
        Self::new(M::reduce(mul_limbs(x, M::SQUARE)))
    }

    /// Decodes a big-endian number. Returns `None` if it is not below q.
    pub(crate) fn from_bytes(bytes: &[u8; 32]) -> Option<Self> {
        let x = from_be(bytes);
        // the branch may reveal whether the number is in range, but reveals no bits of a number in range
        sub_limbs(x, M::Q).1.then(|| Self::reduced(x))
    }

    /// Returns the number below q that this residue represents (conversion from Montgomery form).
    pub(crate) fn plain(&self) -> Limbs {
        let x = self.0;
        M::reduce([x[0], x[1], x[2], x[3], 0, 0, 0, 0])
    }

    /// Returns the number below q that this residue represents, as big-endian bytes.
    pub(crate) fn to_bytes(self) -> [u8; 32] {
        to_be(self.plain())
    }

    pub(crate) fn is_zero(&self) -> Choice {
        self.ct_eq(&Self::ZERO)
    }

    pub(crate) fn square(self) -> Self {
        Self::new(M::reduce(square_limbs(self.0)))
    }

    pub(crate) fn double(self) -> Self {
        self + self
    }

    /// Returns x / 2 mod q for this residue x.
    pub(crate) fn half(self) -> Self {
        Self::new(M::M.half(self.0))
    }

    /// Returns x^exponent for this residue x and a public exponent, by fixed windows of four bits.
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

    /// Returns 1 / x for this residue x by Fermat's little theorem, or 0 for x = 0. The modulus must be prime.
    pub(crate) fn inverse(self) -> Self {
        self.power(sub_limbs(M::Q, [2, 0, 0, 0]).0)
    }

    /// Inverts all numbers with one inversion (Montgomery's trick, 1987). Zeros stay zero and do not affect the others.
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
        Self::new(M::M.add(self.0, other.0))
    }
}

impl<M: Modulus> Sub for Residue<M> {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self::new(M::M.sub(self.0, other.0))
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
        Self::new(M::reduce(mul_limbs(self.0, other.0)))
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

/// Parses 64 hexadecimal digits to four 64-bit limbs, the lowest first. For constants.
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
