//! `ringforge bench`: throughput for each ring or scheme, operation and batch, with floors and peers beside it.

mod convert;
#[cfg(feature = "peers")]
mod cpu;
mod fhe;
mod figure;
mod jobs;
mod kems;
mod operations;
mod own;
mod papers;
mod rates;
mod rings;
pub(crate) mod runs;
mod sm2;
pub(crate) mod suites;
mod table;
mod zk;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use ringforge::{Device, Error, Job, Op, Planner, Ring};

use crate::ceilings::{Ceilings, Pipes};
use crate::copy;
use crate::devices::Choice;
use crate::environment::Environment;
use crate::job::Shape;
use crate::measure::Effort;
use crate::record::{Measurement, Record};
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
    /// Write JSON to this file too.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

/// Options of `bench` and `profile`.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// Items of a run, instead of what each line says: a number, or several with commas between for a line each.
    #[arg(long, value_delimiter = ',', value_parser = batch)]
    pub(crate) batch: Vec<usize>,
    /// Floors by the ceilings in this file, as `ringforge bench rates --out` writes it for the device, in place of those
    /// of an H200.
    #[arg(long, value_name = "FILE")]
    rates: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) tuning: TuningFile,
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
}

impl Bench {
    /// The device with what the user says of it.
    pub(crate) fn open(common: &Common, device: Device, effort: Effort) -> Result<Self> {
        let planner = common.tuning.planner(device.limits())?;
        let pipes = match &common.rates {
            Some(path) => Some(Pipes::read(path, device.limits())?),
            None => Pipes::of(device.limits()),
        };
        let copy = copy::bandwidth(&device, effort).context("copying memory")?;
        Ok(Self { device, planner, ceilings: Ceilings { copy, pipes }, effort, steps: false })
    }

    /// The same, with every kernel's time.
    pub(crate) fn with_steps(&self) -> Self {
        Self { steps: true, ..self.clone() }
    }

    /// The job on the device, as its planner plans it.
    fn work(&self, job: &Job) -> Result<Work> {
        Work::of_plan(&self.device, &self.planner.plan(job)?)
    }

    /// A record without measurements.
    pub(crate) fn record(&self, common: &Common) -> Record {
        Record {
            environment: Environment::of(&self.device),
            tuning: common.tuning.name(),
            copy_bytes_per_second: self.ceilings.copy,
            measurements: Vec::new(),
            unsupported: Vec::new(),
        }
    }

    /// The CPU, measured as little as possible.
    #[cfg(test)]
    fn of_cpu() -> Self {
        let ceilings = Ceilings { copy: 1e9, pipes: None };
        Self { device: Device::cpu(), planner: Planner::default(), ceilings, effort: Effort::LEAST, steps: false }
    }
}

/// A case of a suite, and the operations of it that are wanted.
pub(crate) struct Selected {
    suite: &'static Suite,
    case: Case,
    wanted: Wanted,
}

impl Selected {
    /// An operation on a ring that the user names.
    pub(crate) fn own(text: &str, op: Op, shape: &Shape, batches: &[usize]) -> Result<Self> {
        let ring: Ring = text.parse().with_context(|| format!("{text:?} is no ring"))?;
        let case = own::case(text, &ring, op, shape, batches);
        let wanted = Wanted(case.operations.clone());
        Ok(Self { suite: &own::SUITE, case, wanted })
    }

    /// All of the suites of these kinds whose titles contain this.
    fn all(kind: Kind, scope: &Scope, filter: &str) -> Result<Vec<Self>> {
        let mut selected = Vec::new();
        for suite in SUITES.iter().filter(|suite| suite.kind == kind) {
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

    /// The operation of a case by their names, in the first suite that times kernels and has it.
    pub(crate) fn named(scope: &Scope, name: &str, operation: &str) -> Result<Self> {
        for suite in SUITES.iter().filter(|suite| suite.kind != Kind::Rates && suite.name != "CPU") {
            for case in (suite.cases)(scope)? {
                if case.name.eq_ignore_ascii_case(name)
                    && let Some(found) = case.operations.iter().find(|found| found.eq_ignore_ascii_case(operation))
                {
                    return Ok(Self { suite, wanted: Wanted(vec![found.clone()]), case });
                }
            }
        }
        bail!("{name:?} is no ring, and no suite has a case of this name with the operation {operation:?}")
    }

    /// What is shown while it runs.
    fn title(&self) -> String {
        format!("{} {}", self.suite.name, self.case.name)
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
    let Options { what, op, quick, common, filter, .. } = options;
    let device = choice.open()?.device;
    let scope = Scope::new(&device, *quick, &common.batch);
    let selected = match (what.as_deref(), op) {
        (Some(ring), Some(op)) => vec![Selected::own(ring, *op, &options.shape, &common.batch)?],
        (None, _) => Selected::all(Kind::Area, &scope, filter)?,
        (Some("papers"), _) => Selected::all(Kind::Paper, &scope, filter)?,
        (Some("rates"), _) => Selected::all(Kind::Rates, &scope, filter)?,
        (Some(what), None) => bail!("{what:?} is neither papers nor rates; a ring wants an operation, such as forward"),
    };
    let is_paper = selected.iter().any(|selected| selected.suite.kind == Kind::Paper);
    let (samples, total_seconds) = match (is_paper, quick) {
        (true, true) => (7, 0.02),
        (true, false) => (30, 0.25),
        (false, true) => (15, 0.15),
        (false, false) => (60, 1.0),
    };
    let bench = Bench::open(common, device, Effort { samples, sample_seconds: 0.002, total_seconds })?;
    let mut record = bench.record(common);
    let write = |record: &Record| options.out.as_ref().map_or(Ok(()), |path| record.write(path));
    write(&record)?;
    let bar = show::progress(selected.len());
    for selected in &selected {
        bar.set_message(selected.title());
        selected.measure(&bench, &mut record)?;
        bar.inc(1);
        // what is done stays, whatever happens to the rest
        write(&record)?;
    }
    bar.finish_and_clear();
    if json {
        show::print_json(&record)?;
    } else {
        table::print(&record)?;
    }
    let none = record.measurements.is_empty() && !record.unsupported.is_empty() && selected.len() == 1;
    ensure!(!none, "{}", record.unsupported.join("\n"));
    Ok(record.measurements.iter().all(|line: &Measurement| line.right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_of_ones_own_has_one_checked_line_for_each_batch() -> Result<()> {
        let bench = Bench::of_cpu();
        let mut record = Record { measurements: Vec::new(), ..crate::record::tests::full() };
        Selected::own("998244353:x^64-1", Op::Forward, &Shape::default(), &[3, 5])?.measure(&bench, &mut record)?;
        assert_eq!(record.measurements.iter().map(|line| line.batch).collect::<Vec<_>>(), [3, 5]);
        assert!(record.measurements.iter().all(|line| line.right && line.floor.limit().is_some()));
        assert!(Selected::own("998244353:x^", Op::Forward, &Shape::default(), &[]).is_err());
        Ok(())
    }

    #[test]
    fn cases_are_found_by_name() -> Result<()> {
        let scope = Scope { cpu: true, ..Scope::default() };
        for (name, operation, suite) in [
            ("ctru-768", "encaps", "CTRU"),
            ("sm2", "sign", "sm2 throughput"),
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
