//! `ringforge bench`: throughput for each ring or scheme, operation and batch, with floors and limits beside it.

mod convert;
mod fhe;
mod host;
mod kems;
mod ml_kem;
mod operations;
#[cfg(feature = "peers")]
mod peers;
mod rates;
mod rings;
mod seeds;
mod sm2;
mod ways;
mod zk;
mod zk_host;
mod zk_witness;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use ringforge::{Device, Error, Job, Limits, Plan, Planner};
use serde::Serialize;

use crate::ceilings::{Ceilings, Pipes};
use crate::copy;
use crate::devices::Choice;
use crate::environment::Environment;
use crate::floor::Floor;
use crate::measure::{Effort, Times};
use crate::show;
use crate::tune::TuningFile;
use crate::work::Work;

/// The device that peers were measured on and bars are set for.
const REFERENCE: &str = "H200";

fn is_reference(limits: &Limits) -> bool {
    limits.name.contains(REFERENCE)
}

/// What is measured instead of the usual lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Suite {
    /// What a GPU's memory and pipes do at best.
    Rates,
    /// The experiments of the documents that the engine came from.
    Seeds,
}

/// Options of `ringforge bench`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Measure this instead of the usual lines.
    suite: Option<Suite>,
    /// Only lines whose "name ring op" contains this; for schemes "name op", for seeds the name of a suite and its source.
    #[arg(long, default_value = "")]
    filter: String,
    /// Items of a run, instead of what each line says: a number, or several with commas between for a line each.
    #[arg(long, value_delimiter = ',', value_parser = batch)]
    batch: Vec<usize>,
    /// Fewer lines and shorter measurements.
    #[arg(long)]
    quick: bool,
    /// Write JSON to this file too.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Floors by the ceilings in this file, as `ringforge bench rates --out` writes it for the device, in place of those
    /// of an H200.
    #[arg(long, value_name = "FILE")]
    rates: Option<PathBuf>,
    #[command(flatten)]
    tuning: TuningFile,
    /// Measure the time from the start of a process to its first product instead, with an empty and a filled cache.
    #[arg(long)]
    pub(crate) start_up: bool,
}

/// A number of items that is not zero.
fn batch(text: &str) -> Result<usize, String> {
    text.parse::<NonZeroUsize>().map(NonZeroUsize::get).map_err(|error| error.to_string())
}

impl Options {
    fn effort(&self) -> Effort {
        let (samples, total_seconds) = if self.quick { (15, 0.15) } else { (60, 1.0) };
        Effort { samples, sample_seconds: 0.002, total_seconds }
    }

    /// The batches that were asked for, else these.
    fn batches(&self, usual: impl FnOnce() -> Vec<usize>) -> Vec<usize> {
        if self.batch.is_empty() { usual() } else { self.batch.clone() }
    }
}

/// What lines are measured with.
struct Bench {
    device: Device,
    planner: Planner,
    ceilings: Ceilings,
    effort: Effort,
}

impl Bench {
    /// The device with what the user says of it.
    fn open(options: &Options, device: Device, effort: Effort) -> Result<Self> {
        let planner = options.tuning.planner(device.limits())?;
        let pipes = match &options.rates {
            Some(path) => Some(Pipes::read(path, device.limits())?),
            None => Pipes::of(device.limits()),
        };
        let copy = copy::bandwidth(&device, effort).context("copying memory")?;
        Ok(Self { device, planner, ceilings: Ceilings { copy, pipes }, effort })
    }

    /// The job on the device, as its planner plans it.
    fn work(&self, job: &Job) -> Result<Work> {
        Work::of_plan(&self.device, &self.planner.plan(job)?)
    }

    /// The CPU, measured as little as possible.
    #[cfg(test)]
    fn of_cpu() -> Self {
        let ceilings = Ceilings { copy: 1e9, pipes: None };
        Self { device: Device::cpu(), planner: Planner::default(), ceilings, effort: Effort::LEAST }
    }
}

