//! The `ringforge` command: checks, plans and measures the engine on this machine.

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use ringforge_cli::Command;
use ringforge_cli::suites::SUITES;

/// Number-theoretic transforms and polynomial products over any ring, on a CPU or a GPU.
#[derive(Debug, Parser)]
#[command(name = "ringforge", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    let began = Instant::now();
    ringforge_cli::log();
    ringforge_cli::exit(&Cli::parse().command.run(SUITES, began))
}
