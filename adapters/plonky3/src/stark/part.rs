//! Parts of an AIR's constraints: their CUDA source, and their CPU reference.

use core::cell::LazyCell;
use core::ops::Range;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

use p3_field::ExtensionField;
use rayon::prelude::*;
use ringforge::Result;

use super::code::{Code, Operand};
use super::dag::{Dag, Node};
use super::elements::{canonical, ext, reversed, word};
use super::kernels::point_of;
use crate::field::EngineField;

/// A part of the constraints that one launch adds up.
#[derive(Debug, Clone)]
pub(super) struct Part<F> {
    pub(super) dag: Arc<Dag<F>>,
    /// The constraints of each cluster. Between clusters, the compiler keeps no values.
    pub(super) clusters: Vec<Range<usize>>,
    pub(super) code: Arc<Code<F>>,
    /// The number of the AIR's public values.
    pub(super) publics: usize,
    /// Whether the device interprets the instructions. Otherwise it runs a kernel made from the constraints.
    pub(super) interpreted: bool,
    pub(super) continues: bool,
    pub(super) ends: bool,
    /// Whether each constraint is stored as a column, and none is added. The rows are then those of the trace, in natural
    /// order.
    pub(super) stores: bool,
}

/// The inputs of the rows of a domain.
pub(super) struct Rows<'a, F> {
    pub(super) matrices: [&'a [F]; 3],
    /// The public values, and the constants.
    pub(super) publics: &'a [F],
    pub(super) weights: &'a [F],
    pub(super) blocks: &'a [F],
    pub(super) points: &'a [F],
    pub(super) inverses: &'a [F],
    pub(super) periodic: &'a [F],
    /// The distances of rows and of columns in each matrix.
    pub(super) strides: [[usize; 2]; 3],
    pub(super) periods: usize,
    pub(super) log_n: usize,
    pub(super) bits: usize,
}

impl<F: EngineField> Part<F> {
    /// A part of these clusters for an AIR with this many public values.
    ///
    /// # Errors
    /// As [`Code::new`].
    pub(super) fn new(dag: Arc<Dag<F>>, clusters: Vec<Range<usize>>, publics: usize) -> Result<Self> {
        let code = Arc::new(Code::new(&dag, &clusters, publics)?);
        Ok(Self { dag, clusters, code, publics, interpreted: false, continues: false, ends: true, stores: false })
    }

    /// The constraints of all clusters.
    pub(super) fn constraints(&self) -> Range<usize> {
        let ends = self.clusters.first().zip(self.clusters.last());
        ends.map_or(0..0, |(first, last)| first.start..last.end)
    }

    /// The nodes that constraints need, by number.
    fn nodes(&self, constraints: Range<usize>) -> BTreeSet<u32> {
        let roots: Vec<u32> = self.dag.constraints[constraints].iter().map(|constraint| constraint.node).collect();
        self.dag.needed(&roots, &BTreeSet::new())
    }

    /// True if the kernel computes this selector. The interpreter computes all of them, since it is one kernel for all
    /// constraints.
    pub(super) fn has(&self, selector: Node<F>) -> bool {
        self.interpreted
            || self.nodes(self.constraints()).iter().any(|number| self.dag.nodes[*number as usize] == selector)
    }

    /// The instructions as the device reads them. It reads none if it does not interpret them.
    pub(super) fn port_of_code(&self) -> &[u64] {
        if self.interpreted && !self.code.instructions.is_empty() { &self.code.instructions } else { &[0] }
    }

