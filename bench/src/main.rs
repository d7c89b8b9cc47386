//! The `ringforge` command: checks, plans and measures the engine on this machine.

mod bench;
#[cfg(feature = "cuda")]
mod bundle;
mod cache;
mod ceilings;
mod check;
mod copy;
mod devices;
mod environment;
mod floor;
mod job;
mod measure;
mod memory;
mod oracle;
mod plan;
mod profile;
mod record;
mod report;
mod sample;
mod show;
mod start;
mod tune;
mod work;

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use clap::{Args, Parser, Subcommand};
use env_logger::Env;

use devices::Choice;

/// Number-theoretic transforms and polynomial products over any ring, on a CPU or a GPU.
#[derive(Debug, Parser)]
#[command(name = "ringforge", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Multiply random polynomials in rings of every kind, encapsulate keys, and compare with slow, obvious arithmetic.
    Check(On<check::Options>),
    /// List the devices of this machine, or why there is none.
    Devices(devices::Options),
    /// Print the plan for an operation on a ring.
    Plan(On<plan::Options>),
    /// Measure throughput: of all suites, of one ring and operation, of the papers' experiments.
    Bench(On<bench::Options>),
    /// Time each kernel of an operation, and say what limits it.
    Profile(On<profile::Options>),
    /// Time the way from the start of the process to the first result of an operation.
    Start(On<start::Options>),
    /// Make a page of plots and tables from recorded measurements.
    Report(report::Options),
    /// Measure the planner's alternatives on this device and write the choices into a file.
    Tune(On<tune::Options>),
    /// Write the compiled kernels of rings and schemes into a file, for machines without NVRTC.
    #[cfg(feature = "cuda")]
    Bundle(bundle::Options),
    /// Show where compiled kernels are kept and how much they take, or clear them.
    Cache(cache::Options),
}

/// Options of what runs on a device.
#[derive(Debug, Args)]
struct On<O: Args> {
    #[command(flatten)]
    options: O,
    /// Print JSON instead of tables.
    #[arg(long)]
    json: bool,
    /// Where to run: best, cpu, cuda or cuda:N.
    #[arg(long, default_value = "best", value_name = "DEVICE")]
    device: Choice,
}

fn main() -> ExitCode {
    let began = Instant::now();
    // what the engine would say, such as that its cache cannot be used
    let level = |record: &log::Record<'_>| record.level().as_str().to_lowercase();
    env_logger::Builder::from_env(Env::default().default_filter_or("warn"))
        .format(move |to, record| writeln!(to, "{}: {}", level(record), record.args()))
        .init();
    let outcome = match &Cli::parse().command {
        Command::Check(on) => check::main(&on.options, on.device, on.json),
        Command::Devices(options) => devices::main(options).map(|()| true),
        Command::Plan(on) => plan::main(&on.options, on.device, on.json).map(|()| true),
        Command::Bench(on) => bench::main(&on.options, on.device, on.json),
        Command::Profile(on) => profile::main(&on.options, on.device, on.json),
        Command::Start(on) => start::main(&on.options, on.device, on.json, began),
        Command::Report(options) => report::main(options).map(|()| true),
        Command::Tune(on) => tune::main(&on.options, on.device, on.json).map(|()| true),
        #[cfg(feature = "cuda")]
        Command::Bundle(options) => bundle::main(options).map(|()| true),
        Command::Cache(options) => cache::main(options).map(|()| true),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        // a reader that went away has read enough
        Err(error) if show::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // there may be nobody to tell
            drop(writeln!(std::io::stderr(), "error: {error:#}"));
            ExitCode::from(2)
        }
    }
}
