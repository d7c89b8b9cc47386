//! The session of a measurement: the device, and the user's options for measurements on it.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;
use ringforge::run::Rank;
use ringforge::{Device, Job, Limits, Planner};

use crate::copy;
use crate::devices::Choice;
use crate::environment::Environment;
use crate::measure::Effort;
use crate::peaks::{Peaks, Pipes};
use crate::record::Record;
use crate::suite::{Scope, Suites};
use crate::tuning_file::TuningFile;
use crate::work::Work;

/// Options of `bench` and `profile`.
#[derive(Debug, Default, Args)]
pub struct Common {
    /// Items per run, instead of the usual batches: a number, or several separated by commas, which are measured one by
    /// one.
    #[arg(long, value_delimiter = ',', value_parser = batch)]
    pub batch: Vec<usize>,
    /// Compute roofline bounds from the peak throughput in this file, instead of that of an H200. The file is written
    /// by `ringforge-bench bench rates --out` for the device.
    #[arg(long, value_name = "FILE")]
    rates: Option<PathBuf>,
    /// Run as one of the processes that torchrun, srun or mpirun started together, each with its own GPU. Measures
    /// transforms of one vector that is distributed over these GPUs. The first process prints and records.
    #[arg(long)]
    ranks: bool,
    /// The tuning file of the planner.
    #[command(flatten)]
    pub tuning: TuningFile,
}

impl Common {
    /// The rank of this process among the processes that were started together; `None` without `--ranks`.
    pub fn launch(&self) -> Result<Option<Rank>> {
        Ok(self.ranks.then(Rank::from_env).transpose()?)
    }

    /// Opens the chosen device. With `--ranks` and no choice, opens the GPU that belongs to this process.
    pub fn device(&self, choice: Choice) -> Result<Device> {
        let choice = match (choice, self.launch()?) {
            (Choice::Best, Some(launch)) => Choice::Cuda(launch.local_rank()),
            _ => choice,
        };
        Ok(choice.open()?.device)
    }

    /// The scope of measurements on the device.
    pub fn scope(&self, device: &Device, quick: bool, suites: Suites) -> Scope {
        Scope { ranks: self.ranks, ..Scope::new(device, quick, &self.batch, suites) }
    }
}

/// Parses a positive number of items.
fn batch(text: &str) -> Result<usize, String> {
    text.parse::<NonZeroUsize>().map(NonZeroUsize::get).map_err(|error| format!("expected a positive number: {error}"))
}

/// The device, the planner and the settings of measurements.
#[derive(Debug, Clone)]
pub struct Bench {
    /// The device that is measured.
    pub device: Device,
    /// Planner for the device.
    pub planner: Planner,
    /// Peak throughput of the device.
    pub peaks: Peaks,
    /// How long to measure each operation.
    pub effort: Effort,
    /// True if every kernel is timed as well.
    pub steps: bool,
    /// Seed of random operands.
    pub seed: u64,
    /// The rank of this process among the processes that measure together.
    pub launch: Option<Rank>,
}

impl Bench {
    /// Opens a session: measures the copy bandwidth of the device and applies the user's options.
    pub fn open(common: &Common, device: Device, effort: Effort) -> Result<Self> {
        let pipes = match &common.rates {
            Some(path) => Some(read_pipes(path, device.limits())?),
            None => Pipes::of(device.limits()),
        };
        let copy = copy::bandwidth(&device, effort).context("copying memory")?;
        let launch = common.launch()?;
        // all processes that measure together need the same operands
        let seed = if launch.is_some() { 1 } else { std::process::id().into() };
        let bench = Self::for_results(&device, &common.tuning, seed)?;
        Ok(Self { peaks: Peaks { copy, pipes }, effort, launch, ..bench })
    }

    /// A session that runs each case once, for its result only, without roofline bounds.
    pub fn for_results(device: &Device, tuning: &TuningFile, seed: u64) -> Result<Self> {
        let peaks = Peaks { copy: f64::INFINITY, pipes: None };
        let planner = tuning.planner(device.limits())?;
        Ok(Self { device: device.clone(), planner, peaks, effort: Effort::NONE, steps: false, seed, launch: None })
    }

    /// Returns true if this process prints and writes the results: with `--ranks` the first process, else the only one.
    pub fn is_first(&self) -> bool {
        self.launch.as_ref().is_none_or(|launch| launch.rank() == 0)
    }

    /// Plans the job with the session's planner and compiles it for the device.
    pub fn work(&self, job: &Job) -> Result<Work> {
        Work::of_plan(&self.device, &self.planner.plan(job)?)
    }

    /// A record without measurements.
    pub fn record(&self, tuning: Option<String>) -> Record {
        Record {
            environment: Environment::of(&self.device),
            tuning,
            copy_bytes_per_second: self.peaks.copy,
            measurements: Vec::new(),
            unsupported: Vec::new(),
        }
    }

    /// A session on the CPU that measures as little as possible, for tests.
    #[must_use]
    pub fn of_cpu() -> Self {
        let (device, peaks) = (Device::cpu(), Peaks { copy: 1e9, pipes: None });
        Self { device, planner: Planner::default(), peaks, effort: Effort::NONE, steps: false, seed: 1, launch: None }
    }
}

/// Reads the peak throughput of the pipes from a record that `ringforge-bench bench rates --out` wrote for this device.
fn read_pipes(path: &Path, limits: &Limits) -> Result<Pipes> {
    let record = Record::read(path)?;
    let read = || {
        let device = &record.environment.device;
        ensure!(
            *device == limits.name,
            "its rates are those of {device}, not of {}: run `ringforge-bench bench rates --out` on this device",
            limits.name
        );
        let rate = |name: &str| {
            let line = record.measurements.iter().find(|line| line.suite == "rates" && line.case == name);
            line.map(|line| line.items_per_second)
                .with_context(|| format!("it has no rate of {name}: write it with `ringforge-bench bench rates --out`"))
        };
        Ok(Pipes { multiply: rate("multiply")?, logic: rate("logic")? })
    };
    read().with_context(|| format!("reading {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Times;
    use crate::record::{Measurement, tests::full};

    #[test]
    fn rates_must_be_of_the_same_device() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let (path, h200, mut record) = (folder.path().join("rates.json"), Limits::h200(), full());
        let error = |limits: &Limits| read_pipes(&path, limits).map_err(|error| format!("{error:#}"));
        record.environment.device = "NVIDIA H200".into();
        record.measurements = [("multiply", 2), ("logic", 3)]
            .map(|(name, rate)| Measurement {
                suite: "rates".into(),
                ..Measurement::new(name, "", rate, Times::of(vec![1.0], 1, 1))
            })
            .into();
        record.write(&path)?;
        assert_eq!(read_pipes(&path, &h200)?, Pipes { multiply: 2.0, logic: 3.0 });
        let foreign = error(&Limits::of_capability(90));
        assert!(foreign.is_err_and(|why| why.contains("of NVIDIA H200, not of sm_90")));
        record.measurements.pop();
        record.write(&path)?;
        assert!(error(&h200).is_err_and(|why| why.contains("no rate of logic")));
        Ok(())
    }
}
