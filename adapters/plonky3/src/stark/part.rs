//! Parts of an AIR's constraints: their CUDA source, and their CPU reference.

use core::ops::Range;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

use p3_field::ExtensionField;
use rayon::prelude::*;

use super::dag::{Dag, Node};
use super::kernels::{canonical, ext, point_of, reversed, word};
use crate::field::EngineField;

/// A part of the constraints that one launch adds up.
#[derive(Debug, Clone)]
pub(super) struct Part<F> {
    pub(super) dag: Arc<Dag<F>>,
    /// The constraints of each cluster. Between clusters, the compiler keeps no values.
    pub(super) clusters: Vec<Range<usize>>,
    pub(super) continues: bool,
    pub(super) ends: bool,
}

impl<F> Part<F> {
    fn constraints(&self) -> Range<usize> {
        let ends = self.clusters.first().zip(self.clusters.last());
        ends.map_or(0..0, |(first, last)| first.start..last.end)
    }
}

impl<F: EngineField> Part<F> {
    /// The nodes that constraints need, by number.
    fn nodes(&self, constraints: Range<usize>) -> BTreeSet<u32> {
        self.dag.needed(&self.dag.constraints[constraints], &BTreeSet::new())
    }

    /// True if the part needs this node.
    pub(super) fn has(&self, node: Node<F>) -> bool {
        self.nodes(self.constraints()).iter().any(|number| self.dag.nodes[*number as usize] == node)
    }

    /// The CUDA source of `Constraints::add`.
    pub(super) fn text<EF: ExtensionField<F>>(&self) -> String {
        let mut text = String::from(
            "struct Constraints {\n    template <class Row>\n    RF_METHOD static void add(E& sum, const Row& row) {\n",
        );
        for cluster in &self.clusters {
            text += "        {\n";
            for number in self.nodes(cluster.clone()) {
                let value = match self.dag.nodes[number as usize] {
                    Node::Main(column, false) => format!("row.of({column})"),
                    Node::Main(column, true) => format!("row.of_next({column})"),
                    Node::Public(index) => format!("row.publics[{index}]"),
                    Node::Periodic(column) => format!("row.of_periodic({column})"),
                    Node::First => "row.first".into(),
                    Node::Last => "row.last".into(),
                    Node::Transition => "row.transition".into(),
                    Node::Constant(c) => format!("(Word){}ull", word(c)),
                    Node::Add(a, b) => format!("F::add(v{a}, v{b})"),
                    Node::Sub(a, b) => format!("F::sub(v{a}, v{b})"),
                    Node::Mul(a, b) => format!("F::mul(v{a}, v{b})"),
                    Node::Neg(a) => format!("F::sub(0, v{a})"),
                };
                let _ = writeln!(text, "            const Word v{number} = {value};");
            }
            for i in cluster.clone() {
                let (at, node) = (i * EF::DIMENSION, self.dag.constraints[i]);
                let _ = writeln!(text, "            sum = sum.add(E::load(row.weights + {at}).times(v{node}));");
            }
            text += "        }\n        STARK_APART();\n";
        }
        text + "    }\n};\n"
    }

    /// Adds the constraints of all rows.
    pub(super) fn on_cpu<EF: ExtensionField<F>>(
        &self,
        [main, publics, weights, blocks, points, inverses, periodic]: [&[F]; 7],
        [to_row, to_column]: [usize; 2],
        [log_n, bits, periods]: [usize; 3],
        to: &mut [F],
    ) {
        let (degree, n) = (EF::DIMENSION, 1usize << log_n);
        let all = self.constraints();
        let nodes = self.nodes(all.clone());
        let row = |r: usize, values: &mut Vec<F>| -> EF {
            let (block, t) = (r >> log_n, r & (n - 1));
            let natural = reversed(t, log_n);
            let next = (block << log_n) + reversed((natural + 1) & (n - 1), log_n);
            let log_chunks = bits - log_n;
            let period = ((natural << log_chunks) + reversed(block, log_chunks)) & (periods - 1);
            let vanishing = blocks[2 * block];
            for &number in &nodes {
                let of = |a: u32| values[a as usize];
                let value = match self.dag.nodes[number as usize] {
                    Node::Main(column, false) => main[r * to_row + column as usize * to_column],
                    Node::Main(column, true) => main[next * to_row + column as usize * to_column],
                    Node::Public(index) => publics[index as usize],
                    Node::Periodic(column) => periodic[column as usize * periods + period],
                    Node::First => -(vanishing * inverses[r * degree]),
                    Node::Last => -(vanishing * points[2] * inverses[next * degree]),
                    Node::Transition => point_of(&points[..3 + bits], r) - points[1],
                    Node::Constant(c) => c,
                    Node::Add(a, b) => of(a) + of(b),
                    Node::Sub(a, b) => of(a) - of(b),
                    Node::Mul(a, b) => of(a) * of(b),
                    Node::Neg(a) => -of(a),
                };
                values[number as usize] = value;
            }
            let weighted = all.clone().map(|i| {
                ext::<F, EF>(&weights[i * degree..(i + 1) * degree]) * values[self.dag.constraints[i] as usize]
            });
            weighted.sum()
        };
        ringforge_cpu::threads::start();
        let new = || vec![F::ZERO; self.dag.nodes.len()];
        let sums: Vec<EF> = (0..1usize << bits).into_par_iter().map_init(new, |values, r| row(r, values)).collect();
        for (r, sum) in sums.into_iter().enumerate() {
            let (block, t) = (r >> log_n, r & (n - 1));
            for (d, coefficient) in sum.as_basis_coefficients_slice().iter().enumerate() {
                let to = &mut to[((block * degree + d) << log_n) + t];
                let before = if self.continues { *to } else { F::ZERO };
                let total = before + *coefficient;
                *to = canonical(if self.ends { total * blocks[2 * block + 1] } else { total });
            }
        }
    }
}
