//! Records: what was measured, on which machine, and when. Every suite uses this schema, and only this module reads and
//! writes records.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use ringforge::{Plan, PolyType};
use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::measure::Times;
use crate::roofline::Roofline;
use crate::show;

/// The measurements of one run of the command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The machine and the build.
    #[serde(flatten)]
    pub environment: Environment,
    /// Path of the tuning file that plans were made with; `None` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuning: Option<String>,
    /// Bytes read and written per second when copying device memory.
    pub copy_bytes_per_second: f64,
    /// The measurements.
    pub measurements: Vec<Measurement>,
    /// Cases that the device does not support, with the reason.
    #[serde(default)]
    pub unsupported: Vec<String>,
}

/// One operation, measured for one batch: its time, its roofline bound, and whether the result was right.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Name of the suite in a command's [`Suites`](crate::suite::Suites).
    pub suite: String,
    /// The case of the suite, such as a ring or a parameter set.
    pub case: String,
    /// The operation; empty if the case implies it.
    pub operation: String,
    /// The variant, if the operation can be done in several ways.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub variant: String,
    /// The ring, as printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ring: Option<String>,
    /// Coefficients per limb.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<usize>,
    /// Limbs per element.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limbs: Option<usize>,
    /// The memory of the arguments before and after a run.
    pub memory: Memory,
    /// Number of CPU threads, for a measurement on the CPU in the record of another device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// Items per run.
    pub batch: usize,
    /// Time per run.
    #[serde(flatten)]
    pub times: Times,
    /// Items per second, from the median time of a run.
    pub items_per_second: f64,
    /// Latencies of single calls, if callers were waiting for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
    /// Roofline bound of an item.
    #[serde(default, skip_serializing_if = "Roofline::is_unknown")]
    pub floor: Roofline,
    /// Speed in percent of the speed that the roofline bound allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent_of_floor: Option<f64>,
    /// Other implementations of the same operation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<Peer>,
    /// The reference that the results were compared with.
    pub checked: String,
    /// True if the results agree with the reference.
    pub right: bool,
    /// The plan, as printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// A profile kernel by kernel, if it was requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
}

/// Latencies of single calls under a load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Calls each second that were to be made.
    pub offered_per_second: f64,
    /// The part of them that the load generator was too late for, and did not make.
    pub unsent: f64,
    /// Median, in seconds, of the calls that were taken.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// The part of the calls that were made and refused.
    pub refused: f64,
}

impl Latency {
    /// Description for display.
    pub fn words(&self) -> String {
        let mut words = format!("p50 {}, p99 {}", show::time(self.p50), show::time(self.p99));
        for (part, of) in [(self.refused, "refused"), (self.unsent, "not sent")] {
            if part > 0.0005 {
                words += &format!(", {:.1} % {of}", 100.0 * part);
            }
        }
        words
    }
}

/// The memory of the arguments before and after a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Memory {
    /// Device memory.
    #[default]
    Device,
    /// Page-locked host memory.
    Pinned,
    /// Pageable host memory.
    Pageable,
}

impl Memory {
    /// Description for display; empty for device memory.
    pub fn words(self) -> &'static str {
        match self {
            Self::Device => "",
            Self::Pinned => "from pinned host memory",
            Self::Pageable => "from pageable host memory",
        }
    }
}

/// Another implementation of the same operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Peer {
    /// Name of the implementation.
    pub name: String,
    /// Seconds per item.
    pub seconds: f64,
    /// Source of a quoted figure; `None` if the implementation was measured in the same run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// One kernel of a plan, or one step of work on several devices.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Name of the kernel or of the step.
    pub kernel: String,
    /// Description of the kernel's work, or the times at which the step began and ended.
    pub about: String,
    /// Median seconds per run.
    pub median_seconds: f64,
    /// Bytes that the kernel's ports read and write; 0 if unknown.
    #[serde(default)]
    pub bytes: usize,
    /// Memory traffic per second, in percent of the copy bandwidth of the device.
    #[serde(default)]
    pub percent_of_memory: f64,
    /// 32-bit multiply-adds per second in percent of the peak, if the kernel's number of multiply-adds is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent_of_multipliers: Option<f64>,
    /// The limiting resource, as text; empty if unknown.
    #[serde(default)]
    pub limited_by: String,
    /// The resources that the kernel uses on a GPU; `None` on a CPU and for a step of several devices.
    #[serde(flatten)]
    pub resources: Option<Resources>,
}

/// The resources that a kernel uses on a multiprocessor.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Resources {
    /// Blocks per launch; 0 if unknown.
    #[serde(default)]
    pub blocks: usize,
    /// Threads per block.
    pub threads: u32,
    /// Registers per thread.
    pub registers: u32,
    /// Local memory per thread in bytes: stack and spilled registers.
    pub local_bytes: u32,
    /// Shared memory per block in bytes.
    pub shared_bytes: u32,
    /// Blocks resident on a multiprocessor at once.
    pub blocks_per_multiprocessor: u32,
    /// Theoretical occupancy: resident threads in percent of the maximum of a multiprocessor.
    pub occupancy_percent: f64,
}

impl Measurement {
    /// A measurement of an operation, timed for a batch.
    pub fn new(case: impl Into<String>, operation: impl ToString, batch: usize, times: Times) -> Self {
        let items_per_second = batch as f64 / times.median_seconds;
        Self { case: case.into(), operation: operation.to_string(), batch, times, items_per_second, ..Self::default() }
    }

    /// Sets the variant.
    pub fn varied(self, variant: impl Into<String>) -> Self {
        Self { variant: variant.into(), ..self }
    }

