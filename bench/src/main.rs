//! The `ringforge` command: checks, plans and measures the engine on this machine.

mod bench;
mod ceilings;
mod check;
mod copy;
mod devices;
mod environment;
mod floor;
mod kems;
mod measure;
mod oracle;
mod plan;
mod report;
mod rings;
mod sample;
mod show;
mod start_up;
mod tune;
mod work;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use devices::Choice;

/// Number-theoretic transforms and polynomial products over any ring, on a CPU or a GPU.
#[derive(Debug, Parser)]
#[command(name = "ringforge", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Print JSON instead of tables.
    #[arg(long, global = true)]
    json: bool,
    /// Where to run: best, cpu, cuda or cuda:N.
    #[arg(long, global = true, default_value = "best", value_name = "DEVICE")]
    device: Choice,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Multiply random polynomials in rings of every kind, encapsulate keys, and compare with slow, obvious arithmetic.
    Check(check::Options),
    /// List the devices of this machine, or why there is none.
    Devices,
    /// Print the plan for an operation on a ring.
    Plan(plan::Options),
    /// Measure throughput for each ring, operation and batch.
    Bench(bench::Options),
    /// Make a page of plots and tables from recorded measurements.
    Report(report::Options),
    /// Measure the planner's alternatives on this device and write the choices into a file.
    Tune(tune::Options),
    /// One product from nothing, for `bench --start-up`.
    #[command(hide = true)]
    StartUp,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match &cli.command {
        Command::Check(options) => check::main(options, cli.device, cli.json),
        Command::Devices => devices::main(cli.json).map(|()| true),
        Command::Plan(options) => plan::main(options, cli.device, cli.json).map(|()| true),
        Command::Bench(options) if options.start_up => start_up::main(cli.device, cli.json).map(|()| true),
        Command::Bench(options) => bench::main(options, cli.device, cli.json),
        Command::Report(options) => report::main(options).map(|()| true),
        Command::Tune(options) => tune::main(options, cli.device, cli.json).map(|()| true),
        Command::StartUp => start_up::child(cli.device).map(|()| true),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
