//! The kernel `twiddles` and the table that it makes: every factor that a ring's transforms need.

use core::ops::Range;
use std::sync::Arc;

use crypto_bigint::U256;

use crate::arithmetic::Arithmetic;
use crate::error::{Error, Result};
use crate::field::{Field, Store, Visit, dispatch, power};
use crate::kernel::{Args, Built, Kernel, Launch, Port};
use crate::limits::Limits;
use crate::modulus::Modulus;
use crate::plan::Table;
use crate::planner::split::{Layer, Roots, Split};
use crate::ring::Ring;

/// Where the factors lie in a row of the table, counted in factors.
///
/// A row belongs to one modulus. With s = 1/t, z the constant x^k − z of the left child of the first layer (Z under
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
/// and goes on with the sections below. Nodes of a layer are in order from left to right.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Start of each layer's factors for the forward transform: z for each node, and z² after it under `Three`.
    pub forward: Vec<usize>,
    /// The same for the inverse transform: z^-1 and z^-2; Z itself under `Sixth`.
    pub inverse: Vec<usize>,
    /// Start of the constants β of the leaves x^d − β; there are none if d is 1.
    pub leaves: usize,
    /// Factors of a row. An odd number is made even by a factor 1.
    pub len: usize,
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
    /// The layout for a split.
    #[must_use]
    pub fn of(split: &Split) -> Self {
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
        Self { forward, inverse, leaves, len: end.next_multiple_of(2) }
    }
}

/// The table for a ring that splits like this: one row for each modulus.
#[must_use]
pub fn table(ring: &Ring, split: &Split) -> Table {
    let kernel = Twiddles::new(ring, split);
    let roots = Table::Bytes(kernel.roots());
    Table::Made { items: ring.basis().len() * kernel.layout.len, kernel: Arc::new(kernel), inputs: vec![roots] }
}

/// Writes the factors of a ring's transforms; an item is one factor.
///
/// Ports: the roots of each row (in), a factor (out). A row of roots is the modulus' constants of the device
/// arithmetic, then γ, ρ, s, F and 1/(2Z − 1) (1 without `Sixth`), in Montgomery form for 256 bits, all least
/// significant word first.
#[derive(Clone)]
pub struct Twiddles {
    ring: Ring,
    split: Split,
    layout: Layout,
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
    /// The kernel for a ring that splits like this.
    #[must_use]
    pub fn new(ring: &Ring, split: &Split) -> Self {
        let arithmetic = Arithmetic::of(ring);
        let rows: Vec<Row> = split.roots.iter().map(|roots| Row::new(roots, split, arithmetic)).collect();
        let mut kernel = Self {
            ring: ring.clone(),
            split: split.clone(),
            layout: Layout::of(split),
            rows,
            ports: [Port::shared(0), Port::output(arithmetic.twiddle_bytes())],
        };
        kernel.ports[0].bytes = kernel.roots().len();
        kernel
    }

