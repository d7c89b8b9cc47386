//! The kernel `ring_mul`: the product of two elements from coefficients to coefficients.

use core::ops::Range;
use std::sync::Arc;

use crate::kernels::elementwise::fused;
use crate::rows::{Rows, elements, lay_apart};
use crate::source::fusable;
use crate::tuning::Choice;
use ringforge_math::error::Result;
use ringforge_math::split::Split;
use ringforge_runtime::kernel::{Args, Kernel, Port, Source, Table};
use ringforge_runtime::limits::Limits;

/// The product of two elements of a ring in one kernel: forward NTTs, products of leaves, inverse NTT.
///
/// Ports: left and right coefficients (in), coefficients of the product (out), the twiddle [tables](Rows::table) and
/// the [constants](Rows::constants).
#[derive(Debug, Clone)]
pub struct RingMul {
    rows: Rows,
    ports: Vec<Port>,
}

impl RingMul {
    /// The product by transforms with this factorisation.
    #[must_use]
    pub fn new(split: &Split, limits: &Limits) -> Self {
        Self::of(Rows::with_split(split, limits).holding(2).fastest())
    }

    /// The same kernel with a tuning choice, as far as it applies.
    pub(crate) fn chosen(self, choice: Choice) -> Self {
        Self::of(self.rows.chosen(choice))
    }

    fn of(rows: Rows) -> Self {
        Self::on(rows.by_launch())
    }

    /// The product with this layout.
    pub(super) fn on(rows: Rows) -> Self {
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
        self.rows.split.check_leaves("a product")?;
        self.rows.check_whole(limits)?;
        Ok(fusable(self.rows.source(self, ringforge_kernels::RING_MUL, limits)?))
    }

    fn in_place(&self, input: usize, output: usize) -> bool {
        input < 2 && output == 2
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
        self.rows.split.check_leaves("a product")?;
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
