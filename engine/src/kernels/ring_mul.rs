//! The kernel `ring_mul`: the product of two elements from coefficients to coefficients.

use core::ops::Range;
use std::sync::Arc;

use crate::kernels::elementwise::fused;
use crate::layout::{KernelLayout, elements, set_strides};
use crate::source::fusable;
use crate::tuning::Choice;
use ringforge_math::error::Result;
use ringforge_math::factorization::Factorization;
use ringforge_runtime::kernel::{Args, Kernel, Port, Source, Table};
use ringforge_runtime::limits::Limits;

/// The product of two elements of a ring in one kernel: forward NTTs, products modulo the leaves (factors of the
/// quotient), inverse NTT.
///
/// Ports: left and right coefficients (in), coefficients of the product (out), the twiddle [tables](KernelLayout::table) and
/// the [constants](KernelLayout::constants).
#[derive(Debug, Clone)]
pub struct RingMul {
    rows: KernelLayout,
    ports: Vec<Port>,
}

impl RingMul {
    /// The product by transforms with this factorisation.
    #[must_use]
    pub fn new(factorization: &Factorization, limits: &Limits) -> Self {
        Self::of(KernelLayout::with_split(factorization, limits).holding(2).fastest())
    }

    /// The same kernel with a tuning choice. Parts of the choice that the ring or device does not allow are ignored.
    pub(crate) fn chosen(self, choice: Choice) -> Self {
        Self::of(self.rows.chosen(choice))
    }

    fn of(rows: KernelLayout) -> Self {
        Self::on(rows.by_launch())
    }

    /// The product with this layout.
    pub(super) fn on(rows: KernelLayout) -> Self {
        let ports = rows.ports([Port::input, Port::input, Port::output]);
        Self { rows, ports }
    }

    /// Whether a limb fits a thread block of a device with these limits.
    #[must_use]
    pub fn fits(&self, limits: &Limits) -> bool {
        self.rows.fits(limits)
    }
}

impl Kernel for RingMul {
    fn name(&self) -> &'static str {
        "ring_mul"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, limits: &Limits) -> Result<Source> {
        self.rows.factorization.check_leaves("a product")?;
        self.rows.check_whole(limits)?;
        Ok(fusable(self.rows.source(self, ringforge_kernels::RING_MUL, limits)?))
    }

    fn in_place(&self, input: usize, output: usize) -> bool {
        input < 2 && output == 2
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
        self.rows.factorization.check_leaves("a product")?;
        let kernels = self.rows.on_cpu(args, Some(3), 4)?;
        kernels.ring_mul(self.rows.operands(args)?, self.rows.aligned(args.output::<u8>(2)?)?);
        Ok(())
    }

    fn with_epilogue(&self, then: &Arc<dyn Kernel>, term: usize) -> Option<Arc<dyn Kernel>> {
        fused(Arc::new(self.clone()), 2, &self.rows.poly, then, term)
    }

    fn describe(&self) -> String {
        self.rows.describe() + &self.rows.describe_choice()
    }
}
