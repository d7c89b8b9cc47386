//! `ringforge bench --start-up`: from the start of a process to its first product, with an empty and a filled cache.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use ringforge::{Job, Op, Ring};
use serde_json::json;

use crate::devices::Choice;
use crate::environment::Environment;
use crate::show;
use crate::work::Work;

/// The product that is made.
const RING: &str = "3457:x^768-x^384+1";
/// Processes with an empty cache, and with a filled one.
const COLD_RUNS: usize = 3;
const WARM_RUNS: usize = 7;

/// What the hidden command prints once the product is there.
const DONE: &str = "done";

/// `ringforge bench --start-up`.
pub(crate) fn main(choice: Choice, json: bool) -> Result<()> {
    let device = choice.open()?.device;
    let environment = Environment::of(&device);
    drop(device);
    let (mut cold, mut warm) = (Vec::new(), Vec::new());
    for _ in 0..COLD_RUNS {
        let folder = tempfile::tempdir()?;
        cold.push(run(choice, folder.path())?);
    }
    let folder = tempfile::tempdir()?;
    run(choice, folder.path())?;
    for _ in 0..WARM_RUNS {
        warm.push(run(choice, folder.path())?);
    }
    let (cold, warm) = (median(cold), median(warm));
    if json {
        return show::print_json(&json!({
            "environment": environment, "ring": RING, "cold_ms": cold * 1e3, "warm_ms": warm * 1e3,
        }));
    }
    show::print(&format!("from the start of a process to its first product in {RING} on {}:", environment.device))?;
    show::print(&format!("  {:>8} with an empty cache\n  {:>8} with a filled one", show::time(cold), show::time(warm)))
}

/// Seconds from the start of a process to its word that the product is made.
fn run(choice: Choice, cache: &Path) -> Result<f64> {
    let device = match choice {
        Choice::Best => "best".into(),
        Choice::Cpu => "cpu".into(),
        Choice::Cuda(ordinal) => format!("cuda:{ordinal}"),
    };
    let program = std::env::current_exe().context("where this program lies")?;
    let mut command = Command::new(program);
    command.args(["start-up", "--device", &device]).stdout(Stdio::piped());
    // the compiler and the driver have caches of their own
    command
        .env("RINGFORGE_CACHE_DIR", cache)
        .env("CUDA_CACHE_PATH", cache.join("driver"))
        .env_remove("RINGFORGE_CACHE");
    let start = Instant::now();
    let mut child = command.spawn()?;
    let mut line = String::new();
    if let Some(output) = child.stdout.take() {
        BufReader::new(output).read_line(&mut line)?;
    }
    let seconds = start.elapsed().as_secs_f64();
    ensure!(child.wait()?.success() && line.trim() == DONE, "the process that was timed failed");
    Ok(seconds)
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds.get(seconds.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The process that is timed: one product x · x, from nothing.
pub(crate) fn child(choice: Choice) -> Result<()> {
    let device = choice.open()?.device;
    let ring: Ring = RING.parse()?;
    let work = Work::new(&device, &Job::new(&ring, Op::Mul).batch_hint(1))?;
    let mut x = vec![0u16; ring.degree()];
    x[1] = 1;
    let mut out = vec![0u16; ring.degree()];
    work.program.on_host(1).input("a", &x).input("b", &x).output("product", &mut out).run()?;
    ensure!(out.iter().enumerate().all(|(i, &c)| c == u16::from(i == 2)), "x · x is not x²");
    show::print(DONE)
}
