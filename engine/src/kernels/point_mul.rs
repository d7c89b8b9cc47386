//! The kernels `point_mul` and `mul_add`: products in the NTT domain, alone or added to a third element.

use crate::kernels::elementwise::fused;
use crate::layout::{KernelLayout, elements, set_strides};
use crate::source::{fusable, with};
use core::ops::Range;
use ringforge_math::error::Result;
use ringforge_math::factorization::Factorization;
use ringforge_math::poly::Order;
use ringforge_runtime::kernel::{Args, Kernel, Port, Role, Source, Table};
use ringforge_runtime::limits::Limits;
use std::sync::Arc;

/// The pointwise product of two elements in the NTT domain, leaf by leaf modulo x^d − β. It may be added to a third
/// element.
///
/// Ports: left and right evaluations (in), their product (out) or the sum that it is added to (in and out), the twiddle
/// [tables](KernelLayout::table), and the [constants](KernelLayout::constants). Leaves of degree 1 need no twiddle
/// factors, so the port of the tables has the constants too.
#[derive(Debug, Clone)]
pub struct PointMul {
    rows: KernelLayout,
    ports: Vec<Port>,
}

impl PointMul {
    /// The product of evaluations of a transform with this factorisation and order.
    #[must_use]
    pub fn new(factorization: &Factorization, order: Order, limits: &Limits) -> Self {
        Self::of(KernelLayout::with_split(factorization, limits).order(order))
    }

    fn of(rows: KernelLayout) -> Self {
        let rows = rows.by_launch();
        let mut ports = rows.ports([Port::input, Port::input, Port::output]);
        if rows.factorization.leaf_degree() == 1 {
            ports[3] = ports[4];
        }
        Self { rows, ports }
    }

    /// The same kernel, except that it adds the product to the previous contents of the output.
    #[must_use]
    pub fn adding(self) -> Self {
        let mut ports = self.ports;
        ports[2].role = Role::InOut;
        Self { ports, ..self }
    }

    fn adds(&self) -> bool {
        self.ports[2].role == Role::InOut
    }
}

impl Kernel for PointMul {
    fn name(&self) -> &'static str {
        if self.adds() { "mul_add" } else { "point_mul" }
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, limits: &Limits) -> Result<Source> {
        self.rows.factorization.check_leaves("a product of evaluations")?;
        let text = if self.adds() { ringforge_kernels::MUL_ADD } else { ringforge_kernels::POINT_MUL };
        let launch = self.rows.leaf_launch()?;
        let source = with(self.rows.source(self, text, limits)?, |source| source.built.launch = launch);
        Ok(if self.adds() { source } else { fusable(source) })
    }

    fn in_place(&self, input: usize, output: usize) -> bool {
        input < 2 && output == 2
    }

    fn on_views(&self, firsts: &[usize], strides: &[usize]) -> Option<Arc<dyn Kernel>> {
        let mut kernel = Self::of(self.rows.apart(elements(firsts), elements(strides))?);
        kernel.ports[2].role = self.ports[2].role;
        set_strides(&mut kernel.ports, strides);
        Some(Arc::new(kernel))
    }

    fn table(&self, port: usize) -> Option<Table> {
        match port {
            3 if self.rows.factorization.leaf_degree() > 1 => Some(self.rows.table()),
            3 | 4 => Some(self.rows.constants()),
            _ => None,
        }
    }

    fn on_cpu(&self, _: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        self.rows.factorization.check_leaves("a product of evaluations")?;
        let kernels = self.rows.on_cpu(args, (self.rows.factorization.leaf_degree() > 1).then_some(3), 4)?;
        kernels.point_mul(self.rows.operands(args)?, self.rows.aligned(args.output::<u8>(2)?)?, self.adds());
        Ok(())
    }

    fn product(&self) -> Option<(&Factorization, Order)> {
        (!self.adds()).then_some((&self.rows.factorization, self.rows.order))
    }

    fn with_epilogue(&self, then: &Arc<dyn Kernel>, term: usize) -> Option<Arc<dyn Kernel>> {
        let kernel = (!self.adds()).then(|| Arc::new(self.clone()))?;
        fused(kernel, 2, &self.rows.poly, then, term)
    }

    fn describe(&self) -> String {
        self.rows.describe()
    }
}
