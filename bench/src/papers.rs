//! `ringforge-bench bench papers`: repeats the experiments of the papers that the engine is based on, with their sizes
//! and batches. Their figures are shown for comparison.

use anyhow::Result;
use ringforge::{Job, Op, PolyType, RandomKey};
use ringforge_sm2::{PrivateKey, plans_in_blocks};
use ringforge_testkit::{Named, bytes};

use ringforge_cli::jobs::Task;
use ringforge_cli::memory;
use ringforge_cli::record::Measurement;
use ringforge_cli::runs::Runs;
use ringforge_cli::sample;
use ringforge_cli::session::Bench;
use ringforge_cli::suite::{Case, Quoted, Scope, Suite, SuiteKind};
use ringforge_cli::suites::kems::{Set, are_ok, resident};
use ringforge_cli::work::{Work, slices};

pub(crate) static SUITE: Suite = Suite {
    name: "papers",
    kind: SuiteKind::Papers,
    title: "Experiments of the papers",
    about: "Throughput and latency against the batch, and kernel by kernel, as in the papers that the engine came from. The \
            figures of CTRU are of an RTX 4090, those of CTRU-Prime of an RTX 3060 with copies in its rates, those of SM2 of a \
            Hygon DCU with 480 blocks of 512 threads. docs/reference/papers.md lists what else the papers say.",
    quoted: QUOTED,
    cases,
    ..Suite::NONE
};

