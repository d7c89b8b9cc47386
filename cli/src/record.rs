//! Records: what `ringforge bench` measured, on what, and when. One schema for every suite, read and written here alone.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use ringforge::{Plan, PolyType};
use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::floor::Floor;
use crate::measure::Times;

/// The measurements of one run of the command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The machine, and what was built.
    #[serde(flatten)]
    pub environment: Environment,
    /// The file of choices that plans were made by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuning: Option<String>,
    /// Bytes that copying memory on the device reads and writes in a second.
    pub copy_bytes_per_second: f64,
    /// The lines.
    pub measurements: Vec<Measurement>,
    /// Cases that the device does not support, and why.
    #[serde(default)]
    pub unsupported: Vec<String>,
}

/// One operation for one batch: what it took, the least that it can take, and whether it was right.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The suite, by its name in a command's [`Suites`](crate::suite::Suites).
    pub suite: String,
    /// The case of the suite: a ring, a parameter set.
    pub case: String,
    /// What is done; empty where the case says it.
    pub operation: String,
    /// In which of several ways.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub variant: String,
    /// The ring as people read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ring: Option<String>,
    /// Coefficients of a limb.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<usize>,
    /// Limbs of an element.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limbs: Option<usize>,
    /// Where arguments lie before and after a run.
    pub memory: Memory,
    /// Threads of the CPU, where the measurement is of the CPU whatever the record's device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// Items of a run.
    pub batch: usize,
    /// Of a run.
    #[serde(flatten)]
    pub times: Times,
    /// Items of a run by its median.
    pub items_per_second: f64,
    /// Of an item.
    #[serde(default, skip_serializing_if = "Floor::is_unknown")]
    pub floor: Floor,
    /// Share of the floor's speed that was reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent_of_floor: Option<f64>,
    /// Others that do the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<Peer>,
    /// What results were compared with.
    pub checked: String,
    /// Whether results are what they were compared with.
    pub right: bool,
    /// The plan as it prints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// Kernel by kernel, where that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
}

/// Where arguments lie before and after a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Memory {
    /// On the device.
    #[default]
    Device,
    /// In page-locked memory of the host.
    Pinned,
    /// In other memory of the host.
    Pageable,
}

impl Memory {
    /// As people read it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Device => "",
            Self::Pinned => "from pinned host memory",
            Self::Pageable => "from pageable host memory",
        }
    }
}

/// Another implementation of the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Peer {
    /// Its name.
    pub name: String,
    /// Of an item.
    pub seconds: f64,
    /// Where a quoted figure comes from; nothing for one that was measured in the same run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// One kernel of a plan, or what several devices do together in its place.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The kernel's name.
    pub kernel: String,
    /// What it says of itself.
    pub about: String,
    /// Of a run.
    pub median_seconds: f64,
    /// That its ports read and write; 0 where that is not known.
    #[serde(default)]
    pub bytes: usize,
    /// Of the rate at which the device copies memory.
    #[serde(default)]
    pub percent_of_memory: f64,
    /// Of the rate of 32-bit multiply-adds, where it is known how many the kernel needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent_of_multipliers: Option<f64>,
    /// In words.
    #[serde(default)]
    pub limited_by: String,
    /// On a GPU.
    #[serde(flatten)]
    pub resources: Option<Resources>,
}

/// What a kernel takes of a multiprocessor.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Resources {
    /// Of the launch; 0 where that is not known.
    #[serde(default)]
    pub blocks: usize,
    /// Of a block.
    pub threads: u32,
    /// Of a thread.
    pub registers: u32,
    /// Of a thread: stack and spilled registers.
    pub local_bytes: u32,
    /// Of a block.
    pub shared_bytes: u32,
    /// Blocks that fit at once.
    pub blocks_per_multiprocessor: u32,
    /// Theoretical, of threads that a multiprocessor holds.
    pub occupancy_percent: f64,
}

impl Measurement {
    /// An operation of a case, timed for a batch.
    pub fn new(case: impl Into<String>, operation: impl ToString, batch: usize, times: Times) -> Self {
        let items_per_second = batch as f64 / times.median_seconds;
        Self { case: case.into(), operation: operation.to_string(), batch, times, items_per_second, ..Self::default() }
    }

    /// In this of several ways.
    pub fn varied(self, variant: impl Into<String>) -> Self {
        Self { variant: variant.into(), ..self }
    }

    /// In this ring.
    pub fn in_ring(self, ring: impl Into<PolyType>) -> Self {
        let ring = ring.into();
        let (n, limbs) = (Some(ring.degree()), Some(ring.basis().len()));
        Self { ring: Some(ring.to_string()), n, limbs, ..self }
    }

    /// By this plan.
    pub fn by(self, plan: &Plan) -> Self {
        Self { plan: Some(plan.to_string()), ..self }
    }

    /// Beside this floor.
    pub fn above(self, floor: Floor) -> Self {
        let percent_of_floor = floor.limit().map(|(seconds, _)| 100.0 * seconds * self.items_per_second);
        Self { floor, percent_of_floor, ..self }
    }

    /// Beside a peer that took so many seconds for an item in the same run.
    pub fn beside(mut self, name: impl Into<String>, seconds: f64) -> Self {
        self.peers.push(Peer { name: name.into(), seconds, source: None });
        self
    }

    /// What the result was compared with, and whether it is right.
    pub fn checked(self, checked: impl Into<String>, right: bool) -> Self {
        Self { checked: checked.into(), right, ..self }
    }

    /// Case, operation, variant and batch as people read them.
    pub fn title(&self) -> String {
        let what = self.what();
        let space = if what.is_empty() { "" } else { " " };
        format!("{}{space}{what}, batch {}", self.case, self.batch)
    }

    /// Operation and variant as people read them.
    pub fn what(&self) -> String {
        let parts = [&self.operation, &self.variant, self.memory.words()].map(str::to_owned);
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    }
}

impl Record {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self> {
        let read = || -> Result<Self> {
            let record: Self = serde_json::from_str(&fs::read_to_string(path)?)?;
            let sound = |x: f64| x.is_finite() && x > 0.0;
            for Measurement { times, items_per_second, batch, case, .. } in &record.measurements {
                ensure!(sound(times.median_seconds) && sound(*items_per_second) && *batch > 0, "{case} took no time");
            }
            Ok(record)
        };
        read().with_context(|| format!("reading {}", path.display()))
    }

    /// Writes a file.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        fs::write(path, text).with_context(|| format!("writing {}", path.display()))
    }

    /// The records of a folder, each with its file's name, by name.
    pub fn all(folder: &Path) -> Result<Vec<(String, Self)>> {
        let entries = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
        let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
        paths.sort();
        paths.iter().map(|path| Ok((name(path), Self::read(path)?))).collect()
    }
}

/// The name of a record's file.
pub fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
pub(crate) mod tests {
    use ringforge::Device;

    use super::*;
    use crate::floor::Bound;

    /// A record of one measurement with everything in it.
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
        let floor = Floor(vec![Bound { by: "memory".into(), count: 8.0, seconds: Some(0.03125) }]);
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
    fn what_is_no_record_is_refused_by_name() -> Result<()> {
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
