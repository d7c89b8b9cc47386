//! `ringforge bench`: throughput for each ring or scheme, operation and batch, with floors and peers beside it.

mod against;
mod ckks;
mod commit;
mod convert;
mod cpu;
mod fhe;
mod figure;
mod group;
mod jobs;
pub(crate) mod kems;
mod operations;
mod papers;
mod rates;
mod rings;
pub(crate) mod runs;
pub(crate) mod sm2;
mod stark;
pub(crate) mod suites;
pub(crate) mod table;
mod zk;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use ringforge::run::Launch;
use ringforge::{Device, Error, Job, Op, Planner, PolyType};

use crate::ceilings::{Ceilings, Pipes};
use crate::copy;
use crate::devices::Choice;
use crate::environment::Environment;
use crate::job::Shape;
use crate::measure::Effort;
use crate::record::Record;
use crate::show;
use crate::tune::TuningFile;
use crate::work::Work;
use suites::{Case, Kind, SUITES, Scope, Suite, Wanted};

/// Options of `ringforge bench`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// A ring, such as 3457:x^768-x^384+1, with an operation; or `papers`, the experiments of the papers that the engine came
    /// from; or `rates`, what a GPU's pipes do at best. All suites, if not given.
    #[arg(value_name = "RING")]
    what: Option<String>,
    /// The operation on the ring, as `ringforge plan` has it.
    op: Option<Op>,
    #[command(flatten)]
    shape: Shape,
    /// Only lines whose "suite case operation" contains this.
    #[arg(long, default_value = "")]
    filter: String,
    /// Fewer lines and shorter measurements.
    #[arg(long)]
    quick: bool,
    /// Time the kernels too, or what several devices do, as `ringforge profile` does.
    #[arg(long)]
    steps: bool,
    /// Measure the lines of this record again, or of several with commas between, and print ratios to it instead of the figures.
    #[arg(long, value_name = "RECORD", value_delimiter = ',', conflicts_with_all = ["what", "steps", "out"])]
    against: Vec<PathBuf>,
    /// Write JSON to this file too.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

/// Options of `bench` and `profile`.
#[derive(Debug, Default, Args)]
pub(crate) struct Common {
    /// Items of a run, instead of what each line says: a number, or several with commas between for a line each.
    #[arg(long, value_delimiter = ',', value_parser = batch)]
    pub(crate) batch: Vec<usize>,
    /// Floors by the ceilings in this file, as `ringforge bench rates --out` writes it for the device, in place of those
    /// of an H200.
    #[arg(long, value_name = "FILE")]
    rates: Option<PathBuf>,
    /// As one of the processes that torchrun, srun or mpirun started together, each with its GPU: transforms of one vector
    /// on all of them. The first process prints and records.
    #[arg(long)]
    ranks: bool,
    #[command(flatten)]
    pub(crate) tuning: TuningFile,
}

impl Common {
    /// This process among those that were started together, if it is one.
    pub(crate) fn launch(&self) -> Result<Option<Launch>> {
        Ok(self.ranks.then(Launch::from_env).transpose()?)
    }

    /// The device that was chosen, else this process' own.
    pub(crate) fn device(&self, choice: Choice) -> Result<Device> {
        let choice = match (choice, self.launch()?) {
            (Choice::Best, Some(launch)) => Choice::Cuda(launch.local_rank()),
            _ => choice,
        };
        Ok(choice.open()?.device)
    }

    /// What is measured on the device.
    pub(crate) fn scope(&self, device: &Device, quick: bool) -> Scope {
        Scope { ranks: self.ranks, ..Scope::new(device, quick, &self.batch) }
    }
}

/// A number of items that is not zero.
fn batch(text: &str) -> Result<usize, String> {
    text.parse::<NonZeroUsize>().map(NonZeroUsize::get).map_err(|error| error.to_string())
}

/// What lines are measured with.
#[derive(Debug, Clone)]
pub(crate) struct Bench {
    pub(crate) device: Device,
    pub(crate) planner: Planner,
    pub(crate) ceilings: Ceilings,
    pub(crate) effort: Effort,
    /// Whether every kernel is timed as well.
    pub(crate) steps: bool,
    /// Of random operands.
    pub(crate) seed: u64,
    /// This process among those that measure together.
    pub(crate) launch: Option<Launch>,
}

