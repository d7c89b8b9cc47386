//! Computes any range of entries of a twiddle table.

use core::ops::Range;

use crate::field::{Field, power, word};
use crate::layout::{HEADER, Layout, ROOTS};
use crate::shape::{Layer, Shape};
use crate::{Modulus, Roots};

/// Computes entries of a twiddle table ([`Layout`]) as words, which are residues below q without precomputed quotients.
pub(crate) struct Fill<'a, F: Field> {
    shape: Shape<'a>,
    layout: &'a Layout,
    field: F,
    one: F::Word,
    start: F::Word,
    start_inverse: F::Word,
    /// ρ^(2^i) for each i, where ρ = `roots.step` is a root of unity whose order is the number of leaves of a tree.
    squares: Vec<F::Twiddle>,
    header: [F::Word; HEADER],
}

/// A section of the twiddle table, for one layer. It holds a power of the twiddle factor z of each node, at every
/// `stride`-th entry from entry `start`.
struct Section {
    start: usize,
    stride: usize,
    nodes: usize,
    layer: usize,
    /// Exponent of z: 1 or 2, or −1 or −2 for the inverse transform. Always 1 if the layer is [`Layer::Sixth`].
    power: i64,
}

impl<'a, F: Field> Fill<'a, F> {
    pub(crate) fn new(modulus: &Modulus, roots: &Roots, shape: Shape<'a>, layout: &'a Layout) -> Self {
        let field = F::new(&modulus.q);
        let one = word(&modulus.one);
        let bits = usize::BITS - shape.tree_leaves().leading_zeros();
        let squares = core::iter::successors(Some(field.twiddle(word(&roots.step))), |square| {
            let power = field.canonical(field.mul(one, square));
            Some(field.twiddle(field.canonical(field.mul(power, square))))
        });
        Self {
            shape,
            layout,
            field,
            one,
            start: word(&roots.start),
            start_inverse: word(&roots.start_inverse),
            squares: squares.take(bits as usize).collect(),
            header: roots.header.each_ref().map(word),
        }
    }

    /// Writes consecutive entries of the table to `out`, starting with entry `first`, in the order of the layout.
    pub(crate) fn fill(&self, first: usize, out: &mut [F::Word]) {
        let Self { shape, layout, .. } = *self;
        if layout.by_nodes(shape) {
            return self.fill_by_nodes(first, out);
        }
        let mut row = vec![self.one; layout.len];
        self.fill_by_nodes(0, &mut row);
        let end = first + out.len();
        for (factor, place) in row.into_iter().zip(layout.places(shape)) {
            if (first..end).contains(&place) {
                out[place - first] = factor;
            }
        }
    }

    /// Like [`fill`](Self::fill), for the layout that stores the nodes of every layer from left to right.
    pub(crate) fn fill_by_nodes(&self, first: usize, out: &mut [F::Word]) {
        let Self { shape, layout, .. } = *self;
        let end = first + out.len();
        if first < HEADER {
            out.iter_mut().zip(&self.header[first..]).for_each(|(to, from)| *to = *from);
        }
        for (layer, kind) in shape.layers.iter().enumerate() {
            for (start, sign) in [(layout.forward[layer], 1), (layout.inverse[layer], -1)] {
                for power in 1..=kind.factors() {
                    let nodes = shape.nodes(layer);
                    let power_sign = if *kind == Layer::Sixth { 1 } else { sign * power as i64 };
                    let start = start + power - 1;
                    let section = Section { start, stride: kind.factors(), nodes, layer, power: power_sign };
                    self.section(&section, first, out);
                }
            }
        }
        let (nodes, layer) = (layout.leaves.len(), shape.layers.len());
        self.section(&Section { start: layout.leaves.start, stride: 1, nodes, layer, power: 1 }, first, out);
        let used = layout.leaves.end;
        for entry in used.max(first)..layout.len.min(end) {
            out[entry - first] = if entry < layout.roots { self.one } else { self.root(entry) };
        }
    }

