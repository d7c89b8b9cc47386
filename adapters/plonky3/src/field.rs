//! Fields whose elements Plonky3 and the engine store in the same format.

use bytemuck::Pod;
use p3_baby_bear::BabyBear;
use p3_field::{PrimeField64, TwoAdicField};
use p3_goldilocks::Goldilocks;
use p3_koala_bear::KoalaBear;
use ringforge::{Form, Modulus, PolyType, Result, Ring};

/// A prime field whose elements the engine reads and writes as Plonky3 stores them: BabyBear, KoalaBear and
/// Goldilocks.
///
/// # Safety
/// `Self` must be `repr(transparent)` over [`Word`](EngineField::Word), and every word must be a sound value of `Self`.
/// A word below the modulus must be the same element in Plonky3 and in the form of the type that `stored` returns. This
/// type must accept every word that Plonky3 may store for an element.
#[allow(unsafe_code)]
pub unsafe trait EngineField: PrimeField64 + TwoAdicField + Ord {
    /// The word that stores an element.
    type Word: Pod;

    /// True if the engine is faster than Plonky3's code on a CPU, as measured by `benches/cpu.rs`. Plonky3 uses the
    /// vector instructions that the program is compiled for; the engine detects them at run time.
    const FASTER_ON_CPU: bool;

    /// Returns the type of the ring's elements with residues stored as Plonky3 stores elements of this field.
    ///
    /// # Errors
    /// The errors of [`PolyType::with_form`].
    fn stored(ring: Ring) -> Result<PolyType>;
}

/// True on x86-64 if Plonky3's code is compiled without AVX2 and thus without vectors of 31-bit elements. The engine
/// detects AVX2 at run time.
const WITHOUT_VECTORS: bool = cfg!(all(target_arch = "x86_64", not(target_feature = "avx2")));

// SAFETY: p3-monty-31's `MontyField31` is `repr(transparent)` over a `u32` below the modulus, in Montgomery form with
// R = 2^32.
#[allow(unsafe_code)]
unsafe impl EngineField for BabyBear {
    type Word = u32;
    const FASTER_ON_CPU: bool = WITHOUT_VECTORS;

    fn stored(ring: Ring) -> Result<PolyType> {
        PolyType::from(ring).with_form(Form::Montgomery)
    }
}

// SAFETY: as for BabyBear; both are instances of the generic type `MontyField31`.
#[allow(unsafe_code)]
unsafe impl EngineField for KoalaBear {
    type Word = u32;
    const FASTER_ON_CPU: bool = WITHOUT_VECTORS;

    fn stored(ring: Ring) -> Result<PolyType> {
        PolyType::from(ring).with_form(Form::Montgomery)
    }
}

// SAFETY: p3-goldilocks' `Goldilocks` is `repr(transparent)` over a `u64`, and every `u64` represents its residue
// modulo q.
#[allow(unsafe_code)]
unsafe impl EngineField for Goldilocks {
    type Word = u64;
    const FASTER_ON_CPU: bool = false;

    fn stored(ring: Ring) -> Result<PolyType> {
        Ok(PolyType::from(ring).accepting_any_word())
    }
}

/// The ring F[x]/(x^n − g^n) with n = 2^bits. Evaluations are at g·w^i, where w is Plonky3's n-th root of unity.
/// `bits` is at most the field's two-adicity.
pub(crate) fn coset<F: EngineField>(bits: usize, g: F) -> Result<PolyType> {
    let (n, q) = (1 << bits, Modulus::new(F::ORDER_U64)?);
    let w = F::two_adic_generator(bits).as_canonical_u64();
    let ring =
        if g == F::ONE { Ring::cyclic(n, q)?.with_root(w)? } else { Ring::coset(n, q, g.as_canonical_u64(), w)? };
    F::stored(ring)
}

/// 1 / q mod 2^32 for the field's modulus q.
pub(crate) fn inverse_of_modulus<F: EngineField>() -> u32 {
    let q = F::ORDER_U64 as u32;
    // Newton's iteration: q itself has 3 correct bits, and each step doubles their number
    (0..4).fold(q, |x, _| x.wrapping_mul(2u32.wrapping_sub(x.wrapping_mul(q))))
}

/// Views elements as the words that store them.
#[allow(unsafe_code)]
pub(crate) fn words<F: EngineField>(elements: &[F]) -> &[F::Word] {
    // SAFETY: `F` is `repr(transparent)` over its word.
    unsafe { core::slice::from_raw_parts(elements.as_ptr().cast(), elements.len()) }
}

/// Views elements as words, which the engine overwrites with words below the modulus.
#[allow(unsafe_code)]
pub(crate) fn words_mut<F: EngineField>(elements: &mut [F]) -> &mut [F::Word] {
    // SAFETY: `F` is `repr(transparent)` over its word, and every word is a sound value of `F`.
    unsafe { core::slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), elements.len()) }
}

/// Views words as elements. For BabyBear and KoalaBear, words that are not below the modulus are sound but meaningless.
#[allow(unsafe_code)]
pub(crate) fn elements<F: EngineField>(words: &[F::Word]) -> &[F] {
    // SAFETY: `F` is `repr(transparent)` over its word, and every word is a sound value of `F`.
    unsafe { core::slice::from_raw_parts(words.as_ptr().cast(), words.len()) }
}

/// Views words as elements, so that elements can be written to them.
#[allow(unsafe_code)]
pub(crate) fn elements_mut<F: EngineField>(words: &mut [F::Word]) -> &mut [F] {
    // SAFETY: `F` is `repr(transparent)` over its word, and every word is a sound value of `F`.
    unsafe { core::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), words.len()) }
}
