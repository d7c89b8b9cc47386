//! Plants faults in the kernels' sources, one at a time. The comparison of the emulator with the CPU must find each.

use ringforge::Result;
use ringforge_msm::{Msm, WideMsm};
use ringforge_testkit::inject::{Altered, Injection, with_kernels};
use ringforge_testkit::{NamedPlan, Scheme, Target};

/// A file, a text that it contains once, and a wrong text to take its place.
const FAULTS: &[(&str, &str, &str, &str)] = &[
    ("points.cuh", POINTS, "? Case::tangent : Case::infinite", "? Case::infinite : Case::infinite"),
    ("points.cuh", POINTS, "if (which == Case::infinite) r =", "if (false) r ="),
    ("points.cuh", POINTS, "rise = F::add(rise, C::a());", ";"),
    ("points.cuh", POINTS, "if (which == Case::second) r = {of.x2(), of.y2()};", ""),
    ("points.cuh", POINTS, "return is_zero(dy) ? double_xyzz<C>(p) :", "return"),
    ("divsteps.cuh", DIVSTEPS, "md -= (i32)", "md += (i32)"),
    ("msm.cuh", include_str!("../src/kernels/msm.cuh"), "select(negative, F::sub(F::zero(), y), y)", "y"),
    ("msm_digits.cu", include_str!("../src/kernels/msm_digits.cu"), "(negative ^ flipped) << 31", "negative << 31"),
    ("msm_sort.cuh", SORT, "const u32 level = 31 -", "const u32 level = 32 -"),
    ("msm_sort.cuh", SORT, "+ rank / 2;", "+ rank;"),
    ("msm_pairs.cu", PAIRS, "if ((end - start) % 2 == 1)", "if (false)"),
    ("msm_level.cu", include_str!("../src/kernels/msm_level.cu"), "1u << (level - 1)", "1u << level"),
    ("msm_halves.cu", HALVES, "sum(window, k - half), sum(window, k)", "sum(window, k), sum(window, k)"),
    ("msm_fold.cu", include_str!("../src/kernels/msm_fold.cu"), "left + (1u << (level - 1))", "left + (1u << level)"),
    (
        "msm_groups.cu",
        GROUPS,
        "min_word((left + before - 1) >> level, 16)",
        "min_word((left + before - 1) >> level, 8)",
    ),
    ("msm_sort.cuh", SORT, "(rank >> level) % 16 == 1", "(rank >> level) % 32 == 1"),
    ("points.cuh", POINTS, "if (is_zero(p.zz)) return to_xyzz<F>(q);", ""),
    ("by_four.cuh", BY_FOUR, "if (is_zero(q->zz)) return a[lane];", ""),
    ("by_four.cuh", BY_FOUR, "is_zero(dy) ? double_alone(four, p) :", ""),
    ("by_four.cuh", BY_FOUR, "m = F::add(m, shared[6]);", ";"),
    ("msm_windows.cu", WINDOWS, "if (of_columns) add_to(&sum, &run);", "add_to(&sum, &run);"),
    ("msm_windows.cu", WINDOWS, "if (step < log_sharing) continue;", ""),
    ("msm_windows.cu", WINDOWS, "i < log_share; i++", "i < 0; i++"),
    (
        "msm_scatter.cu",
        include_str!("../src/kernels/msm_scatter.cu"),
        "* tiles + tile] - here;",
        "* tiles + tile] - here + 1;",
    ),
];

const POINTS: &str = include_str!("../../../kernels/include/points.cuh");
const DIVSTEPS: &str = include_str!("../../../kernels/include/divsteps.cuh");
const SORT: &str = include_str!("../src/kernels/msm_sort.cuh");
const PAIRS: &str = include_str!("../src/kernels/msm_pairs.cu");
const HALVES: &str = include_str!("../src/kernels/msm_halves.cu");
const GROUPS: &str = include_str!("../src/kernels/msm_groups.cu");
const BY_FOUR: &str = include_str!("../src/kernels/by_four.cuh");
const WINDOWS: &str = include_str!("../src/kernels/msm_windows.cu");

/// Whether a plan reveals a fault.
fn found(plans: &[NamedPlan], (file, text, from, to): (&'static str, &str, &str, &str)) -> Result<bool> {
    let Some(device) = Target::Emulator.device() else { return Ok(true) };
    assert_eq!(text.matches(from).count(), 1, "{file} has another form: {from}");
    for sound in plans {
        let altered = with_kernels(&sound.plan, |_, kernel| {
            let source = kernel.source(device.limits()).ok()?;
            let has = kernel.name() == file.trim_end_matches(".cu") || source.cuda_source().contains("msm");
            has.then(|| Altered::new(kernel).with_text(file, text.replacen(from, to, 1)))
        });
        let mut plan = sound.clone();
        plan.plan = altered;
        let injection = Injection { what: format!("{file}: {from}"), plan };
        if (1..4).any(|seed| injection.found(sound, &device, seed, 1).unwrap_or(true)) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[test]
#[ignore = "takes minutes: scripts/release.sh runs it"]
fn every_planted_fault_is_found() -> Result<()> {
    let Some(device) = Target::Emulator.device() else { return Ok(()) };
    // those with digits, signs and levels of every kind: over a prime field, with a coefficient a other than 0, and with a
    // wide window
    let all = Msm::plans(device.limits())?.into_iter().skip(1).take(2);
    let plans: Vec<NamedPlan> = all.chain(WideMsm::plans(device.limits())?).collect();
    for fault in FAULTS {
        assert!(found(&plans, *fault)?, "{}: {:?} is not found", fault.0, fault.3);
    }
    Ok(())
}
