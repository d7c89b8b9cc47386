//! The trait `Field`, which is the modular arithmetic that transforms need, and one file per implementation. Residues
//! and twiddle factors have the same representation as in the CUDA headers `mod*.cuh`.

mod goldilocks;
mod mod16;
mod mod256;
mod mod31;
mod mod32;
mod mod64;
mod mod64_full;
mod word32;

use bytemuck::Pod;

use crate::simd::Vectors;
use crate::{Limbs, Modulus};

pub(crate) use goldilocks::Goldilocks;
pub(crate) use mod16::{Mod14, Mod16};
pub(crate) use mod31::Mod31;
pub(crate) use mod32::Mod32;
pub(crate) use mod64::Mod64;
pub(crate) use mod64_full::Mod64Full;
pub(crate) use mod256::Mod256;

/// Arithmetic modulo one q.
///
/// Residues have three ranges: *canonical* is below q, *relaxed* below 2q, and *loose* below 4q. Strict arithmetics
/// keep every residue below q, even where a function allows more. Reducing a sum of products divides it by a constant
/// F, such as 2^32 for Montgomery reduction of 32-bit words.
///
/// Words come from the caller's memory unchecked. A word out of range makes the result meaningless but has no other
/// effect, because sums wrap. Callers that accept any word apply [`Field::reduce_any`] first.
pub(crate) trait Field: Copy + Send + Sync + 'static {
    /// A residue in a register.
    type Word: Store<Self::Word>;
    /// A precomputed multiplier, such as a twiddle factor. It has the same bytes as on the device.
    type Twiddle: Pod + Send + Sync;
    /// An accumulator for a sum of products.
    type Wide: Copy;

    fn new(q: &Limbs) -> Self;
    /// Precomputes the multiplier for a word w < q.
    fn twiddle(&self, w: Self::Word) -> Self::Twiddle;

    /// Returns x·w. in: any word x; with 256-bit words, x < q   out: below 2q
    fn mul(&self, x: Self::Word, w: &Self::Twiddle) -> Self::Word;
    /// Returns x mod q, below q. in: any word x, and `one`, the multiplier 1
    #[inline(always)]
    fn reduce_any(&self, x: Self::Word, one: &Self::Twiddle) -> Self::Word {
        self.canonical(self.mul(x, one))
    }
    /// Returns a + b. in: below 2q   out: below 4q (strict arithmetics: below q)
    fn add(&self, a: Self::Word, b: Self::Word) -> Self::Word;
    /// Returns a − b modulo q. in: below 2q   out: below 4q (strict arithmetics: below q)
    fn sub(&self, a: Self::Word, b: Self::Word) -> Self::Word;
    /// Reduces x once. in: below 4q   out: below 2q (in strict arithmetics, returns x unchanged)
    #[inline(always)]
    fn relax(&self, x: Self::Word) -> Self::Word {
        x
    }
    /// Reduces x completely. in: below 4q   out: below q (in strict arithmetics, returns x unchanged)
    #[inline(always)]
    fn canonical(&self, x: Self::Word) -> Self::Word {
        x
    }

    fn wide_zero(&self) -> Self::Wide;
    /// Returns acc + a·b. in: a and b below q; `acc` is a sum of at most seven products
    fn wide_mad(&self, acc: Self::Wide, a: Self::Word, b: Self::Word) -> Self::Wide;
    /// Returns acc / F mod q, with the constant F of [`Field`]. in: a sum of at most eight products   out: below 2q
    fn wide_reduce(&self, acc: Self::Wide) -> Self::Word;

    /// Returns the fastest SIMD vectors for radix-2 butterflies that this CPU has and that support q, or `None` if
    /// there are none.
    fn vectors(&self) -> Option<Vectors> {
        None
    }
}

/// The storage type of a word in memory.
pub(crate) trait Store<W>: Pod + Send + Sync {
    fn load(self) -> W;
    /// Converts a word below q to its storage type.
    fn store(word: W) -> Self;
}

macro_rules! stores {
    ($($store:ty => $word:ty),*) => {$(
        impl Store<$word> for $store {
            #[inline(always)]
            fn load(self) -> $word {
                self.into()
            }
            #[inline(always)]
            #[allow(clippy::cast_possible_truncation)] // a canonical word is below a q that fits its storage
            fn store(word: $word) -> Self {
                word as $store
            }
        }
    )*};
}
stores!(u16 => u32, u32 => u32, u32 => u64, u64 => u64, [u64; 4] => [u64; 4]);

/// Reads a word from its limbs, least significant first.
pub(crate) fn word<W: Pod>(limbs: &Limbs) -> W {
    bytemuck::pod_read_unaligned(&bytemuck::cast_slice(limbs)[..size_of::<W>()])
}

/// Returns the limbs of a word, least significant first; missing upper limbs are 0.
pub(crate) fn limbs<W: Pod>(word: &W) -> Limbs {
    let mut limbs = [0; 4];
    bytemuck::cast_slice_mut(&mut limbs)[..size_of::<W>()].copy_from_slice(bytemuck::bytes_of(word));
    limbs
}

/// Returns the multiplier 1.
pub(crate) fn one<F: Field>(field: &F, modulus: &Modulus) -> F::Twiddle {
    field.twiddle(word(&modulus.one))
}

