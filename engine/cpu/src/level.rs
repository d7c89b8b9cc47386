//! The instruction set that loops and vectors use: what this CPU reports, unless a test chooses another.

#[cfg(feature = "levels")]
use core::sync::atomic::{AtomicU8, Ordering};

/// An instruction set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The instructions that this CPU reports.
    Detected,
    /// The baseline of the architecture.
    Baseline,
    /// AVX2, BMI1, BMI2 and ADX, without asking the CPU. Valgrind runs ADX but does not report it.
    Avx2,
}

#[cfg(feature = "levels")]
static LEVEL: AtomicU8 = AtomicU8::new(Level::Detected as u8);

/// Sets the instruction set for all work that starts afterwards.
///
/// # Safety
/// The CPU must support these instructions.
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
    // without optimisation, each vector of an inlined loop gets its own stack slot, megabytes in total
    if cfg!(ringforge_unoptimised) { Level::Baseline } else { Level::Detected }
}