    /// Sets the ring, its degree and its number of limbs.
    pub fn in_ring(self, ring: impl Into<PolyType>) -> Self {
        let ring = ring.into();
        let (n, limbs) = (Some(ring.degree()), Some(ring.basis().len()));
        Self { ring: Some(ring.to_string()), n, limbs, ..self }
    }

    /// Sets the plan.
    pub fn by(self, plan: &Plan) -> Self {
        Self { plan: Some(plan.to_string()), ..self }
    }

    /// Sets the roofline bound and the speed in percent of it.
    pub fn above(self, floor: Roofline) -> Self {
        let percent_of_floor = floor.limit().map(|(seconds, _)| 100.0 * seconds * self.items_per_second);
        Self { floor, percent_of_floor, ..self }
    }

    /// Adds another implementation, which took `seconds` per item in the same run.
    pub fn beside(mut self, name: impl Into<String>, seconds: f64) -> Self {
        self.peers.push(Peer { name: name.into(), seconds, source: None });
        self
    }

    /// Sets the reference that the result was compared with, and whether the two agree.
    pub fn checked(self, checked: impl Into<String>, right: bool) -> Self {
        Self { checked: checked.into(), right, ..self }
    }

    /// Case, operation, variant, memory and batch, for display.
    pub fn title(&self) -> String {
        let what = self.what();
        let space = if what.is_empty() { "" } else { " " };
        format!("{}{space}{what}, batch {}", self.case, self.batch)
    }

    /// Operation, variant, memory and latencies, for display.
    pub fn what(&self) -> String {
        let latency = self.latency.map(|latency| latency.words()).unwrap_or_default();
        let parts = [&self.operation, &self.variant, self.memory.words(), &latency].map(str::to_owned);
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    }
}

impl Record {
    /// Reads a record from a file. Returns an error if a measurement has no positive time, rate or batch.
    pub fn read(path: &Path) -> Result<Self> {
        let read = || -> Result<Self> {
            let record: Self = serde_json::from_str(&fs::read_to_string(path)?)?;
            let sound = |x: f64| x.is_finite() && x > 0.0;
            for Measurement { times, items_per_second, batch, case, .. } in &record.measurements {
                ensure!(
                    sound(times.median_seconds) && sound(*items_per_second) && *batch > 0,
                    "{case}: times, rate and batch must be positive"
                );
            }
            Ok(record)
        };
        read().with_context(|| format!("reading {}", path.display()))
    }

    /// Writes the record to a file.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        fs::write(path, text).with_context(|| format!("writing {}", path.display()))
    }

    /// Reads all records of a folder, sorted by file name. Returns each with its file name.
    pub fn all(folder: &Path) -> Result<Vec<(String, Self)>> {
        let entries = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
        let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
        paths.sort();
        paths.iter().map(|path| Ok((name(path), Self::read(path)?))).collect()
    }
}

/// The file name in the path of a record.
pub fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
pub(crate) mod tests {
    use ringforge::Device;

    use super::*;
    use crate::roofline::Bound;

    /// A record of one measurement with all fields set.
    pub(crate) fn full() -> Record {
        let times = Times::of(vec![0.25, 0.5, 0.75], 2, 4);
        let resources = Resources {
            blocks: 132,
            threads: 256,
            registers: 80,
            local_bytes: 0,
            shared_bytes: 1024,
            blocks_per_multiprocessor: 3,
            occupancy_percent: 37.5,
        };
        let step = Step {
            kernel: "forward".into(),
            about: "layers 0..8".into(),
            median_seconds: 0.25,
            bytes: 64,
            percent_of_memory: 25.0,
            percent_of_multipliers: Some(50.0),
            limited_by: "latency".into(),
            resources: Some(resources),
        };
        let line = Measurement {
            suite: "rings".into(),
            n: Some(256),
            limbs: Some(1),
            ring: Some("Z_3[x]/(x)".into()),
            threads: Some(2),
            memory: Memory::Pinned,
            peers: vec![Peer { name: "other".into(), seconds: 0.5, source: Some("a paper".into()) }],
            steps: vec![step],
            plan: Some("a plan".into()),
            ..Measurement::new("a case", "forward", 8, times).varied("captured").checked("all", true)
        };
        let floor = Roofline(vec![Bound { by: "memory".into(), count: 8.0, seconds: Some(0.03125) }]);
        Record {
            environment: Environment::of(&Device::cpu()),
            tuning: Some("tuning.toml".into()),
            copy_bytes_per_second: 1e9,
            measurements: vec![line.above(floor)],
            unsupported: vec!["this".into()],
        }
    }

    #[test]
    fn records_round_trip() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let (path, record) = (folder.path().join("mine.json"), full());
        record.write(&path)?;
        assert_eq!(Record::read(&path)?, record);
        assert_eq!(record.measurements[0].percent_of_floor, Some(50.0));
        assert_eq!(Record::all(folder.path())?, [("mine.json".into(), record)]);
        Ok(())
    }

    #[test]
    fn invalid_records_are_rejected_by_name() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let whole = serde_json::to_string(&full())?;
        let odd = [
            whole.replace("\"median_seconds\":0.5", "\"median_seconds\":0.0"),
            whole.replace("\"batch\":8", "\"batch\":0"),
        ];
        for text in ["{", "null", "{}", r#"{"device": "CPU"}"#].map(String::from).into_iter().chain(odd) {
            fs::write(folder.path().join("torn.json"), &text)?;
            let error = Record::all(folder.path()).err().map(|error| format!("{error:#}")).unwrap_or_default();
            assert!(error.contains("torn.json"), "{text}: {error}");
        }
        assert!(Record::all(&folder.path().join("absent")).is_err());
        Ok(())
    }
}