/// What is measured at once.
enum Task {
    Ring(rings::Task),
    Convert(convert::Task),
    Fhe(fhe::Task),
    Operation(operations::Task),
    Zk(zk::Task),
    Kem(kems::Task),
    MlKem(ml_kem::Task),
    ZkHost(zk_host::Task),
    ZkWitness(zk_witness::Task),
    Sm2(sm2::Task),
    Ways(ways::Task),
    #[cfg(feature = "peers")]
    Peers(peers::Task),
}

impl Task {
    fn title(&self) -> String {
        match self {
            Self::Ring(task) => task.title(),
            Self::Convert(task) => task.title(),
            Self::Fhe(task) => task.title(),
            Self::Operation(task) => task.title(),
            Self::Zk(task) => task.title(),
            Self::Kem(task) => task.title(),
            Self::MlKem(task) => task.title(),
            Self::ZkHost(task) => task.title(),
            Self::ZkWitness(task) => task.title(),
            Self::Sm2(task) => task.title(),
            Self::Ways(task) => task.title(),
            #[cfg(feature = "peers")]
            Self::Peers(task) => task.title(),
        }
    }

    /// Adds the task's lines to a report.
    fn measure(&self, bench: &Bench, report: &mut Report) -> Result<()> {
        match self {
            Self::Ring(task) => report.lines.push(rings::line(task, bench)?),
            Self::Convert(task) => report.lines.push(task.line(bench)?),
            Self::Fhe(task) => report.fhe_lines.extend(task.lines(bench)?),
            Self::Operation(task) => report.lines.push(task.line(bench)?),
            Self::Zk(task) => report.zk_lines.extend(task.lines(bench)?),
            Self::MlKem(task) => report.kem_rates.push(task.line(bench)?),
            Self::ZkHost(task) => report.zk_host_lines.extend(task.lines(bench)?),
            Self::ZkWitness(task) => report.zk_witness_lines.push(task.line(bench)?),
            Self::Sm2(task) => report.sm2_lines.extend(task.lines(bench)?),
            Self::Ways(task) => report.way_lines.extend(task.lines(bench)?),
            #[cfg(feature = "peers")]
            Self::Peers(task) => report.peer_lines.extend(task.lines(bench)?),
            Self::Kem(task) => {
                // a CPU's memory is the host's
                let is_cpu = bench.device.limits().is_cpu();
                let resident = if is_cpu { Vec::new() } else { kems::lines(task, bench)? };
                report.host_lines.extend(host::lines(task, bench, &resident)?);
                report.lines.extend(resident);
            }
        }
        Ok(())
    }
}

/// What a line is about.
#[derive(Debug, Serialize)]
struct What {
    name: &'static str,
    ring: String,
    op: String,
}

/// One measurement, with all arguments on the device.
#[derive(Debug, Serialize)]
struct Line {
    #[serde(flatten)]
    what: What,
    batch: usize,
    plan: String,
    #[serde(flatten)]
    times: Times,
    items_per_second: f64,
    floor: Floor,
    /// Share of the floor's speed that was reached.
    percent_of_floor: f64,
    /// Whether results are right: samples of a ring's, all of a scheme's and of those about FHE.
    right: bool,
}

impl Line {
    fn new(what: What, batch: usize, plan: &Plan, times: Times, floor: Floor, right: bool) -> Self {
        let items_per_second = batch as f64 / times.median_seconds;
        let percent_of_floor = 100.0 * floor.limit().0 * items_per_second;
        Self { what, batch, plan: plan.to_string(), times, items_per_second, floor, percent_of_floor, right }
    }
}

