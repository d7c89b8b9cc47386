//! The kernels `inverse` and `inverse_of_product`: from evaluations, or products of them, to coefficients (inverse
//! NTT).

use core::ops::Range;
use std::sync::Arc;

use crate::kernels::elementwise::fused;
use crate::layout::{KernelLayout, elements, set_strides};
use crate::source::fusable;
use ringforge_math::error::Result;
use ringforge_math::factorization::Factorization;
use ringforge_math::poly::Order;
use ringforge_runtime::kernel::{Args, Kernel, Port, Source, Table};
use ringforge_runtime::limits::Limits;

/// The inverse NTT of elements of a ring: Gentleman–Sande butterflies of radix 2 and 3 with lazy reduction. It undoes
/// [`Forward`](super::Forward), and multiplies by the scale of the layout.
///
/// Ports: evaluations (in), coefficients (out), the twiddle [tables](KernelLayout::table) and the
/// [constants](KernelLayout::constants). Evaluations and coefficients may be the same memory, unless a kernel of only
/// some layers reads evaluations in natural order.
#[derive(Debug, Clone)]
pub struct Inverse {
    rows: KernelLayout,
    /// Whether the kernel takes two elements in the NTT domain and transforms their pointwise product.
    of_product: bool,
    ports: Vec<Port>,
}

impl Inverse {
    /// The transform with this factorisation and this order of evaluations, in the fastest arithmetic of the device.
    #[must_use]
    pub fn new(factorization: &Factorization, order: Order, limits: &Limits) -> Self {
        let rows = KernelLayout::with_split(factorization, limits).order(order).fastest();
        Self::of(rows.in_clusters(1), false)
    }

    /// The kernels that together compute the transform, in launch order: one kernel, or several if a limb is divided
    /// among thread blocks.
    pub(crate) fn parts(rows: &KernelLayout) -> Vec<Self> {
        rows.parts().into_iter().rev().map(|part| Self::of(part, false)).collect()
    }

    fn of(rows: KernelLayout, of_product: bool) -> Self {
        let rows = KernelLayout { back: true, ..rows.by_launch() };
        let mut ports = rows.ports([Port::input, Port::output]);
        if !rows.is_last() {
            ports[0] = rows.between(ports[0]);
        }
        if !rows.is_first() {
            ports[1] = rows.between(ports[1]);
        }
        if of_product {
            ports.insert(0, ports[0]);
        }
        Self { rows, of_product, ports }
    }

    /// The index of the output port.
    fn output(&self) -> usize {
        1 + usize::from(self.of_product)
    }
}

impl Kernel for Inverse {
    fn name(&self) -> &'static str {
        if self.of_product { "inverse_of_product" } else { "inverse" }
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, limits: &Limits) -> Result<Source> {
        if self.of_product {
            return Ok(fusable(self.rows.source(self, ringforge_kernels::INVERSE_OF_PRODUCT, limits)?));
        }
        let source = fusable(self.rows.source(self, ringforge_kernels::INVERSE, limits)?);
        Ok(self.rows.with_tiles(source, [true, false], limits))
    }

    fn in_place(&self, input: usize, output: usize) -> bool {
        input < output && output == self.output() && !self.rows.moves_places()
    }

    fn on_views(&self, firsts: &[usize], strides: &[usize]) -> Option<Arc<dyn Kernel>> {
        let mut kernel = Self::of(self.rows.apart(elements(firsts), elements(strides))?, self.of_product);
        set_strides(&mut kernel.ports, strides);
        Some(Arc::new(kernel))
    }

    fn table(&self, port: usize) -> Option<Table> {
        self.rows.table_of(self.ports.len(), port)
    }

    fn on_cpu(&self, _: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        let kernels = self.rows.on_cpu(args, Some(self.output() + 1), self.output() + 2)?;
        let data = match self.of_product {
            false => self.rows.aligned(args.transform::<u8>(0, 1)?)?,
            true => {
                let (operands, out) = (self.rows.operands(args)?, self.rows.aligned(args.output::<u8>(2)?)?);
                kernels.point_mul(operands, out, false);
                out
            }
        };
        kernels.inverse(data);
        Ok(())
    }

    fn with_epilogue(&self, then: &Arc<dyn Kernel>, term: usize) -> Option<Arc<dyn Kernel>> {
        let kernel = self.rows.is_first().then(|| Arc::new(self.clone()))?;
        fused(kernel, self.output(), &self.rows.poly, then, term)
    }

    fn taking_product(&self, of: (&Factorization, Order)) -> Option<Arc<dyn Kernel>> {
        // products modulo leaves of degree above 1 need the leaf constants, which the kernel has only if it computes
        // all layers
        let suits = self.rows.is_whole() || self.rows.is_last() && self.rows.factorization.leaf_degree() == 1;
        let is_same = of == (&self.rows.factorization, self.rows.order)
            && !self.of_product
            && !self.rows.factorization.ends_high();
        (suits && is_same).then(|| Arc::new(Self::of(self.rows.clone(), true)) as Arc<dyn Kernel>)
    }

    fn describe(&self) -> String {
        self.rows.describe_part() + if self.of_product { "; fused: a product of evaluations" } else { "" }
    }
}
