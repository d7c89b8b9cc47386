//! Transforms and products in rings of every kind, and in a ring that the user names.

use anyhow::Result;
use ringforge::factorization::Factorization;
use ringforge::{Job, Modulus, Op, Order, PolyType, Ring};

use crate::jobs::{Task, suiting_batch};
use crate::suite::{Case, Scope, Suite, SuiteKind};

/// The suite of rings of every kind.
pub static SUITE: Suite = Suite {
    name: "rings",
    title: "Rings",
    about: "Forward and inverse transforms and products, in batches of small elements that are contiguous in memory.",
    headline: Some(("CTRU-768", "mul")),
    cases,
    ..Suite::NONE
};

/// The suite of rings that the user names.
pub static OWN: Suite = Suite {
    name: "own",
    kind: SuiteKind::Own,
    title: "Rings named by the user",
    about: "Rings and operations named on the command line, with all data on the device.",
    ..Suite::NONE
};

/// Name, ring, batches on a GPU, and whether `--quick` measures the ring too. On a CPU, a suitable batch is chosen. A
/// ring without batches is only checked.
type Entry = (&'static str, &'static str, &'static [usize], bool);

/// Rings in the order of compile time, longest first, because a check on a GPU begins to compile in this order.
const CASES: &[Entry] = &[
    ("BLS12-381 Fr", "0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001:x^512-1", &[1 << 15], true),
    ("ML-KEM", "3329:x^256+1", &[1 << 20, 1 << 16], true),
    ("30-bit prime", "1073479681:x^1024+1", &[1 << 17, 1 << 16], true),
    ("CTRU-768", "3457:x^768-x^384+1", &[1 << 17, 1 << 16], true),
    ("CTRU-512", "3457:x^512-x^256+1", &[1 << 17], false),
    ("CTRU-1024", "3457:x^1024-x^512+1", &[1 << 16], false),
    ("Falcon-1024", "12289:x^1024+1", &[1 << 17], false),
    ("RNS of three 30-bit primes", "1073479681,1072496641,1071513601:x^1024+1", &[1 << 15], false),
    ("Goldilocks", "0xffffffff00000001:x^1024-1", &[1 << 16], false),
    ("60-bit prime", "1152921504606584833:x^4096+1", &[1 << 14], true),
    ("NTRU Prime 761", "4591:x^761-x-1", &[1 << 16], false),
    ("Saber", "8192:x^256+1", &[1 << 18], false),
    ("cyclic, 14-bit prime", "12289:x^1000-1", &[1 << 16], false),
    ("cyclic, 13-bit prime", "7681:x^512-1", &[], false),
    ("coset of a cyclic ring", "12289:x^256-7506", &[], false),
    ("62-bit prime", "4611686018427322369:x^8192+1", &[], false),
    ("49-bit prime", "562949952798721:x^16384+1", &[], false),
    ("RNS of FHE", "1152921504606584833,1152921504598720513,1152921504597016577:x^65536+1", &[], false),
    ("NTRU-HPS 677", "2048:x^677-1", &[], false),
    ("sparse f, 17-bit prime", "65537:x^200-3x^7+2x+5", &[], false),
];

/// Products in rings without an NTT, with bounds on the centred operands: name, ring, bounds and batch.
const BOUNDED: &[(&str, &str, [u64; 2], usize)] =
    &[("NTRU Prime 761, one ternary", "4591:x^761-x-1", [2295, 1], 1 << 16)];

/// Maximum bytes per operand in a check, for small and for large batches.
const CHECKED_BYTES: [usize; 2] = [24 << 20, 64 << 20];

fn cases(scope: &Scope) -> Result<Vec<Case>> {
    let batches_of = |of_gpu: &[usize], ring: &PolyType| {
        let mut batches = scope.batches(scope.either(of_gpu, &[0]));
        if scope.check {
            let most = CHECKED_BYTES[usize::from(scope.batches.is_empty())] / ring.bytes();
            batches.iter_mut().for_each(|batch| *batch = (*batch).min(most.max(1)));
        }
        batches
    };
    let is_wanted = |(_, _, batches, quick): &&Entry| scope.check || !batches.is_empty() && scope.wants(*quick);
    let mut cases = Vec::new();
    for &(name, text, batches, _) in CASES.iter().filter(is_wanted) {
        let ring: PolyType = text.parse()?;
        let of_gpu = if batches.is_empty() { &[0] } else { batches };
        for job in jobs(&ring, scope.check)? {
            cases.push(Case { ring: text.into(), ..case(name, &job, batches_of(of_gpu, &ring)) });
        }
    }
    for &(name, text, [left, right], batch) in BOUNDED.iter().filter(|_| scope.check || scope.wants(false)) {
        let ring: PolyType = text.parse()?;
        let job = Job::new(&ring, Op::Mul).bounds(left, right);
        cases.push(Case { ring: text.into(), ..case(name, &job, batches_of(&[batch], &ring)) });
    }
    Ok(cases)
}

/// Returns the jobs that are measured in a ring, or with `all` all jobs that can be checked.
fn jobs(ring: &PolyType, all: bool) -> Result<Vec<Job>> {
    let job = |op| Job::new(ring, op);
    if Factorization::of(ring, None).is_err() {
        return Ok(vec![job(Op::Mul)]);
    }
    let mut jobs = [Op::Forward, Op::Inverse, Op::Mul].map(job).to_vec();
    if all {
        jobs.extend([Op::PointMul, Op::MulAdd].map(job));
        jobs.extend([Op::Forward, Op::Inverse].map(|op| job(op).order(Order::Natural).in_place()));
    }
    if all && ring.basis().len() > 1 {
        let other = PolyType::from(Ring::new(&Modulus::ntt_primes(2, 62, 2)?, ring.ring().quotient().clone())?);
        jobs.extend([Op::Compose, Op::Decompose].map(job));
        jobs.extend([Op::Convert, Op::ConvertCentred, Op::ConvertFast].map(|op| job(op).to(&other)));
    }
    Ok(jobs)
}

/// A case of a job for these batches; 0 stands for a suitable batch for the device.
pub fn case(name: &str, job: &Job, batches: Vec<usize>) -> Case {
    let ways = [(job.order == Order::Natural, "natural order"), (job.in_place, "in place")];
    let way = ways.into_iter().filter(|(is_so, _)| *is_so).map(|(_, way)| way).collect::<Vec<_>>().join(", ");
    let (job, case) = (job.clone(), name.to_owned());
    Case::of_batches(name, job.op, batches, move |bench, batch| {
        let batch = if batch == 0 { suiting_batch(bench, &job)? } else { batch };
        let job = job.clone().batch_hint(batch);
        Ok(Task::new(&job, batch).line(bench, &case, bench.effort)?.varied(&way))
    })
}
