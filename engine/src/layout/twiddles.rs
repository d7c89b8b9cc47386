//! The kernel `twiddles` and the table that it writes: every twiddle factor of transforms modulo one prime.

use core::ops::Range;
use std::sync::Arc;

use crypto_bigint::U256;
use ringforge_cpu::{HEADER, Layout};

use crate::arithmetic::Arithmetic;
use crate::layout::KernelLayout;
use crate::source::of_engine;
use ringforge_math::error::{Error, Result};
use ringforge_math::factorization::{Factorization, Layer, Roots};
use ringforge_math::modulus::Modulus;
use ringforge_runtime::kernel::{Args, Built, Kernel, Launch, Port, Source, Table};
use ringforge_runtime::limits::Limits;

/// Threads per block.
const THREADS: u32 = 128;

/// The twiddle table for one of the ring's moduli.
pub(crate) fn table(rows: &KernelLayout, modulus: usize) -> Table {
    let kernel = Twiddles::new(rows, modulus);
    let roots = Table::Bytes(kernel.roots());
    Table::Made { items: kernel.layout.len, kernel: Arc::new(kernel), inputs: vec![roots] }
}

/// Writes the twiddle factors of transforms modulo a prime; an item is one factor.
///
/// Ports: roots (in), a factor (out). The roots begin with the constants of the device arithmetic for the modulus q.
/// Then follow γ and ρ of the [`Factorization`], s = 1/t for t leaves, F ([`Arithmetic::product_factor`]), and 1/(2Z −
/// 1). Here Z = γ^t has order 6; without a layer `Sixth` the last number is 1. 256-bit numbers are in Montgomery form.
/// All have their least significant word first.
///
/// For layers merged into radix-2^k butterflies, the CUDA source writes the twiddle factors of the butterflies (`Group`
/// in `ntt.cuh`). The CPU reference writes the factors of each layer, because a CPU computes layers one by one.
#[derive(Clone)]
struct Twiddles {
    /// The factorisation modulo one modulus.
    factorization: Factorization,
    arithmetic: Arithmetic,
    layout: Layout,
    /// For each layer, the first layer that is merged with it into one radix-2^k butterfly.
    groups: Vec<usize>,
    prime: Prime,
    ports: [Port; 2],
}

/// Roots and constants of one modulus, as plain values.
#[derive(Clone)]
pub(crate) struct Prime {
    q: Modulus,
    start: U256,
    start_inverse: U256,
    step: U256,
    /// 1/t, where t is the number of leaves of a tree.
    scale: U256,
    factor: U256,
    half_sixth: U256,
}

impl Twiddles {
    /// The kernel for one of the ring's moduli.
    fn new(rows: &KernelLayout, modulus: usize) -> Self {
        let KernelLayout { factorization, arithmetic, layout, groups, .. } = rows.clone();
        let prime = Prime::new(&factorization, modulus, arithmetic);
        let ports = [Port::shared(0), Port::output(arithmetic.twiddle_bytes())];
        let mut kernel =
            Self { factorization: factorization.of_modulus(modulus), arithmetic, layout, groups, prime, ports };
        kernel.ports[0].bytes = kernel.roots().len();
        kernel
    }

    fn roots(&self) -> Arc<[u8]> {
        let (arithmetic, prime) = (self.arithmetic, &self.prime);
        let constants = arithmetic.constants(&prime.q).into_iter().flat_map(u32::to_le_bytes);
        let values = [&prime.start, &prime.step, &prime.scale, &prime.factor, &prime.half_sixth];
        let values = values.into_iter().flat_map(|value| {
            let value = if arithmetic.is_montgomery() { prime.q.to_montgomery(value) } else { *value };
            let bytes = value.to_le_bytes();
            bytes.as_ref()[..arithmetic.word_bytes()].to_vec()
        });
        constants.chain(values).collect()
    }
}

