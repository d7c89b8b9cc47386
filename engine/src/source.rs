//! The sources of the engine's kernels.

#![allow(unsafe_code)]

use ringforge_runtime::kernel::{Built, Epilogue, Kernel, Parts, Source};

/// The source of a kernel from `ringforge-kernels`. Its ports and constants must derive from the same values; `numbers`
/// are its run-time constants.
pub(crate) fn of_engine(kernel: &dyn Kernel, text: &'static str, built: Built, numbers: Vec<u64>) -> Source {
    // SAFETY: the crate's CUDA sources keep the contract; the test kit runs each under sanitizers and with poisoned
    // memory.
    unsafe { Source::new(kernel, text, &[], built).with_numbers(numbers) }
}

/// The same source, changed in what a kernel of `ringforge-kernels` leaves open. Tests also alter sources for the
/// emulator, which watches them.
pub(crate) fn with(source: Source, change: impl FnOnce(&mut Parts)) -> Source {
    // SAFETY: as above.
    unsafe { source.with(change) }
}

/// The prelude's last line if nothing is fused.
const NO_EPILOGUE: &str = "using Epilogue = rf::NoEpilogue;\n";

/// A source that takes an `Epilogue` after its pointers, so that steps can be fused to it.
pub(crate) fn fusable(source: Source) -> Source {
    with(source, |source| {
        source.built.prelude += NO_EPILOGUE;
        source.epilogue = Some(Epilogue::default());
    })
}

/// The same for a kernel with other ports. The struct `Epilogue` in `lines` has pointers to the last of them, then these
/// strides. Its items are processed whole.
pub(crate) fn with_epilogue(
    source: Source,
    kernel: &dyn Kernel,
    pointers: usize,
    lines: &str,
    strides: Vec<u64>,
) -> Source {
    with(source, |source| {
        let end = source.built.prelude.len().saturating_sub(NO_EPILOGUE.len());
        source.built.prelude.replace_range(end.., lines);
        source.epilogue = Some(Epilogue { pointers, numbers: strides.len() });
        source.ports = kernel.ports().to_vec();
        source.numbers.splice(0..0, strides);
        source.columns = Vec::new();
    })
}
