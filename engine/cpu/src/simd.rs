//! Code that is compiled for several instruction sets and selected at run time: scalar loops for any CPU or for AVX2,
//! BMI and ADX, and butterflies in SIMD vectors.

/// Evaluates to true if this CPU has all of these features. A test may override the answer ([`crate::level`]).
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

/// Evaluates a call of an intrinsic, or of a function compiled for the instructions of a kind of vectors. The
/// caller must have a value of that kind.
#[cfg(target_arch = "x86_64")]
macro_rules! has {
    ($call:expr) => {{
        // SAFETY: the CPU has the instructions, or there would be no value of the kind. Pointers are made from
        // references to all words that are read or written.
        #[allow(unsafe_code)]
        unsafe {
            $call
        }
    }};
}

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
pub(crate) mod keccak;
#[cfg(target_arch = "x86_64")]
mod limbs;
#[cfg(target_arch = "x86_64")]
mod narrow;
#[cfg(target_arch = "x86_64")]
mod residues;
#[cfg(target_arch = "x86_64")]
mod short;
// there are no SIMD butterflies for other architectures yet
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
mod vectors;
#[cfg(target_arch = "x86_64")]
mod zmm;

pub(crate) use vectors::{Step, Vectors};

/// Calls `run` compiled for AVX2, BMI and ADX if this CPU has them, else for the baseline. The closure and its callees
/// must be inlined to profit.
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

/// Calls `run`. Not inlined, so that the stack slots of `run` do not enlarge the frames of recursive functions that
/// call [`wide`].
#[inline(never)]
fn plain<R>(run: impl FnOnce() -> R) -> R {
    run()
}

/// Like [`wide`], for a `run` that loops over three disjoint slices. With AVX2, `run` is called from a function that is
/// never inlined. If it were inlined into a surrounding loop, the compiler would no longer see that the slices are
/// disjoint and would not vectorise.
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

    /// Returns all words of the comma-separated lists that stand between `from` and `to` in `text`.
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
            include_str!("simd/keccak.rs"),
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