#[derive(Debug, Serialize)]
struct Report {
    #[serde(flatten)]
    environment: Environment,
    /// The file of choices that plans were made by.
    #[serde(skip_serializing_if = "Option::is_none")]
    tuning: Option<String>,
    copy_bytes_per_second: f64,
    lines: Vec<Line>,
    /// Transforms as FHE has them.
    fhe_lines: Vec<fhe::Line>,
    /// Transforms as provers have them.
    zk_lines: Vec<zk::Line>,
    /// ML-KEM, the example crate.
    kem_rates: Vec<ml_kem::Line>,
    /// From host memory to host memory.
    host_lines: Vec<host::Line>,
    /// Large transforms from host memory to host memory.
    zk_host_lines: Vec<zk_host::Line>,
    /// Witness maps.
    zk_witness_lines: Vec<zk_witness::Line>,
    /// SM2 signatures.
    sm2_lines: Vec<sm2::Line>,
    /// CTRU-Prime's products, by transforms and on tensor cores.
    way_lines: Vec<ways::Line>,
    /// The CPU beside other crates.
    #[cfg(feature = "peers")]
    peer_lines: Vec<peers::Line>,
    /// Lines that this device does not support, and why.
    unsupported: Vec<String>,
}

/// `ringforge bench`: whether every result is right.
pub(crate) fn main(options: &Options, choice: Choice, json: bool) -> Result<bool> {
    match options.suite {
        Some(Suite::Rates) => return rates::main(options, choice, json),
        Some(Suite::Seeds) => return seeds::main(options, choice, json),
        None => {}
    }
    let device = choice.open()?.device;
    let rings = rings::tasks(options, &device)?.into_iter().map(Task::Ring);
    let convert = convert::tasks(options, &device)?.into_iter().map(Task::Convert);
    let fhe = fhe::tasks(options, &device)?.into_iter().map(Task::Fhe);
    let operations = operations::tasks(options).into_iter().map(Task::Operation);
    let zk = zk::tasks(options, &device).into_iter().map(Task::Zk);
    let zk_host = zk_host::tasks(options, &device).into_iter().map(Task::ZkHost);
    let zk_witness = zk_witness::tasks(options, &device).into_iter().map(Task::ZkWitness);
    let kems = kems::tasks(options, &device).into_iter().map(Task::Kem);
    let ml_kem = ml_kem::tasks(options, &device).into_iter().map(Task::MlKem);
    let sm2 = sm2::tasks(options, &device).into_iter().map(Task::Sm2);
    let ways = ways::tasks(options, &device).into_iter().map(Task::Ways);
    let tasks = rings.chain(convert).chain(fhe).chain(operations).chain(zk).chain(zk_host).chain(zk_witness);
    let tasks = tasks.chain(kems).chain(ways);
    let tasks = tasks.chain(ml_kem).chain(sm2);
    #[cfg(feature = "peers")]
    let tasks = tasks.chain(peers::tasks(options).into_iter().map(Task::Peers));
    let tasks: Vec<_> = tasks.collect();
    ensure!(!tasks.is_empty(), "no line contains {:?}", options.filter);
    let bench = Bench::open(options, device, options.effort())?;
    let mut report = Report {
        environment: Environment::of(&bench.device),
        tuning: options.tuning.name(),
        copy_bytes_per_second: bench.ceilings.copy,
        lines: Vec::new(),
        fhe_lines: Vec::new(),
        zk_lines: Vec::new(),
        kem_rates: Vec::new(),
        host_lines: Vec::new(),
        zk_host_lines: Vec::new(),
        zk_witness_lines: Vec::new(),
        sm2_lines: Vec::new(),
        way_lines: Vec::new(),
        #[cfg(feature = "peers")]
        peer_lines: Vec::new(),
        unsupported: Vec::new(),
    };
    write(options, &report)?;
    let bar = show::progress(tasks.len());
    for task in tasks {
        bar.set_message(task.title());
        if let Err(error) = task.measure(&bench, &mut report) {
            match error.downcast_ref::<Error>() {
                Some(Error::Unsupported { .. }) => report.unsupported.push(error.to_string()),
                _ => return Err(error.context(task.title())),
            }
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
    let transforms =
        report.fhe_lines.iter().map(|line| &line.line).chain(report.zk_lines.iter().map(|line| &line.line));
    let resident = report.lines.iter().chain(transforms).map(|line| line.right);
    let hosts = report.host_lines.iter().map(|line| line.right);
    let zk_hosts = report.zk_host_lines.iter().map(|line| line.right);
    let zk_witnesses = report.zk_witness_lines.iter().map(|line| line.right);
    let sm2 = report.sm2_lines.iter().map(|line| line.right);
    let ways = report.way_lines.iter().map(|line| line.right);
    let ml_kem = report.kem_rates.iter().map(|line| line.right);
    let schemes = sm2.chain(ways).chain(ml_kem);
    #[cfg(feature = "peers")]
    let schemes = schemes.chain(report.peer_lines.iter().map(|line| line.right));
    Ok(resident.chain(hosts).chain(zk_hosts).chain(zk_witnesses).chain(schemes).all(|right| right))
}

/// Writes a record to the file that the user named.
fn write(options: &Options, record: &impl Serialize) -> Result<()> {
    let Some(path) = &options.out else { return Ok(()) };
    let text = serde_json::to_string_pretty(record)? + "\n";
    std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

fn print(report: &Report) -> Result<()> {
    let Environment { device, cpu, cpu_threads, commit, date, .. } = &report.environment;
    let commit = commit.as_deref().unwrap_or("unknown");
    show::print(&format!("{device} ({cpu}, {cpu_threads} threads), commit {commit}, {date}"))?;
    show::print(&format!("copy, read + written: {}B/s", show::short(report.copy_bytes_per_second)))?;
    if !report.lines.is_empty() {
        show::print(&table(&report.lines))?;
    }
    if !report.fhe_lines.is_empty() {
        show::print("FHE, x^n + 1 modulo 32 primes; peers and bars are those of an H200:")?;
        show::print(&fhe::table(&report.fhe_lines))?;
    }
    if !report.zk_lines.is_empty() {
        show::print("zk, BLS12-381 Fr, natural order; peers and bars are those of an H200:")?;
        show::print(&zk::table(&report.zk_lines))?;
    }
    if !report.kem_rates.is_empty() {
        show::print("ML-KEM, the example crate:")?;
        show::print(&ml_kem::table(&report.kem_rates))?;
    }
    if !report.host_lines.is_empty() {
        show::print("from host memory to host memory:")?;
        show::print(&host::table(&report.host_lines))?;
    }
    if !report.zk_host_lines.is_empty() {
        show::print("large transforms over BLS12-381's scalar field, from host memory to host memory:")?;
        show::print(&zk_host::table(&report.zk_host_lines))?;
    }
    if !report.zk_witness_lines.is_empty() {
        show::print("Groth16 witness maps, BLS12-381 Fr:")?;
        show::print(&zk_witness::table(&report.zk_witness_lines))?;
    }
    if !report.sm2_lines.is_empty() {
        show::print("SM2, all data on the device; bars are those of an H200:")?;
        show::print(&sm2::table(&report.sm2_lines))?;
    }
    if !report.way_lines.is_empty() {
        show::print("CTRU-Prime, products by transforms and on tensor cores:")?;
        show::print(&ways::table(&report.way_lines))?;
    }
    #[cfg(feature = "peers")]
    if !report.peer_lines.is_empty() {
        show::print("this machine's CPU beside other crates:")?;
        show::print(&peers::table(&report.peer_lines))?;
    }
    report.unsupported.iter().try_for_each(|line| show::print(line))
}

fn table(lines: &[Line]) -> String {
    let headings = ["name", "operation", "batch", "median", "p95", "items/s", "floor", "% of floor", "right"];
    let mut table = show::table(&headings, &[2, 3, 4, 5, 6, 7]);
    for line in lines {
        let (floor, limit) = line.floor.limit();
        table.add_row([
            format!("{}\n{}", line.what.name, show::ring(&line.what.ring)),
            line.what.op.clone(),
            line.batch.to_string(),
            show::time(line.times.median_seconds),
            show::time(line.times.p95_seconds),
            show::short(line.items_per_second),
            format!("{}\n{limit}", show::short(1.0 / floor)),
            format!("{:.0}", line.percent_of_floor),
            show::yes_or_no(line.right),
        ]);
    }
    table.to_string()
}
