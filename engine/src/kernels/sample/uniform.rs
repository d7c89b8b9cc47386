//! Sampling of uniform residues.

use core::ops::Range;
use std::sync::Arc;

use crypto_bigint::U256;
use ringforge_cpu::Limbs;

use crate::kernels::crt::{Divisor, store_type};
use crate::kernels::divisor256::{Divisor256, bits_from};
use crate::kernels::rns::{self, Weighted};
use crate::kernels::sample::key;
use crate::kernels::spread::spread;
use crate::source::of_engine;
use ringforge_math::error::Result;
use ringforge_math::modulus::{Modulus, Width, limbs, low_u64};
use ringforge_math::poly::PolyType;
use ringforge_runtime::kernel::{Args, Built, Kernel, Port, Source, Table};
use ringforge_runtime::limits::Limits;
use ringforge_runtime::random::RandomKey;

/// Uniform residues: wide random integers reduced modulo q.
///
/// Random blocks are numbered limb by limb, with `groups` blocks per limb. Each block serves `each` consecutive
/// coefficients.
///
/// Ports: keys (in), constants ([`Uniform::table`]), elements (out).
#[derive(Debug, Clone)]
pub(super) struct Uniform {
    poly: PolyType,
    /// Coefficients per random block.
    each: usize,
    /// Random blocks per limb.
    groups: usize,
    limbs: Vec<Limb>,
    ports: [Port; 3],
}

/// A modulus q, and the weights of the digits of its random integers.
#[derive(Debug, Clone)]
enum Limb {
    /// The weights R·2^(64 i) mod q, where R is the Montgomery factor of the ring's form.
    Word(Weighted),
    /// The modulus, and the weights R·2^(62 i) mod q, where R is the Montgomery factor of the ring's form.
    Wide(Divisor256, Box<[Limbs; 7]>),
}

/// Bits per digit of the random integer for a 256-bit residue.
const DIGIT: u32 = 62;

impl Uniform {
    pub(super) fn new(poly: &PolyType, key: Port) -> Self {
        let limbs: Vec<Limb> = poly.basis().iter().map(|q| Limb::new(poly, q)).collect();
        let out = Port::output(poly.bytes());
        let ports = [key, Port::shared(constants(&limbs).bytes()), if key.secret { out.secret() } else { out }];
        let each = if poly.width() == Width::W256 { 1 } else { 2 };
        Self { poly: poly.clone(), each, groups: poly.degree().div_ceil(each), limbs, ports }
    }

    /// Random blocks per item.
    pub(super) fn blocks(&self) -> u64 {
        self.limbs.len() as u64 * self.groups as u64
    }

    #[inline(never)] // so that the constant-time test finds this function by name in the machine code
    fn row(&self, random_key: &(RandomKey, u64), row: usize, out: &mut [u8]) {
        let (limb, bytes) = (&self.limbs[row], self.poly.width().bytes());
        let (first, each) = (row * self.groups, self.each * bytes);
        key::for_blocks(&self.ports[0], random_key, first..first + self.groups, |number, block| {
            let out = out.chunks_mut(each).nth(number - first).into_iter();
            for (out, j) in out.flat_map(|out| out.chunks_exact_mut(bytes)).zip(0..) {
                out.copy_from_slice(&bytemuck::bytes_of(&limb.uniform(block, j))[..bytes]);
            }
        });
    }
}

/// The table of the constants of all limbs, as `sampling.cuh` reads it.
fn constants(limbs: &[Limb]) -> Table {
    let words: Vec<u64> = limbs.iter().flat_map(Limb::words).collect();
    Table::Bytes(Arc::from(bytemuck::cast_slice::<u64, u8>(&words)))
}

