//! The kernel `inner_product`: sums of products of values over a list, as key switching has them.

use core::iter;
use core::ops::Range;
use std::sync::Arc;

use crate::arithmetic::dispatch;
use crate::error::{Error, Result};
use crate::field::{Field, Store, Visit};
use crate::kernel::{Args, Kernel, Port};
use crate::kernels::fused::fused;
use crate::kernels::spread;
use crate::limits::Limits;
use crate::ring::split::Split;
use crate::rows::{Rows, lay_apart};
use crate::source::Source;
use crate::table::Table;
use crate::threads;

/// Ports of elements.
const ELEMENTS: usize = 3;

/// Threads of a block.
const THREADS: usize = 256;

/// On a CPU, values that are worked on together, and the products that are summed before a reduction.
const TILE: usize = 64;
const MOST_PRODUCTS: usize = 8;

/// For each set of keys s, Σ a_j·b_(s,j): values a_j of a ring whose leaves have degree 1, one after another, keys one after
/// another for each set, sums one after another.
///
/// Ports: a (in), b (in), sums (out), the [constants](Rows::constants).
#[derive(Debug, Clone)]
pub(crate) struct InnerProduct {
    rows: Rows,
    count: usize,
    sets: usize,
    ports: Vec<Port>,
}

impl InnerProduct {
    /// Of `count` elements and `sets` sets of keys.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where leaves have a degree above 1.
    pub(crate) fn new(split: &Split, [count, sets]: [usize; 2], limits: &Limits) -> Result<Self> {
        if split.base > 1 {
            let job = format!("inner products in {}", split.ring);
            return Err(Error::Unsupported { job, why: format!("its leaves have degree {}", split.base) });
        }
        let rows = Rows::with_split(split, limits).by_launch();
        let mut ports = rows.ports([Port::input, Port::input, Port::output]);
        // no factors where leaves have degree 1
        ports.remove(ELEMENTS);
        for (port, elements) in ports.iter_mut().zip([count, count * sets, sets]) {
            port.bytes *= elements;
        }
        Ok(Self { rows, count, sets, ports })
    }
}

impl Kernel for InnerProduct {
    fn name(&self) -> &'static str {
        "inner_product"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, limits: &Limits) -> Result<Source> {
        let mut built = self.rows.build_part(limits, "")?;
        let (n, lanes) = (self.rows.split.n, self.rows.leaf_lanes());
        built.launch = spread::launch(self.rows.ring.basis().len() * n / lanes, THREADS)?;
        built.prelude +=
            &format!("struct Sets {{\n    static constexpr rf::u32 count = {}, threads = {THREADS};\n}};\n", self.sets);
        let width = self.rows.ring.width().bytes();
        let distances = self.ports[..ELEMENTS].iter().map(|port| port.distance() / width);
        let numbers = iter::once(self.rows.per_item).chain(distances).chain([self.count]);
        let numbers = numbers.map(|number| number as u64).collect();
        Ok(Source { numbers, ..Source::of_engine(self, ringforge_kernels::INNER_PRODUCT, built) }.fusable())
    }

    fn on_views(&self, firsts: &[usize], distances: &[usize]) -> Option<Arc<dyn Kernel>> {
        let rows = self.rows.apart(&firsts[..ELEMENTS], &distances[..ELEMENTS])?;
        let mut kernel = Self { rows, ..self.clone() };
        lay_apart(&mut kernel.ports, distances);
        Some(Arc::new(kernel))
    }

    fn table(&self, port: usize) -> Option<Table> {
        (port == ELEMENTS).then(|| self.rows.constants())
    }

    fn on_cpu(&self, _: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        dispatch(&self.rows.ring, self.rows.arithmetic, Run { kernel: self, args })
    }

    fn with_epilogue(&self, then: &Arc<dyn Kernel>, term: usize) -> Option<Arc<dyn Kernel>> {
        fused(Arc::new(self.clone()), 2, &self.rows.ring.side_by_side(self.sets).ok()?, then, term)
    }

    fn describe(&self) -> String {
        format!("{} terms, {} sets, {}", self.count, self.sets, self.rows.describe())
    }
}

struct Run<'b, 'a> {
    kernel: &'b InnerProduct,
    args: &'b mut Args<'a>,
}

impl<'a> Visit for Run<'_, 'a> {
    type Out = Result<()>;

    fn visit<F: Field, S: Store<F::Word>>(self) -> Result<()> {
        let InnerProduct { rows, count, sets, .. } = self.kernel;
        let trees = rows.trees_without_factors::<F>(self.args, ELEMENTS)?;
        let (a, b) = (self.args.input::<S>(0)?, self.args.input::<S>(1)?);
        let (n, limbs) = (rows.split.n, rows.ring.basis().len());
        let restore = rows.restores();
        threads::rows(self.args.output::<S>(2)?, n, &|i, sums| {
            let (item, set, row) = (i / (sets * limbs), i / limbs % sets, i % limbs);
            let tree = rows.tree_of(&trees, row);
            let field = tree.field;
            let first = |element: usize| (element * limbs + row) * n;
            for (tile, sums) in sums.chunks_mut(TILE).enumerate() {
                let words = |all: &'a [S], element| {
                    rows.reduced(&field, row, &all[first(element) + tile * TILE..][..sums.len()])
                };
                let mut totals = [None; TILE];
                for group in (0..*count).step_by(MOST_PRODUCTS) {
                    let mut products = [field.wide_zero(); TILE];
                    for j in group..(*count).min(group + MOST_PRODUCTS) {
                        let (x, y) = (words(a, item * count + j), words(b, (item * sets + set) * count + j));
                        for (product, (x, y)) in products.iter_mut().zip(x.iter().zip(&*y)) {
                            *product = field.wide_mad(*product, x.load(), y.load());
                        }
                    }
                    for (total, product) in totals.iter_mut().zip(products).take(sums.len()) {
                        let sum = field.wide_reduce(product);
                        *total = Some(total.map_or(sum, |total| field.relax(field.add(total, sum))));
                    }
                }
                for (out, total) in sums.iter_mut().zip(totals) {
                    let total = total.unwrap_or_else(|| field.wide_reduce(field.wide_zero()));
                    let sum = if restore { field.mul(total, tree.product_factor()) } else { total };
                    *out = S::store(field.canonical(sum));
                }
            }
        });
        Ok(())
    }
}
