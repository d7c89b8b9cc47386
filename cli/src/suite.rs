//! Suites of measurements: what is measured, in which cases, and how it is described. To add a case, add an entry to
//! the list in its suite's module. To add a suite, add an entry to a command's list of suites.

use anyhow::Result;
use ringforge::Device;

pub use crate::figure::Figure;
use crate::measure::Effort;
use crate::record::{Measurement, Peer};
use crate::session::Bench;

/// Measurements of one area, such as a scheme or a kind of ring.
pub struct Suite {
    /// Name of the suite in filters and in each [`Measurement`].
    pub name: &'static str,
    /// When the suite runs.
    pub kind: SuiteKind,
    /// Heading of the suite.
    pub title: &'static str,
    /// One or two sentences: what is measured, which data is resident on the device, and which other implementations
    /// there are.
    pub about: &'static str,
    /// The figure in which the measurements are reported.
    pub figure: Figure,
    /// The case and operation that represent the suite in overviews.
    pub headline: Option<(&'static str, &'static str)>,
    /// Quoted figures of other implementations, shown with the measurements of the same operations.
    pub quoted: &'static [Quoted],
    /// Makes the cases of the suite.
    pub cases: fn(&Scope) -> Result<Vec<Case>>,
    /// True if processes that were started together (`--ranks`) measure the suite together.
    pub by_ranks: bool,
}

/// The suites of a command, in the order in which tables and pages show them.
pub type Suites = &'static [&'static Suite];

impl core::fmt::Debug for Suite {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Suite({})", self.name)
    }
}

/// The command that runs a suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuiteKind {
    /// The suite runs with `ringforge bench`.
    Area,
    /// The suite runs with `ringforge-bench bench papers`.
    Papers,
    /// The suite runs with `ringforge-bench bench rates`.
    Rates,
    /// The suite runs with `ringforge bench RING OP` or `ringforge tune`.
    Own,
}

/// Figures of another implementation that were not measured in the same run.
#[derive(Debug)]
pub struct Quoted {
    /// Name of the case of the suite that the figures are compared with.
    pub case: &'static str,
    /// Name of the other implementation.
    pub peer: &'static str,
    /// Source of the figures.
    pub source: &'static str,
    /// The device whose measurements are compared with the figures. `None` for all devices, if the source used its own
    /// device.
    pub device: Option<&'static str>,
    /// Pairs of an operation and its seconds per item.
    pub seconds: &'static [(&'static str, f64)],
}

/// The settings by which cases are chosen and sized.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// All suites of the command.
    pub suites: Suites,
    /// True if the device is a CPU.
    pub cpu: bool,
    /// True to measure fewer cases (`--quick`).
    pub quick: bool,
    /// True to add cases that are checked but not measured.
    pub check: bool,
    /// True to keep only suites that several processes measure together (`--ranks`).
    pub ranks: bool,
    /// Batches that the user asked for; empty for the usual batches.
    pub batches: Vec<usize>,
    /// Maximum log2 of transform lengths, for tests.
    pub most_log_n: Option<u32>,
}

impl Scope {
    /// The scope of measurements on a device.
    pub fn new(device: &Device, quick: bool, batches: &[usize], suites: Suites) -> Self {
        Self { suites, cpu: device.limits().is_cpu(), quick, batches: batches.to_vec(), ..Self::default() }
    }

    /// Returns `gpu` on a GPU and `cpu` on a CPU.
    pub fn either<T>(&self, gpu: T, cpu: T) -> T {
        if self.cpu { cpu } else { gpu }
    }

    /// The batches that the user asked for, else `usual`.
    pub fn batches(&self, usual: &[usize]) -> Vec<usize> {
        if self.batches.is_empty() { usual.to_vec() } else { self.batches.clone() }
    }

    /// Returns log2 of a transform length, capped at `most_log_n` if that is set.
    pub fn log_n(&self, log_n: u32) -> u32 {
        self.most_log_n.map_or(log_n, |most| log_n.min(most))
    }

