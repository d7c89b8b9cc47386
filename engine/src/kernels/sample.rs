//! Random elements of a ring.

use core::fmt;
use core::ops::Range;
use std::sync::Arc;

use crypto_bigint::U256;
use rayon::prelude::*;
use zeroize::Zeroizing;

use crate::draws::Draws;
use crate::error::{Error, Result};
use crate::kernel::{Args, Kernel, Launch, Port};
use crate::kernels::crt::{Divisor, mul_hi, store_type};
use crate::kernels::divisor256::{Divisor256, Limbs, bits_from, limbs};
use crate::kernels::rns::{self, Weighted};
use crate::kernels::spread::spread;
use crate::kernels::thresholds;
use crate::limits::Limits;
use crate::modulus::{Modulus, Width, low_u64};
use crate::ring::Ring;
use crate::source::{Built, Source};
use crate::table::Table;

/// What [`Pipeline::sample`](crate::Pipeline::sample) draws. All but the uniform one are polynomials with small integers as
/// coefficients: one polynomial an item, modulo every modulus of the ring.
///
/// "Within ε" is the statistical distance of a coefficient from the distribution named, for uniform random blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Distribution {
    /// Uniform residues, independent of each other, also in rows whose modulus comes again. Of each, 192 random bits are
    /// reduced, or 434 in rings of 256-bit residues: within 2^-130, and 2^-180.
    ///
    /// A ring of the first few rows of another gets the same residues in these, from the same draws.
    Uniform,
    /// −1, 0 and 1 with probability 1/3 each, within 2^-128.
    Ternary,
    /// So many coefficients are 1 or −1, with equal probability, and all others 0: exactly. The places are uniform too;
    /// for degree n the whole polynomial is within n·2^-127.
    FixedWeight {
        /// Coefficients that are not 0, at most n.
        weight: usize,
    },
    /// The difference of two sums of η fair bits: exact, variance η/2.
    Binomial {
        /// η, from 1 to 32.
        eta: u32,
    },
    /// The nearest integer to a Gaussian of mean 0: x with probability Φ((x + ½)/σ) − Φ((x − ½)/σ), variance about
    /// σ² + 1/12. Within 14·(σ + 1)·2^-128, and values whose probability is below about 2^-128 do not occur.
    ///
    /// All thresholds are compared for each coefficient, some 13·σ, and take 16 bytes each.
    Gaussian {
        /// σ, from 1/16 to 1024.
        sigma: f64,
    },
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => f.write_str("uniform"),
            Self::Ternary => f.write_str("ternary"),
            Self::FixedWeight { weight } => write!(f, "ternary of weight {weight}"),
            Self::Binomial { eta } => write!(f, "binomial of {eta}"),
            Self::Gaussian { sigma } => write!(f, "Gaussian of {sigma}"),
        }
    }
}

/// Random elements of a ring.
///
/// Block `number` of an item in the sampler's series is for the coefficients that follow `number` times as many as a block
/// has bits for; of uniform elements, row after row. So bytes are the same however a batch is cut.
///
/// Ports: keys (in), constants ([`Sample::table`]), elements (out). Keys are [`Draws`], or seeds of as many bytes, an item's
/// own, whose blocks are those of item 0.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    ring: Ring,
    distribution: Distribution,
    /// Coefficients that a block is for.
    each: usize,
    /// Blocks for as many coefficients as a row has.
    groups: usize,
    limbs: Vec<Limb>,
    thresholds: Vec<u128>,
    ports: [Port; 3],
}

/// A modulus, and what random bits and small integers are multiplied by.
#[derive(Debug, Clone)]
enum Limb {
    /// R·2^(64 i) mod q, R the factor of the ring's form.
    Word(Weighted),
    /// The modulus, and R·2^(62 i) mod q.
    Wide(Divisor256, Box<[Limbs; 7]>),
}

/// Random bits of a uniform residue of 256 bits come in digits of so many.
const DIGIT: u32 = 62;

