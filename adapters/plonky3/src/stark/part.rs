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
use super::kernels::{canonical, point_of, reversed, word};
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
}

/// The inputs of the rows of a quotient's domain.
pub(super) struct Rows<'a, F> {
    pub(super) main: &'a [F],
    pub(super) preprocessed: &'a [F],
    /// The public values, and the constants.
    pub(super) publics: &'a [F],
    pub(super) weights: &'a [F],
    pub(super) blocks: &'a [F],
    pub(super) points: &'a [F],
    pub(super) inverses: &'a [F],
    pub(super) periodic: &'a [F],
    pub(super) strides: [usize; 2],
    pub(super) to_preprocessed: usize,
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
        Ok(Self { dag, clusters, code, publics, interpreted: false, continues: false, ends: true })
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
                    Node::Main(column, false) => format!("row.of({column})"),
                    Node::Main(column, true) => format!("row.of_next({column})"),
                    Node::Preprocessed(column, false) => format!("row.of_preprocessed({column})"),
                    Node::Preprocessed(column, true) => format!("row.next_of_preprocessed({column})"),
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
                let _ = writeln!(text, "            sum = sum.add(E::load(row.weights + {at}).times(v{node}));");
            }
            text += "        }\n        STARK_APART();\n";
        }
        text + "    }\n};\n"
    }

    /// Adds the constraints of all rows.
    pub(super) fn on_cpu<EF: ExtensionField<F>>(&self, rows: &Rows<'_, F>, to: &mut [F]) {
        let Rows { log_n, bits, blocks, .. } = *rows;
        let (degree, n) = (EF::DIMENSION, 1usize << log_n);
        let row = |r: usize, slots: &mut Vec<F>| self.code.sum(slots, rows.weights, rows.row::<EF>(r));
        ringforge_cpu::threads::start();
        let new = || vec![F::ZERO; self.code.slots];
        let sums: Vec<EF> = (0..1usize << bits).into_par_iter().map_init(new, |slots, r| row(r, slots)).collect();
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
    /// The values of operands in row r.
    fn row<EF: ExtensionField<F>>(&self, r: usize) -> impl Fn(Operand) -> F {
        let Self { log_n, bits, periods, blocks, inverses, points, .. } = *self;
        let (block, t) = (r >> log_n, r & ((1 << log_n) - 1));
        let natural = reversed(t, log_n);
        let next = (block << log_n) + reversed((natural + 1) & ((1 << log_n) - 1), log_n);
        let log_chunks = bits - log_n;
        let period = ((natural << log_chunks) + reversed(block, log_chunks)) & (periods - 1);
        let [to_row, to_column] = self.strides;
        let at = move |of_next: bool| if of_next { next } else { r };
        let vanishing = blocks[2 * block];
        let first = LazyCell::new(move || -(vanishing * inverses[r * EF::DIMENSION]));
        let last = LazyCell::new(move || -(vanishing * points[2] * inverses[next * EF::DIMENSION]));
        let transition = LazyCell::new(move || point_of(&points[..3 + bits], r) - points[1]);
        move |operand| match operand {
            Operand::Main(column, of_next) => self.main[at(of_next) * to_row + column * to_column],
            Operand::Preprocessed(column, of_next) => self.preprocessed[at(of_next) + column * self.to_preprocessed],
            Operand::Periodic(column) => self.periodic[column * periods + period],
            Operand::Shared(index) => self.publics[index],
            Operand::Selector(0) => *first,
            Operand::Selector(1) => *last,
            Operand::Selector(_) => *transition,
            Operand::Slot(_) => F::ZERO,
        }
    }
}
