//! Computes factors of one row of a table, for any range of its entries.

use core::ops::Range;

use crypto_bigint::U256;

use super::{HEADER, Row, Twiddles, factors};
use crate::field::{Field, power};
use crate::ring::split::Layer;

/// Writes factors of one row.
pub(super) struct RowFill<'a, F: Field> {
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
    pub(super) fn new(kernel: &'a Twiddles, row: &'a Row) -> Self {
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
    pub(super) fn fill(&self, first: usize, out: &mut [F::Twiddle]) {
        let Twiddles { split, layout, .. } = self.kernel;
        if layout.by_nodes(split) {
            return self.fill_by_nodes(first, out);
        }
        let mut row = vec![self.field.twiddle(self.one); layout.len];
        self.fill_by_nodes(0, &mut row);
        let end = first + out.len();
        for (factor, place) in row.into_iter().zip(layout.places(split)) {
            if (first..end).contains(&place) {
                out[place - first] = factor;
            }
        }
    }

    /// The same with all nodes in order.
    fn fill_by_nodes(&self, first: usize, out: &mut [F::Twiddle]) {
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

    /// The entries before the sections.
    pub(super) fn header(&self) -> [F::Twiddle; HEADER] {
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
