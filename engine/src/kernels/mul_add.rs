//! The kernel `mul_add`: the product of values added to a third one.

use core::ops::Range;
use std::sync::Arc;

use crate::error::Result;
use crate::field::{Field, Store, Visit, dispatch};
use crate::job::Order;
use crate::kernel::{Args, Built, Kernel, Port};
use crate::kernels::base::products;
use crate::limits::Limits;
use crate::plan::{Slot, Step};
use crate::planner::split::Split;
use crate::ring::Ring;
use crate::rows::Rows;

/// The product of values of two elements, added to those of a third one.
///
/// Ports: left and right values (in), their sum (in and out), the ring's [table](Rows::table_slot) and
/// [moduli](Rows::moduli_slot).
#[derive(Debug, Clone)]
pub struct MulAdd {
    rows: Rows,
    ports: Vec<Port>,
}

impl MulAdd {
    /// The product of values of a transform with this split and order.
    #[must_use]
    pub fn new(ring: &Ring, split: &Split, order: Order, limits: &Limits) -> Self {
        let rows = Rows::with_split(ring, split, limits).order(order);
        let ports = rows.ports([Port::input, Port::input, Port::in_out]);
        Self { rows, ports }
    }

    /// The step that adds the product of two operands to a sum.
    #[must_use]
    pub fn step(self, left: Slot, right: Slot, sum: Slot) -> Step {
        let slots = self.rows.slots([left, right, sum]);
        Step { kernel: Arc::new(self), slots }
    }
}

impl Kernel for MulAdd {
    fn name(&self) -> &'static str {
        "mul_add"
    }

    fn source(&self) -> &'static str {
        ringforge_kernels::MUL_ADD
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn build(&self, limits: &Limits) -> Result<Built> {
        let built = self.rows.build_part(limits, "")?;
        Ok(Built { launch: self.rows.leaf_launch(), ..built })
    }

    fn on_cpu(&self, _: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        dispatch(&self.rows.ring, self.rows.arithmetic, Run { rows: &self.rows, args })
    }

    fn describe(&self) -> String {
        self.rows.describe()
    }
}

struct Run<'a, 'b> {
    rows: &'a Rows,
    args: &'a mut Args<'b>,
}

impl Visit for Run<'_, '_> {
    type Out = Result<()>;

    fn visit<F: Field, S: Store<F::Word>>(self) -> Result<()> {
        let trees = self.rows.trees::<F>(self.args, 3)?;
        let (a, b) = (self.args.input::<S>(0)?, self.args.input::<S>(1)?);
        let out = self.args.output::<S>(2)?;
        let leaf_at = self.rows.leaf_at();
        let n = self.rows.split.n;
        self.rows.each(out, |i, row, (): &mut ()| {
            let tree = self.rows.tree_of(&trees, i);
            let field = tree.field;
            let factor = tree.product_factor();
            products(tree, &leaf_at, [&a[i * n..][..n], &b[i * n..][..n]], row, &|out, product| {
                let product = if F::HAS_FACTOR { field.mul(product, factor) } else { product };
                *out = S::store(field.canonical(field.add(product, out.load())));
            });
        });
        Ok(())
    }
}
