//! The `ringforge` command with all suites of this project and other implementations, and a subcommand that makes pages
//! from records.

mod bfv;
mod bootstrapping;
mod ckks;
mod commit;
mod convert;
mod cpu;
mod dsa;
mod fhe;
mod group;
mod msm;
mod operations;
mod papers;
mod proofs;
mod rates;
mod report;
mod serve;
mod stark;
mod suites;
mod zk;

use std::process::ExitCode;
use std::time::Instant;

use clap::{Parser, Subcommand};

use suites::SUITES;

/// Measures the engine and other implementations, and makes pages from the records.
#[derive(Debug, Parser)]
#[command(name = "ringforge-bench", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(flatten)]
    Cli(ringforge_cli::Command),
    /// Make a page of plots and tables from recorded measurements.
    Report(report::Options),
}

fn main() -> ExitCode {
    let began = Instant::now();
    ringforge_cli::log();
    ringforge_cli::exit(&match &Cli::parse().command {
        Command::Cli(command) => command.run(SUITES, began),
        Command::Report(options) => report::main(options).map(|()| true),
    })
}
