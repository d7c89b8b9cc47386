//! The kernel `copy`: items from where they lie to other places, for views that a kernel does not take.

use core::ops::Range;
use std::sync::Arc;

use crate::kernels::spread;
use crate::source::of_engine;
use ringforge_math::error::Result;
use ringforge_runtime::kernel::{Args, Built, Kernel, Port, Source};
use ringforge_runtime::limits::Limits;

/// Threads of a block.
const THREADS: usize = 256;

/// A copy of each item. Ports: from (in), to (out).
#[derive(Debug, Clone)]
pub(crate) struct Copy {
    ports: [Port; 2],
}

impl Copy {
    /// Of items of so many bytes, secret or not.
    pub(crate) fn new(bytes: usize, secret: bool) -> Self {
        let ports = [Port::input(bytes), Port::output(bytes)];
        Self { ports: if secret { ports.map(Port::secret) } else { ports } }
    }
}

impl Kernel for Copy {
    fn name(&self) -> &'static str {
        "copy"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, _: &Limits) -> Result<Source> {
        let [from, to] = &self.ports;
        // a thread for eight bytes
        let launch = spread::launch(from.bytes.div_ceil(8), THREADS)?;
        let prelude = format!("struct Task {{\n    static constexpr unsigned threads = {THREADS};\n}};\n");
        let numbers = [from.bytes, from.distance(), to.distance()].map(|bytes| bytes as u64);
        Ok(of_engine(self, ringforge_kernels::COPY, Built { prelude, launch }, numbers.to_vec()))
    }

    fn on_views(&self, _: &[usize], distances: &[usize]) -> Option<Arc<dyn Kernel>> {
        let mut kernel = self.clone();
        kernel.ports.iter_mut().zip(distances).for_each(|(port, &distance)| port.apart = Some(distance));
        Some(Arc::new(kernel))
    }

    fn on_cpu(&self, _: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        args.output::<u8>(1)?.copy_from_slice(args.input(0)?);
        Ok(())
    }
}
