//! The `--tuning` option.

use std::path::PathBuf;

use clap::Args;
use ringforge::tuning::Tuning;
use ringforge::{Limits, Planner, Result};

/// The tuning file that the planner's choices come from.
#[derive(Debug, Default, Args)]
pub struct TuningFile {
    /// Plan with the choices in this file, which `ringforge tune` writes for the device.
    #[arg(long = "tuning", value_name = "FILE")]
    path: Option<PathBuf>,
}

impl TuningFile {
    /// A planner for a device with these limits.
    pub(crate) fn planner(&self, limits: &Limits) -> Result<Planner> {
        let tuning = self.path.as_ref().map(|path| Tuning::load(path, limits)).transpose()?;
        Ok(Planner::new(limits.clone()).tuned(tuning.unwrap_or_default()))
    }

    /// Name of the file, for records.
    pub(crate) fn name(&self) -> Option<String> {
        self.path.as_ref().map(|path| path.display().to_string())
    }
}
