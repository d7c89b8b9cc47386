//! `ringforge check`: compares results with slow, simple arithmetic. It runs cases of rings of every kind, of key
//! encapsulation and of signatures once each. These include rings that `bench` does not measure.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;
#[cfg(feature = "schemes")]
use ringforge::Device;

use crate::devices::Choice;
use crate::environment;
use crate::record::{Measurement, Record};
use crate::selected::Selected;
use crate::session::Bench;
use crate::show;
use crate::suite::{Scope, Suites};
use crate::tuning_file::TuningFile;

/// Options of `ringforge check`.
#[derive(Debug, Args)]
pub struct Options {
    /// Only rings and schemes whose "suite case ring operation" contains this text.
    #[arg(long, default_value = "")]
    filter: String,
    /// Large batches, which fill the device, instead of small ones, which also run every kernel.
    #[arg(long)]
    all: bool,
    /// Seed of the random polynomials and keys; random if omitted.
    #[arg(long)]
    seed: Option<u64>,
    #[command(flatten)]
    tuning: TuningFile,
}

/// The suites whose cases are checked. Suites whose kernels take longest to compile come first.
const SUITES: [&str; 4] = ["SM2", "rings", "CTRU-Prime", "CTRU"];

/// Items of a small batch. The number is odd, so that the last block is not full.
const FEW: usize = 37;

/// Runs `ringforge check`. Returns true if every result is right.
pub(crate) fn main(options: &Options, choice: Choice, json: bool, suites: Suites) -> Result<bool> {
    let start = Instant::now();
    let chosen = choice.open()?;
    let seed = options.seed.unwrap_or_else(|| RandomState::new().hash_one(0) >> 16);
    let bench = Bench::for_results(&chosen.device, &options.tuning, seed)?;
    let batches = if options.all { &[][..] } else { &[FEW] };
    let scope = Scope { check: true, ..Scope::new(&bench.device, false, batches, suites) };
    let all = Selected::of(|suite| SUITES.iter().position(|name| *name == suite.name), &scope, &options.filter)?;
    // all operations of a case share one line of output
    let cases: Vec<&[Selected]> = all.chunk_by(|a, b| a.title() == b.title()).collect();
    if !json {
        let name = match bench.device.limits().is_cpu() {
            true => format!("{}, {} threads", environment::cpu_name(), environment::threads()),
            false => bench.device.to_string(),
        };
        show::print(&format!("{name} ({}), seed {seed}", chosen.reason))?;
    }
    let bar = show::progress(cases.len());
    let mut record = bench.record(options.tuning.name());
    let (empty, mut agreeing) = (record.clone(), 0);
    check(&bench, &empty, &cases, |title, found, seconds| {
        bar.inc(1);
        let wrong: Vec<String> = found.measurements.iter().filter(|line| !line.right).map(Measurement::what).collect();
        agreeing += usize::from(wrong.is_empty());
        if !json {
            bar.suspend(|| show::print(&line(&title, &found, &wrong, seconds)))?;
        }
        record.measurements.extend(found.measurements);
        record.unsupported.extend(found.unsupported);
        Ok(())
    })?;
    bar.finish_and_clear();
    let agrees = agreeing == cases.len();
    if json {
        show::print_json(&serde_json::json!({
            "environment": record.environment, "seed": seed, "agrees": agrees,
            "measurements": record.measurements, "unsupported": record.unsupported,
        }))?;
    } else {
        let seconds = start.elapsed().as_secs_f64();
        show::print(&format!("{agreeing} of {} agree with slow arithmetic, {seconds:.1} s", cases.len()))?;
    }
    Ok(agrees)
}

/// Formats the results of one case as a line of output.
fn line(title: &str, found: &Record, wrong: &[String], seconds: f64) -> String {
    let verdict = if wrong.is_empty() { "agrees" } else { "WRONG" };
    let lines = &found.measurements;
    let ring = lines.iter().find_map(|line| line.ring.as_deref()).map(show::ring).unwrap_or_default();
    let items = lines.iter().map(|line| line.batch).max().unwrap_or(0);
    let mut text = format!("{verdict:6}  {title:34}  {ring:44}  {} × {items} items, {seconds:.2} s", lines.len());
    if !wrong.is_empty() {
        text += &format!(": {}", wrong.join("; "));
    }
    found.unsupported.iter().fold(text, |text, why| format!("{text} ({why})"))
}

/// Measures all cases and passes the results of each case to `take` when its last operation is done. On a GPU,
/// several threads check operations, so that kernels of some are compiled while those of others run. On a CPU,
/// operations run one after another, because each uses all threads.
fn check(
    bench: &Bench,
    empty: &Record,
    cases: &[&[Selected]],
    mut take: impl FnMut(String, Record, f64) -> Result<()>,
) -> Result<()> {
    let of_case = |(case, all): (usize, _)| std::iter::repeat(case).zip::<&[Selected]>(all);
    let all: Vec<(usize, &Selected)> = cases.iter().copied().enumerate().flat_map(of_case).collect();
    let workers = if bench.device.limits().is_cpu() { 1 } else { environment::threads().min(all.len()) };
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let (sender, found) = mpsc::channel();
        #[cfg(feature = "schemes")]
        if cases.iter().any(|case| case[0].title().starts_with("SM2")) {
            compile_ahead(scope, &bench.device)?;
        }
        for _ in 0..workers {
            let (sender, next, all) = (sender.clone(), &next, &all);
            let worker = std::thread::Builder::new().spawn_scoped(scope, move || {
                while let Some((case, selected)) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (start, mut record) = (Instant::now(), empty.clone());
                    let outcome = selected.measure(bench, &mut record).with_context(|| format!("seed {}", bench.seed));
                    // sending fails if the receiver is gone, which it is after an error
                    if sender.send(outcome.map(|()| (*case, record, start.elapsed().as_secs_f64()))).is_err() {
                        return;
                    }
                }
            });
            worker.context("starting a thread")?;
        }
        drop(sender);
        let mut open: Vec<_> = cases.iter().map(|case| (case.len(), empty.clone(), 0.0)).collect();
        found.into_iter().try_for_each(|found| {
            let (case, record, seconds) = found?;
            let (left, all, sum) = &mut open[case];
            (*left, *sum) = (*left - 1, *sum + seconds);
            all.measurements.extend(record.measurements);
            all.unsupported.extend(record.unsupported);
            if *left > 0 { Ok(()) } else { take(cases[case][0].title(), all.clone(), *sum) }
        })
    })
}

/// Compiles SM2's kernels for a GPU in parallel while the first cases run. A case waits for a kernel that is still
/// being compiled. Errors are ignored, because they occur again in the case that needs the kernel.
#[cfg(feature = "schemes")]
fn compile_ahead<'scope>(scope: &'scope std::thread::Scope<'scope, '_>, device: &Device) -> Result<()> {
    if !device.limits().is_cpu() {
        for plan in crate::suites::sm2::checked_plans(device.limits())? {
            let device = device.clone();
            // if the thread does not start, the case that needs the plan compiles it
            let _ = std::thread::Builder::new().spawn_scoped(scope, move || drop(device.compile(&plan)));
        }
    }
    Ok(())
}
