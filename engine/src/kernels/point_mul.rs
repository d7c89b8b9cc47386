//! The kernels `point_mul` and `mul_add`: the product of values, alone or added to a third one.

use crate::arithmetic::dispatch;
use crate::error::Result;
use crate::field::{Field, Store, Visit};
use crate::job::Order;
use crate::kernel::{Args, Kernel, Port, Role};
use crate::kernels::base::restored_products;
use crate::kernels::fused::fused;
use crate::kernels::tree::Tree;
use crate::limits::Limits;
use crate::ring::split::Split;
use crate::rows::{Rows, elements, lay_apart};
use crate::source::Source;
use crate::table::Table;
use core::ops::Range;
use std::borrow::Cow;
use std::sync::Arc;

/// The product of values of two elements, leaf by leaf modulo x^d − β; it may be added to values of a third one.
///
/// Ports: left and right values (in), their product (out) or what it is added to (in and out), the
/// [tables](Rows::table) of factors, and the [constants](Rows::constants); these twice where leaves have degree 1, since
/// products need no other factors then.
#[derive(Debug, Clone)]
pub struct PointMul {
    rows: Rows,
    ports: Vec<Port>,
}

impl PointMul {
    /// The product of values of a transform with this split and order.
    #[must_use]
    pub fn new(split: &Split, order: Order, limits: &Limits) -> Self {
        Self::of(Rows::with_split(split, limits).order(order))
    }

    fn of(rows: Rows) -> Self {
        let rows = rows.by_launch();
        let mut ports = rows.ports([Port::input, Port::input, Port::output]);
        if rows.split.base == 1 {
            ports[3] = ports[4];
        }
        Self { rows, ports }
    }

    /// The same, added to values that are there.
    #[must_use]
    pub fn adding(self) -> Self {
        let mut ports = self.ports;
        ports[2].role = Role::InOut;
        Self { ports, ..self }
    }

    fn adds(&self) -> bool {
        self.ports[2].role == Role::InOut
    }
}

impl Kernel for PointMul {
    fn name(&self) -> &'static str {
        if self.adds() { "mul_add" } else { "point_mul" }
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, limits: &Limits) -> Result<Source> {
        self.rows.split.check_leaves("a product of values")?;
        let text = if self.adds() { ringforge_kernels::MUL_ADD } else { ringforge_kernels::POINT_MUL };
        let mut source = self.rows.source(self, text, limits)?;
        source.built.launch = self.rows.leaf_launch()?;
        Ok(if self.adds() { source } else { source.fusable() })
    }

    fn in_place(&self, input: usize, output: usize) -> bool {
        input < 2 && output == 2
    }

    fn on_views(&self, firsts: &[usize], distances: &[usize]) -> Option<Arc<dyn Kernel>> {
        let mut kernel = Self::of(self.rows.apart(elements(firsts), elements(distances))?);
        kernel.ports[2].role = self.ports[2].role;
        lay_apart(&mut kernel.ports, distances);
        Some(Arc::new(kernel))
    }

    fn table(&self, port: usize) -> Option<Table> {
        match port {
            3 if self.rows.split.base > 1 => Some(self.rows.table()),
            3 | 4 => Some(self.rows.constants()),
            _ => None,
        }
    }

    fn on_cpu(&self, _: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        self.rows.split.check_leaves("a product of values")?;
        dispatch(&self.rows.ring, self.rows.arithmetic, Run { rows: &self.rows, adds: self.adds(), args })
    }

    fn product(&self) -> Option<(&Split, Order)> {
        (!self.adds()).then_some((&self.rows.split, self.rows.order))
    }

    fn with_epilogue(&self, then: &Arc<dyn Kernel>, term: usize) -> Option<Arc<dyn Kernel>> {
        let kernel = (!self.adds()).then(|| Arc::new(self.clone()))?;
        fused(kernel, 2, &self.rows.ring, then, term)
    }

    fn describe(&self) -> String {
        self.rows.describe()
    }
}

struct Run<'a, 'b> {
    rows: &'a Rows,
    adds: bool,
    args: &'a mut Args<'b>,
}

impl Visit for Run<'_, '_> {
    type Out = Result<()>;

    fn visit<F: Field, S: Store<F::Word>>(self) -> Result<()> {
        let trees = match self.rows.split.base {
            1 => self.rows.trees_without_factors::<F>(self.args, 4)?,
            _ => self.rows.trees::<F>(self.args, 3)?,
        };
        let (a, b) = (self.args.input::<S>(0)?, self.args.input::<S>(1)?);
        let out = self.args.output::<S>(2)?;
        match self.adds {
            false => multiply(self.rows, &trees, [a, b], out, |field, out, product| {
                *out = S::store(field.canonical(product));
            }),
            true => {
                self.rows
                    .each(out, |i, row, (): &mut ()| self.rows.reduce(&self.rows.tree_of(&trees, i).field, i, row));
                multiply(self.rows, &trees, [a, b], out, |field, out, product| {
                    *out = S::store(field.canonical(field.add(product, out.load())));
                });
            }
        }
        Ok(())
    }
}

/// Multiplies the values of elements and hands each word of the products, relaxed, to `put` with its place in `out`.
pub(super) fn multiply<F: Field, S: Store<F::Word>>(
    rows: &Rows,
    trees: &[Tree<'_, F>],
    operands: [&[S]; 2],
    out: &mut [S],
    put: impl Fn(&F, &mut S, F::Word) + Sync,
) {
    let betas: Vec<_> = trees.iter().map(|tree| rows.leaf_constants(tree)).collect();
    let restore = rows.restores();
    let n = rows.split.n;
    rows.each(out, |i, row, (): &mut ()| {
        let (tree, betas) = (rows.tree_of(trees, i), rows.tree_of::<Cow<'_, _>>(&betas, i));
        let field = tree.field;
        let operands = operands.map(|words| rows.reduced(&field, i, &words[i * n..][..n]));
        let operands = operands.each_ref().map(|words| &**words);
        restored_products(tree, restore, betas, operands, row, &|out, product| put(&field, out, product));
    });
}
