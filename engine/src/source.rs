//! The sources of the engine's kernels.

#![allow(unsafe_code)]

use ringforge_runtime::kernel::{Built, Epilogue, Kernel, Parts, Source};

/// The source of a kernel whose text is one of `ringforge-kernels`, whose ports and constants come from the same values, and
/// which takes these numbers of the launch.
pub(crate) fn of_engine(kernel: &dyn Kernel, text: &'static str, built: Built, numbers: Vec<u64>) -> Source {
    // SAFETY: the crate's texts keep the contract; the test kit runs each under sanitizers and with its memory poisoned.
    unsafe { Source::new(kernel, text, &[], built).with_numbers(numbers) }
}

/// The same, changed in what a text of `ringforge-kernels` leaves open; in tests, altered for the emulator, which watches it.
pub(crate) fn with(source: Source, change: impl FnOnce(&mut Parts)) -> Source {
    // SAFETY: as above.
    unsafe { source.with(change) }
}

/// A prelude's last line where nothing is fused.
const NO_EPILOGUE: &str = "using Epilogue = rf::NoEpilogue;\n";

/// The same of a text that takes an `Epilogue` behind its pointers.
pub(crate) fn fusable(source: Source) -> Source {
    with(source, |source| {
        source.built.prelude += NO_EPILOGUE;
        source.epilogue = Some(Epilogue::default());
    })
}

/// The same for a kernel with these ports, of which the struct `Epilogue` of these lines has pointers to the last ones, and then
/// their strides. Its items are worked on whole.
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
