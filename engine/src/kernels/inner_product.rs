//! The kernel `inner_product`: inner products in the NTT domain, as in key switching.

use core::iter;
use core::ops::Range;
use std::sync::Arc;

use ringforge_cpu::Keys;

use crate::kernels::elementwise::fused;
use crate::kernels::spread;
use crate::layout::{KernelLayout, set_strides};
use crate::source::{fusable, of_engine};
use ringforge_math::error::{Error, Result};
use ringforge_math::factorization::Factorization;
use ringforge_math::poly::PolyType;
use ringforge_runtime::kernel::{Args, Kernel, Port, Source, Table};
use ringforge_runtime::limits::Limits;

/// Number of element ports.
const ELEMENTS: usize = 3;

/// Threads per block.
const THREADS: usize = 256;

/// For each set s of keys, the inner product Σ a_j·b_(s,j) of evaluations a_j with keys b_(s,j), in a ring whose leaves
/// (factors of the quotient) have degree 1. The elements a_j are contiguous, and so are the keys of a set, the sets,
/// and the sums.
///
/// Ports: a (in), b (in), sums (out), the [constants](KernelLayout::constants).
#[derive(Debug, Clone)]
pub(crate) struct InnerProduct {
    rows: KernelLayout,
    count: usize,
    keys: Keys,
    ports: Vec<Port>,
}

impl InnerProduct {
    /// The inner products of `count` elements with `sets` sets of keys; `keys` is the vector type of all keys.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for leaves of a degree above 1. Also unless `keys` has `sets` sets of at least `count`
    /// keys, over this ring or over a ring that extends its basis.
    pub(crate) fn new(
        factorization: &Factorization,
        count: usize,
        keys: &PolyType,
        sets: usize,
        limits: &Limits,
    ) -> Result<Self> {
        let times = keys.basis().len() / factorization.poly().basis().len();
        let same = factorization.poly().vector(times).ok().filter(|same| same == keys);
        let (of, all) = match same {
            Some(_) => (factorization.poly().clone(), times),
            None => keys.of_vector().unwrap_or_else(|| (keys.clone(), 1)),
        };
        let Some(own) =
            common_limbs(factorization.poly(), &of).filter(|_| sets > 0 && all % sets == 0 && all / sets >= count)
        else {
            let job = format!("inner products of {count} elements of {}", factorization.poly());
            return Err(Error::Unsupported {
                job,
                why: format!("expected {sets} sets of {count} or more keys over this ring, got {keys}"),
            });
        };
        let keys = Keys { sets, count: all / sets, limbs: of.basis().len(), own };
        if factorization.leaf_degree() > 1 {
            let job = format!("inner products in {}", factorization.poly());
            return Err(Error::Unsupported {
                job,
                why: format!("its leaves must have degree 1, not {}", factorization.leaf_degree()),
            });
        }
        let rows = KernelLayout::with_split(factorization, limits).by_launch();
        let mut ports = rows.ports([Port::input, Port::input, Port::output]);
        // no twiddle factors for leaves of degree 1
        ports.remove(ELEMENTS);
        let row = factorization.n() * factorization.poly().width().bytes();
        for (port, limbs) in ports.iter_mut().zip([
            count * factorization.poly().basis().len(),
            all * of.basis().len(),
            sets * factorization.poly().basis().len(),
        ]) {
            port.bytes = limbs * row;
        }
        Ok(Self { rows, count, keys, ports })
    }
}

/// The number of leading limbs in which `poly` and `of` agree. `None` unless the remaining limbs of `poly` are the last
/// limbs of `of`.
fn common_limbs(poly: &PolyType, of: &PolyType) -> Option<usize> {
    let (limbs, all) = (poly.basis().len(), of.basis().len());
    let same = poly.basis().iter().zip(of.basis()).take_while(|(q, other)| q == other).count();
    let agree = |limbs: Range<usize>, others: Range<usize>| {
        limbs.is_empty() || poly.limbs(limbs).ok().is_some_and(|limbs| of.limbs(others) == Ok(limbs))
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
        let mut built = self.rows.build_part(limits)?;
        let (n, lanes) = (self.rows.factorization.n(), self.rows.leaf_lanes());
        built.launch = spread::launch(self.rows.poly.basis().len() * n / lanes, THREADS)?;
        built.prelude += &format!(
            "struct Sets {{\n    static constexpr rf::u32 count = {}, threads = {THREADS};\n}};\n",
            self.keys.sets
        );
        let width = self.rows.poly.width().bytes();
        let strides = self.ports[..ELEMENTS].iter().map(|port| port.stride() / width);
        let numbers = iter::once(self.rows.per_item).chain(strides).chain([self.count]);
        let numbers = numbers.chain([self.keys.count, self.keys.limbs, self.keys.own]);
        let numbers = numbers.map(|number| number as u64).collect();
        Ok(fusable(of_engine(self, ringforge_kernels::INNER_PRODUCT, built, numbers)))
    }

    fn on_views(&self, firsts: &[usize], strides: &[usize]) -> Option<Arc<dyn Kernel>> {
        let rows = self.rows.apart(&firsts[..ELEMENTS], &strides[..ELEMENTS])?;
        let mut kernel = Self { rows, ..self.clone() };
        set_strides(&mut kernel.ports, strides);
        Some(Arc::new(kernel))
    }

    fn table(&self, port: usize) -> Option<Table> {
        (port == ELEMENTS).then(|| self.rows.constants())
    }

    fn on_cpu(&self, _: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        let kernels = self.rows.on_cpu(args, None, ELEMENTS)?;
        let [values, keys] = self.rows.operands(args)?;
        kernels.inner_product(values, (keys, self.keys), self.count, self.rows.aligned(args.output::<u8>(2)?)?);
        Ok(())
    }

    fn with_epilogue(&self, then: &Arc<dyn Kernel>, term: usize) -> Option<Arc<dyn Kernel>> {
        fused(Arc::new(self.clone()), 2, &self.rows.poly.vector(self.keys.sets).ok()?, then, term)
    }

    fn describe(&self) -> String {
        format!("{} terms, {} sets, {}", self.count, self.keys.sets, self.rows.describe())
    }
}