/// Returns x^e mod q, by square-and-multiply. `one` is the word of the residue 1. in, out: below q
pub(crate) fn power<F: Field>(field: &F, one: F::Word, x: F::Word, e: u64) -> F::Word {
    let factor = field.twiddle(x);
    (0..64 - e.leading_zeros()).rev().fold(one, |power, bit| {
        // the multiplier made from `power` serves only this squaring
        let square = field.canonical(field.mul(power, &field.twiddle(power)));
        if e >> bit & 1 == 1 { field.canonical(field.mul(square, &factor)) } else { square }
    })
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;

    use super::*;
    use crate::testing::{from, modulus, of};

    /// Exponents of the powers of two that define an arithmetic's representation: a reduced product is divided by
    /// 2^`product`, and residues are stored as x·2^`word`.
    struct Powers {
        product: u32,
        word: u32,
    }

    /// Compares the arithmetic functions of [`Field`] with arbitrary-precision integers, at the edges of their input
    /// ranges.
    fn edges<F: Field, S: Store<F::Word>>(q: &BigUint, powers: &Powers) {
        let zero = BigUint::ZERO;
        let unit = BigUint::from(1u32);
        let field = F::new(&of(q));
        let form = |x: &BigUint| word::<F::Word>(&of(&((x << powers.word) % q)));
        let canonical = |word: F::Word| S::store(field.canonical(word)).load();
        let check =
            |found: F::Word, x: BigUint| assert_eq!(limbs(&canonical(found)), limbs(&form(&x)), "{x} modulo {q}");
        let one = one(&field, &modulus(q, powers.word));
        let largest = (&unit << (8 * size_of::<S>())) - 1u32;
        let multiples = [q.clone(), q * 2u32].into_iter().flat_map(|x| [&x - 1u32, x.clone(), x + 1u32]);
        for x in multiples.chain([zero.clone(), largest.clone(), &largest >> 1]).filter(|x| *x <= largest) {
            let stored: S = word(&of(&x));
            let reduced = S::store(field.reduce_any(stored.load(), &one));
            assert_eq!(from(&limbs(&reduced)), x % q, "modulo {q}");
        }
        let values = [zero.clone(), &unit % q, (q >> 1) % q, q - 1u32];
        // `half` is 2^-1 modulo an odd q
        let half: BigUint = (q + 1u32) >> 1;
        let factor_inverse = half.modpow(&powers.product.into(), q) * (&unit << powers.word) % q;
        for a in &values {
            let x = form(a);
            check(x, a.clone());
            for b in &values {
                let y = form(b);
                // the sum 2·(a + b); in lazy arithmetics, it can be as large as 4q − 4
                let loose = field.add(field.relax(field.add(x, y)), field.relax(field.add(x, y)));
                let sum = (a + b) * 2u32;
                check(loose, sum.clone());
                check(field.relax(loose), sum.clone());
                check(field.sub(x, field.relax(loose)), a + q * 4u32 - &sum);
                check(field.mul(loose, &field.twiddle(y)), &sum * b);
                let mut wide = field.wide_zero();
                for count in 1..=8u32 {
                    wide = field.wide_mad(wide, x, y);
                    check(field.wide_reduce(wide), a * b * &factor_inverse * count);
                }
            }
            check(power(&field, form(&unit), x, 11), a.pow(11));
        }
    }

    #[test]
    fn every_arithmetic_is_right_at_its_edges() {
        let below = |bits: u32, less: u64| (BigUint::from(1u32) << bits) - 1u32 - less;
        let plain = |product| Powers { product, word: 0 };
        for q in [2u64, 3, 17, 3329, 16383].map(BigUint::from) {
            edges::<Mod14, u16>(&q, &plain(0));
        }
        for q in [2u64, 3, 16383, 16385, 65535, 65521].map(BigUint::from) {
            edges::<Mod16, u16>(&q, &plain(0));
        }
        // moduli: the largest odd numbers with this many bits, prime or not
        for bits in [17, 30] {
            edges::<Mod32, u32>(&below(bits, 0), &plain(32));
        }
        for bits in [17, 30, 31] {
            edges::<Mod31, u32>(&below(bits, 0), &plain(32));
        }
        edges::<Mod64, u32>(&below(32, 0), &plain(64));
        for bits in [33, 49, 50, 61, 62] {
            edges::<Mod64, u64>(&below(bits, 0), &plain(64));
        }
        edges::<Goldilocks, u64>(&0xffff_ffff_0000_0001u64.into(), &plain(0));
        for bits in [33, 62, 63, 64] {
            edges::<Mod64Full, u64>(&below(bits, 0), &plain(64));
        }
        let montgomery = Powers { product: 256, word: 256 };
        for q in [below(65, 0), below(254, 0), below(255, 1 << 40), below(256, 188), below(256, 0)] {
            edges::<Mod256<false>, Limbs>(&q, &montgomery);
        }
        let spare = below(255, 0) - (BigUint::from(1u32) << 192);
        for q in [below(65, 0), below(254, 0), spare] {
            edges::<Mod256<true>, Limbs>(&q, &montgomery);
        }
    }
}