impl Bench {
    /// The device with what the user says of it.
    pub(crate) fn open(common: &Common, device: Device, effort: Effort) -> Result<Self> {
        let pipes = match &common.rates {
            Some(path) => Some(Pipes::read(path, device.limits())?),
            None => Pipes::of(device.limits()),
        };
        let copy = copy::bandwidth(&device, effort).context("copying memory")?;
        let launch = common.launch()?;
        // processes that measure together have the same operands
        let seed = if launch.is_some() { 1 } else { std::process::id().into() };
        let bench = Self::for_results(&device, &common.tuning, seed)?;
        Ok(Self { ceilings: Ceilings { copy, pipes }, effort, launch, ..bench })
    }

    /// One run of each case, for what it leaves, without floors.
    pub(crate) fn for_results(device: &Device, tuning: &TuningFile, seed: u64) -> Result<Self> {
        let ceilings = Ceilings { copy: f64::INFINITY, pipes: None };
        let planner = tuning.planner(device.limits())?;
        Ok(Self { device: device.clone(), planner, ceilings, effort: Effort::NONE, steps: false, seed, launch: None })
    }

    /// Whether this process prints and records.
    fn is_first(&self) -> bool {
        self.launch.as_ref().is_none_or(|launch| launch.rank() == 0)
    }

    /// The job on the device, as its planner plans it.
    fn work(&self, job: &Job) -> Result<Work> {
        Work::of_plan(&self.device, &self.planner.plan(job)?)
    }

    /// A record without measurements.
    pub(crate) fn record(&self, tuning: Option<String>) -> Record {
        Record {
            environment: Environment::of(&self.device),
            tuning,
            copy_bytes_per_second: self.ceilings.copy,
            measurements: Vec::new(),
            unsupported: Vec::new(),
        }
    }

    /// The CPU, measured as little as possible.
    #[cfg(test)]
    pub(crate) fn of_cpu() -> Self {
        let (device, ceilings) = (Device::cpu(), Ceilings { copy: 1e9, pipes: None });
        Self {
            device,
            planner: Planner::default(),
            ceilings,
            effort: Effort::NONE,
            steps: false,
            seed: 1,
            launch: None,
        }
    }
}

/// A case of a suite, and the operations of it that are wanted.
pub(crate) struct Selected {
    suite: &'static Suite,
    case: Case,
    wanted: Wanted,
}

impl Selected {
    /// An operation on a ring that the user names, for these batches or one that suits the device.
    pub(crate) fn own(text: &str, op: Op, shape: &Shape, batches: &[usize]) -> Result<Self> {
        let ring: PolyType = text.parse().with_context(|| format!("{text:?} is no ring"))?;
        let batches = if batches.is_empty() { vec![0] } else { batches.to_vec() };
        let case = rings::case(text, &shape.job(&ring, op), batches);
        Ok(Self { suite: &rings::OWN, wanted: Wanted(case.operations.clone()), case })
    }

    /// All of the suites that have a rank, by that, whose titles contain this.
    pub(crate) fn of(rank: impl Fn(&Suite) -> Option<usize>, scope: &Scope, filter: &str) -> Result<Vec<Self>> {
        let mut suites: Vec<_> = SUITES.iter().filter_map(|suite| Some((rank(suite)?, suite))).collect();
        suites.sort_by_key(|(rank, _)| *rank);
        let mut selected = Vec::new();
        for (_, suite) in suites {
            if scope.ranks && suite.name != group::SUITE.name {
                continue;
            }
            for case in (suite.cases)(scope)? {
                let wanted = case.wanted(suite, filter);
                if !wanted.0.is_empty() {
                    selected.push(Self { suite, case, wanted });
                }
            }
        }
        ensure!(!selected.is_empty(), "no line contains {filter:?}");
        Ok(selected)
    }

    /// The operation of a case by their names, in the first suite that times kernels and has it; papers' cases go by what
    /// they are of.
    pub(crate) fn named(scope: &Scope, name: &str, operation: &str) -> Result<Self> {
        let is_timed =
            |suite: &Suite| (suite.kind != Kind::Rates && !["CPU", "SM2"].contains(&suite.name)).then_some(0);
        for Self { suite, case, .. } in Self::of(is_timed, scope, "")? {
            let of = case.name.rsplit(": ").next().unwrap_or_default();
            if of.eq_ignore_ascii_case(name)
                && let Some(found) = case.operations.iter().find(|found| found.eq_ignore_ascii_case(operation))
            {
                return Ok(Self { suite, wanted: Wanted(vec![found.clone()]), case });
            }
        }
        bail!("{name:?} is no ring, and no suite has a case of this name with the operation {operation:?}")
    }

