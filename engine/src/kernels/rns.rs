//! Shared parts of kernels between RNS residues and integers: their basis, and weighted sums of digits modulo a
//! modulus.

use crate::job::Op;
use crate::kernels::crt::{Divisor, store_type};
use crate::kernels::spread::spread;
use crate::source::of_engine;
use ringforge_math::error::{Error, Result};
use ringforge_math::modulus::Modulus;
use ringforge_math::poly::PolyType;
use ringforge_runtime::kernel::{Built, Kernel, Source};
use ringforge_runtime::limits::Limits;

/// Maximum number of moduli of a basis, and of digits of a sum; fixed-point estimates rely on this limit.
pub(super) const MAX_MODULI: usize = 64;

/// Maximum shared memory in bytes for a block of more than one warp.
const SHARED_BYTES: usize = 48 << 10;

/// The moduli of a ring whose limbs represent integers (an RNS basis).
///
/// # Errors
/// [`Error::Unsupported`] if a modulus repeats, for more than 64 moduli, or for a modulus of more than 64 bits.
pub(super) fn basis(op: Op, poly: &PolyType) -> Result<Vec<u64>> {
    if poly.repeats_moduli() {
        return Err(Error::unsupported(op, poly, "a modulus is repeated, so the limbs do not represent integers"));
    }
    let moduli: Option<Vec<u64>> = poly.basis().iter().map(Modulus::value_u64).collect();
    moduli
        .filter(|moduli| moduli.len() <= MAX_MODULI)
        .ok_or_else(|| Error::unsupported(op, poly, "it needs a basis of at most 64 moduli of at most 64 bits"))
}

/// Returns the byte stride of a view, or `None` unless its start and stride are multiples of a stored residue.
pub(super) fn stride(poly: &PolyType, first: usize, stride: usize) -> Option<usize> {
    (first | stride).is_multiple_of(poly.width().bytes()).then_some(stride)
}

/// Work and shared memory of a thread block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    /// Neighbouring coefficients per thread.
    pub(super) lanes: usize,
    /// Threads that share the work on the same coefficients.
    pub(super) parts: usize,
    /// 64-bit words of shared memory per thread.
    pub(super) words: usize,
    /// Further 64-bit words of shared memory for the whole block.
    pub(super) more: usize,
}

/// Builds a kernel on coefficients of a ring: the generated `struct Rns` with the member lines `lines`, and the launch.
/// The numbers of moduli and limbs are run-time constants.
///
/// # Errors
/// [`Error::Unsupported`] if the shared memory of a block exceeds the limit of the device.
pub(super) fn build(limits: &Limits, op: Op, poly: &PolyType, lines: &str, block: Block) -> Result<Built> {
    let bytes = |threads: usize| 8 * (block.words * threads + block.more);
    let most = [256, 128, 64].map(|coefficients| if block.words == 0 { 128 } else { coefficients });
    let threads = most.into_iter().find(|&threads| bytes(threads) <= SHARED_BYTES).unwrap_or(32);
    let (cells, mut launch) = spread(poly.degree() / block.lanes * block.parts, threads);
    launch.shared_bytes = bytes(threads) as u32;
    if launch.shared_bytes > limits.block_shared_bytes {
        return Err(Error::unsupported(op, poly, "its digits do not fit in shared memory"));
    }
    let prelude = format!("#pragma once\n#include \"word.cuh\"\nstruct Rns {{\n{lines}}};\n{cells}");
    Ok(Built { prelude, launch })
}

/// The source of a kernel between RNS residues and integers of `limbs` limbs. A block has `words` 64-bit words of
/// shared memory for each thread, and `words` more that all threads share. `stride` is the byte stride between
/// elements.
pub(super) fn integers(
    kernel: &dyn Kernel,
    text: &'static str,
    (limits, op, poly): (&Limits, Op, &PolyType),
    (limbs, words, stride): (usize, usize, usize),
) -> Result<Source> {
    let (store, narrow) = (store_type(poly.width()), limbs == 1);
    let lines = format!("    using Store = {store};\n    static constexpr bool narrow = {narrow};\n");
    let built = build(limits, op, poly, &lines, Block { lanes: 1, parts: 1, words, more: words })?;
    let numbers = [poly.basis().len(), limbs, stride / poly.width().bytes()].map(|number| number as u64).to_vec();
    Ok(of_engine(kernel, text, built, numbers))
}

/// Constants for Σ digit·weight modulo p, for at most [`MAX_MODULI`] digits of up to 64 bits: CPU reference of
/// `weighted_sum`.
#[derive(Debug, Clone)]
pub(super) struct Weighted {
    pub(super) divisor: Divisor,
    /// The weight of each digit, below p.
    pub(super) weights: Vec<u64>,
}

impl Weighted {
    /// Σ digit·weight modulo p.
    pub(super) fn sum(&self, digits: &[u64]) -> u64 {
        if self.weights.is_empty() {
            return 0;
        }
        let (mut low, mut above) = (0u128, 0u128);
        for (digit, weight) in digits.iter().zip(&self.weights) {
            let (sum, over) = low.overflowing_add(u128::from(*digit) * u128::from(*weight));
            low = sum;
            above += u128::from(over);
        }
        // the sum is below 64·2^64·p, so its part above 2^64 is below 64·p
        let high = self.divisor.rem(above << 64 | low >> 64);
        self.divisor.rem(u128::from(high) << 64 | low & u128::from(u64::MAX))
    }

    /// The words that `weighted_sum` reads, with `further` between the divisor and the weights.
    pub(super) fn words(&self, further: &[u64]) -> Vec<u64> {
        let Divisor { d, reciprocal, shift } = self.divisor;
        [&[d, reciprocal, u64::from(shift)], further, &self.weights].concat()
    }
}