impl Sample {
    /// From the key at this port, in its series. Small integers are secret, and uniform residues if the key is.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for parameters of the distribution that are out of range, and for more blocks than are counted.
    pub(crate) fn new(ring: &Ring, distribution: Distribution, key: Port) -> Result<Self> {
        let refuse = |why: String| Err(Error::unsupported(format!("sampling ({distribution})"), ring, why));
        let thresholds = match distribution {
            Distribution::Uniform => Vec::new(),
            Distribution::Ternary => thresholds::ternary(),
            Distribution::FixedWeight { weight } if weight <= ring.degree() => Vec::new(),
            Distribution::FixedWeight { .. } => return refuse("there are fewer coefficients".into()),
            Distribution::Binomial { eta: eta @ 1..=32 } => thresholds::binomial(eta),
            Distribution::Binomial { .. } => return refuse("η is from 1 to 32".into()),
            Distribution::Gaussian { sigma } if (0.0625..=1024.0).contains(&sigma) => thresholds::gaussian(sigma),
            Distribution::Gaussian { .. } => return refuse("σ is from 1/16 to 1024".into()),
        };
        let is_secret = key.secret || distribution != Distribution::Uniform;
        let limbs = ring.basis().iter().map(|q| Limb::new(ring, q)).collect();
        let [key, out] = [key, Port::output(ring.bytes())].map(|port| if is_secret { port.secret() } else { port });
        let ports = [key, Port::shared(0), out];
        let each = match (distribution, ring.width()) {
            (Distribution::Uniform, Width::W256) => 1,
            (Distribution::Uniform, _) => 2,
            _ => 4,
        };
        let groups = ring.degree().div_ceil(each);
        let mut kernel = Self { ring: ring.clone(), distribution, each, groups, limbs, thresholds, ports };
        kernel.ports[1].bytes = kernel.constants().bytes();
        let rows = if distribution == Distribution::Uniform { ring.basis().len() } else { 1 };
        if rows as u64 * kernel.groups as u64 > 1 << 32 {
            return refuse("an item has at most 2^32 blocks of random bytes".into());
        }
        Ok(kernel)
    }

    fn seeds(&self) -> bool {
        !self.ports[0].draws
    }

    /// The constants for the second port: those of each modulus (`sampling.cuh`), then the thresholds.
    fn constants(&self) -> Table {
        let thresholds = self.thresholds.iter().flat_map(|x| [*x as u64, (x >> 64) as u64]);
        let words: Vec<u64> = self.limbs.iter().flat_map(Limb::words).chain(thresholds).collect();
        Table::Bytes(Arc::from(bytemuck::cast_slice::<u64, u8>(&words)))
    }

    fn block(&self, draws: &Draws, item: u64, number: usize) -> Zeroizing<[u8; 64]> {
        Zeroizing::new(draws.block_of_series(self.ports[0].series, item, number as u32))
    }

    /// Bytes of a row.
    fn row(&self) -> usize {
        self.ring.degree() * self.ring.width().bytes()
    }

    fn uniform(&self, draws: &Draws, item: u64, out: &mut [u8]) {
        let rows = out.par_chunks_exact_mut(self.row()).enumerate();
        rows.for_each(|(row, out)| self.uniform_row(draws, item, row, out));
    }

    #[inline(never)] // the test of its machine code names it
    fn uniform_row(&self, draws: &Draws, item: u64, row: usize, out: &mut [u8]) {
        let (limb, bytes) = (&self.limbs[row], self.ring.width().bytes());
        for (group, out) in out.chunks_mut(self.each * bytes).enumerate() {
            let block = self.block(draws, item, row * self.groups + group);
            out.chunks_exact_mut(bytes).zip(0..).for_each(|(out, j)| put(&limb.uniform(&block, j), out));
        }
    }

    #[inline(never)] // the test of its machine code names it
    fn small(&self, draws: &Draws, item: u64, out: &mut [u8]) {
        let (n, bytes) = (self.ring.degree(), self.ring.width().bytes());
        let mut left =
            if let Distribution::FixedWeight { weight } = self.distribution { Some(weight as u64) } else { None };
        for group in 0..self.groups {
            let block = self.block(draws, item, group);
            for (bits, i) in block.as_chunks().0.iter().zip(4 * group..n) {
                let bits = u128::from_le_bytes(*bits);
                let magnitude = match &mut left {
                    Some(left) => {
                        let chosen = u64::from(below(bits, (n - i) as u64) < *left);
                        *left -= chosen;
                        chosen
                    }
                    None => self.thresholds.iter().map(|threshold| u64::from(bits >= *threshold)).sum(),
                };
                for (limb, row) in self.limbs.iter().zip(out.chunks_exact_mut(self.row())) {
                    put(&limb.small(magnitude, bits as u64 & 1), &mut row[i * bytes..][..bytes]);
                }
            }
        }
    }
}

/// A uniform number below the bound, from 128 random bits.
fn below(bits: u128, bound: u64) -> u64 {
    let carry = mul_hi(bits as u64, bound);
    (((bits >> 64) * u128::from(bound) + u128::from(carry)) >> 64) as u64
}

/// Stores a residue.
fn put(x: &Limbs, out: &mut [u8]) {
    out.copy_from_slice(&bytemuck::bytes_of(x)[..out.len()]);
}

