//! `ringforge bench`: throughput for each ring, operation and batch, with floors beside it.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;
use ringforge::testkit::Random;
use ringforge::{Device, Error, Job, Op, Order, Ring, Split, naive};
use serde::Serialize;

use crate::copy;
use crate::devices::Choice;
use crate::environment::Environment;
use crate::floor::Floor;
use crate::measure::{self, Effort, Times};
use crate::rings::{MEASURED, Measured};
use crate::sample;
use crate::show;
use crate::work::Work;

/// Seconds of a run that a CPU's batch is chosen for.
const CPU_RUN_SECONDS: f64 = 0.02;
/// Coefficient products that the oracle may take for a line.
const ORACLE_PRODUCTS: usize = 4 << 20;
/// Items of a GPU's result that are compared with the CPU's.
const CPU_ITEMS: usize = 64;

/// Options of `ringforge bench`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Only lines whose "name ring op" contains this.
    #[arg(long, default_value = "")]
    filter: String,
    /// Items of a run, instead of what each line says.
    #[arg(long)]
    batch: Option<usize>,
    /// Fewer lines and shorter measurements.
    #[arg(long)]
    quick: bool,
    /// Write JSON to this file too.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Measure the time from the start of a process to its first product instead, with an empty and a filled cache.
    #[arg(long)]
    pub(crate) start_up: bool,
}

/// One measurement.
#[derive(Debug, Serialize)]
struct Line {
    name: &'static str,
    ring: String,
    op: String,
    batch: usize,
    plan: String,
    #[serde(flatten)]
    times: Times,
    items_per_second: f64,
    floor: Floor,
    /// Share of the floor's speed that was reached.
    percent_of_floor: f64,
    /// Whether sampled items are right.
    right: bool,
}

#[derive(Debug, Serialize)]
struct Report {
    #[serde(flatten)]
    environment: Environment,
    copy_bytes_per_second: f64,
    lines: Vec<Line>,
    /// Lines that this device does not support, and why.
    unsupported: Vec<String>,
}

/// `ringforge bench`: whether every result is right.
pub(crate) fn main(options: &Options, choice: Choice, json: bool) -> Result<bool> {
    let device = choice.open()?.device;
    let (samples, total_seconds) = if options.quick { (15, 0.15) } else { (60, 1.0) };
    let effort = Effort { samples, sample_seconds: 0.002, total_seconds };
    let jobs = jobs(options, &device)?;
    ensure!(!jobs.is_empty(), "no line contains {:?}", options.filter);
    let bandwidth = copy::bandwidth(&device, effort).context("copying memory")?;
    let environment = Environment::of(&device);
    let mut report =
        Report { environment, copy_bytes_per_second: bandwidth, lines: Vec::new(), unsupported: Vec::new() };
    write(options, &report)?;
    let bar = show::progress(jobs.len());
    for (name, job, batch) in jobs {
        bar.set_message(format!("{name} {}", job.op));
        match line(name, &job, batch, &device, bandwidth, effort) {
            Ok(line) => report.lines.push(line),
            Err(error) => match error.downcast_ref::<Error>() {
                Some(Error::Unsupported { .. }) => report.unsupported.push(error.to_string()),
                _ => return Err(error.context(job.to_string())),
            },
        }
        bar.inc(1);
        // what is done stays, whatever happens to the rest
        write(options, &report)?;
    }
    bar.finish_and_clear();
    if json {
        show::print_json(&report)?;
    } else {
        print(&report)?;
    }
    Ok(report.lines.iter().all(|line| line.right))
}

/// What is to be measured: a name, a job, and a batch where it is fixed.
fn jobs(options: &Options, device: &Device) -> Result<Vec<(&'static str, Job, Option<usize>)>> {
    let mut jobs = Vec::new();
    for Measured { name, ring: text, ops, batches, quick } in MEASURED {
        if options.quick && !quick {
            continue;
        }
        let ring: Ring = text.parse()?;
        let batches: Vec<Option<usize>> = match options.batch {
            Some(batch) => vec![Some(batch)],
            None if device.limits().is_cpu() => vec![None],
            None => batches.iter().copied().map(Some).collect(),
        };
        for op in *ops {
            if !format!("{name} {text} {op}").contains(&options.filter) {
                continue;
            }
            for &batch in &batches {
                let job = Job::new(&ring, *op);
                jobs.push((*name, batch.map_or(job.clone(), |batch| job.batch_hint(batch)), batch));
            }
        }
    }
    Ok(jobs)
}

