//! The instructions that loops and vectors use: those that this CPU reports, unless a test chooses others.

#[cfg(feature = "levels")]
use core::sync::atomic::{AtomicU8, Ordering};

/// A choice of instructions.
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

/// Chooses for all that begins afterwards.
///
/// # Safety
/// The CPU must run what is chosen.
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
    // without optimisation, each vector of an inlined loop has a place of its own on the stack, megabytes in all
    if cfg!(ringforge_unoptimised) { Level::Baseline } else { Level::Detected }
}