    /// Writes to `out` the entries that belong to both the section and `out`, where `out[0]` is entry `first` of the
    /// table.
    fn section(&self, section: &Section, first: usize, out: &mut [F::Word]) {
        let shape = self.shape;
        let end = first + out.len();
        let from = first.saturating_sub(section.start).div_ceil(section.stride);
        let to = end.saturating_sub(section.start).div_ceil(section.stride).min(section.nodes);
        let half = if shape.has_sixth() && section.layer > 0 { section.nodes / 2 } else { section.nodes };
        for (nodes, right) in [(from..to.min(half), false), (from.max(half)..to, true)] {
            if nodes.is_empty() {
                continue;
            }
            let count = nodes.len();
            let entries = out[section.start + nodes.start * section.stride - first..].iter_mut();
            for (entry, word) in entries.step_by(section.stride).zip(self.run(section, nodes, right)).take(count) {
                *entry = word;
            }
        }
    }

    /// Yields the twiddle factors z of consecutive nodes of one tree, each raised to the power `section.power`. Let ρ
    /// be `roots.step`, and γ be `roots.start` or, in the right one of two trees, its fifth power. A node x^k − γ^m·ρ^e
    /// that splits by radix r has z = γ^(m/r)·ρ^(e/r).
    ///
    /// The exponent of ρ is a weighted sum of the digits of the node's number. From one node to the next, it changes by
    /// an amount that depends only on which digit is incremented. So each twiddle factor costs one multiplication by a
    /// precomputed power of ρ.
    fn run(&self, section: &Section, nodes: Range<usize>, right: bool) -> impl Iterator<Item = F::Word> {
        let shape = self.shape;
        let t = shape.tree_leaves() as u64;
        let first = usize::from(shape.has_sixth()).min(section.layer);
        let radix = match shape.layers.get(section.layer) {
            Some(Layer::Sixth) | None => 1,
            Some(layer) => layer.radix() as u64,
        };
        let above: Vec<u64> = shape.layers[first..section.layer].iter().map(|layer| layer.radix() as u64).collect();
        let gamma = t / above.iter().product::<u64>() / radix;
        let exponent = |e: u64| -> u64 {
            let e = (u128::from(e) * u128::from(section.power.unsigned_abs()) % u128::from(t)) as u64;
            if section.power < 0 && e > 0 { t - e } else { e }
        };

        // for each digit, starting with the last: the change of the exponent when this digit is incremented and all
        // later digits are reset to 0
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

    /// Returns a root of unity from the end of the table, or its inverse; `entry` must be at least `layout.roots`.
    fn root(&self, entry: usize) -> F::Word {
        let (i, t) = ((entry - self.layout.roots) as u64, self.shape.tree_leaves() as u64);
        let e = (i & 1) * (t / 4) + (i >> 1 & 1) * (t / 8) + (i >> 2 & 1) * (t / 16);
        self.root_power(if i < ROOTS as u64 || e == 0 { e } else { t - e })
    }

    /// Returns ρ^e for e < t, where ρ is the root of unity `roots.step` and t its order.
    fn root_power(&self, e: u64) -> F::Word {
        let factors = self.squares.iter().enumerate().filter(|(bit, _)| e >> bit & 1 == 1);
        factors.fold(self.one, |power, (_, square)| self.field.canonical(self.field.mul(power, square)))
    }
}

/// Computes a whole twiddle table, with the nodes of every layer from left to right.
pub(crate) fn factors<F: Field>(
    modulus: &Modulus,
    roots: &Roots,
    shape: Shape<'_>,
    layout: &Layout,
) -> Vec<F::Twiddle> {
    let fill = Fill::<F>::new(modulus, roots, shape, layout);
    let mut words = vec![fill.one; layout.len];
    fill.fill_by_nodes(0, &mut words);
    words.into_iter().map(|word| fill.field.twiddle(word)).collect()
}