/// Writes the report to the file that the user named.
fn write(options: &Options, report: &Report) -> Result<()> {
    let Some(path) = &options.out else { return Ok(()) };
    let text = serde_json::to_string_pretty(report)? + "\n";
    std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

fn line(
    name: &'static str,
    job: &Job,
    batch: Option<usize>,
    device: &Device,
    bandwidth: f64,
    effort: Effort,
) -> Result<Line> {
    let work = Work::new(device, job)?;
    let batch = match batch {
        Some(batch) => batch.max(1),
        None => suiting_batch(&work, job)?,
    };
    let mut random = Random::new(std::process::id().into());
    let operands = if job.op == Op::Mul { 2 } else { 1 };
    let (mut sets, mut inputs) = (Vec::new(), Vec::new());
    for _ in 0..measure::sets(&work, batch) {
        // values are residues like any others
        inputs = (0..operands).map(|_| sample::elements(&job.ring, random.bits(), 4, batch)).collect::<Vec<_>>();
        let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
        sets.push(work.buffers(batch, &inputs)?);
    }
    let times = measure::measure(&work, batch, &mut sets, effort)?;
    let result = sets.last().map(|buffers| work.result(buffers)).transpose()?.unwrap_or_default();
    drop(sets);
    let right = is_right(job, device, batch, &inputs, &result)?;
    let plan = work.program.plan();
    let floor = Floor::of(job, plan.floor_bytes_per_item(), bandwidth, device.limits());
    let items_per_second = batch as f64 / times.median_seconds;
    Ok(Line {
        name,
        ring: job.ring.to_string(),
        op: job.op.to_string(),
        batch,
        plan: plan.to_string(),
        times,
        items_per_second,
        floor,
        percent_of_floor: 100.0 * floor.seconds() * items_per_second,
        right,
    })
}

/// A power of two that takes a CPU a suitable time.
fn suiting_batch(work: &Work, job: &Job) -> Result<usize> {
    let few = 16;
    let zeros = vec![0; few * job.ring.bytes()];
    let seconds = measure::estimate(work, few, &mut work.buffers(few, &[&zeros, &zeros])?)? / few as f64;
    let most = (64 << 20) / work.bytes(1).max(1);
    Ok(((CPU_RUN_SECONDS / seconds) as usize).clamp(16, most.max(16)).next_power_of_two())
}

/// Whether items of the result are what the oracle says, and on a GPU what the CPU says of more of them.
fn is_right(job: &Job, device: &Device, batch: usize, inputs: &[Vec<u8>], result: &[u8]) -> Result<bool> {
    let ring = &job.ring;
    let size = ring.bytes();
    let products = ring.basis().len() * ring.degree().pow(2);
    let few = (ORACLE_PRODUCTS / products).clamp(1, 4).min(batch);
    let mut right =
        oracle(job, &inputs.iter().map(|input| &input[..few * size]).collect::<Vec<_>>(), &result[..few * size])?;
    if !device.limits().is_cpu() {
        // from the end, where the last block may not be full
        let items = batch.min(CPU_ITEMS);
        let from = (batch - items) * size;
        let inputs: Vec<&[u8]> = inputs.iter().map(|input| &input[from..]).collect();
        right &= Work::new(&Device::cpu(), job)?.call(items, &inputs)? == result[from..];
    }
    Ok(right)
}

fn oracle(job: &Job, inputs: &[&[u8]], result: &[u8]) -> Result<bool> {
    let ring = &job.ring;
    let plain = |bytes: &[u8]| naive::to_plain(ring, bytes);
    Ok(match (job.op, inputs) {
        (Op::Mul, [a, b]) => naive::mul(ring, &plain(a), &plain(b)) == plain(result),
        (Op::Forward, [a]) => naive::forward(ring, &Split::of(ring, None)?, Order::Any, &plain(a)) == plain(result),
        (Op::Inverse, [a]) => naive::forward(ring, &Split::of(ring, None)?, Order::Any, &plain(result)) == plain(a),
        _ => anyhow::bail!("{} has no oracle here", job.op),
    })
}

fn print(report: &Report) -> Result<()> {
    let Environment { device, cpu, cpu_threads, commit, date, .. } = &report.environment;
    let commit = commit.as_deref().unwrap_or("unknown");
    show::print(&format!("{device} ({cpu}, {cpu_threads} threads), commit {commit}, {date}"))?;
    show::print(&format!("copy, read + written: {}B/s", show::short(report.copy_bytes_per_second)))?;
    let headings = ["name", "operation", "batch", "median", "p95", "items/s", "floor", "% of floor", "right"];
    let mut table = show::table(&headings, &[2, 3, 4, 5, 6, 7]);
    for line in &report.lines {
        let limit = match line.floor.multiply_seconds {
            Some(seconds) if seconds > line.floor.memory_seconds => "multiply",
            _ => "memory",
        };
        table.add_row([
            format!("{}\n{}", line.name, show::ring(&line.ring)),
            line.op.clone(),
            line.batch.to_string(),
            show::time(line.times.median_seconds),
            show::time(line.times.p95_seconds),
            show::short(line.items_per_second),
            format!("{}\n{limit}", show::short(1.0 / line.floor.seconds())),
            format!("{:.0}", line.percent_of_floor),
            if line.right { "yes" } else { "NO" }.to_string(),
        ]);
    }
    show::print(&table.to_string())?;
    report.unsupported.iter().try_for_each(|line| show::print(line))
}
