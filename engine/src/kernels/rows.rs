//! What the built-in kernels on rows of a ring share: their ports and slots, and rows on the CPU.

use std::borrow::Cow;

use bytemuck::Pod;
use crypto_bigint::U256;

use crate::error::{Error, Result};
use crate::field::{Field, Store};
use crate::job::Order;
use crate::kernel::{Args, Kernel, Port};
use crate::kernels::order::Reorder;
use crate::kernels::tree::{TASK_BYTES, Tree};
use crate::limits::Limits;
use crate::modulus::Modulus;
use crate::ring::split::Roots;
use crate::rows::Rows;
use crate::rows::block::Block;
use crate::rows::twiddles::{factors_of, header, header_of};
use crate::source::Source;
use crate::table::Table;
use crate::threads;

impl Rows {
    /// These ports, then the tables of factors and the constants.
    pub(crate) fn ports<const N: usize>(&self, ports: [fn(usize) -> Port; N]) -> Vec<Port> {
        let elements = ports.into_iter().map(|port| port(self.item_bytes()));
        elements.chain([self.table_port(), self.constants_port()]).collect()
    }

    /// The table of a port of a kernel that has `ports`, those of the tables being the last.
    pub(crate) fn table_of(&self, ports: usize, port: usize) -> Option<Table> {
        match ports - port {
            2 => Some(self.table()),
            1 => Some(self.constants()),
            _ => None,
        }
    }

    /// The source of a transform or product of such rows, its text being one of the engine's.
    pub(crate) fn source(&self, kernel: &dyn Kernel, text: &'static str, limits: &Limits) -> Result<Source> {
        if self.is_natural() {
            self.split.check_degree("values in natural order")?;
        }
        Ok(Source {
            numbers: self.numbers(kernel.ports()),
            // by the constructors of its places, `Row` and `Leaf`. Rows of 64-bit words lose by it, perhaps since blocks that begin
            // ahead crowd where there is room just then (pairs of rows of 60 bits on an H200: 2^16 up to 2 %, one polynomial of
            // 32 rows 4 to 5 %, of 2^15 30 to 41 %; bench/results/profiles/2026-11-25-h200-rows.txt)
            follows: self.arithmetic.word_bytes() != 8,
            ..Source::of_engine(kernel, text, self.build_part(limits, "")?)
        })
    }

    /// The constants β of all leaves in the order of the values; empty where leaves have degree 1.
    pub(crate) fn leaf_constants<'t, F: Field>(&self, tree: &'t Tree<'_, F>) -> Cow<'t, [F::Twiddle]> {
        let constants = tree.leaf_constants();
        if !self.is_natural() {
            return constants.into();
        }
        let order = Reorder::to_tree(&self.split);
        (0..constants.len()).map(|leaf| constants[order.place(leaf)]).collect()
    }

    pub(crate) fn describe(&self) -> String {
        match self.order {
            Order::Natural => format!("split {} natural order", self.split),
            Order::Tree => format!("split {}", self.split),
        }
    }

    /// The same for a kernel that may do some of the layers.
    pub(crate) fn describe_part(&self) -> String {
        let mut text = self.describe();
        if !self.is_whole() {
            text += &format!(" layers {}..{}", self.part.start, self.part.end);
        }
        text + &self.describe_choice()
    }

    /// In what the kernel differs from what is done by default.
    pub(crate) fn describe_choice(&self) -> String {
        let mut text = String::new();
        if self.choice.arithmetic == Some(self.arithmetic) {
            text += &format!(" in {}", self.arithmetic.name());
        }
        let Some(block) = Block::of(self, &self.limits) else { return text };
        if self.choice.per_thread == Some(block.per_thread()) {
            text += &format!(" with {} a thread", block.per_thread());
        }
        if self.cluster > 1 {
            text += &format!(" in clusters of {} blocks", self.cluster);
        }
        if block.shuffles(self) {
            text += " by shuffles";
        }
        text
    }

    /// The port of residues that pass from a kernel of some of the layers to the next one: as they are, where words are
    /// stored as they are.
    pub(crate) fn between(&self, port: Port) -> Port {
        let capacity = self.ring.moduli().iter().map(|q| self.arithmetic.capacity(q)).min().unwrap_or(1);
        if self.arithmetic.hands_on(&self.ring) { port.below(capacity as u32) } else { port }
    }

    /// Reads residues that a kernel of other layers left in [0, k·q) as relaxed words.
    pub(crate) fn load_between<F: Field, S: Store<F::Word>>(field: &F, q: &Modulus, from: &[S], to: &mut Vec<F::Word>) {
        let one = one(field, q);
        to.clear();
        to.extend(from.iter().map(|x| field.mul(x.load(), &one)));
    }

    /// Reduces a row of words as the ring's inputs have them, where it accepts any.
    pub(crate) fn reduce<F: Field, S: Store<F::Word>>(&self, field: &F, row: usize, words: &mut [S]) {
        if self.ring.accepts_any_word() {
            let one = one(field, self.modulus_of(row));
            words.iter_mut().for_each(|x| *x = S::store(field.reduce_any(x.load(), &one)));
        }
    }

