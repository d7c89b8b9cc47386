//! The kernel `twiddles` and the table that it makes: every factor that a ring's transforms need.

mod fill;

use core::ops::Range;
use std::sync::Arc;

use bytemuck::Zeroable;
use crypto_bigint::U256;

use crate::arithmetic::Arithmetic;
use crate::error::{Error, Result};
use crate::field::{Field, Store, Visit, dispatch};
use crate::kernel::{Args, Kernel, Launch, Port};
use crate::limits::Limits;
use crate::modulus::Modulus;
use crate::ring::Ring;
use crate::ring::split::{Layer, Roots, Split};
use crate::rows::Rows;
use crate::source::{Built, Source};
use crate::table::Table;

use fill::RowFill;

/// Where the factors lie in a row of the table, counted in factors.
///
/// A row belongs to one modulus. With s = k/t, k the scale of the job (else 1), z the constant x^k − z of the left child of the first layer (Z under
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
/// and goes on with the sections below. Nodes of a layer are in order from left to right, but from layer `columns` on
/// by columns: node number i under node j above that layer stands at place i·(nodes above it) + j, so that threads which
/// work under neighbouring nodes read neighbouring factors.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Layout {
    /// Start of each layer's factors for the forward transform: z for each node, and z² after it under `Three`.
    pub(crate) forward: Vec<usize>,
    /// The same for the inverse transform: z^-1 and z^-2; Z itself under `Sixth`.
    pub(crate) inverse: Vec<usize>,
    /// Start of the constants β of the leaves x^d − β; there are none if d is 1.
    pub(crate) leaves: usize,
    /// Factors of a row. An odd number is made even by a factor 1.
    pub(crate) len: usize,
    /// The first layer that is stored by columns.
    pub(crate) columns: usize,
}

/// Entries before the sections.
const HEADER: usize = 8;

/// Threads of a block that makes a table.
const THREADS: u32 = 128;

/// Factors of each node of a layer.
pub(crate) const fn factors(layer: Layer) -> usize {
    layer.radix() - 1
}

