//! Sources of the engine's kernels, which are in the crate `ringforge-kernels`.

#![allow(unsafe_code)]

use ringforge_runtime::kernel::{Built, Epilogue, Kernel, Parts, Source};

/// The source of `kernel`, from a CUDA source of `ringforge-kernels`. The ports of `kernel` and the constants in
/// `built` and `numbers` must derive from the same values. `numbers` are the run-time constants.
pub(crate) fn of_engine(kernel: &dyn Kernel, text: &'static str, built: Built, numbers: Vec<u64>) -> Source {
    // SAFETY: the crate's CUDA sources keep the contract of `Source::new`; the test kit runs each of them under
    // sanitizers and with poisoned memory.
    unsafe { Source::new(kernel, text, &[], built).with_numbers(numbers) }
}

/// The source, with those parts changed that a kernel of `ringforge-kernels` leaves open. Tests also make other changes
/// to sources, but run them only in the emulator, which detects errors.
pub(crate) fn with(source: Source, change: impl FnOnce(&mut Parts)) -> Source {
    // SAFETY: a kernel of `ringforge-kernels` keeps its contract for all choices of the parts that it leaves open.
    unsafe { source.with(change) }
}

/// The prelude's last line if nothing is fused.
const NO_EPILOGUE: &str = "using Epilogue = rf::NoEpilogue;\n";

/// Lets the kernel of a source take an `Epilogue` after its pointers, so that other steps can be fused to it.
pub(crate) fn fusable(source: Source) -> Source {
    with(source, |source| {
        source.built.prelude += NO_EPILOGUE;
        source.epilogue = Some(Epilogue::default());
    })
}

/// A [`fusable`] source with the epilogue in `lines` and the ports of `kernel`, the fused kernel. The generated struct
/// `Epilogue` has `pointers` pointers to the last ports, then the `strides`. The division of items among blocks is
/// dropped, so items are copied as a whole.
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