/// The kind of an experiment.
#[derive(Clone, Copy)]
enum What {
    /// Key encapsulation, with one key per item.
    Kem,
    /// A product in the scheme's ring; for CTRU-768, once in one kernel and once in four.
    Product,
    /// Signing with one key, and verification, each measured with these numbers of threads per block. Up to 512 threads,
    /// kernels are compiled for 512 resident threads per multiprocessor; larger blocks, for one resident block.
    Sm2(&'static [u32]),
}

/// Section or table of a paper, kind, schemes, batches, and whether each kernel is timed.
type Entry = (&'static str, What, &'static [&'static str], &'static [usize], bool);

const EXPERIMENTS: &[Entry] = &[
    ("CTRU paper, table 3", What::Kem, &["CTRU-768", "CNTR-768"], &[LARGE], true),
    ("CTRU paper, table 4", What::Kem, &["CTRU-768", "CNTR-768"], BATCHES, false),
    ("CTRU paper, table 5", What::Kem, &["ML-KEM-768", "CTRU-768", "CNTR-768", PRIME[1]], &[LARGE, 1 << 16], false),
    ("CTRU paper, 4.3.2", What::Product, &["CTRU-768"], &[LARGE], true),
    ("CTRU-Prime paper, table 4", What::Product, PRIME, BATCHES, true),
    ("CTRU-Prime paper, table 6", What::Kem, PRIME, &[LARGE], true),
    ("CTRU-Prime paper, table 7", What::Kem, PRIME, BATCHES, false),
    ("SM2 paper, table 4", What::Sm2(&[128]), &["SM2"], &[1, 16, 256, 1000, LARGE, SM2_BATCH], true),
    ("SM2 paper, blocks", What::Sm2(&[64, 128, 256, 512, 640, 1024]), &["SM2"], &[SM2_BATCH], true),
];

/// Batches from one item upwards. `LARGE` is the batch of the papers' kernels, and `SM2_BATCH` that of the SM2 paper:
/// 480 blocks of 512 threads.
const BATCHES: &[usize] = &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 1024, LARGE];
const LARGE: usize = 10_000;
const SM2_BATCH: usize = 480 * 512;
/// The only batch on a CPU, and the only one with `--quick`.
const FEW: [usize; 1] = [32];

const PRIME: &[&str] = &["CTRU-Prime-653", "CTRU-Prime-761", "CTRU-Prime-1277"];

const QUOTED: &[Quoted] = {
    const fn paper(case: &'static str, seconds: &'static [(&'static str, f64)]) -> Quoted {
        Quoted { case, peer: "the paper's", source: "the paper, on its own device", device: None, seconds }
    }
    &[
        paper(
            "CTRU paper, table 4: CTRU-768",
            &[("KeyGen", 1.0 / 11.71e6), ("Encaps", 1.0 / 9.27e6), ("Decaps", 1.0 / 3.15e6)],
        ),
        paper(
            "CTRU paper, table 4: CNTR-768",
            &[("KeyGen", 1.0 / 11.17e6), ("Encaps", 1.0 / 9.72e6), ("Decaps", 1.0 / 3.22e6)],
        ),
        // the time of the C code, divided by the speed-up of the paper's NTT over the C code
        paper("CTRU-Prime paper, table 4: CTRU-Prime-653", &[("mul", 13.98e-6 / 10.96)]),
        paper("CTRU-Prime paper, table 4: CTRU-Prime-761", &[("mul", 14.53e-6 / 256.13)]),
        paper("CTRU-Prime paper, table 4: CTRU-Prime-1277", &[("mul", 26.32e-6 / 256.98)]),
        paper(
            "CTRU-Prime paper, table 7: CTRU-Prime-653",
            &[("KeyGen", 1.0 / 63.639e3), ("Encaps", 1.0 / 635.590e3), ("Decaps", 1.0 / 351.532e3)],
        ),
        paper(
            "CTRU-Prime paper, table 7: CTRU-Prime-761",
            &[("KeyGen", 1.0 / 54.359e3), ("Encaps", 1.0 / 2745.392e3), ("Decaps", 1.0 / 2622.441e3)],
        ),
        paper(
            "CTRU-Prime paper, table 7: CTRU-Prime-1277",
            &[("KeyGen", 1.0 / 16.236e3), ("Encaps", 1.0 / 1601.174e3), ("Decaps", 1.0 / 1524.825e3)],
        ),
        paper("SM2 paper, table 4: SM2", &[("sign", 1.0 / 6.816e6), ("verify", 1.0 / 1.385e6)]),
    ]
};

fn cases(scope: &Scope) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for &(source, what, names, batches, steps) in EXPERIMENTS {
        let batches = scope.batches(if scope.cpu || scope.quick { &FEW } else { batches });
        for &name in names {
            let (case, batches) = (format!("{source}: {name}"), batches.clone());
            let operations = match what {
                What::Kem => &["KeyGen", "Encaps", "Decaps"][..],
                What::Product => &["mul"],
                What::Sm2(_) => &["sign", "verify"],
            };
            cases.push(Case::new(case.clone(), operations, move |bench, wanted| {
                let bench = &Bench { steps: bench.steps || steps, ..bench.clone() };
                let mut lines = Vec::new();
                for &batch in &batches {
                    lines.extend(match what {
                        What::Kem => resident(bench, wanted, Set::named(name)?, batch)?,
                        What::Product if name == "CTRU-768" => fusion(bench, batch)?,
                        What::Product => product(bench, Set::named(name)?, batch)?,
                        What::Sm2(sizes) => {
                            // a CPU has no thread blocks, so only the first size is measured
                            let sizes = if bench.device.limits().is_cpu() { &sizes[..1] } else { sizes };
                            let trips = sizes.iter().map(|&threads| signatures(bench, threads, batch));
                            trips.collect::<Result<Vec<_>>>()?.concat()
                        }
                    });
                }
                Ok(lines.into_iter().map(|line| Measurement { case: case.clone(), ..line }).collect())
            }));
        }
    }
    Ok(cases)
}

/// Measures CTRU-768's product in one kernel, and in four: two transforms, a pointwise product and an inverse
/// transform.
fn fusion(bench: &Bench, batch: usize) -> Result<Vec<Measurement>> {
    let ring: PolyType = "3457:x^768-x^384+1".parse()?;
    let job = Job::new(&ring, Op::Mul);
    let p = bench.planner.pipeline(format!("mul {ring}, not fused"));
    let [a, b] = ["a", "b"].map(|name| p.coefficients(name, &ring).forward());
    p.output("product", (a * b).inverse());
    let ways = [("one kernel", None), ("four kernels", Some(p.build()?))];
    let line = |(way, plan)| {
        let task = Task { plan, ..Task::new(&job, batch) };
        Ok(task.line(bench, "", bench.effort)?.varied(way))
    };
    ways.into_iter().map(line).collect()
}

/// Number of items of a product that are compared with the scheme's reference result.
const CHECKED: usize = 4;

/// Measures a product in CTRU-Prime's ring, by the variant that is fastest on a GPU.
fn product(bench: &Bench, set: &Set, batch: usize) -> Result<Vec<Measurement>> {
    let product = set.with_sample("multiply", bench.device.limits())?;
    memory::fits(batch, product.plan.bytes_moved_per_item())?;
    let inputs = product.sample(1, batch);
    let outcome = Runs::new(&product.plan, batch, &slices(&inputs)).measure(bench, bench.effort)?;
    let few = CHECKED.min(batch);
    let first = |(name, bytes): (&String, &Vec<u8>)| (name.clone(), bytes[..bytes.len() / batch * few].to_vec());
    let first = |all: &Named| all.iter().map(first).collect::<Named>();
    let right = outcome.alike && product.expected(few, &first(&inputs)) == Some(first(&outcome.results));
    let line = outcome.line("", Op::Mul, batch).by(&product.plan);
    Ok(vec![line.checked("the first items with the scheme's oracle; all sets of buffers alike", right)])
}

/// Signs digests with one key and verifies all signatures. Then verifies again with one signature corrupted, which must
/// be the only one rejected.
fn signatures(bench: &Bench, threads: u32, batch: usize) -> Result<Vec<Measurement>> {
    const KEY: [u8; 32] = [0x42; 32];
    let [prepare, sign, verify] = &plans_in_blocks(bench.device.limits(), threads)?;
    let digests = sample::bytes(1, 32, batch)?;
    let public_keys = PrivateKey::from_bytes(&KEY)?.public_key().to_bytes().repeat(batch);
    let key = Work::of_plan(&bench.device, prepare)?.run(1, &[("private keys", &KEY)])?;
    let inputs = [("prepared keys", &key[..]), ("digests", &digests), ("random_key", &bytes(2, RandomKey::BYTES))];
    let signed = Runs::new(sign, batch, &inputs).measure(bench, bench.effort)?;
    let (signatures, made) = (&signed.results["signatures"], &signed.results["statuses"]);
    let signed_by = |signatures| [("public keys", &public_keys[..]), ("digests", &digests), ("signatures", signatures)];
    let verified = Runs::new(verify, batch, &signed_by(signatures)).measure(bench, bench.effort)?;
    let all_fine = [made, &verified.results["statuses"]].map(|statuses| are_ok(statuses) == vec![true; batch]);

    let mut spoilt = signatures.clone();
    spoilt[64 * (batch / 2) + 50] ^= 4;
    let found = Work::of_plan(&bench.device, verify)?.run(batch, &signed_by(&spoilt))?;
    let noticed = are_ok(&found) == (0..batch).map(|item| item != batch / 2).collect::<Vec<_>>();
    let right = noticed && all_fine == [true; 2] && signed.alike && verified.alike;
    let checked = "every signature verified, and one that is spoilt refused, it alone";
    let lines = [("sign", &signed, sign), ("verify", &verified, verify)].map(|(operation, outcome, plan)| {
        let line = outcome.line("", operation, batch).varied(format!("blocks of {threads}")).by(plan);
        line.checked(checked, right)
    });
    Ok(lines.into())
}