    /// What is shown while it runs.
    pub(crate) fn title(&self) -> String {
        let (suite, case) = (self.suite.name, &self.case.name);
        if case.starts_with(suite) { case.clone() } else { format!("{suite} {case}") }
    }

    /// Measures it into a record: what the device does not support is told there.
    pub(crate) fn measure(&self, bench: &Bench, record: &mut Record) -> Result<()> {
        match self.suite.measure(&self.case, &self.wanted, bench) {
            Ok(lines) => record.measurements.extend(lines),
            Err(error) => match error.downcast_ref::<Error>() {
                Some(Error::Unsupported { .. }) => record.unsupported.push(format!("{}: {error}", self.title())),
                _ => return Err(error.context(self.title())),
            },
        }
        Ok(())
    }
}

/// `ringforge bench`: whether every result is right.
pub(crate) fn main(options: &Options, choice: Choice, json: bool) -> Result<bool> {
    let Options { what, op, quick, steps, common, filter, .. } = options;
    let device = common.device(choice)?;
    let scope = common.scope(&device, *quick);
    let records = against::read(&options.against, &device.to_string())?;
    let of = |kind: Kind| Selected::of(move |suite| (suite.kind == kind).then_some(0), &scope, filter);
    let selected = match (what.as_deref(), op) {
        _ if !records.is_empty() => against::selected(&records, options, &scope)?,
        (Some(ring), Some(op)) => vec![Selected::own(ring, *op, &options.shape, &common.batch)?],
        (None, _) => of(Kind::Area)?,
        (Some("papers"), _) => of(Kind::Papers)?,
        (Some("rates"), _) => of(Kind::Rates)?,
        (Some(what), None) => bail!("{what:?} is neither papers nor rates; a ring wants an operation, such as forward"),
    };
    let (samples, total_seconds) = match (what.as_deref() == Some("papers"), quick) {
        (true, _) => (30, 0.1),
        (false, true) => (15, 0.15),
        (false, false) => (60, 1.0),
    };
    let effort = Effort { samples, sample_seconds: 0.002, total_seconds };
    let bench = Bench { steps: *steps, ..Bench::open(common, device, effort)? };
    match &records[..] {
        [] => run(&bench, &selected, common.tuning.name(), options.out.as_deref(), json),
        records => against::run(&bench, records, &selected, json),
    }
}

/// Measures what is selected, writes it into a file, and prints it: whether every result is right.
pub(crate) fn run(
    bench: &Bench,
    selected: &[Selected],
    tuning: Option<String>,
    out: Option<&Path>,
    json: bool,
) -> Result<bool> {
    let mut record = bench.record(tuning);
    let out = out.filter(|_| bench.is_first());
    let bar = show::progress(selected.len());
    for selected in selected {
        // what is done stays, whatever happens to the rest
        out.map_or(Ok(()), |path| record.write(path))?;
        bar.set_message(selected.title());
        selected.measure(bench, &mut record)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    if bench.steps && selected.len() == 1 {
        // what is not made of kernels cannot be told kernel by kernel
        record.measurements.retain(|line| !line.steps.is_empty());
    }
    let none = record.measurements.is_empty() && selected.len() == 1;
    ensure!(!none, "there is nothing to be timed: {}", record.unsupported.join("\n"));
    out.map_or(Ok(()), |path| record.write(path))?;
    match (bench.is_first(), json) {
        (false, _) => {}
        (true, true) => show::print_json(&record)?,
        (true, false) => table::print(&record)?,
    }
    Ok(record.measurements.iter().all(|line| line.right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_found_by_name() -> Result<()> {
        let scope = Scope { cpu: true, ..Scope::default() };
        for (name, operation, suite) in [
            ("ctru-768", "encaps", "CTRU"),
            ("sm2", "sign", "papers"),
            ("key switch", "", "operations"),
            ("ml-kem", "MUL", "rings"),
        ] {
            let found = Selected::named(&scope, name, operation)?;
            assert_eq!((found.suite.name, found.wanted.0.len()), (suite, 1), "{name}");
        }
        assert!(Selected::named(&scope, "ctru-768", "sign").is_err());
        Ok(())
    }
}
