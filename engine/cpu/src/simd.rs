//! Code compiled for several instruction sets and chosen at run time: scalar loops for any CPU or for AVX2, BMI and
//! ADX, and butterflies in SIMD vectors.

/// Whether this CPU has all of these features, unless a test overrides the answer ([`crate::level`]).
#[cfg(target_arch = "x86_64")]
macro_rules! detected {
    ($($feature:tt),+) => {
        match crate::level::get() {
            crate::level::Level::Detected => $(is_x86_feature_detected!($feature))&&+,
            crate::level::Level::Baseline => false,
            crate::level::Level::Avx2 => $(matches!($feature, "avx2" | "bmi1" | "bmi2" | "adx"))&&+,
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod limbs;
#[cfg(target_arch = "x86_64")]
mod narrow;
#[cfg(target_arch = "x86_64")]
mod residues;
#[cfg(target_arch = "x86_64")]
mod short;
// other architectures have no vectors yet
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
mod vectors;
#[cfg(target_arch = "x86_64")]
mod zmm;

pub(crate) use vectors::{Step, Vectors};

/// Runs a loop with the widest instructions that this CPU has. The closure and its callees should be inlined.
#[inline(always)]
pub fn wide<R>(run: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        // SAFETY: the CPU has the features that the function is compiled for.
        #[allow(unsafe_code)]
        return unsafe { with_avx2(run) };
    }
    plain(run)
}

/// Never inlined, so that the loop's stack slots do not enlarge the frames of the recursive functions that call it.
#[inline(never)]
fn plain<R>(run: impl FnOnce() -> R) -> R {
    run()
}

/// As [`wide`], for a loop over disjoint slices. It is never inlined: inside a surrounding loop, the compiler no longer
/// sees that the slices are disjoint and does not vectorise.
#[inline(always)]
pub(crate) fn apart<W>(a: &mut [W], b: &mut [W], c: &mut [W], run: impl FnOnce(&mut [W], &mut [W], &mut [W])) {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        // SAFETY: the CPU has the features that the function is compiled for.
        #[allow(unsafe_code)]
        return unsafe { apart_with_avx2(a, b, c, run) };
    }
    run(a, b, c);
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn has_avx2() -> bool {
    detected!("avx2", "bmi1", "bmi2", "adx")
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,adx")]
fn with_avx2<R>(run: impl FnOnce() -> R) -> R {
    run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,adx")]
#[inline(never)]
fn apart_with_avx2<W>(a: &mut [W], b: &mut [W], c: &mut [W], run: impl FnOnce(&mut [W], &mut [W], &mut [W])) {
    run(a, b, c);
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use std::collections::BTreeSet;

    /// All words of the comma-separated lists between these two marks.
    fn listed<'t>(text: &'t str, from: &str, to: &str) -> BTreeSet<&'t str> {
        let lists = text.split(from).skip(1).filter_map(|rest| rest.split(to).next());
        lists.flat_map(|list| list.split(',').map(|word| word.trim().trim_matches('"'))).collect()
    }

    #[test]
    fn enabled_features_are_detected() {
        let files = [
            include_str!("simd.rs"),
            include_str!("simd/avx2.rs"),
            include_str!("simd/avx512.rs"),
            include_str!("simd/limbs.rs"),
            include_str!("simd/short.rs"),
        ];
        for text in files {
            let code = text.split("mod tests").next().unwrap_or_default();
            let enabled = listed(code, "target_feature(enable = \"", "\"");
            let detected = listed(code, " detected!(", ")");
            assert!(!enabled.is_empty() && enabled == detected, "{enabled:?}, {detected:?}");
        }
    }
}
