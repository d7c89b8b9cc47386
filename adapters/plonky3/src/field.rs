//! Fields whose elements Plonky3 keeps as the engine does.

use bytemuck::Pod;
use p3_baby_bear::BabyBear;
use p3_field::{PrimeField64, TwoAdicField};
use p3_goldilocks::Goldilocks;
use p3_koala_bear::KoalaBear;
use ringforge::{Form, Modulus, PolyType, Result, Ring};

/// A prime field whose elements are words of memory that the engine takes as they are: BabyBear, KoalaBear and Goldilocks.
///
/// # Safety
/// `Self` is `repr(transparent)` over [`Word`](EngineField::Word), and any word is sound to have as one. It is an element where
/// it is below the modulus: in the form of the ring that `stored` gives, which accepts all words that elements may be.
#[allow(unsafe_code)]
pub unsafe trait EngineField: PrimeField64 + TwoAdicField + Ord {
    /// What an element is in memory.
    type Word: Pod;

    /// Whether the engine is done sooner than Plonky3's code on a CPU, as `examples/cpu.rs` measures them. The vectors of
    /// Plonky3's code are those that the program is compiled for, the engine's those that it finds.
    const FASTER_ON_CPU: bool;

    /// Elements of a ring with residues stored as those of the field are.
    ///
    /// # Errors
    /// As [`PolyType::with_form`].
    fn stored(ring: Ring) -> Result<PolyType>;
}

/// Whether Plonky3's code is compiled without vectors of 31-bit elements, on a CPU for which the engine has some.
const WITHOUT_VECTORS: bool = cfg!(all(target_arch = "x86_64", not(target_feature = "avx2")));

// SAFETY: p3-monty-31's `MontyField31` is `repr(transparent)` over a `u32` below the modulus, in Montgomery form with R = 2^32.
#[allow(unsafe_code)]
unsafe impl EngineField for BabyBear {
    type Word = u32;
    const FASTER_ON_CPU: bool = WITHOUT_VECTORS;

    fn stored(ring: Ring) -> Result<PolyType> {
        PolyType::from(ring).with_form(Form::Montgomery)
    }
}

// SAFETY: as BabyBear.
#[allow(unsafe_code)]
unsafe impl EngineField for KoalaBear {
    type Word = u32;
    const FASTER_ON_CPU: bool = WITHOUT_VECTORS;

    fn stored(ring: Ring) -> Result<PolyType> {
        PolyType::from(ring).with_form(Form::Montgomery)
    }
}

// SAFETY: p3-goldilocks' `Goldilocks` is `repr(transparent)` over a `u64`, any of which stands for its residue.
#[allow(unsafe_code)]
unsafe impl EngineField for Goldilocks {
    type Word = u64;
    const FASTER_ON_CPU: bool = false;

    fn stored(ring: Ring) -> Result<PolyType> {
        Ok(PolyType::from(ring).accepting_any_word())
    }
}

/// F[x]/(x^n − g^n), n = 2^bits: values at g·w^i, w Plonky3's root of order n. At most the field's two-adicity in bits.
pub(crate) fn coset<F: EngineField>(bits: usize, g: F) -> Result<PolyType> {
    let (n, q) = (1 << bits, Modulus::new(F::ORDER_U64)?);
    let w = F::two_adic_generator(bits).as_canonical_u64();
    let ring =
        if g == F::ONE { Ring::cyclic(n, q)?.with_root(w)? } else { Ring::coset(n, q, g.as_canonical_u64(), w)? };
    F::stored(ring)
}

/// The words of elements.
#[allow(unsafe_code)]
pub(crate) fn words<F: EngineField>(elements: &[F]) -> &[F::Word] {
    // SAFETY: an element is a word in memory.
    unsafe { core::slice::from_raw_parts(elements.as_ptr().cast(), elements.len()) }
}

/// The words of elements, to be overwritten by what the engine leaves: words below the modulus.
#[allow(unsafe_code)]
pub(crate) fn words_mut<F: EngineField>(elements: &mut [F]) -> &mut [F::Word] {
    // SAFETY: an element is a word in memory.
    unsafe { core::slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), elements.len()) }
}

/// The elements that words stand for. Those that are not below the modulus mean nothing.
#[allow(unsafe_code)]
pub(crate) fn elements<F: EngineField>(words: &[F::Word]) -> &[F] {
    // SAFETY: any word is sound to have as an element.
    unsafe { core::slice::from_raw_parts(words.as_ptr().cast(), words.len()) }
}

/// The same, to be overwritten by elements.
#[allow(unsafe_code)]
pub(crate) fn elements_mut<F: EngineField>(words: &mut [F::Word]) -> &mut [F] {
    // SAFETY: any word is sound to have as an element, and an element is a word.
    unsafe { core::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), words.len()) }
}
