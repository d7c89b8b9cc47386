//! The `ringforge` command as a library: its subcommands and its measurement code, for commands that add suites.
#![allow(missing_debug_implementations, reason = "nobody prints these")]

mod bench;
#[cfg(feature = "cuda")]
mod bundle;
#[cfg(feature = "cuda")]
mod cache;
mod check;
pub mod copy;
mod devices;
pub mod environment;
pub mod figure;
mod job;
pub mod jobs;
pub mod measure;
pub mod memory;
mod oracle;
pub mod peaks;
mod plan;
mod profile;
pub mod record;
pub mod roofline;
pub mod runs;
pub mod sample;
mod selected;
pub mod session;
pub mod show;
mod start;
mod steps;
pub mod suite;
pub mod suites;
pub mod table;
mod tune;
mod tuning_file;
pub mod work;

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use clap::{Args, Subcommand};
use env_logger::Env;

use devices::Choice;
use suite::Suites;

/// The subcommands of `ringforge`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Multiply random polynomials in rings of every kind, run the schemes, and compare the results with slow, simple
    /// arithmetic.
    Check(On<check::Options>),
    /// List the devices of this machine, or say why there is no GPU.
    Devices(devices::Options),
    /// Print the plan for an operation on a ring.
    Plan(On<plan::Options>),
    /// Measure the throughput of all suites, of one ring and operation, or of the papers' experiments.
    Bench(On<bench::Options>),
    /// Time each kernel of an operation and say what limits it.
    Profile(On<profile::Options>),
    /// Measure the time from the start of the process to the first result of an operation.
    Start(On<start::Options>),
    /// Measure the planner's alternatives on this device and write the fastest to a file.
    Tune(On<tune::Options>),
    /// Write the compiled kernels of rings and schemes to a file, for machines without NVRTC.
    #[cfg(feature = "cuda")]
    Bundle(bundle::Options),
    /// Show where compiled kernels are cached and how much space they take, or clear the cache.
    #[cfg(feature = "cuda")]
    Cache(cache::Options),
}

/// Options of a subcommand that runs on a device.
#[derive(Debug, Args)]
pub struct On<O: Args> {
    #[command(flatten)]
    options: O,
    /// Print JSON instead of tables.
    #[arg(long)]
    json: bool,
    /// The device to run on: best, cpu, cuda or cuda:N.
    #[arg(long, default_value = "best", value_name = "DEVICE")]
    device: Choice,
}

impl Command {
    /// Runs the subcommand with these suites, in a process that started at `began`. Returns true if every result is
    /// right.
    ///
    /// # Errors
    /// Any failure, with a message for the user.
    pub fn run(&self, suites: Suites, began: Instant) -> Result<bool> {
        match self {
            Self::Check(on) => check::main(&on.options, on.device, on.json, suites),
            Self::Devices(options) => devices::main(options).map(|()| true),
            Self::Plan(on) => plan::main(&on.options, on.device, on.json).map(|()| true),
            Self::Bench(on) => bench::main(&on.options, on.device, on.json, suites),
            Self::Profile(on) => profile::main(&on.options, on.device, on.json, suites),
            Self::Start(on) => start::main(&on.options, on.device, on.json, began),
            Self::Tune(on) => tune::main(&on.options, on.device, on.json).map(|()| true),
            #[cfg(feature = "cuda")]
            Self::Bundle(options) => bundle::main(options).map(|()| true),
            #[cfg(feature = "cuda")]
            Self::Cache(options) => cache::main(options).map(|()| true),
        }
    }
}

/// Prints the engine's log to standard error. The default level is warnings, such as that a cache cannot be used.
pub fn log() {
    let level = |record: &log::Record<'_>| record.level().as_str().to_lowercase();
    env_logger::Builder::from_env(Env::default().default_filter_or("warn"))
        .format(move |to, record| writeln!(to, "{}: {}", level(record), record.args()))
        .init();
}

/// The exit status of the process: 0 if every result is right, 1 if a result is wrong, 2 after an error. Prints the
/// error.
pub fn exit(outcome: &Result<bool>) -> ExitCode {
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        // if the reader closes the pipe early, the command has done its work
        Err(error) if show::is_closed_pipe(error) => ExitCode::SUCCESS,
        Err(error) => {
            // standard error may be closed too, so a failure to print is ignored
            drop(writeln!(std::io::stderr(), "error: {error:#}"));
            ExitCode::from(2)
        }
    }
}
