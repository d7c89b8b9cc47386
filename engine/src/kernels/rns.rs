//! What kernels between RNS rows and integers share: their basis, and sums of digits times weights modulo a modulus.

use crate::job::Op;
use crate::kernels::crt::{Divisor, store_type};
use crate::kernels::spread::spread;
use crate::source::of_engine;
use ringforge_math::error::{Error, Result};
use ringforge_math::modulus::Modulus;
use ringforge_math::poly::PolyType;
use ringforge_runtime::kernel::{Built, Kernel, Source};
use ringforge_runtime::limits::Limits;

/// The most moduli of a basis, and the most digits of a sum; fixed-point estimates count on it.
pub(super) const MAX_MODULI: usize = 64;

/// Bytes of shared memory that a block takes at most, where it has more than a warp.
const SHARED_BYTES: usize = 48 << 10;

/// The moduli of a ring whose rows stand for integers.
///
/// # Errors
/// [`Error::Unsupported`] where a modulus comes again, for more than 64 moduli or one of more than 64 bits.
pub(super) fn basis(op: Op, poly: &PolyType) -> Result<Vec<u64>> {
    if poly.repeats_moduli() {
        return Err(Error::unsupported(op, poly, "a modulus comes again, so its rows stand for no integers"));
    }
    let moduli: Option<Vec<u64>> = poly.basis().iter().map(Modulus::value_u64).collect();
    moduli
        .filter(|moduli| moduli.len() <= MAX_MODULI)
        .ok_or_else(|| Error::unsupported(op, poly, "it is for up to 64 moduli of up to 64 bits"))
}

/// The product of words, as limbs, least significant first and none of them zero at the end.
pub(super) fn product(factors: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut product = vec![1];
    for factor in factors {
        let mut carry = 0;
        for limb in &mut product {
            let sum = u128::from(*limb) * u128::from(factor) + carry;
            *limb = sum as u64;
            carry = sum >> 64;
        }
        if carry > 0 {
            product.push(carry as u64);
        }
    }
    product
}

/// The distance of a view, where it is of whole residues of the ring.
pub(super) fn distance(poly: &PolyType, first: usize, distance: usize) -> Option<usize> {
    (first | distance).is_multiple_of(poly.width().bytes()).then_some(distance)
}

/// What a block has to do and to keep.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    /// Neighbouring coefficients of a thread.
    pub(super) lanes: usize,
    /// Threads that share the work on them.
    pub(super) parts: usize,
    /// Words of 64 bits in shared memory for each thread.
    pub(super) words: usize,
    /// Such words for all together.
    pub(super) more: usize,
}

/// A kernel on coefficients of a ring made concrete: `struct Rns` with these lines. How many moduli and
/// limbs there are is data of the launch.
///
/// # Errors
/// [`Error::Unsupported`] where the words do not fit shared memory.
pub(super) fn build(limits: &Limits, op: Op, poly: &PolyType, lines: &str, block: Block) -> Result<Built> {
    let bytes = |threads: usize| 8 * (block.words * threads + block.more);
    let most = [256, 128, 64].map(|coefficients| coefficients / block.lanes);
    let threads = most.into_iter().find(|&threads| bytes(threads) <= SHARED_BYTES).unwrap_or(32);
    let (cells, mut launch) = spread(poly.degree() / block.lanes * block.parts, threads);
    launch.shared_bytes = bytes(threads) as u32;
    if launch.shared_bytes > limits.block_shared_bytes {
        return Err(Error::unsupported(op, poly, "its digits do not fit shared memory"));
    }
    let prelude = format!("#pragma once\n#include \"word.cuh\"\nstruct Rns {{\n{lines}}};\n{cells}");
    Ok(Built { prelude, launch })
}

/// The source of a kernel between rows of a ring and integers of so many limbs, which keeps `words` words for each thread and
/// as many for all. Elements lie `distance` bytes apart.
pub(super) fn integers(
    kernel: &dyn Kernel,
    text: &'static str,
    (limits, op, poly): (&Limits, Op, &PolyType),
    (limbs, words, distance): (usize, usize, usize),
) -> Result<Source> {
    let (store, narrow) = (store_type(poly.width()), limbs == 1);
    let lines = format!("    using Store = {store};\n    static constexpr bool narrow = {narrow};\n");
    let built = build(limits, op, poly, &lines, Block { lanes: 1, parts: 1, words, more: words })?;
    let numbers = [poly.basis().len(), limbs, distance / poly.width().bytes()].map(|number| number as u64).to_vec();
    Ok(of_engine(kernel, text, built, numbers))
}

/// Integers Σ digit·weight modulo p, for at most [`MAX_MODULI`] digits of up to 64 bits: the twin of `weighted_sum`.
#[derive(Debug, Clone)]
pub(super) struct Weighted {
    pub(super) divisor: Divisor,
    /// Of each digit, below p.
    pub(super) weights: Vec<u64>,
}

impl Weighted {
    /// The sum modulo p.
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
        // the sum is below 64·2^64·p, so this is below 64·p
        let high = self.divisor.rem(above << 64 | low >> 64);
        self.divisor.rem(u128::from(high) << 64 | low & u128::from(u64::MAX))
    }

    /// What `weighted_sum` reads, with these words between the divisor and the weights.
    pub(super) fn words(&self, further: &[u64]) -> Vec<u64> {
        let Divisor { d, reciprocal, shift } = self.divisor;
        [&[d, reciprocal, u64::from(shift)], further, &self.weights].concat()
    }
}