    /// Returns true if a case is to be measured: with `--quick`, only if `is_quick` is set.
    pub fn wants(&self, is_quick: bool) -> bool {
        is_quick || !self.quick
    }
}

/// The operations of a case to measure. A case may run other operations for their results only.
pub struct Wanted(pub Vec<String>);

impl Wanted {
    /// Returns true if this operation is to be measured.
    pub fn has(&self, operation: impl ToString) -> bool {
        self.0.contains(&operation.to_string())
    }

    /// How long to measure this operation; a single run if it is not to be measured.
    pub fn effort(&self, operation: impl ToString, bench: &Bench) -> Effort {
        if self.has(operation) { bench.effort } else { Effort::NONE }
    }
}

/// A function that measures the wanted operations of a case.
type Run = Box<dyn Fn(&Bench, &Wanted) -> Result<Vec<Measurement>> + Send + Sync>;

/// A part of a suite that is measured as a whole, such as a ring or a parameter set.
pub struct Case {
    /// Name of the case.
    pub name: String,
    /// The ring or other text that filters also match.
    pub ring: String,
    /// Names of the operations; an operation that the case implies has an empty name.
    pub operations: Vec<String>,
    /// Measures the wanted operations.
    pub run: Run,
}

impl Case {
    /// A case of several operations.
    pub fn new<O: ToString>(
        name: impl Into<String>,
        operations: &[O],
        run: impl Fn(&Bench, &Wanted) -> Result<Vec<Measurement>> + Send + Sync + 'static,
    ) -> Self {
        let operations = operations.iter().map(ToString::to_string).collect();
        Self { name: name.into(), ring: String::new(), operations, run: Box::new(run) }
    }

    /// A case of one operation, with one measurement per batch.
    pub fn of_batches<O: ToString>(
        name: impl Into<String>,
        operation: O,
        batches: Vec<usize>,
        run: impl Fn(&Bench, usize) -> Result<Measurement> + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, &[operation], move |bench, _| batches.iter().map(|&batch| run(bench, batch)).collect())
    }

    /// The operations whose title contains `filter`.
    pub fn wanted(&self, suite: &Suite, filter: &str) -> Wanted {
        let title = |operation: &String| {
            let parts = [suite.name, &self.name, &self.ring, operation];
            parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
        };
        Wanted(self.operations.iter().filter(|operation| title(operation).contains(filter)).cloned().collect())
    }
}

impl Suite {
    /// A suite without cases, whose fields are defaults for other suites.
    pub const NONE: Self = Self {
        name: "",
        kind: SuiteKind::Area,
        title: "",
        about: "",
        figure: Figure::Rate,
        headline: None,
        quoted: &[],
        cases: |_| Ok(Vec::new()),
        by_ranks: false,
    };

    /// Measures the wanted operations of a case.
    pub fn measure(&self, case: &Case, wanted: &Wanted, bench: &Bench) -> Result<Vec<Measurement>> {
        let mut lines = (case.run)(bench, wanted)?;
        lines.retain(|line| wanted.has(&line.operation));
        for line in &mut lines {
            line.suite = self.name.into();
            self.quote(line, &bench.device.limits().name);
        }
        Ok(lines)
    }

    /// Adds to a measurement on this device the quoted figures of its case and operation.
    fn quote(&self, line: &mut Measurement, device: &str) {
        let same = |quoted: &&Quoted| {
            quoted.case == line.case && quoted.device.is_none_or(|reference| device.contains(reference))
        };
        for quoted in self.quoted.iter().filter(same) {
            let figure = quoted.seconds.iter().find(|(operation, _)| *operation == line.operation);
            line.peers.extend(figure.map(|(_, seconds)| Peer {
                name: quoted.peer.into(),
                seconds: *seconds,
                source: Some(quoted.source.into()),
            }));
        }
    }
}
