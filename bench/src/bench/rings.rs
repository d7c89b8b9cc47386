//! Transforms and products in rings of every kind.

use anyhow::Result;
use ringforge::Op::{Forward, Inverse, Mul};
use ringforge::{Job, Op, Ring};

use super::jobs::{Task, suiting_batch};
use super::suites::{Case, Scope, Suite};

pub(super) static SUITE: Suite = Suite {
    name: "rings",
    title: "Rings",
    about: "Forward and inverse transforms and products in batches of small elements, one after another in memory.",
    headline: Some(("CTRU-768", "mul")),
    cases,
    ..Suite::NONE
};

/// A name, the ring, the batches on a GPU (a CPU takes what suits it), and whether it is measured with `--quick` too.
type Entry = (&'static str, &'static str, &'static [usize], bool);

const CASES: &[Entry] = &[
    ("ML-KEM", "3329:x^256+1", &[1 << 20, 1 << 16], true),
    ("30-bit prime", "1073479681:x^1024+1", &[1 << 17, 1 << 16], true),
    ("CTRU-768", "3457:x^768-x^384+1", &[1 << 17, 1 << 16], true),
    ("CTRU-512", "3457:x^512-x^256+1", &[1 << 17], false),
    ("CTRU-1024", "3457:x^1024-x^512+1", &[1 << 16], false),
    ("Falcon-1024", "12289:x^1024+1", &[1 << 17], false),
    ("RNS of three 30-bit primes", "1073479681,1072496641,1071513601:x^1024+1", &[1 << 15], false),
    ("Goldilocks", "0xffffffff00000001:x^1024-1", &[1 << 16], false),
    ("60-bit prime", "1152921504606584833:x^4096+1", &[1 << 14], true),
    ("BLS12-381 Fr", "0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001:x^512-1", &[1 << 15], true),
    ("NTRU Prime 761", "4591:x^761-x-1", &[1 << 16], false),
    ("Saber", "8192:x^256+1", &[1 << 18], false),
];

fn cases(scope: &Scope) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for &(name, text, batches, _) in CASES.iter().filter(|(.., quick)| scope.wants(*quick)) {
        let ring: Ring = text.parse()?;
        let transforms = ringforge::split::Split::of(&ring, None).is_ok();
        let ops: &[Op] = if transforms { &[Forward, Inverse, Mul] } else { &[Mul] };
        // 0 stands for what suits the device
        let batches = scope.batches(scope.either(batches, &[0]));
        for &op in ops {
            let ring = ring.clone();
            let run = move |bench: &super::Bench, batch: usize| {
                let job = Job::new(&ring, op);
                let batch = if batch == 0 { suiting_batch(bench, &job)? } else { batch };
                Task::new(&job.batch_hint(batch), batch).line(bench, name, bench.effort)
            };
            cases.push(Case { ring: text, ..Case::of_batches(name, op, batches.clone(), run) });
        }
    }
    Ok(cases)
}
