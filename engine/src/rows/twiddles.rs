//! The kernel `twiddles` and the table that it makes: every factor that transforms modulo one prime need.

mod fill;
mod header;

use core::ops::Range;
use std::sync::Arc;

use bytemuck::Zeroable;
use crypto_bigint::U256;

use crate::arithmetic::Arithmetic;
use crate::arithmetic::dispatch;
use crate::error::{Error, Result};
use crate::field::{Field, Store, Visit};
use crate::kernel::{Args, Kernel, Launch, Port};
use crate::limits::Limits;
use crate::modulus::Modulus;
use crate::ring::split::{Layer, Roots, Split};
use crate::rows::Rows;
use crate::source::{Built, Source};
use crate::table::Table;

use fill::Fill;

/// Where the factors lie in the table of a modulus, counted in factors.
///
/// With s = 1/t, z the constant x^k − z of the left child of the first layer (Z under
/// [`Layer::Sixth`]) and F = [`Arithmetic::product_factor`] it starts with
///
/// | entry | no layers | `Two` | `Three` | `Sixth` |
/// | --- | --- | --- | --- | --- |
/// | 0 | σ = ρ^(t/3), or 1 without a layer `Three` | | | |
/// | 1 | s | s | s | s |
/// | 2 | 1 | s z^-1 | s z^-1 | s / (2Z − 1) |
/// | 3 | 1 | 1 | s z^-2 | Z |
/// | 4 | F s | F s | F s | F s |
/// | 5 | 1 | F s z^-1 | F s z^-1 | F s / (2Z − 1) |
/// | 6 | 1 | 1 | F s z^-2 | Z |
/// | 7 | F | F | F | F |
///
/// and goes on with the sections below. A job's scale k stands in [`constants`](super::constants), with s = k/t. Nodes of a layer are in order from left to right, but from layer `columns` on
/// by columns: node number i under node j above that layer stands at place i·(nodes above it) + j, so that threads which
/// work under neighbouring nodes read neighbouring factors. Where the last four layers are of two, roots of unity stand at the end:
/// number i < 8 is that which the factor of node i under any node, some layers above, is more than that of node 0.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Layout {
    /// Start of each layer's factors for the forward transform: z for each node, and z² after it under `Three`.
    pub(crate) forward: Vec<usize>,
    /// The same for the inverse transform: z^-1 and z^-2; Z itself under `Sixth`.
    pub(crate) inverse: Vec<usize>,
    /// Start of the constants β of the leaves x^d − β; there are none if d is 1.
    pub(crate) leaves: usize,
    /// Start of the roots of unity, and of their inverses behind them. An odd number of factors before them is made even by a
    /// factor 1.
    pub(crate) roots: usize,
    /// Factors of a row.
    pub(crate) len: usize,
    /// The first layer that is stored by columns.
    pub(crate) columns: usize,
}

/// Entries before the sections.
pub(crate) const HEADER: usize = 8;

/// Roots of unity of a table that has them, and as many inverses.
const ROOTS: usize = 8;

/// Threads of a block that makes a table.
const THREADS: u32 = 128;

/// Whether the last four layers are of two: then there are roots of unity in the table.
pub(crate) fn ends_by_twos(split: &Split) -> bool {
    split.layers.len() > 3 && split.layers.iter().rev().take(4).all(|layer| *layer == Layer::Two)
}

/// Factors of each node of a layer.
pub(crate) const fn factors(layer: Layer) -> usize {
    layer.radix() - 1
}

impl Layout {
    /// The layout for a split, which is that of a column for a ring in columns, by columns from this layer on.
    pub(crate) fn of(split: &Split, columns: usize) -> Self {
        let mut end = HEADER;
        let mut section = || {
            let starts = split.layers.iter().enumerate().map(|(i, layer)| {
                let start = end;
                end += split.nodes(i) * factors(*layer);
                start
            });
            starts.collect::<Vec<usize>>()
        };
        let (forward, inverse) = (section(), section());
        let leaves = end;
        if split.column_base() > 1 {
            end += split.leaves();
        }
        let roots = end.next_multiple_of(2);
        let len = roots + if ends_by_twos(split) { 2 * ROOTS } else { 0 };
        Self { forward, inverse, leaves, roots, len, columns }
    }

    /// Whether nodes of every layer are in order from left to right.
    pub(crate) fn by_nodes(&self, split: &Split) -> bool {
        self.columns >= split.layers.len()
    }

    /// For each factor of a row with all nodes in order, its place in this layout.
    pub(crate) fn places(&self, split: &Split) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.len).collect();
        let tops = split.nodes(self.columns);
        let layers = split.layers.iter().enumerate().skip(self.columns);
        let sections = layers.flat_map(|(layer, kind)| {
            [self.forward[layer], self.inverse[layer]].map(|start| (start, split.nodes(layer), factors(*kind)))
        });
        let leaves = if split.column_base() > 1 { split.leaves() } else { 0 };
        for (start, nodes, each) in sections.chain([(self.leaves, leaves, 1)]) {
            let inner = nodes / tops;
            for node in 0..nodes {
                let place = node % inner * tops + node / inner;
                for factor in 0..each {
                    places[start + node * each + factor] = start + place * each + factor;
                }
            }
        }
        places
    }
}

