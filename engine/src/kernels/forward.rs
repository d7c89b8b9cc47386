//! The kernel `forward`: from coefficients to evaluations (forward NTT).

use crate::kernels::elementwise::fused;
use crate::layout::{KernelLayout, elements, set_strides};
use crate::source::fusable;
use core::ops::Range;
use ringforge_math::error::Result;
use ringforge_math::factorization::Factorization;
use ringforge_math::poly::Order;
use ringforge_runtime::kernel::{Args, Kernel, Port, Source, Table};
use ringforge_runtime::limits::Limits;
use std::sync::Arc;

/// The forward NTT of elements of a ring: Cooley–Tukey butterflies of radix 2 and 3 with lazy reduction, from the top
/// of the factorisation down.
///
/// Ports: coefficients (in), evaluations (out), the twiddle [tables](KernelLayout::table) and the
/// [constants](KernelLayout::constants). Coefficients and evaluations may be the same memory, unless a kernel of only
/// some layers writes evaluations in natural order.
#[derive(Debug, Clone)]
pub struct Forward {
    rows: KernelLayout,
    ports: Vec<Port>,
}

impl Forward {
    /// The transform with this factorisation and this order of evaluations, in the fastest arithmetic of the device.
    #[must_use]
    pub fn new(factorization: &Factorization, order: Order, limits: &Limits) -> Self {
        let rows = KernelLayout::with_split(factorization, limits).order(order).fastest();
        Self::of(rows.in_clusters(1))
    }

    /// The kernels that together compute the transform, in launch order: one kernel, or several if a limb is divided
    /// among thread blocks.
    pub(crate) fn parts(rows: &KernelLayout) -> Vec<Self> {
        rows.parts().into_iter().map(Self::of).collect()
    }

    fn of(rows: KernelLayout) -> Self {
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
        let source = fusable(self.rows.source(self, ringforge_kernels::FORWARD, limits)?);
        Ok(self.rows.with_tiles(source, [false, true], limits))
    }

    fn in_place(&self, input: usize, output: usize) -> bool {
        (input, output) == (0, 1) && !self.rows.moves_places()
    }

    fn on_views(&self, firsts: &[usize], strides: &[usize]) -> Option<Arc<dyn Kernel>> {
        let mut kernel = Self::of(self.rows.apart(elements(firsts), elements(strides))?);
        set_strides(&mut kernel.ports, strides);
        Some(Arc::new(kernel))
    }

    fn table(&self, port: usize) -> Option<Table> {
        self.rows.table_of(self.ports.len(), port)
    }

    fn on_cpu(&self, _: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        let data = self.rows.aligned(args.transform::<u8>(0, 1)?)?;
        self.rows.on_cpu(args, Some(2), 3)?.forward(data);
        Ok(())
    }

    fn with_epilogue(&self, then: &Arc<dyn Kernel>, term: usize) -> Option<Arc<dyn Kernel>> {
        let kernel = self.rows.is_last().then(|| Arc::new(self.clone()))?;
        fused(kernel, 1, &self.rows.poly, then, term)
    }

    fn describe(&self) -> String {
        self.rows.describe_part()
    }
}
