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
use crate::ring::Ring;
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

/// Keys of one ring for elements of another one, whose limbs are the first and the last ones of it.
#[derive(Debug, Clone, Copy)]
struct Keys {
    /// Sets of keys, and keys of a set: as many as there are elements, or more, of which the others are not read.
    sets: usize,
    count: usize,
    /// Limbs of a key, and limbs before those that elements do not have.
    limbs: usize,
    own: usize,
}

/// For each set of keys s, Σ a_j·b_(s,j): values a_j of a ring whose leaves have degree 1, one after another, keys one after
/// another for each set, sums one after another.
///
/// Ports: a (in), b (in), sums (out), the [constants](Rows::constants).
#[derive(Debug, Clone)]
pub(crate) struct InnerProduct {
    rows: Rows,
    count: usize,
    keys: Keys,
    ports: Vec<Port>,
}

impl InnerProduct {
    /// Of `count` elements and `sets` sets of keys, which are elements of the ring `of`, all side by side in `keys`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where leaves have a degree above 1, and where keys do not suit elements.
    pub(crate) fn new(split: &Split, count: usize, keys: &Ring, sets: usize, limits: &Limits) -> Result<Self> {
        let times = keys.basis().len() / split.ring.basis().len();
        let same = split.ring.side_by_side(times).ok().filter(|same| same == keys);
        let (of, all) = match same {
            Some(_) => (split.ring.clone(), times),
            None => keys.of_side_by_side().unwrap_or_else(|| (keys.clone(), 1)),
        };
        let Some(own) = common_limbs(&split.ring, &of).filter(|_| sets > 0 && all % sets == 0 && all / sets >= count)
        else {
            let job = format!("inner products of {count} elements of {}", split.ring);
            return Err(Error::Unsupported { job, why: format!("{sets} sets of keys of it are wanted, not {keys}") });
        };
        let keys = Keys { sets, count: all / sets, limbs: of.basis().len(), own };
        if split.base > 1 {
            let job = format!("inner products in {}", split.ring);
            return Err(Error::Unsupported { job, why: format!("its leaves have degree {}", split.base) });
        }
        let rows = Rows::with_split(split, limits).by_launch();
        let mut ports = rows.ports([Port::input, Port::input, Port::output]);
        // no factors where leaves have degree 1
        ports.remove(ELEMENTS);
        let row = split.n * split.ring.width().bytes();
        for (port, limbs) in ports.iter_mut().zip([
            count * split.ring.basis().len(),
            all * of.basis().len(),
            sets * split.ring.basis().len(),
        ]) {
            port.bytes = limbs * row;
        }
        Ok(Self { rows, count, keys, ports })
    }
}

/// How many of the ring's limbs are the first ones of another ring; its others are the last ones there.
fn common_limbs(ring: &Ring, of: &Ring) -> Option<usize> {
    let (limbs, all) = (ring.basis().len(), of.basis().len());
    let same = ring.basis().iter().zip(of.basis()).take_while(|(q, other)| q == other).count();
    let agree = |limbs: Range<usize>, others: Range<usize>| {
        limbs.is_empty() || ring.limbs(limbs).ok().is_some_and(|limbs| of.limbs(others) == Ok(limbs))
    };
    (agree(0..same, 0..same) && limbs <= all && agree(same..limbs, all - (limbs - same)..all)).then_some(same)
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
        built.prelude += &format!(
            "struct Sets {{\n    static constexpr rf::u32 count = {}, threads = {THREADS};\n}};\n",
            self.keys.sets
        );
        let width = self.rows.ring.width().bytes();
        let distances = self.ports[..ELEMENTS].iter().map(|port| port.distance() / width);
        let numbers = iter::once(self.rows.per_item).chain(distances).chain([self.count]);
        let numbers = numbers.chain([self.keys.count, self.keys.limbs, self.keys.own]);
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
        fused(Arc::new(self.clone()), 2, &self.rows.ring.side_by_side(self.keys.sets).ok()?, then, term)
    }

    fn describe(&self) -> String {
        format!("{} terms, {} sets, {}", self.count, self.keys.sets, self.rows.describe())
    }
}

struct Run<'b, 'a> {
    kernel: &'b InnerProduct,
    args: &'b mut Args<'a>,
}

impl<'a> Visit for Run<'_, 'a> {
    type Out = Result<()>;

    fn visit<F: Field, S: Store<F::Word>>(self) -> Result<()> {
        let InnerProduct { rows, count, keys, .. } = self.kernel;
        let Keys { sets, count: kept, limbs: key_limbs, own } = *keys;
        let trees = rows.trees_without_factors::<F>(self.args, ELEMENTS)?;
        let (a, b) = (self.args.input::<S>(0)?, self.args.input::<S>(1)?);
        let (n, limbs) = (rows.split.n, rows.ring.basis().len());
        let restore = rows.restores();
        threads::rows(self.args.output::<S>(2)?, n, &|i, sums| {
            let (item, set, row) = (i / (sets * limbs), i / limbs % sets, i % limbs);
            let tree = rows.tree_of(&trees, row);
            let field = tree.field;
            let first = |element: usize| (element * limbs + row) * n;
            let key_row = if row < own { row } else { row + key_limbs - limbs };
            let key = |element: usize| (element * key_limbs + key_row) * n;
            for (tile, sums) in sums.chunks_mut(TILE).enumerate() {
                let words =
                    |all: &'a [S], first: usize| rows.reduced(&field, row, &all[first + tile * TILE..][..sums.len()]);
                let mut totals = [None; TILE];
                for group in (0..*count).step_by(MOST_PRODUCTS) {
                    let mut products = [field.wide_zero(); TILE];
                    for j in group..(*count).min(group + MOST_PRODUCTS) {
                        let (x, y) = (words(a, first(item * count + j)), words(b, key((item * sets + set) * kept + j)));
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
