//! Recorded measurements, as `ringforge bench --out` writes them.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::tables;

/// A file of a run.
#[derive(Clone)]
pub(super) struct Record {
    /// The file's name, without its ending.
    pub(super) name: String,
    pub(super) value: Value,
}

impl Record {
    /// All records of a folder, by name.
    pub(super) fn all(folder: &Path) -> Result<Vec<Self>> {
        let entries = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
        let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
        paths.sort();
        paths.iter().map(|path| Self::read(path)).collect()
    }

    /// One record: it names a device and has lines of a kind that there are tables of.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let context = || format!("reading {}", path.display());
        let text = fs::read_to_string(path).with_context(context)?;
        let value: Value = serde_json::from_str(&text).with_context(context)?;
        let has_lines = tables::kinds().any(|kind| value[kind].is_array());
        ensure!(value["device"].is_string() && has_lines, "{} is no record of measurements", path.display());
        Ok(Self { name, value })
    }

    /// Measurements of one kind.
    pub(super) fn lines(&self, kind: &str) -> &[Value] {
        self.value[kind].as_array().map_or(&[], Vec::as_slice)
    }

    /// What was measured on, and when.
    pub(super) fn title(&self) -> String {
        let text = |key: &str| self.value[key].as_str();
        let what = self.name.splitn(5, '-').nth(4).unwrap_or(&self.name);
        let day = text("date").and_then(|date| date.get(..10)).unwrap_or("no date");
        format!("{what}, {}, {day}", text("device").unwrap_or("unknown device"))
    }

    /// The rest of the environment.
    pub(super) fn about(&self) -> String {
        let text = |key: &str| self.value[key].as_str().unwrap_or("unknown");
        let driver = self.value["driver"].as_str().map(|driver| format!(", driver {driver}")).unwrap_or_default();
        let clock =
            self.value["most_clock_mhz"].as_u64().map(|clock| format!(", at most {clock} MHz")).unwrap_or_default();
        let threads = self.value["cpu_threads"].as_u64().unwrap_or(0);
        format!("{} ({threads} threads){driver}{clock}, commit {}", text("cpu"), text("commit"))
    }
}

/// What a path of keys, separated by points, leads to.
pub(super) fn at<'a>(line: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(line, |value, key| &value[key])
}
