//! `ringforge bench`: measures the throughput of each ring or scheme, operation and batch, with roofline bounds and
//! other implementations to compare with.

mod against;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use clap::Args;
use ringforge::Op;

use crate::devices::Choice;
use crate::job::Shape;
use crate::measure::Effort;
use crate::selected::Selected;
use crate::session::{Bench, Common};
use crate::show;
use crate::suite::{SuiteKind, Suites};
use crate::table;

/// Options of `ringforge bench`.
#[derive(Debug, Args)]
pub struct Options {
    /// A ring, such as 3457:x^768-x^384+1, with an operation; all suites if omitted. `ringforge-bench` also takes
    /// `papers`, the experiments of the papers that the engine is based on, or `rates`, the peak throughput of a GPU's
    /// pipes.
    #[arg(value_name = "RING")]
    what: Option<String>,
    /// The operation on the ring, as in `ringforge plan`.
    op: Option<Op>,
    #[command(flatten)]
    shape: Shape,
    /// Only measurements whose "suite case operation" contains this text.
    #[arg(long, default_value = "")]
    filter: String,
    /// Fewer and shorter measurements.
    #[arg(long)]
    quick: bool,
    /// Also time each kernel, or each step of several devices, as `ringforge profile` does.
    #[arg(long)]
    steps: bool,
    /// Repeat the measurements of this record (or of several records, separated by commas), and print their ratios to
    /// the record.
    #[arg(long, value_name = "RECORD", value_delimiter = ',', conflicts_with_all = ["what", "steps", "out"])]
    against: Vec<PathBuf>,
    /// Also write JSON to this file.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

/// Runs `ringforge bench`. Returns true if every result is right.
pub(crate) fn main(options: &Options, choice: Choice, json: bool, suites: Suites) -> Result<bool> {
    let Options { what, op, quick, steps, common, filter, .. } = options;
    let device = common.device(choice)?;
    let scope = common.scope(&device, *quick, suites);
    let records = against::read(&options.against, &device.to_string())?;
    let of = |kind: SuiteKind| Selected::of(move |suite| (suite.kind == kind).then_some(0), &scope, filter);
    let selected = match (what.as_deref(), op) {
        _ if !records.is_empty() => against::selected(&records, options, &scope)?,
        (Some(ring), Some(op)) => vec![Selected::own(ring, *op, &options.shape, &common.batch)?],
        (None, _) => of(SuiteKind::Area)?,
        (Some(what @ ("papers" | "rates")), _) => {
            let kind = if what == "papers" { SuiteKind::Papers } else { SuiteKind::Rates };
            ensure!(
                suites.iter().any(|suite| suite.kind == kind),
                "only ringforge-bench has the suites {what}: run `ringforge-bench bench {what}`"
            );
            of(kind)?
        }
        (Some(what), None) => bail!("{what:?} is neither papers nor rates; a ring needs an operation, such as forward"),
    };
    let (samples, total_seconds) = match (what.as_deref() == Some("papers"), quick) {
        (true, _) => (30, 0.1),
        (false, true) => (15, 0.15),
        (false, false) => (60, 1.0),
    };
    let effort = Effort { samples, sample_seconds: 0.002, total_seconds };
    let bench = Bench { steps: *steps, ..Bench::open(common, device, effort)? };
    match &records[..] {
        [] => run(&bench, &selected, common.tuning.name(), options.out.as_deref(), json, suites),
        records => against::run(&bench, records, &selected, json),
    }
}

/// Measures the selected cases, writes a record of the measurements to `out` if given, and prints it. Returns true if
/// every result is right.
pub(crate) fn run(
    bench: &Bench,
    selected: &[Selected],
    tuning: Option<String>,
    out: Option<&Path>,
    json: bool,
    suites: Suites,
) -> Result<bool> {
    let mut record = bench.record(tuning);
    let out = out.filter(|_| bench.is_first());
    let bar = show::progress(selected.len());
    for selected in selected {
        // the record is written before each case, so that a failure loses no earlier result
        out.map_or(Ok(()), |path| record.write(path))?;
        bar.set_message(selected.title());
        selected.measure(bench, &mut record)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    if bench.steps && selected.len() == 1 {
        // measurements without kernels cannot be shown kernel by kernel
        record.measurements.retain(|line| !line.steps.is_empty());
    }
    let none = record.measurements.is_empty() && selected.len() == 1;
    ensure!(!none, "nothing could be measured: {}", record.unsupported.join("\n"));
    out.map_or(Ok(()), |path| record.write(path))?;
    match (bench.is_first(), json) {
        (false, _) => {}
        (true, true) => show::print_json(&record)?,
        (true, false) => table::print(&record, suites)?,
    }
    Ok(record.measurements.iter().all(|line| line.right))
}
