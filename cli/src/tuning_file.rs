//! The `--tuning` option.

use std::path::PathBuf;

use clap::Args;
use ringforge::tuning::Tuning;
use ringforge::{Limits, Planner, Result};

/// The tuning file that determines the planner's choices.
#[derive(Debug, Default, Args)]
pub struct TuningFile {
    /// Plan with the choices in this file, which `ringforge tune` writes for the device.
    #[arg(long = "tuning", value_name = "FILE")]
    path: Option<PathBuf>,
}

impl TuningFile {
    /// Returns a planner for a device with these limits, with the choices of the tuning file if one is given.
    pub(crate) fn planner(&self, limits: &Limits) -> Result<Planner> {
        let tuning = self.path.as_ref().map(|path| Tuning::load(path, limits)).transpose()?;
        Ok(Planner::new(limits.clone()).tuned(tuning.unwrap_or_default()))
    }

    /// The path of the file as text, as stored in [`Record`](crate::record::Record); `None` without the option.
    pub(crate) fn name(&self) -> Option<String> {
        self.path.as_ref().map(|path| path.display().to_string())
    }
}