impl Layout {
    /// The layout for a split, by columns from this layer on.
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
        if split.base > 1 {
            end += split.leaves();
        }
        Self { forward, inverse, leaves, len: end.next_multiple_of(2), columns }
    }

    /// The layout for products of values, which read no factors of layers: where leaves have degree 1, a row is nothing
    /// but the entries before the sections.
    pub(crate) fn of_products(split: &Split, columns: usize) -> Self {
        match split.base {
            1 => Self { forward: vec![], inverse: vec![], leaves: HEADER, len: HEADER, columns: split.layers.len() },
            _ => Self::of(split, columns),
        }
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
        let leaves = if split.base > 1 { split.leaves() } else { 0 };
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

/// The table for a ring that splits like this, one row for each of its moduli, of factors for this arithmetic, in this
/// layout, with this constant times the inverse transform.
pub(crate) fn table(ring: &Ring, split: &Split, arithmetic: Arithmetic, layout: &Layout, scale: &U256) -> Table {
    let kernel = Twiddles::new(ring, split, arithmetic, layout, scale);
    if layout.forward.len() < split.layers.len() {
        return Table::Bytes(dispatch(ring, arithmetic, Headers(&kernel)));
    }
    let roots = Table::Bytes(kernel.roots());
    Table::Made { items: ring.moduli().len() * kernel.layout.len, kernel: Arc::new(kernel), inputs: vec![roots] }
}

/// The factors of one row of the table on the CPU, all nodes in order.
pub(crate) fn factors_of_row<F: Field>(ring: &Ring, split: &Split, row: usize) -> Vec<F::Twiddle> {
    let kernel = Twiddles::new(ring, split, Arithmetic::of(ring), &Layout::of(split, split.layers.len()), &U256::ONE);
    let mut factors = vec![F::Twiddle::zeroed(); kernel.layout.len];
    RowFill::<F>::new(&kernel, &kernel.rows[row]).fill(0, &mut factors);
    factors
}

/// Writes the factors of a ring's transforms; an item is one factor.
///
/// Ports: the roots of each row (in), a factor (out). A row of roots is the modulus' constants of the device
/// arithmetic, then γ, ρ, s, F and 1/(2Z − 1) (1 without `Sixth`), in Montgomery form for 256 bits, all least
/// significant word first.
#[derive(Clone)]
struct Twiddles {
    ring: Ring,
    split: Split,
    arithmetic: Arithmetic,
    layout: Layout,
    /// Times the inverse transform, before it is taken modulo each modulus.
    scale: U256,
    rows: Vec<Row>,
    ports: [Port; 2],
}

/// Plain values of one modulus.
#[derive(Clone)]
struct Row {
    q: Modulus,
    start: U256,
    start_inverse: U256,
    step: U256,
    scale: U256,
    factor: U256,
    half_sixth: U256,
}

impl Twiddles {
    /// The kernel for a ring that splits like this, its table in this layout, with this constant times the inverse
    /// transform.
    fn new(ring: &Ring, split: &Split, arithmetic: Arithmetic, layout: &Layout, scale: &U256) -> Self {
        let rows: Vec<Row> = split.roots.iter().map(|roots| Row::new(ring, roots, split, arithmetic, scale)).collect();
        let mut kernel = Self {
            ring: ring.clone(),
            split: split.clone(),
            arithmetic,
            layout: layout.clone(),
            scale: *scale,
            rows,
            ports: [Port::shared(0), Port::output(arithmetic.twiddle_bytes())],
        };
        kernel.ports[0].bytes = kernel.roots().len();
        kernel
    }

    fn roots(&self) -> Arc<[u8]> {
        let arithmetic = self.arithmetic;
        let words = self.rows.iter().flat_map(|row| {
            let values = [&row.start, &row.step, &row.scale, &row.factor, &row.half_sixth];
            let values = values.into_iter().flat_map(|value| {
                let value = match arithmetic {
                    Arithmetic::Mod255 | Arithmetic::Mod256 => row.q.to_montgomery(value),
                    _ => *value,
                };
                let bytes = value.to_le_bytes();
                bytes.as_ref()[..arithmetic.word_bytes()].to_vec()
            });
            let constants = arithmetic.constants(&row.q).into_iter().flat_map(u32::to_le_bytes);
            constants.chain(values).collect::<Vec<u8>>()
        });
        words.collect()
    }
}

impl Row {
    /// Inverses exist modulo a prime that has the split's roots: t divides q − 1, and (2Z − 1)² = −3.
    fn new(ring: &Ring, roots: &Roots, split: &Split, arithmetic: Arithmetic, scale: &U256) -> Self {
        let Roots { q, start, step } = *roots;
        let one = q.reduce(&U256::ONE);
        let inverse = |x: &U256| q.inverse(x).unwrap_or(one);
        let leaves = U256::from(split.tree_leaves() as u64);
        let sixth = q.pow(&start, &leaves);
        Self {
            q,
            start,
            start_inverse: inverse(&start),
            step,
            scale: q.mul(&q.reduce(scale), &inverse(&q.reduce(&leaves))),
            factor: arithmetic.product_factor(ring, &q),
            half_sixth: if split.has_sixth() { inverse(&q.sub(&q.add(&sixth, &sixth), &one)) } else { one },
        }
    }
}

impl core::fmt::Debug for Twiddles {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let columns = &self.layout.columns;
        f.debug_struct("Twiddles")
            .field("split", &self.split)
            .field("arithmetic", &self.arithmetic)
            .field("columns", columns)
            .field("scale", &self.scale)
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
        let rows = Rows { arithmetic, layout, ..Rows::with_split(&self.split, limits) };
        let built = rows.build_part(limits, "")?;
        let built = Built { launch: Launch::thread_per_item(THREADS), ..built };
        Ok(Source::of_engine(self, ringforge_kernels::TWIDDLES, built))
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        dispatch(&self.ring, self.arithmetic, Fill { kernel: self, items, args })
    }
}

/// Writes the factors of a range of items.
struct Fill<'a, 'b> {
    kernel: &'a Twiddles,
    items: Range<usize>,
    args: &'a mut Args<'b>,
}

impl Visit for Fill<'_, '_> {
    type Out = Result<()>;

    fn visit<F: Field, S: Store<F::Word>>(self) -> Result<()> {
        let mut out = self.args.output::<F::Twiddle>(1)?;
        let len = self.kernel.layout.len;
        let mut item = self.items.start;
        while !out.is_empty() {
            let (row, first) = (item / len, item % len);
            let (part, rest) = out.split_at_mut(out.len().min(len - first));
            let row = self.kernel.rows.get(row).ok_or_else(|| Error::Kernel {
                kernel: "twiddles".into(),
                why: format!("item {item} is beyond the table"),
            })?;
            item += part.len();
            RowFill::<F>::new(self.kernel, row).fill(first, part);
            out = rest;
        }
        Ok(())
    }
}

/// The entries of each row before the sections.
struct Headers<'a>(&'a Twiddles);

impl Visit for Headers<'_> {
    type Out = Arc<[u8]>;

    fn visit<F: Field, S: Store<F::Word>>(self) -> Arc<[u8]> {
        let headers = self.0.rows.iter().flat_map(|row| RowFill::<F>::new(self.0, row).header());
        bytemuck::cast_slice(&headers.collect::<Vec<_>>()).into()
    }
}

#[cfg(test)]
mod tests;