impl Limb {
    fn new(poly: &PolyType, q: &Modulus) -> Self {
        let two = q.reduce(&U256::from(2u32));
        let weight = |bits: u32| q.mul(&poly.radix(q), &q.pow(&two, &U256::from(bits)));
        match q.value_u64().filter(|_| poly.width() != Width::W256) {
            Some(q) => {
                let weights = (0..3).map(|i| low_u64(&weight(64 * i))).collect();
                Self::Word(Weighted { divisor: Divisor::new(q), weights })
            }
            None => {
                let weights = core::array::from_fn(|i| limbs(&weight(DIGIT * i as u32)));
                Self::Wide(Divisor256::new(q), Box::new(weights))
            }
        }
    }

    /// The words that `sampling.cuh` reads for this limb.
    fn words(&self) -> Vec<u64> {
        match self {
            Self::Word(weighted) => weighted.words(&[]),
            Self::Wide(divisor, weights) => {
                let shift = 256 - divisor.bits;
                let shifted = |x: &Limbs| -> Limbs { limbs(&U256::from_words(*x).shl_vartime(shift)) };
                let weights = weights.iter().flat_map(shifted);
                shifted(&divisor.q).into_iter().chain([divisor.ratio, u64::from(shift)]).chain(weights).collect()
            }
        }
    }

    /// The uniform residue from part j of a random block: 192 bits, or 434 bits for residues stored in 256 bits.
    fn uniform(&self, words: &[u64; 8], j: usize) -> Limbs {
        match self {
            Self::Word(weighted) => [weighted.sum(&words[3 * j..][..3]), 0, 0, 0],
            Self::Wide(divisor, weights) => weights.iter().zip(0..).fold([0; 4], |sum, (weight, i)| {
                divisor.mad(&sum, bits_from(words, DIGIT * i) & ((1 << DIGIT) - 1), weight)
            }),
        }
    }
}

impl Kernel for Uniform {
    fn name(&self) -> &'static str {
        "sample_uniform"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, _: &Limits) -> Result<Source> {
        let wide = self.poly.width() == Width::W256;
        let (store, limb) = if wide { ("rf::u256", "Wide") } else { (store_type(self.poly.width()), "Word") };
        let (cells, launch) = spread(self.groups, 128);
        let [key, _, out] = &self.ports;
        let prelude = format!(
            "#pragma once\n\
             #include \"sampling.cuh\"\n\
             struct Sample {{\n\
             \x20   using Store = {store};\n\
             \x20   using Limb = rf::{limb}Limb;\n\
             \x20   static constexpr rf::u32 n = {};\n\
             \x20   static constexpr bool seeds = {};\n\
             }};\n{cells}",
            self.poly.degree(),
            key::is_seeds(key),
        );
        let [stride, stream_id] = key::numbers(key);
        let out = out.stride() / self.poly.width().bytes();
        let numbers = vec![self.limbs.len() as u64, out as u64, stride, stream_id];
        Ok(of_engine(self, ringforge_kernels::SAMPLE_UNIFORM, Built { prelude, launch }, numbers))
    }

    fn on_views(&self, firsts: &[usize], strides: &[usize]) -> Option<Arc<dyn Kernel>> {
        let mut kernel = self.clone();
        kernel.ports[0] = key::apart(kernel.ports[0], firsts[0], strides[0])?;
        kernel.ports[2].stride = Some(rns::stride(&self.poly, firsts[2], strides[2])?);
        Some(Arc::new(kernel))
    }

    fn table(&self, port: usize) -> Option<Table> {
        (port == 1).then(|| constants(&self.limbs))
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        let (keys, out) = (args.input::<u8>(0)?, args.output::<u8>(2)?);
        let row = self.poly.degree() * self.poly.width().bytes();
        let random_key = key::of_items(&self.ports[0], items, keys);
        for (random_key, out) in random_key.zip(out.chunks_exact_mut(self.poly.bytes())) {
            let random_key = random_key?;
            ringforge_cpu::threads::rows(out, row, &|row, out| self.row(&random_key, row, out));
        }
        Ok(())
    }

    fn describe(&self) -> String {
        format!("uniform, {}", key::describe(&self.ports[0]))
    }
}