    /// The same for a row that is only read.
    pub(crate) fn reduced<'a, F, S>(&self, field: &F, row: usize, words: &'a [S]) -> Cow<'a, [S]>
    where
        F: Field,
        S: Store<F::Word>,
    {
        let mut words = Cow::Borrowed(words);
        if self.ring.accepts_any_word() {
            self.reduce(field, row, words.to_mut());
        }
        words
    }

    /// The trees of the ring's moduli, from the tables at a port and the constants behind them.
    pub(crate) fn trees<'a, F: Field>(&'a self, args: &Args<'a>, port: usize) -> Result<Vec<Tree<'a, F>>> {
        if !self.arithmetic.is_on_cpu() {
            return Ok(self.own_trees(|modulus| factors_of::<F>(&self.split, modulus).into()));
        }
        let tables = match self.has_several() {
            true => args.tables::<F::Twiddle>(port)?,
            false => vec![args.input::<F::Twiddle>(port)?],
        };
        if tables.iter().any(|table| table.len() != self.layout.len) {
            return Err(self.broken(args, "its table has another size"));
        }
        let places = (!self.layout.by_nodes(&self.split)).then(|| self.layout.places(&self.split));
        self.trees_of(args, port + 1, |row| match &places {
            Some(places) => places.iter().map(|&place| tables[row][place]).collect(),
            None => Cow::Borrowed(tables[row]),
        })
    }

    /// The same without factors, from the constants at a port: for products where leaves have degree 1.
    pub(crate) fn trees_without_factors<'a, F: Field>(
        &'a self,
        args: &Args<'a>,
        port: usize,
    ) -> Result<Vec<Tree<'a, F>>> {
        match self.arithmetic.is_on_cpu() {
            true => self.trees_of(args, port, |_| Cow::Borrowed(&[])),
            false => Ok(self.own_trees(|_| Cow::Borrowed(&[]))),
        }
    }

    fn trees_of<'a, F: Field>(
        &'a self,
        args: &Args<'a>,
        port: usize,
        table: impl Fn(usize) -> Cow<'a, [F::Twiddle]>,
    ) -> Result<Vec<Tree<'a, F>>> {
        let constants = args.input::<u8>(port)?;
        if constants.len() != self.constants_port().bytes {
            return Err(self.broken(args, "its constants have another size"));
        }
        let tree = |(modulus, roots): (usize, &Roots)| {
            let row = self.ring.row_moduli().iter().position(|&of_row| of_row == modulus).unwrap_or(0);
            let (field, header) = (F::new(&roots.q), header_of(self.header(constants, row)));
            Tree { field, split: &self.split, layout: &self.layout, header, table: table(row) }
        };
        Ok(self.split.roots.iter().enumerate().map(tree).collect())
    }

    /// The same with factors made here, where the tables are those of an arithmetic for GPUs alone.
    fn own_trees<'a, F: Field>(&'a self, table: impl Fn(usize) -> Cow<'a, [F::Twiddle]>) -> Vec<Tree<'a, F>> {
        let general = self.arithmetic.on_cpu(&self.ring);
        let tree = |(modulus, roots): (usize, &Roots)| Tree {
            field: F::new(&roots.q),
            split: &self.split,
            layout: &self.layout,
            header: header::<F>(&self.split, modulus, general, &self.scale),
            table: table(modulus),
        };
        self.split.roots.iter().enumerate().map(tree).collect()
    }

    /// Whether reduced products on the CPU lack a factor.
    pub(crate) fn restores(&self) -> bool {
        self.arithmetic.on_cpu(&self.ring).has_product_factor(&self.ring)
    }

    /// The modulus of a row of a launch.
    pub(crate) fn modulus_of(&self, row: usize) -> &Modulus {
        let basis = self.ring.basis();
        &basis[row % basis.len()]
    }

    /// Of these trees, that of a row of a launch.
    pub(crate) fn tree_of<'t, T>(&self, trees: &'t [T], row: usize) -> &'t T {
        let map = self.ring.row_moduli();
        &trees[map[row % map.len()]]
    }

    /// Calls `run` on every row of an output: its number in the launch, its residues, and memory that may be kept from row
    /// to row. Rows of one large element go to several threads; many elements are spread over threads by the backend.
    pub(crate) fn each<S: Pod + Send, M: Default + Send>(
        &self,
        out: &mut [S],
        run: impl Fn(usize, &mut [S], &mut M) + Sync,
    ) {
        let n = self.split.n;
        let count = self.ring.basis().len();
        if count > 1 && out.len() == n * count && size_of_val(out) > TASK_BYTES {
            threads::rows(out, n, &|i, row| run(i, row, &mut M::default()));
        } else {
            let mut memory = M::default();
            out.chunks_exact_mut(n).enumerate().for_each(|(i, row)| run(i, row, &mut memory));
        }
    }

    pub(crate) fn broken(&self, args: &Args<'_>, why: &str) -> Error {
        Error::Kernel { kernel: args.kernel.into(), why: why.into() }
    }
}

/// The factor 1.
pub(crate) fn one<F: Field>(field: &F, q: &Modulus) -> F::Twiddle {
    field.twiddle(field.word(q, &q.reduce(&U256::ONE)))
}

/// Runs `run` on a row where it lies if its residues are stored as words; says whether they are.
pub(crate) fn in_place<S: Pod, W: Pod>(row: &mut [S], run: impl FnOnce(&mut [W])) -> bool {
    if size_of::<S>() != size_of::<W>() {
        return false;
    }
    bytemuck::try_cast_slice_mut(row).map(run).is_ok()
}
