//! The kernel `forward`: coefficients to values.

use crate::arithmetic::dispatch;
use crate::error::Result;
use crate::field::{Field, Store, Visit};
use crate::job::Order;
use crate::kernel::{Args, Kernel, Port};
use crate::kernels::fused::fused;
use crate::kernels::order::Reorder;
use crate::kernels::rows::in_place;
use crate::limits::Limits;
use crate::ring::split::Split;
use crate::rows::{Rows, elements, lay_apart};
use crate::source::Source;
use crate::table::Table;
use core::ops::Range;
use std::sync::Arc;

/// The forward transform of elements of a ring.
///
/// Ports: coefficients (in), values (out), the [tables](Rows::table) of factors and the
/// [constants](Rows::constants). The first
/// two may be the same memory, except where a kernel of some of the layers puts values in natural order.
#[derive(Debug, Clone)]
pub struct Forward {
    rows: Rows,
    ports: Vec<Port>,
}

impl Forward {
    /// The transform with this split, its values in this order.
    #[must_use]
    pub fn new(split: &Split, order: Order, limits: &Limits) -> Self {
        let rows = Rows::with_split(split, limits).order(order).fastest();
        Self::of(rows.in_clusters(1))
    }

    /// The kernels that do it together on such rows, in order: one, or several where a row does not suit a block.
    pub(crate) fn parts(rows: &Rows) -> Vec<Self> {
        rows.parts().into_iter().map(Self::of).collect()
    }

    fn of(rows: Rows) -> Self {
        let rows = rows.by_launch();
        let mut ports = rows.ports([Port::input, Port::output]);
        if !rows.is_first() {
            ports[0] = rows.between(ports[0]);
        }
        if !rows.is_last() {
            ports[1] = rows.between(ports[1]);
        }
        Self { rows, ports }
    }
}

impl Kernel for Forward {
    fn name(&self) -> &'static str {
        "forward"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, limits: &Limits) -> Result<Source> {
        let source = self.rows.source(self, ringforge_kernels::FORWARD, limits)?.fusable();
        Ok(self.rows.with_columns(source, [false, true], limits))
    }

    fn in_place(&self, input: usize, output: usize) -> bool {
        (input, output) == (0, 1) && !self.rows.moves_places()
    }

    fn on_views(&self, firsts: &[usize], distances: &[usize]) -> Option<Arc<dyn Kernel>> {
        let mut kernel = Self::of(self.rows.apart(elements(firsts), elements(distances))?);
        lay_apart(&mut kernel.ports, distances);
        Some(Arc::new(kernel))
    }

    fn table(&self, port: usize) -> Option<Table> {
        self.rows.table_of(self.ports.len(), port)
    }

    fn on_cpu(&self, _: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        dispatch(&self.rows.ring, self.rows.arithmetic, Run { rows: &self.rows, args })
    }

    fn with_epilogue(&self, then: &Arc<dyn Kernel>, term: usize) -> Option<Arc<dyn Kernel>> {
        let kernel = self.rows.is_last().then(|| Arc::new(self.clone()))?;
        fused(kernel, 1, &self.rows.ring, then, term)
    }

    fn describe(&self) -> String {
        self.rows.describe_part()
    }
}

struct Run<'a, 'b> {
    rows: &'a Rows,
    args: &'a mut Args<'b>,
}

impl Visit for Run<'_, '_> {
    type Out = Result<()>;

    fn visit<F: Field, S: Store<F::Word>>(self) -> Result<()> {
        let trees = self.rows.trees::<F>(self.args, 2)?;
        let data = self.args.transform::<S>(0, 1)?;
        let order = (self.rows.is_natural() && self.rows.is_last()).then(|| Reorder::to_natural(&self.rows.split));
        self.rows.each(data, |i, row, memory: &mut Vec<F::Word>| {
            let tree = self.rows.tree_of(&trees, i);
            if self.rows.is_first() {
                self.rows.reduce(&tree.field, i, row);
            }
            if self.rows.is_whole() {
                if order.is_none() && in_place(row, |words| tree.forward(words)) {
                    return;
                }
                memory.clear();
                memory.extend(row.iter().map(|x| x.load()));
                tree.forward(memory);
            } else {
                Rows::load_between(&tree.field, self.rows.modulus_of(i), row, memory);
                tree.forward_part(&self.rows.part, memory);
            }
            match &order {
                Some(order) => order.apply(memory, row, S::store),
                None => row.iter_mut().zip(&*memory).for_each(|(x, word)| *x = S::store(*word)),
            }
        });
        Ok(())
    }
}
