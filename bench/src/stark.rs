//! Transforms over the small fields of STARK provers: of contiguous columns of a trace, or of a single column.

use anyhow::Result;
use ringforge::{Job, Modulus, Op, Order, PolyType, Ring};

use ringforge_cli::jobs::Task;
use ringforge_cli::session::Bench;
use ringforge_cli::suite::{Case, Figure, Quoted, Scope, Suite};

pub(crate) static SUITE: Suite = Suite {
    name: "STARK",
    title: "Small fields",
    about: "Forward transforms of the columns of a trace over the fields of STARK provers, with all data on the device. \
            Evaluations are in natural or in bit-reversed order. Lines of one column are captured.",
    figure: Figure::Item,
    headline: Some(("BabyBear 2^20 x 64, natural", "forward")),
    quoted: QUOTED,
    cases,
    ..Suite::NONE
};

const BABY_BEAR: u64 = 2_013_265_921;
const KOALA_BEAR: u64 = 2_130_706_433;
const GOLDILOCKS: u64 = 0xffff_ffff_0000_0001;

const CHECKED: &str = "rebuilt and run by us on an H200, driver 580.159.04, 2026-11-22; outputs checked";
const UNCHECKED: &str = "rebuilt and run by us on an H200, driver 580.159.04, 2026-11-22; outputs not checked";

const fn quoted(
    case: &'static str,
    peer: &'static str,
    source: &'static str,
    seconds: &'static [(&'static str, f64)],
) -> Quoted {
    Quoted { case, peer, source, device: Some("H200"), seconds }
}

/// Seconds per column of 2^16, 2^20 and 2^22 elements, at one nanosecond per element.
const SMALL: f64 = (1 << 16) as f64 * 1e-9;
const MIDDLE: f64 = (1 << 20) as f64 * 1e-9;
const LARGE: f64 = (1 << 22) as f64 * 1e-9;

const QUOTED: &[Quoted] = &[
    quoted("BabyBear 2^16 x 4096, natural", "OpenVM", CHECKED, &[("forward", 0.0102 * SMALL)]),
    quoted("BabyBear 2^20 x 64, natural", "sppark", CHECKED, &[("forward", 0.0146 * MIDDLE)]),
    quoted("BabyBear 2^20 x 64, natural", "OpenVM", CHECKED, &[("forward", 0.0177 * MIDDLE)]),
    quoted("BabyBear 2^20 x 64, reversed", "sppark", CHECKED, &[("forward", 0.0111 * MIDDLE)]),
    quoted("BabyBear 2^22 x 64, natural", "OpenVM", CHECKED, &[("forward", 0.0149 * LARGE)]),
    quoted("BabyBear one 2^20, natural", "sppark", CHECKED, &[("forward", 29.1e-6)]),
    quoted("BabyBear one 2^20, natural", "OpenVM", CHECKED, &[("forward", 33.4e-6)]),
    quoted("BabyBear one 2^24, natural", "sppark", CHECKED, &[("forward", 264e-6)]),
    quoted("BabyBear one 2^24, natural", "OpenVM", CHECKED, &[("forward", 299e-6)]),
    quoted("KoalaBear 2^20 x 64, natural", "SP1", CHECKED, &[("forward", 0.0258 * MIDDLE)]),
    quoted("KoalaBear 2^20 x 64, reversed", "SP1", CHECKED, &[("forward", 0.0204 * MIDDLE)]),
    quoted("Goldilocks 2^20 x 64, natural", "sppark", UNCHECKED, &[("forward", 0.0335 * MIDDLE)]),
    quoted("Goldilocks 2^20 x 64, reversed", "era-boojum", UNCHECKED, &[("forward", 0.0255 * MIDDLE)]),
    quoted("Goldilocks one 2^24, natural", "sppark", UNCHECKED, &[("forward", 728e-6)]),
];

/// Field, modulus, log2 of the length, columns on a GPU, and whether `--quick` measures the case too.
const CASES: &[(&str, u64, u32, usize, bool)] = &[
    ("BabyBear", BABY_BEAR, 16, 4096, false),
    ("BabyBear", BABY_BEAR, 20, 64, true),
    ("BabyBear", BABY_BEAR, 22, 64, false),
    ("BabyBear", BABY_BEAR, 20, 1, false),
    ("BabyBear", BABY_BEAR, 24, 1, false),
    ("KoalaBear", KOALA_BEAR, 20, 64, false),
    ("Goldilocks", GOLDILOCKS, 20, 64, true),
    ("Goldilocks", GOLDILOCKS, 24, 1, false),
];

/// Columns on a CPU.
const CPU_COLUMNS: usize = 4;

fn cases(scope: &Scope) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for &(field, q, log_n, columns, _) in CASES.iter().filter(|case| scope.wants(case.4)) {
        let ring = PolyType::from(Ring::cyclic(1 << scope.log_n(log_n), Modulus::new(q)?)?);
        let shape = if columns == 1 { format!("one 2^{log_n}") } else { format!("2^{log_n} x {columns}") };
        let batches = match columns {
            1 => vec![1],
            _ => scope.batches(&[scope.either(columns, CPU_COLUMNS)]),
        };
        for (order, named) in [(Order::Natural, "natural"), (Order::DigitReversed, "reversed")] {
            let (ring, name) = (ring.clone(), format!("{field} {shape}, {named}"));
            let case = name.clone();
            let run = move |bench: &Bench, batch: usize| {
                let job = Job::new(&ring, Op::Forward).order(order).batch_hint(batch);
                Task { captured: columns == 1, ..Task::new(&job, batch) }.line(bench, case.as_str(), bench.effort)
            };
            cases.push(Case::of_batches(name, Op::Forward, batches.clone(), run));
        }
    }
    Ok(cases)
}
