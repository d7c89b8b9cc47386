//! The kernel `copy`: strided copies of runs of bytes, padded with zeros.

use core::ops::Range;
use std::sync::Arc;

use crate::kernels::spread;
use crate::layout::set_strides;
use crate::source::of_engine;
use ringforge_math::error::Result;
use ringforge_math::poly::PolyType;
use ringforge_runtime::kernel::{Args, Built, Kernel, Port, Source};
use ringforge_runtime::limits::Limits;

/// Threads per block.
const THREADS: usize = 256;

/// The copy `to[i][j][k] = from[i · strides[0] + j · strides[1] + k]` of runs of bytes k. Bytes `k < read` are copied,
/// and the others are 0.
///
/// Ports: from (in), to (out).
#[derive(Debug, Clone)]
pub(crate) struct Copy {
    /// Number of runs j for each i.
    runs: usize,
    /// Bytes of a run in the output, and the number of them that are copied from the input.
    run: usize,
    read: usize,
    strides: [usize; 2],
    /// Bitwise or of the byte offsets of the first items, which determines their alignment.
    firsts: usize,
    ports: [Port; 2],
}

impl Copy {
    /// Copies items of `bytes` bytes. Both ports are secret if `secret` is true.
    pub(crate) fn of(bytes: usize, secret: bool) -> Self {
        let ports = [Port::input(bytes), Port::output(bytes)];
        let ports = if secret { ports.map(Port::secret) } else { ports };
        Self { runs: 1, run: bytes, read: bytes, strides: [bytes; 2], firsts: 0, ports }
    }

    /// Copies coefficients of one ring to a ring of higher degree with the same moduli and storage. Each limb is padded
    /// with zeros.
    pub(crate) fn padded(from: &PolyType, to: &PolyType) -> Self {
        let [read, run] = [from, to].map(|poly| poly.bytes() / poly.basis().len());
        let ports = [Port::input(from.bytes()), Port::output(to.bytes())];
        Self { runs: 1, run, read, strides: [read; 2], firsts: 0, ports }
    }

    /// Transposes a row-major matrix of `rows` × `columns` elements of `element` bytes.
    pub(crate) fn transposed([rows, columns]: [usize; 2], element: usize) -> Self {
        let bytes = rows * columns * element;
        let strides = [element, columns * element];
        let ports = [Port::input(bytes), Port::output(bytes)];
        Self { runs: rows, run: element, read: element, strides, firsts: 0, ports }
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
        let Self { runs, run, read, strides, firsts, ports: [from, to] } = self;
        let lengths = [*run, *read, strides[0], strides[1], from.stride(), to.stride()];
        let (bytes, word) = spread::word(lengths.iter().fold(*firsts, |all, length| all | length));
        let units = to.bytes / bytes;
        let prelude = format!(
            "#pragma once\n#include \"word.cuh\"\nstruct Task {{\n\
             \x20   using Word = {word};\n\
             \x20   static constexpr rf::u32 threads = {THREADS};\n}};\n"
        );
        let built = Built { prelude, launch: spread::launch(units, THREADS)? };
        let numbers = [units, *runs].into_iter().chain(lengths.map(|length| length / bytes));
        Ok(of_engine(self, ringforge_kernels::COPY, built, numbers.map(|number| number as u64).collect()))
    }

    fn on_views(&self, firsts: &[usize], strides: &[usize]) -> Option<Arc<dyn Kernel>> {
        let mut kernel = self.clone();
        kernel.firsts = firsts.iter().fold(0, |all, first| all | first);
        set_strides(&mut kernel.ports, strides);
        Some(Arc::new(kernel))
    }

    fn on_cpu(&self, _: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        let Self { runs, run, read, strides, ports: [of_from, of_to], .. } = self;
        let per_item = of_to.bytes / (runs * run);
        let from = args.input::<u8>(0)?;
        ringforge_cpu::threads::rows(args.output::<u8>(1)?, runs * run, &|number, to| {
            let start = number / per_item * of_from.bytes + number % per_item * strides[0];
            for (j, to) in to.chunks_exact_mut(*run).enumerate() {
                let (copied, zeros) = to.split_at_mut(*read);
                copied.copy_from_slice(&from[start + j * strides[1]..][..*read]);
                zeros.fill(0);
            }
        });
        Ok(())
    }
}
