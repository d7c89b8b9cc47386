//! The option that names a tuning file.

use std::path::PathBuf;

use clap::Args;
use ringforge::tuning::Tuning;
use ringforge::{Limits, Planner, Result};

/// Where the choices of the planner come from.
#[derive(Debug, Default, Args)]
pub struct TuningFile {
    /// Plan by the choices in this file, as `ringforge tune` writes it for the device.
    #[arg(long = "tuning", value_name = "FILE")]
    path: Option<PathBuf>,
}

impl TuningFile {
    /// The planner for a device with these limits.
    pub(crate) fn planner(&self, limits: &Limits) -> Result<Planner> {
        let tuning = self.path.as_ref().map(|path| Tuning::load(path, limits)).transpose()?;
        Ok(Planner::new(limits.clone()).tuned(tuning.unwrap_or_default()))
    }

    /// The file's name, for records.
    pub(crate) fn name(&self) -> Option<String> {
        self.path.as_ref().map(|path| path.display().to_string())
    }
}
