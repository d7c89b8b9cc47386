//! `ringforge profile`: times each kernel of an operation and says which resource limits it.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use ringforge::{Op, PolyType};

use crate::bench;
use crate::devices::Choice;
use crate::job::Shape;
use crate::measure::Effort;
use crate::selected::Selected;
use crate::session::{Bench, Common};
use crate::suite::Suites;

/// Options of `ringforge profile`.
#[derive(Debug, Args)]
pub struct Options {
    /// A ring, such as 3457:x^768-x^384+1; or a case of a suite, such as ctru-768, and in `ringforge-bench` also sm2 or
    /// "key switch".
    #[arg(value_name = "RING")]
    what: String,
    /// The operation: for a ring one that `ringforge plan` knows, for a scheme one such as encaps or sign.
    #[arg(default_value = "")]
    op: String,
    #[command(flatten)]
    shape: Shape,
    /// Also write JSON to this file.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

/// Runs `ringforge profile`. Returns true if every result is right.
pub(crate) fn main(options: &Options, choice: Choice, json: bool, suites: Suites) -> Result<bool> {
    let Options { what, op, shape, out, common } = options;
    let device = common.device(choice)?;
    let selected = match what.parse::<PolyType>() {
        Ok(_) => Selected::own(what, op.parse::<Op>()?, shape, &common.batch)?,
        Err(_) => Selected::named(&common.scope(&device, false, suites), what, op)?,
    };
    let effort = Effort { samples: 15, sample_seconds: 0.002, total_seconds: 0.15 };
    let bench = Bench { steps: true, ..Bench::open(common, device, effort)? };
    bench::run(&bench, &[selected], common.tuning.name(), out.as_deref(), json, suites)
}
