//! The kernel `extend`: rows of elements as the first part of longer rows, which end in zeros.

use core::ops::Range;
use std::sync::Arc;

use crate::kernels::spread;
use crate::source::of_engine;
use ringforge_math::error::Result;
use ringforge_math::poly::PolyType;
use ringforge_runtime::kernel::{Args, Built, Kernel, Port, Source};
use ringforge_runtime::limits::Limits;

/// Threads of a block.
const THREADS: usize = 256;

/// Elements of a longer degree from those of a shorter one: zeros above. Ports: from (in), to (out).
#[derive(Debug, Clone)]
pub(crate) struct Extend {
    /// Bytes of a row.
    shorter: usize,
    longer: usize,
    /// Where items begin, so far as words are concerned.
    firsts: usize,
    ports: [Port; 2],
}

impl Extend {
    /// Between rings of the same moduli, stored alike.
    pub(crate) fn new(from: &PolyType, to: &PolyType) -> Self {
        let [shorter, longer] = [from, to].map(|poly| poly.bytes() / poly.basis().len());
        Self { shorter, longer, firsts: 0, ports: [Port::input(from.bytes()), Port::output(to.bytes())] }
    }
}

impl Kernel for Extend {
    fn name(&self) -> &'static str {
        "extend"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, _: &Limits) -> Result<Source> {
        let Self { shorter, longer, firsts, ports: [from, to] } = self;
        let (bytes, word) = spread::word(shorter | longer | firsts | from.distance() | to.distance());
        let units = to.bytes / bytes;
        let prelude = format!(
            "#pragma once\n#include \"word.cuh\"\nstruct Task {{\n\
             \x20   using Word = {word};\n\
             \x20   static constexpr rf::u32 threads = {THREADS};\n}};\n"
        );
        let built = Built { prelude, launch: spread::launch(units, THREADS)? };
        let lengths = [*shorter, *longer, from.distance(), to.distance()].map(|length| length / bytes);
        let numbers = core::iter::once(units).chain(lengths).map(|number| number as u64).collect();
        Ok(of_engine(self, ringforge_kernels::EXTEND, built, numbers))
    }

    fn on_views(&self, firsts: &[usize], distances: &[usize]) -> Option<Arc<dyn Kernel>> {
        let mut kernel = self.clone();
        kernel.firsts = firsts.iter().fold(0, |all, first| all | first);
        kernel.ports.iter_mut().zip(distances).for_each(|(port, &distance)| port.apart = Some(distance));
        Some(Arc::new(kernel))
    }

    fn on_cpu(&self, _: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        let from = args.input::<u8>(0)?;
        ringforge_cpu::threads::rows(args.output::<u8>(1)?, self.longer, &|row, to| {
            let from = &from[row * self.shorter..][..self.shorter];
            let (start, zeros) = to.split_at_mut(from.len());
            start.copy_from_slice(from);
            zeros.fill(0);
        });
        Ok(())
    }
}
