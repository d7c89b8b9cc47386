//! What a device can do at best, from which floors come.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use ringforge::Limits;

use crate::record::Record;

/// Instructions that a pipe of a multiprocessor does in a second: 64 a clock at 1.94 GHz, as measured on an H200. Of
/// such pipes there is one for 32-bit multiply-adds and one for logic and shifts.
const PIPE: f64 = 16.4e12 / 132.0;

/// What a device does in a second at best.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ceilings {
    /// Bytes that copying memory on the device reads and writes.
    pub(crate) copy: f64,
    /// What its pipes do; known of GPUs.
    pub(crate) pipes: Option<Pipes>,
}

/// What the pipes of a GPU do in a second, all multiprocessors together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pipes {
    /// 32-bit multiply-adds.
    pub(crate) multiply: f64,
    /// Instructions of logic and shifts.
    pub(crate) logic: f64,
}

impl Pipes {
    /// Those of an H200, by the number of multiprocessors; none of a CPU.
    pub(crate) fn of(limits: &Limits) -> Option<Self> {
        let all = PIPE * f64::from(limits.multiprocessors);
        (!limits.is_cpu()).then_some(Self { multiply: all, logic: all })
    }

    /// Those that `ringforge bench rates --out` wrote into a file about this device.
    pub(crate) fn read(path: &Path, limits: &Limits) -> Result<Self> {
        let record = Record::read(path)?;
        let read = || {
            let device = &record.environment.device;
            ensure!(*device == limits.name, "it is about {device}, not about {}", limits.name);
            let rate = |name: &str| {
                let line = record.measurements.iter().find(|line| line.suite == "rates" && line.case == name);
                line.map(|line| line.items_per_second).with_context(|| format!("it has no rate of {name}"))
            };
            Ok(Self { multiply: rate("multiply")?, logic: rate("logic")? })
        };
        read().with_context(|| format!("reading {}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Times;
    use crate::record::{Measurement, tests::full};

    #[test]
    fn rates_come_from_a_file_about_the_device() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let (path, h200, mut record) = (folder.path().join("rates.json"), Limits::h200(), full());
        let error = |limits: &Limits| Pipes::read(&path, limits).map_err(|error| format!("{error:#}"));
        record.environment.device = "NVIDIA H200".into();
        record.measurements = [("multiply", 2), ("logic", 3)]
            .map(|(name, rate)| Measurement {
                suite: "rates".into(),
                ..Measurement::new(name, "", rate, Times::of(vec![1.0], 1, 1))
            })
            .into();
        record.write(&path)?;
        assert_eq!(Pipes::read(&path, &h200)?, Pipes { multiply: 2.0, logic: 3.0 });
        let foreign = error(&Limits::of_capability(90));
        assert!(foreign.is_err_and(|why| why.contains("it is about NVIDIA H200, not about sm_90")));
        record.measurements.pop();
        record.write(&path)?;
        assert!(error(&h200).is_err_and(|why| why.contains("no rate of logic")));
        Ok(())
    }
}
