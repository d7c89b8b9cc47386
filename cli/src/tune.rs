//! `ringforge tune`: measures the planner's alternatives and writes the faster ones to a tuning file that the planner
//! reads.
//!
//! Every alternative must produce the same bytes as the planner's own choice; otherwise the command fails. The gain is
//! measured again in a second run, with plans made from the file.

mod search;

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;
use ringforge::tuning::{Choice as Way, Tuning};
use ringforge::{Error, Job, Limits, Modulus, Op, Order, Planner, PolyType, Ring};

use crate::devices::Choice;
use crate::measure::Effort;
use crate::record::Measurement;
use crate::session::{Bench, Common};
use crate::show;
use crate::suite::{Figure, Suite, SuiteKind, Suites};
use crate::table;

use search::Contest;

/// Options of `ringforge tune`.
#[derive(Debug, Args)]
pub struct Options {
    /// Only jobs whose "ring op" contains this text.
    #[arg(long, default_value = "")]
    filter: String,
    /// Fewer jobs and shorter measurements.
    #[arg(long)]
    quick: bool,
    /// Write the choices to this file.
    #[arg(long, value_name = "FILE", default_value = "ringforge-tuning.toml")]
    out: PathBuf,
}

/// The suite whose table shows the alternatives of all jobs.
static SUITE: Suite = Suite {
    name: "tune",
    kind: SuiteKind::Own,
    title: "Ways of jobs",
    about: "Each way beside the usual one; the chosen one once more in a second run, planned by the file.",
    figure: Figure::Item,
    ..Suite::NONE
};

static SUITES: Suites = &[&SUITE];

/// A ring, or the parameters of one, with its tuned operations.
enum Jobs {
    /// A small ring, in batches.
    Small(&'static str),
    /// x^n + 1 modulo primes of a given size, in batches; transforms only. The numbers are log2 n and the bits of a
    /// prime.
    Rns(u32, u32),
    /// x^n − 1 over BLS12-381's scalar field, one polynomial at a time in natural order; transforms only. The number is
    /// log2 n.
    Proof(u32),
}

use Jobs::{Proof, Rns, Small};

/// The jobs, and whether `--quick` tunes each of them.
const JOBS: &[(Jobs, bool)] = &[
    (Small("3329:x^256+1"), true),
    (Small("12289:x^1024+1"), false),
    (Small("1073479681:x^1024+1"), true),
    (Small("0xffffffff00000001:x^1024-1"), false),
    (Rns(12, 49), true),
    (Rns(14, 49), false),
    (Rns(16, 49), false),
    (Rns(12, 60), true),
    (Rns(13, 60), false),
    (Rns(14, 60), false),
    (Rns(15, 60), false),
    (Rns(16, 60), true),
    (Rns(17, 60), false),
    (Proof(16), true),
    (Proof(18), false),
    (Proof(20), false),
    (Proof(22), false),
];

/// Bytes per operand on a GPU and on a CPU.
const OPERAND_BYTES: [usize; 2] = [128 << 20, 4 << 20];
/// Moduli of an RNS basis.
const MODULI: usize = 8;
const BLS12_381: &str = "0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001";

/// Returns the jobs whose title contains `filter`, each with its number of items per run.
fn jobs(filter: &str, quick: bool, limits: &Limits) -> Result<Vec<(Job, usize)>> {
    let mut jobs = Vec::new();
    for (kind, _) in JOBS.iter().filter(|(_, is_quick)| *is_quick || !quick) {
        let ring: PolyType = match kind {
            Small(text) => text.parse()?,
            Rns(log_n, bits) => {
                PolyType::from(Ring::rns(1 << log_n, &Modulus::ntt_primes(2 << log_n, *bits, MODULI)?)?)
            }
            Proof(log_n) => format!("{BLS12_381}:x^{}-1", 1u64 << log_n).parse()?,
        };
        let (order, batch) = match kind {
            Proof(_) => (Order::Natural, 1),
            _ => (Order::DigitReversed, (OPERAND_BYTES[usize::from(limits.is_cpu())] / ring.bytes()).max(1)),
        };
        let ops = if matches!(kind, Small(_)) {
            &[Op::Forward, Op::Inverse, Op::Mul][..]
        } else {
            &[Op::Forward, Op::Inverse]
        };
        let of_ring = ops.iter().map(|op| Job::new(&ring, *op).order(order).batch_hint(batch));
        jobs.extend(of_ring.filter(|job| job.to_string().contains(filter)).map(|job| (job, batch)));
    }
    ensure!(!jobs.is_empty(), "no job matches --filter {filter:?}");
    Ok(jobs)
}

/// Runs `ringforge tune`.
pub(crate) fn main(options: &Options, choice: Choice, json: bool) -> Result<()> {
    let device = choice.open()?.device;
    let jobs = jobs(&options.filter, options.quick, device.limits())?;
    let (samples, total_seconds) = if options.quick { (15, 0.1) } else { (40, 0.2) };
    let effort = Effort { samples, sample_seconds: 0.002, total_seconds };
    let bench = Bench::open(&Common::default(), device.clone(), effort)?;
    let (mut tuning, mut changed, mut record) = (Tuning::default(), Vec::new(), bench.record(None));
    let bar = show::progress(jobs.len());
    for (job, batch) in &jobs {
        bar.set_message(job.to_string());
        match Contest::new(&bench, job, *batch).and_then(|contest| search::fastest(job, contest)) {
            Ok((choice, lines)) => {
                tuning.choose(job, choice);
                record.measurements.extend(lines);
                if choice != Way::default() {
                    changed.push((job, *batch, search::name(choice)));
                }
            }
            Err(error) => match error.downcast_ref::<Error>() {
                Some(Error::Unsupported { .. }) => record.unsupported.push(error.to_string()),
                _ => return Err(error.context(job.to_string())),
            },
        }
        // the file is written after each job, so that a failure loses no earlier choice
        tuning.save(&options.out, device.limits())?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    let planner = Planner::new(device.limits().clone()).tuned(Tuning::load(&options.out, device.limits())?);
    for (job, batch, name) in &changed {
        let mut contest = Contest::new(&bench, job, *batch)?;
        contest.enter("usual, second run", &Planner::new(device.limits().clone()).plan(job)?)?;
        record.measurements.push(contest.enter(&format!("{name}, chosen, second run"), &planner.plan(job)?)?);
    }
    record.measurements.iter_mut().for_each(|line| line.suite = SUITE.name.into());
    if json {
        return show::print_json(&record);
    }
    table::print(&record, SUITES)?;
    let with_choice = |line: &&Measurement| line.variant != search::USUAL;
    let chosen = record.measurements.iter().filter(with_choice).map(|line| (&line.ring, &line.operation));
    let chosen = chosen.collect::<BTreeSet<_>>().len();
    let (all, file) = (jobs.len(), options.out.display());
    show::print(&format!(
        "{} of {all} jobs are in one way only on this device; {} are to be done otherwise than usual: {file}, for plan, \
         check and bench with --tuning",
        all - chosen - record.unsupported.len(),
        changed.len()
    ))
}