impl Prime {
    /// Computes the constants. All inverses exist: the number t of leaves divides q − 1, and (2Z − 1)² = −3 for Z of
    /// order 6.
    pub(crate) fn new(factorization: &Factorization, modulus: usize, arithmetic: Arithmetic) -> Self {
        let Roots { q, start, step } = factorization.roots()[modulus];
        let one = q.reduce(&U256::ONE);
        let inverse = |x: &U256| q.inverse(x).unwrap_or(one);
        let leaves = U256::from(factorization.tree_leaves() as u64);
        let sixth = q.pow(&start, &leaves);
        Self {
            q,
            start,
            start_inverse: inverse(&start),
            step,
            scale: inverse(&q.reduce(&leaves)),
            factor: arithmetic.product_factor(factorization.poly(), &q),
            half_sixth: if factorization.has_sixth() { inverse(&q.sub(&q.add(&sixth, &sixth), &one)) } else { one },
        }
    }

    /// The header entries (the first [`HEADER`] entries) of a twiddle table, for inverse transforms that are multiplied
    /// by `scale`.
    pub(crate) fn header(&self, factorization: &Factorization, scale: &U256) -> [U256; HEADER] {
        let Self { q, start, start_inverse, step, scale: leaves, factor, half_sixth } = self;
        let scale = &q.mul(&q.reduce(scale), leaves);
        let t = factorization.tree_leaves();
        let one = q.reduce(&U256::ONE);
        let pow = |x: &U256, e: usize| q.pow(x, &U256::from(e as u64));
        let sigma = if factorization.layers().contains(&Layer::Three) { pow(step, t / 3) } else { one };
        let last_step = |scale: &U256| match factorization.layers().first() {
            None => [*scale, one, one],
            Some(Layer::Two) => [*scale, q.mul(scale, &pow(start_inverse, t / 2)), one],
            Some(Layer::Three) => {
                let z = pow(start_inverse, t / 3);
                let second = q.mul(scale, &z);
                [*scale, second, q.mul(&second, &z)]
            }
            Some(Layer::Sixth) => [*scale, q.mul(scale, half_sixth), pow(start, t)],
        };
        let ([a, b, c], [d, e, f]) = (last_step(scale), last_step(&q.mul(scale, factor)));
        [sigma, a, b, c, d, e, f, *factor]
    }

    /// The roots as the CPU's arithmetic represents them.
    pub(crate) fn of_cpu(
        &self,
        factorization: &Factorization,
        arithmetic: Arithmetic,
        scale: &U256,
    ) -> ringforge_cpu::Roots {
        let word = |x: &U256| arithmetic.word(&self.q, x);
        ringforge_cpu::Roots {
            start: word(&self.start),
            start_inverse: word(&self.start_inverse),
            step: word(&self.step),
            header: self.header(factorization, scale).each_ref().map(word),
        }
    }
}

impl core::fmt::Debug for Twiddles {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { factorization, arithmetic, layout, groups, .. } = self;
        f.debug_struct("Twiddles")
            .field("factorization", &factorization.to_string())
            .field("n", &factorization.n())
            .field("roots", &factorization.roots())
            .field("factor", &self.prime.factor)
            .field("arithmetic", arithmetic)
            .field("columns", &layout.columns)
            .field("groups", groups)
            .finish()
    }
}

impl Kernel for Twiddles {
    fn name(&self) -> &'static str {
        "twiddles"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, limits: &Limits) -> Result<Source> {
        let Self { arithmetic, layout, groups, .. } = self.clone();
        let rows = KernelLayout { arithmetic, layout, groups, ..KernelLayout::with_split(&self.factorization, limits) }
            .by_launch();
        let built = rows.build_part(limits)?;
        let built = Built { launch: Launch::thread_per_item(THREADS), ..built };
        Ok(of_engine(self, ringforge_kernels::TWIDDLES, built, Vec::new()))
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        let Self { factorization, arithmetic, layout, prime, .. } = self;
        if items.end > layout.len {
            return Err(Error::Kernel {
                kernel: "twiddles".into(),
                why: format!("item {} is beyond the table", items.end),
            });
        }
        let (modulus, roots) = (arithmetic.modulus(&prime.q), prime.of_cpu(factorization, *arithmetic, &U256::ONE));
        let words =
            arithmetic.of_cpu(factorization.poly()).table(&modulus, &roots, factorization.shape(), layout, items);
        args.output::<u8>(1)?.copy_from_slice(&arithmetic.factors(factorization.poly(), &prime.q, &words));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