/// The table of one of the moduli of a ring that splits like this, of factors for this arithmetic, in this layout.
pub(crate) fn table(split: &Split, modulus: usize, arithmetic: Arithmetic, layout: &Layout) -> Table {
    let kernel = Twiddles::new(split, modulus, arithmetic, layout.clone());
    let roots = Table::Bytes(kernel.roots());
    Table::Made { items: kernel.layout.len, kernel: Arc::new(kernel), inputs: vec![roots] }
}

/// The same on the CPU, all nodes in order.
pub(crate) fn factors_of<F: Field>(split: &Split, modulus: usize) -> Vec<F::Twiddle> {
    let arithmetic = Arithmetic::of(&split.ring);
    let kernel = Twiddles::new(split, modulus, arithmetic, Layout::of(split, split.layers.len()));
    let mut factors = vec![F::Twiddle::zeroed(); kernel.layout.len];
    Fill::<F>::new(&kernel.split, &kernel.layout, &kernel.prime).fill(0, &mut factors);
    factors
}

/// The entries of a table before its sections.
pub(crate) fn header_of<T: Copy>(table: &[T]) -> [T; HEADER] {
    core::array::from_fn(|i| table[i])
}

/// The entries before the sections, of one of the moduli, with this constant times the inverse transform.
pub(crate) fn header<F: Field>(
    split: &Split,
    modulus: usize,
    arithmetic: Arithmetic,
    scale: &U256,
) -> [F::Twiddle; HEADER] {
    header::header::<F>(split, &Prime::new(split, modulus, arithmetic), scale)
}

/// Writes the factors of transforms modulo a prime; an item is one factor.
///
/// Ports: its roots (in), a factor (out). The roots are the modulus' constants of the device arithmetic, then γ, ρ, s, F
/// and 1/(2Z − 1) (1 without `Sixth`), in Montgomery form for 256 bits, all least significant word first.
#[derive(Clone)]
struct Twiddles {
    /// Of one modulus.
    split: Split,
    arithmetic: Arithmetic,
    layout: Layout,
    prime: Prime,
    ports: [Port; 2],
}

/// Plain values of one modulus.
#[derive(Clone)]
struct Prime {
    q: Modulus,
    start: U256,
    start_inverse: U256,
    step: U256,
    /// 1/t.
    scale: U256,
    factor: U256,
    half_sixth: U256,
}

impl Twiddles {
    /// The kernel for one of the moduli of a ring that splits like this, its table in this layout.
    fn new(split: &Split, modulus: usize, arithmetic: Arithmetic, layout: Layout) -> Self {
        let prime = Prime::new(split, modulus, arithmetic);
        let ports = [Port::shared(0), Port::output(arithmetic.twiddle_bytes())];
        let mut kernel = Self { split: split.of_modulus(modulus), arithmetic, layout, prime, ports };
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
    /// Inverses exist modulo a prime that has the split's roots: t divides q − 1, and (2Z − 1)² = −3.
    fn new(split: &Split, modulus: usize, arithmetic: Arithmetic) -> Self {
        let Roots { q, start, step } = split.roots[modulus];
        let one = q.reduce(&U256::ONE);
        let inverse = |x: &U256| q.inverse(x).unwrap_or(one);
        let leaves = U256::from(split.tree_leaves() as u64);
        let sixth = q.pow(&start, &leaves);
        Self {
            q,
            start,
            start_inverse: inverse(&start),
            step,
            scale: inverse(&q.reduce(&leaves)),
            factor: arithmetic.product_factor(&split.ring, &q),
            half_sixth: if split.has_sixth() { inverse(&q.sub(&q.add(&sixth, &sixth), &one)) } else { one },
        }
    }
}

impl core::fmt::Debug for Twiddles {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { split, arithmetic, layout, .. } = self;
        f.debug_struct("Twiddles")
            .field("split", &split.to_string())
            .field("n", &split.n)
            .field("roots", &split.roots)
            .field("factor", &self.prime.factor)
            .field("arithmetic", arithmetic)
            .field("columns", &layout.columns)
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
        let Self { arithmetic, layout, .. } = self.clone();
        let rows = Rows { arithmetic, layout, ..Rows::with_split(&self.split, limits) }.by_launch();
        let built = rows.build_part(limits, "")?;
        let built = Built { launch: Launch::thread_per_item(THREADS), ..built };
        Ok(Source::of_engine(self, ringforge_kernels::TWIDDLES, built))
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        dispatch(&self.split.ring, self.arithmetic, Run { kernel: self, items, args })
    }
}

/// Writes the factors of a range of items.
struct Run<'a, 'b> {
    kernel: &'a Twiddles,
    items: Range<usize>,
    args: &'a mut Args<'b>,
}

impl Visit for Run<'_, '_> {
    type Out = Result<()>;

    fn visit<F: Field, S: Store<F::Word>>(self) -> Result<()> {
        let Twiddles { split, layout, prime, .. } = self.kernel;
        if self.items.end > layout.len {
            let why = format!("item {} is beyond the table", self.items.end);
            return Err(Error::Kernel { kernel: "twiddles".into(), why });
        }
        let fill = Fill::<F>::new(split, layout, prime);
        if self.kernel.arithmetic.is_on_cpu() {
            fill.fill(self.items.start, self.args.output(1)?);
        } else {
            let mut factors = vec![F::Twiddle::zeroed(); self.items.len()];
            fill.fill(self.items.start, &mut factors);
            let bytes = self.kernel.arithmetic.factors::<F>(&prime.q, &factors);
            self.args.output::<u8>(1)?.copy_from_slice(&bytes);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
