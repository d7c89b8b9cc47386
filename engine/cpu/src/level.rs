//! The instruction set for loops and SIMD butterflies: the one that this CPU reports, unless a test overrides it.

#[cfg(feature = "levels")]
use core::sync::atomic::{AtomicU8, Ordering};

/// A choice of the instruction set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The instructions that this CPU reports.
    Detected,
    /// Only the architecture's baseline instructions.
    Baseline,
    /// AVX2, BMI1, BMI2 and ADX, without asking the CPU. For valgrind, which runs ADX instructions but does not report
    /// them.
    Avx2,
}

#[cfg(feature = "levels")]
static LEVEL: AtomicU8 = AtomicU8::new(Level::Detected as u8);

/// Sets the instruction set for all work in this process that starts afterwards.
///
/// # Safety
/// The CPU must support the instructions of `level`.
#[cfg(feature = "levels")]
#[allow(unsafe_code)]
pub unsafe fn set(level: Level) {
    LEVEL.store(level as u8, Ordering::Relaxed);
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn get() -> Level {
    #[cfg(feature = "levels")]
    match LEVEL.load(Ordering::Relaxed) {
        1 => return Level::Baseline,
        2 => return Level::Avx2,
        _ => {}
    }
    // Without optimisation, each SIMD vector of an inlined loop gets its own stack slot, and these slots would fill
    // megabytes.
    if cfg!(ringforge_unoptimised) { Level::Baseline } else { Level::Detected }
}
