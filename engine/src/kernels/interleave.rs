//! The kernel `interleave`: rows, one behind another, to where elements of one place stand together, and back.

use core::ops::Range;

use crate::kernels::spread;
use crate::source::of_engine;
use ringforge_math::error::Result;
use ringforge_runtime::kernel::{Args, Built, Kernel, Port, Source};
use ringforge_runtime::limits::Limits;

/// Threads of a block.
const THREADS: usize = 256;

/// Elements of rows put together by place, or put into rows again. Ports: from (in), to (out).
#[derive(Debug, Clone)]
pub(crate) struct Interleave {
    rows: usize,
    /// Elements of a row, and bytes of one.
    length: usize,
    element: usize,
    /// Whether they are put together.
    together: bool,
    ports: [Port; 2],
}

impl Interleave {
    /// Of so many rows of so many elements of so many bytes.
    pub(crate) fn new(rows: usize, length: usize, element: usize, together: bool) -> Self {
        let bytes = rows * length * element;
        Self { rows, length, element, together, ports: [Port::input(bytes), Port::output(bytes)] }
    }
}

impl Kernel for Interleave {
    fn name(&self) -> &'static str {
        "interleave"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, _: &Limits) -> Result<Source> {
        let Self { rows, length, element, together, .. } = *self;
        let (bytes, word) = spread::word(element);
        let units = rows * length * element / bytes;
        let prelude = format!(
            "#pragma once\n#include \"word.cuh\"\nstruct Task {{\n\
             \x20   using Word = {word};\n\
             \x20   static constexpr rf::u32 threads = {THREADS};\n\
             \x20   static constexpr bool together = {together};\n}};\n"
        );
        let built = Built { prelude, launch: spread::launch(units, THREADS)? };
        let numbers = [units, rows, length, element / bytes].map(|number| number as u64).to_vec();
        Ok(of_engine(self, ringforge_kernels::INTERLEAVE, built, numbers))
    }

    fn on_cpu(&self, _: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        let Self { rows, length, element, together, .. } = *self;
        let (from, to) = (args.input::<u8>(0)?, args.output::<u8>(1)?);
        // of each element, where it comes from, by its row or place here and its number there
        let (here, there) = if together { (rows, length) } else { (length, rows) };
        ringforge_cpu::threads::rows(to, here * element, &|outer, to| {
            for (inner, to) in to.chunks_exact_mut(element).enumerate() {
                let number = outer % there + inner * there + outer / there * here * there;
                to.copy_from_slice(&from[number * element..][..element]);
            }
        });
        Ok(())
    }
}
