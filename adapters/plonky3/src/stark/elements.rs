//! Elements of a field and of its extension as the device stores them.

use core::ops::Range;

use p3_field::ExtensionField;
use ringforge::{Buffer, Result, Stream};

use crate::field::{EngineField, elements, words};

/// The word that stores an element.
pub(super) fn word<F: EngineField>(x: F) -> u64 {
    let x = canonical(x);
    let words = words(core::slice::from_ref(&x));
    bytemuck::bytes_of(&words[0]).iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// The element of the extension with these coefficients.
pub(super) fn ext<F: EngineField, EF: ExtensionField<F>>(coefficients: &[F]) -> EF {
    EF::from_basis_coefficients_slice(coefficients).unwrap_or_default()
}

pub(super) fn exts<F: EngineField, EF: ExtensionField<F>>(words: &[F::Word]) -> Vec<EF> {
    elements::<F>(words).chunks_exact(EF::DIMENSION).map(ext).collect()
}

/// The coefficients of elements, one after another.
pub(super) fn flat<F: EngineField, EF: ExtensionField<F>>(elements: &[EF]) -> Vec<F> {
    elements.iter().flat_map(|x| x.as_basis_coefficients_slice()).copied().collect()
}

/// Copies elements to the device, as words below the modulus. Plonky3 may store others for Goldilocks.
pub(super) fn upload<F: EngineField>(stream: &Stream, elements: &[F]) -> Result<Buffer> {
    let elements: Vec<F> = elements.iter().copied().map(canonical).collect();
    stream.upload(words(&elements))
}

/// Small inputs of launches that are copied to the device at once, because each copy takes a while.
pub(super) struct Pack<F>(Vec<F>);

impl<F: EngineField> Pack<F> {
    pub(super) fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds elements. Returns their bytes.
    pub(super) fn add(&mut self, elements: &[F]) -> Range<usize> {
        // slices of buffers begin at multiples of 16 bytes
        self.0.resize(self.0.len().next_multiple_of(16 / size_of::<F>()), F::ZERO);
        let begin = self.0.len();
        self.0.extend_from_slice(elements);
        begin * size_of::<F>()..self.0.len() * size_of::<F>()
    }

    pub(super) fn upload(self, stream: &Stream) -> Result<Buffer> {
        upload(stream, &self.0)
    }
}

/// The same element, stored as a word below the modulus.
pub(super) fn canonical<F: EngineField>(x: F) -> F {
    F::from_u64(x.as_canonical_u64())
}

/// Writes the coefficients of elements, as words below the modulus.
pub(super) fn put<F: EngineField, EF: ExtensionField<F>>(to: &mut [F], from: Vec<EF>) {
    for (to, from) in to.chunks_exact_mut(EF::DIMENSION).zip(from) {
        to.iter_mut().zip(from.as_basis_coefficients_slice()).for_each(|(to, x)| *to = canonical(*x));
    }
}

/// The number whose lowest bits are those of x in reverse.
pub(super) fn reversed(x: usize, bits: usize) -> usize {
    if bits == 0 { 0 } else { x.reverse_bits() >> (usize::BITS as usize - bits) }
}