    fn roots(&self) -> Arc<[u8]> {
        let arithmetic = Arithmetic::of(&self.ring);
        let words = self.rows.iter().flat_map(|row| {
            let values = [&row.start, &row.step, &row.scale, &row.factor, &row.half_sixth];
            let values = values.into_iter().flat_map(|value| {
                let value = match arithmetic {
                    Arithmetic::Mod256 => row.q.to_montgomery(value),
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
    fn new(roots: &Roots, split: &Split, arithmetic: Arithmetic) -> Self {
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
            scale: inverse(&q.reduce(&leaves)),
            factor: arithmetic.product_factor(&q),
            half_sixth: if split.has_sixth() { inverse(&q.sub(&q.add(&sixth, &sixth), &one)) } else { one },
        }
    }
}

impl core::fmt::Debug for Twiddles {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Twiddles").field("ring", &self.ring).field("split", &self.split).finish()
    }
}

impl Kernel for Twiddles {
    fn name(&self) -> &'static str {
        "twiddles"
    }

    fn source(&self) -> &'static str {
        ringforge_kernels::TWIDDLES
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn build(&self, limits: &Limits) -> Result<Built> {
        let built = crate::block::build(&self.ring, &self.split, limits, 1, "")?;
        Ok(Built { launch: Launch::thread_per_item(THREADS), ..built })
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        dispatch(&self.ring, Fill { kernel: self, items, args })
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

/// Writes factors of one row.
struct RowFill<'a, F: Field> {
    kernel: &'a Twiddles,
    row: &'a Row,
    field: F,
    one: F::Word,
    start: F::Word,
    start_inverse: F::Word,
    /// ρ^(2^i)
    squares: Vec<F::Twiddle>,
}

/// A part of a row: the factors with this power of z for each node of a layer, every `stride`-th from `start`.
struct Section {
    start: usize,
    stride: usize,
    nodes: usize,
    layer: usize,
    /// 1, 2, or of the inverse transform −1, −2.
    power: i64,
}

impl<'a, F: Field> RowFill<'a, F> {
    fn new(kernel: &'a Twiddles, row: &'a Row) -> Self {
        let field = F::new(&row.q);
        let word = |x: &U256| field.word(&row.q, x);
        let one = word(&row.q.reduce(&U256::ONE));
        let bits = usize::BITS - kernel.split.tree_leaves().leading_zeros();
        let squares = core::iter::successors(Some(field.twiddle(word(&row.step))), |square| {
            let power = field.canonical(field.mul(one, square));
            Some(field.twiddle(field.canonical(field.mul(power, square))))
        });
        Self {
            kernel,
            row,
            field,
            one,
            start: word(&row.start),
            start_inverse: word(&row.start_inverse),
            squares: squares.take(bits as usize).collect(),
        }
    }

    /// Writes the factors from entry `first` of the row.
    fn fill(&self, first: usize, out: &mut [F::Twiddle]) {
        let Twiddles { split, layout, .. } = self.kernel;
        let end = first + out.len();
        if first < HEADER {
            let header = self.header();
            for (to, from) in out.iter_mut().zip(&header[first..]) {
                *to = *from;
            }
        }
        for (layer, kind) in split.layers.iter().enumerate() {
            for (start, sign) in [(layout.forward[layer], 1), (layout.inverse[layer], -1)] {
                for power in 1..=factors(*kind) {
                    let nodes = split.nodes(layer);
                    let power_sign = if *kind == Layer::Sixth { 1 } else { sign * power as i64 };
                    let start = start + power - 1;
                    let section = Section { start, stride: factors(*kind), nodes, layer, power: power_sign };
                    self.section(&section, first, out);
                }
            }
        }
        if split.base > 1 {
            let (nodes, layer) = (split.leaves(), split.layers.len());
            self.section(&Section { start: layout.leaves, stride: 1, nodes, layer, power: 1 }, first, out);
        }
        let used = if split.base > 1 { layout.leaves + split.leaves() } else { layout.leaves };
        if used < layout.len && (first..end).contains(&used) {
            out[used - first] = self.field.twiddle(self.one);
        }
    }

    fn header(&self) -> [F::Twiddle; HEADER] {
        let Row { q, start, start_inverse, step, scale, factor, half_sixth } = self.row;
        let split = &self.kernel.split;
        let t = split.tree_leaves();
        let one = q.reduce(&U256::ONE);
        let pow = |x: &U256, e: usize| q.pow(x, &U256::from(e as u64));
        let sigma = if split.layers.contains(&Layer::Three) { pow(step, t / 3) } else { one };
        let last_step = |scale: &U256| match split.layers.first() {
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
        [sigma, a, b, c, d, e, f, *factor].map(|x| self.field.twiddle(self.field.word(q, &x)))
    }

    /// Writes the part of a section that lies in `out`, whose first entry is entry `first` of the row.
    fn section(&self, section: &Section, first: usize, out: &mut [F::Twiddle]) {
        let split = &self.kernel.split;
        let end = first + out.len();
        let from = first.saturating_sub(section.start).div_ceil(section.stride);
        let to = end.saturating_sub(section.start).div_ceil(section.stride).min(section.nodes);
        let half = if split.has_sixth() && section.layer > 0 { section.nodes / 2 } else { section.nodes };
        for (nodes, right) in [(from..to.min(half), false), (from.max(half)..to, true)] {
            if nodes.is_empty() {
                continue;
            }
            let count = nodes.len();
            let entries = out[section.start + nodes.start * section.stride - first..].iter_mut();
            for (entry, word) in entries.step_by(section.stride).zip(self.run(section, nodes, right)).take(count) {
                *entry = self.field.twiddle(word);
            }
        }
    }

    /// (γ^(m/r) ρ^(e/r))^power for these nodes of one tree.
    ///
    /// The exponent is a sum over the node's digits, so from one node to the next it changes by as many different
    /// amounts as there are digits: one product a factor.
    fn run(&self, section: &Section, nodes: Range<usize>, right: bool) -> impl Iterator<Item = F::Word> {
        let split = &self.kernel.split;
        let t = split.tree_leaves() as u64;
        let first = usize::from(split.has_sixth()).min(section.layer);
        let radix = match split.layers.get(section.layer) {
            Some(Layer::Sixth) | None => 1,
            Some(layer) => layer.radix() as u64,
        };
        let above: Vec<u64> = split.layers[first..section.layer].iter().map(|layer| layer.radix() as u64).collect();
        let gamma = t / above.iter().product::<u64>() / radix;
        let exponent = |e: u64| -> u64 {
            let e = (u128::from(e) * u128::from(section.power.unsigned_abs()) % u128::from(t)) as u64;
            if section.power < 0 && e > 0 { t - e } else { e }
        };

        // weight of each digit, from the last; and the change when it grows by one and all later ones become zero
        let mut weight = t / radix;
        let mut later = 0;
        let mut value = 0;
        let mut rest = nodes.start as u64;
        let mut digits: Vec<(u64, u64, F::Twiddle)> = Vec::with_capacity(above.len());
        for &radix in above.iter().rev() {
            weight /= radix;
            let change = (weight + t - later % t) % t;
            let digit = rest % radix;
            rest /= radix;
            value += digit * weight;
            digits.push((digit, radix, self.field.twiddle(self.root_power(exponent(change)))));
            later += (radix - 1) * weight;
        }
        let start = if section.power < 0 { self.start_inverse } else { self.start };
        let gamma = gamma * section.power.unsigned_abs() * if right { 5 } else { 1 };
        let start = power(&self.field, self.one, start, gamma);
        let start = self.field.mul(self.root_power(exponent(value)), &self.field.twiddle(start));
        let field = self.field;
        core::iter::successors(Some(field.canonical(start)), move |word| {
            let at = digits.iter().position(|(digit, radix, _)| digit + 1 < *radix)?;
            digits[..at].iter_mut().for_each(|(digit, ..)| *digit = 0);
            digits[at].0 += 1;
            Some(field.canonical(field.mul(*word, &digits[at].2)))
        })
    }

    /// ρ^e, e < t.
    fn root_power(&self, e: u64) -> F::Word {
        let factors = self.squares.iter().enumerate().filter(|(bit, _)| e >> bit & 1 == 1);
        factors.fold(self.one, |power, (_, square)| self.field.canonical(self.field.mul(power, square)))
    }
}

#[cfg(test)]
#[path = "twiddles_tests.rs"]
mod tests;