impl Limb {
    fn new(ring: &Ring, q: &Modulus) -> Self {
        let two = q.reduce(&U256::from(2u32));
        let weight = |bits: u32| q.mul(&ring.radix(q), &q.pow(&two, &U256::from(bits)));
        match q.value_u64().filter(|_| ring.width() != Width::W256) {
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

    /// What the text reads.
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

    /// The residue that these bits of a block make.
    fn uniform(&self, block: &[u8; 64], j: usize) -> Limbs {
        let words: Zeroizing<[u64; 8]> = Zeroizing::new(bytemuck::cast(*block));
        match self {
            Self::Word(weighted) => [weighted.sum(&words[3 * j..][..3]), 0, 0, 0],
            Self::Wide(divisor, weights) => weights.iter().zip(0..).fold([0; 4], |sum, (weight, i)| {
                divisor.mad(&sum, bits_from(&*words, DIGIT * i) & ((1 << DIGIT) - 1), weight)
            }),
        }
    }

    /// The magnitude, or its negative.
    fn small(&self, magnitude: u64, negative: u64) -> Limbs {
        let (x, negated) = match self {
            Self::Word(Weighted { divisor, weights }) => {
                let x = divisor.mul(magnitude, weights[0]);
                ([x, 0, 0, 0], [divisor.negate(x), 0, 0, 0])
            }
            Self::Wide(divisor, weights) => {
                let x = divisor.mad(&[0; 4], magnitude, &weights[0]);
                (x, divisor.negate(&x))
            }
        };
        core::array::from_fn(|i| x[i] ^ (x[i] ^ negated[i]) & negative.wrapping_neg())
    }
}

impl Kernel for Sample {
    fn name(&self) -> &'static str {
        match self.distribution {
            Distribution::Uniform => "sample_uniform",
            Distribution::FixedWeight { .. } => "sample_weight",
            _ => "sample_small",
        }
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, _: &Limits) -> Result<Source> {
        let wide = self.ring.width() == Width::W256;
        let (store, limb) = if wide { ("rf::u256", "Wide") } else { (store_type(self.ring.width()), "Word") };
        let (cells, launch, text) = match self.distribution {
            Distribution::FixedWeight { .. } => {
                let threads = self.groups.next_multiple_of(32).min(256) as u32;
                let launch = Launch { threads, items_per_block: 1, blocks_per_item: 1, shared_bytes: 16 * threads };
                (String::new(), launch, ringforge_kernels::SAMPLE_WEIGHT)
            }
            distribution => {
                let (cells, launch) = spread(self.groups, 128, 1);
                let uniform = distribution == Distribution::Uniform;
                let text = if uniform { ringforge_kernels::SAMPLE_UNIFORM } else { ringforge_kernels::SAMPLE_SMALL };
                (cells, launch, text)
            }
        };
        let prelude = format!(
            "#pragma once\n\
             #include \"sampling.cuh\"\n\
             struct Sample {{\n\
             \x20   using Store = {store};\n\
             \x20   using Limb = rf::{limb}Limb;\n\
             \x20   static constexpr rf::u32 n = {}, threads = {};\n\
             \x20   static constexpr bool seeds = {};\n\
             }};\n{cells}",
            self.ring.degree(),
            launch.threads,
            self.seeds(),
        );
        let [key, _, out] = &self.ports;
        let key_distance = if self.seeds() { key.distance() / size_of::<u32>() } else { 0 };
        let count = match self.distribution {
            Distribution::Uniform => None,
            Distribution::FixedWeight { weight } => Some(weight),
            _ => Some(self.thresholds.len()),
        };
        let distances = [out.distance() / self.ring.width().bytes(), key_distance, key.series as usize];
        let numbers =
            [self.limbs.len()].into_iter().chain(distances).chain(count).map(|number| number as u64).collect();
        Ok(Source { numbers, ..Source::of_engine(self, text, Built { prelude, launch }) })
    }

    fn on_views(&self, firsts: &[usize], distances: &[usize]) -> Option<Arc<dyn Kernel>> {
        let mut kernel = self.clone();
        if self.seeds() {
            let whole = (firsts[0] | distances[0]).is_multiple_of(size_of::<u32>());
            kernel.ports[0].apart = Some(whole.then_some(distances[0])?);
        }
        kernel.ports[2].apart = Some(rns::distance(&self.ring, firsts[2], distances[2])?);
        Some(Arc::new(kernel))
    }

    fn table(&self, port: usize) -> Option<Table> {
        (port == 1).then(|| self.constants())
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        let (keys, out) = (args.input::<u8>(0)?, args.output::<u8>(2)?);
        // draws are one key for all items
        let own = keys.chunks_exact(Draws::BYTES).cycle();
        for ((item, key), out) in items.zip(own).zip(out.chunks_exact_mut(self.ring.bytes())) {
            let (draws, item) = (Draws::from_bytes(key)?, if self.seeds() { 0 } else { item as u64 });
            match self.distribution {
                Distribution::Uniform => self.uniform(&draws, item, out),
                _ => self.small(&draws, item, out),
            }
        }
        Ok(())
    }

    fn describe(&self) -> String {
        let key = if self.seeds() { "seeds" } else { "draws" };
        format!("{}, series {} of {key}", self.distribution, self.ports[0].series)
    }
}