    /// The CUDA source of `Constraints::add`.
    pub(super) fn text<EF: ExtensionField<F>>(&self) -> String {
        if self.interpreted {
            return "#include \"stark_interpreter.cuh\"\n".into();
        }
        let mut text = String::from(
            "struct Constraints {\n    template <class Row>\n    RF_METHOD static void add(E* sums, const Row* rows) {\n        \
             E& sum = *sums;\n        const Row& row = *rows;\n",
        );
        for cluster in &self.clusters {
            text += "        {\n";
            for number in self.nodes(cluster.clone()) {
                let value = match self.dag.nodes[number as usize] {
                    Node::Column(source, column, next) => {
                        let (next, source) = (if next { "_next" } else { "" }, source as usize);
                        format!("row.template of{next}<{source}>({column})")
                    }
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
                let (at, node) = (i * EF::DIMENSION, self.dag.constraints[i].node);
                let _ = match self.stores {
                    true => writeln!(text, "            row.store({i}, v{node});"),
                    false => writeln!(text, "            sum = sum.add(E::load(row.weights + {at}).times(v{node}));"),
                };
            }
            text += "        }\n        STARK_APART();\n";
        }
        text + "    }\n};\n"
    }

    /// Adds or stores the constraints of all rows.
    pub(super) fn on_cpu<EF: ExtensionField<F>>(&self, rows: &Rows<'_, F>, to: &mut [F]) {
        let Rows { log_n, bits, blocks, weights, .. } = *rows;
        let (degree, n) = (EF::DIMENSION, 1usize << log_n);
        ringforge_cpu::threads::start();
        let slots = || vec![F::ZERO; self.code.slots];
        if self.stores {
            let row = |r: usize, slots: &mut Vec<F>| {
                let mut values = Vec::with_capacity(self.constraints().len());
                self.code.run(slots, rows.row::<EF>(r, true), |i, value| values.push((i, canonical(value))));
                values
            };
            let values: Vec<_> =
                (0..1usize << bits).into_par_iter().map_init(slots, |slots, r| row(r, slots)).collect();
            for (r, values) in values.into_iter().enumerate() {
                values.into_iter().for_each(|(i, value)| to[(i << bits) + r] = value);
            }
            return;
        }
        let row = |r: usize, slots: &mut Vec<F>| {
            let mut sum = EF::ZERO;
            let weight = |i: usize| ext::<F, EF>(&weights[i * degree..][..degree]);
            self.code.run(slots, rows.row::<EF>(r, false), |i, value| sum += weight(i) * value);
            sum
        };
        let sums: Vec<EF> = (0..1usize << bits).into_par_iter().map_init(slots, |slots, r| row(r, slots)).collect();
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

impl<F: EngineField> Rows<'_, F> {
    /// The values of operands in row r, which is one of the trace or of its extension.
    fn row<EF: ExtensionField<F>>(&self, r: usize, is_trace: bool) -> impl Fn(Operand) -> F {
        let Self { log_n, bits, periods, blocks, inverses, points, .. } = *self;
        let (n, block, t) = (1usize << log_n, r >> log_n, r & ((1 << log_n) - 1));
        let order = move |x: usize| if is_trace { x } else { reversed(x, log_n) };
        let (natural, after) = (order(t), (order(t) + 1) & (n - 1));
        let next = (block << log_n) + order(after);
        let log_chunks = bits - log_n;
        let period = ((natural << log_chunks) + reversed(block, log_chunks)) & (periods - 1);
        let selector = move |which: usize| match (which, is_trace) {
            (0, true) => F::from_bool(natural == 0),
            (1, true) => F::from_bool(after == 0),
            (_, true) => F::from_bool(after != 0),
            (0, false) => -(blocks[2 * block] * inverses[r * EF::DIMENSION]),
            (1, false) => -(blocks[2 * block] * points[2] * inverses[next * EF::DIMENSION]),
            (_, false) => point_of(&points[..3 + bits], r) - points[1],
        };
        let selectors = [0, 1, 2].map(|which| LazyCell::new(move || selector(which)));
        move |operand| match operand {
            Operand::Column(source, column, of_next) => {
                let [to_row, to_column] = self.strides[source as usize];
                self.matrices[source as usize][if of_next { next } else { r } * to_row + column * to_column]
            }
            Operand::Periodic(column) => self.periodic[column * periods + period],
            Operand::Shared(index) => self.publics[index],
            Operand::Selector(which) => *selectors[which.min(2)],
            Operand::Slot(_) => F::ZERO,
        }
    }
}
