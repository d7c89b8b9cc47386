//! Loops compiled twice: for any CPU, and for one with wider vectors and faster multipliers, chosen at run time.

/// Runs a loop with the widest instructions that this CPU has. The closure and what it calls should be inlined.
#[inline(always)]
pub(crate) fn wide<R>(run: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2") && is_x86_feature_detected!("adx") {
        // SAFETY: the CPU has the features that the function is compiled for.
        #[allow(unsafe_code)]
        return unsafe { with_avx2(run) };
    }
    run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,adx")]
fn with_avx2<R>(run: impl FnOnce() -> R) -> R {
    run()
}
