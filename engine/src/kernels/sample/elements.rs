//! Small integers modulo all moduli of a ring: the tables and generated source for `small.cuh`, and the CPU reference.

use std::sync::Arc;

use crypto_bigint::{NonZero, U256, U512};
use ringforge_cpu::Limbs;

use crate::kernels::crt::{Divisor, store_type};
use crate::kernels::divisor256::Divisor256;
use crate::kernels::rns;
use crate::kernels::spread::spread;
use crate::layout::lanes;
use ringforge_math::modulus::{Modulus, Width, limbs, low_u64};
use ringforge_math::poly::PolyType;
use ringforge_runtime::kernel::{Built, Launch, Table};

/// Threads per block, which is also the number of coefficients per block.
pub(super) const THREADS: usize = 256;

/// Number of consecutive coefficients in a cell, the unit of work that is assigned to thread blocks. Each item begins
/// with a new cell.
pub(super) const CELL: usize = 4;

/// Bias that the CUDA source adds to small integers to make them nonnegative; it exceeds all magnitudes.
const BIAS: u32 = 1 << 14;

/// Elements of a ring whose coefficients are small integers.
#[derive(Debug, Clone)]
pub(super) struct Elements {
    poly: PolyType,
    multiples: Vec<Multiple>,
    /// Residues that a GPU thread stores at once.
    each: usize,
}

/// A modulus q, and R mod q, where R is the Montgomery factor of the ring's form.
#[derive(Debug, Clone, Copy)]
enum Multiple {
    Word(Divisor, u64),
    Wide(Divisor256, Limbs),
}

impl Elements {
    pub(super) fn new(poly: &PolyType) -> Self {
        let multiple = |q: &Modulus| match q.value_u64().filter(|_| poly.width() != Width::W256) {
            Some(word) => Multiple::Word(Divisor::new(word), low_u64(&poly.radix(q))),
            None => Multiple::Wide(Divisor256::new(q), limbs(&poly.radix(q))),
        };
        let multiples = poly.basis().iter().map(multiple).collect();
        Self { poly: poly.clone(), multiples, each: lanes(poly.degree() | CELL, poly) }
    }

    pub(super) fn poly(&self) -> &PolyType {
        &self.poly
    }

    /// Adapts these elements to a view with this byte offset and stride. `None` unless both are multiples of a stored
    /// residue.
    pub(super) fn apart(&self, first: usize, stride: usize) -> Option<Self> {
        rns::stride(&self.poly, first, stride)?;
        let residues = (first | stride) / self.poly.width().bytes();
        Some(Self { each: lanes(self.poly.degree() | residues | CELL, &self.poly), ..self.clone() })
    }

    /// The table of constants: those of all moduli, then the words `further`.
    pub(super) fn table(&self, further: &[u32]) -> Table {
        let moduli = self.poly.basis().iter().flat_map(|q| self.constants(q));
        let words: Vec<u32> = moduli.chain(further.iter().copied()).collect();
        Table::Bytes(Arc::from(bytemuck::cast_slice::<u32, u8>(&words)))
    }

    /// Number of 32-bit words of a residue in the CUDA source.
    fn words(&self) -> usize {
        self.poly.width().bytes().div_ceil(size_of::<u32>())
    }

    /// The words that `SmallMultiples` in `small.cuh` reads for a modulus.
    fn constants(&self, q: &Modulus) -> Vec<u32> {
        let radix = self.poly.radix(q);
        let start = q.neg(&q.mul(&radix, &q.reduce(&U256::from(BIAS))));
        let fraction = |x: &U256| {
            let shifted: U512 = x.resize::<{ U512::LIMBS }>().shl_vartime(32);
            let q: U512 = q.value().resize();
            NonZero::new(q).into_option().map_or(0, |q| shifted.div_rem_vartime(&q).0.as_words()[0] as u32)
        };
        let halves = |x: &U256| limbs(x).into_iter().flat_map(|limb| [limb as u32, (limb >> 32) as u32]);
        let numbers = [radix, start, U256::ZERO.wrapping_sub(&q.value())];
        let numbers = numbers.iter().flat_map(|x| halves(x).take(self.words()));
        let mut words: Vec<u32> = [fraction(&radix), fraction(&start)].into_iter().chain(numbers).collect();
        words.resize(words.len().next_multiple_of(4), 0);
        words
    }

    /// The generated source and the launch. `lines` are added to the generated struct `Sample`, and each thread has
    /// `shared_bytes` bytes of shared memory.
    pub(super) fn built(&self, lines: &str, shared_bytes: usize) -> Built {
        let Self { poly, each, .. } = self;
        let (cells, launch) = spread(poly.degree().div_ceil(CELL), THREADS / CELL);
        let store = if poly.width() == Width::W256 { "rf::u256" } else { store_type(poly.width()) };
        let prelude = format!(
            "#pragma once\n\
             #include \"small.cuh\"\n\
             struct Sample {{\n\
             \x20   using Store = {store};\n\
             \x20   static constexpr rf::u32 n = {}, limbs = {}, each = {each}, threads = {THREADS};\n\
             {lines}}};\n{cells}",
            poly.degree(),
            self.words(),
        );
        let shared_bytes = (THREADS * shared_bytes) as u32;
        Built { prelude, launch: Launch { threads: THREADS as u32, shared_bytes, ..launch } }
    }

    /// Stores coefficient i of an element modulo every modulus: the magnitude, or its negative if `negative` is 1.
    pub(super) fn put(&self, i: usize, magnitude: u64, negative: u64, out: &mut [u8]) {
        let (n, bytes) = (self.poly.degree(), self.poly.width().bytes());
        for (multiple, row) in self.multiples.iter().zip(out.chunks_exact_mut(n * bytes)) {
            multiple.put(magnitude, negative, &mut row[i * bytes..][..bytes]);
        }
    }
}

impl Multiple {
    /// Stores the residue of the magnitude, or of its negative if `negative` is 1.
    fn put(&self, magnitude: u64, negative: u64, out: &mut [u8]) {
        let (x, negated) = match self {
            Self::Word(divisor, radix) => {
                let x = divisor.mul(magnitude, *radix);
                ([x, 0, 0, 0], [divisor.negate(x), 0, 0, 0])
            }
            Self::Wide(divisor, radix) => {
                let x = divisor.mad(&[0; 4], magnitude, radix);
                (x, divisor.negate(&x))
            }
        };
        let residue: Limbs = core::array::from_fn(|i| x[i] ^ (x[i] ^ negated[i]) & negative.wrapping_neg());
        out.copy_from_slice(&bytemuck::bytes_of(&residue)[..out.len()]);
    }
}
