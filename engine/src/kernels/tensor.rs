//! The kernel `tensor`: tensor products of pairs in the NTT domain, as of ciphertexts.

use core::iter;
use core::ops::Range;
use std::sync::Arc;

use crate::kernels::spread;
use crate::layout::{KernelLayout, set_strides};
use crate::source::of_engine;
use ringforge_math::error::{Error, Result};
use ringforge_math::factorization::Factorization;
use ringforge_runtime::kernel::{Args, Kernel, Port, Source, Table};
use ringforge_runtime::limits::Limits;

/// Number of element ports.
const ELEMENTS: usize = 4;

/// Threads per block.
const THREADS: usize = 256;

/// The product of a_0 + a_1·s and b_0 + b_1·s as a polynomial in s, for evaluations in a ring whose leaves (factors of
/// the quotient) have degree 1.
///
/// Ports: the pair (a_0, a_1) (in), the pair (b_0, b_1) (in), the coefficients of 1 and s as a pair (out), that of s²
/// (out), the [constants](KernelLayout::constants).
#[derive(Debug, Clone)]
pub(crate) struct Tensor {
    rows: KernelLayout,
    ports: Vec<Port>,
}

impl Tensor {
    /// # Errors
    /// [`Error::Unsupported`] for leaves of a degree above 1.
    pub(crate) fn new(factorization: &Factorization, limits: &Limits) -> Result<Self> {
        if factorization.leaf_degree() > 1 {
            return Err(Error::Unsupported {
                job: format!("tensor products in {}", factorization.poly()),
                why: format!("its leaves must have degree 1, not {}", factorization.leaf_degree()),
            });
        }
        let rows = KernelLayout::with_split(factorization, limits).by_launch();
        let one = rows.item_bytes();
        let [a, b] = [Port::input(2 * one); 2];
        let ports = vec![a, b, Port::output(2 * one), Port::output(one), rows.constants_port()];
        Ok(Self { rows, ports })
    }
}

impl Kernel for Tensor {
    fn name(&self) -> &'static str {
        "tensor"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, limits: &Limits) -> Result<Source> {
        let mut built = self.rows.build_part(limits)?;
        let (n, lanes) = (self.rows.factorization.n(), self.rows.leaf_lanes());
        built.launch = spread::launch(self.rows.poly.basis().len() * n / lanes, THREADS)?;
        built.prelude += &format!("constexpr rf::u32 block_threads = {THREADS};\n");
        let width = self.rows.poly.width().bytes();
        let strides = self.ports[..ELEMENTS].iter().map(|port| port.stride() / width);
        let numbers = iter::once(self.rows.per_item).chain(strides).map(|number| number as u64).collect();
        Ok(of_engine(self, ringforge_kernels::TENSOR, built, numbers))
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
        let operands: [&[u8]; 2] = self.rows.operands(args)?;
        let (pairs, squares) = (args.output::<u8>(2)?, args.output::<u8>(3)?);
        let (pairs, squares) = (self.rows.aligned(pairs)?, self.rows.aligned(squares)?);
        let one = self.rows.item_bytes();
        let [a, b] = operands.map(|all| all.chunks_exact(2 * one).map(move |pair| pair.split_at(one)));
        let products = pairs.chunks_exact_mut(2 * one).zip(squares.chunks_exact_mut(one));
        for (((a0, a1), (b0, b1)), (pair, square)) in a.zip(b).zip(products) {
            let (c0, c1) = pair.split_at_mut(one);
            kernels.point_mul([a0, b0], c0, false);
            kernels.point_mul([a0, b1], c1, false);
            kernels.point_mul([a1, b0], c1, true);
            kernels.point_mul([a1, b1], square, false);
        }
        Ok(())
    }

    fn describe(&self) -> String {
        self.rows.describe()
    }
}
