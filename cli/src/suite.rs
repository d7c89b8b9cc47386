//! Suites: what is measured, in which cases, and what a reader must know about each. To add a case, add an entry to the
//! list in its suite's module. To add a suite, add an entry to a command's list of suites.

use anyhow::Result;
use ringforge::Device;

pub use crate::figure::Figure;
use crate::measure::Effort;
use crate::record::{Measurement, Peer};
use crate::session::Bench;

/// Measurements that belong together.
pub struct Suite {
    /// Name in filters and records.
    pub name: &'static str,
    /// When the suite runs.
    pub kind: Kind,
    /// Heading.
    pub title: &'static str,
    /// One or two sentences: what is measured, which data is resident on the device, and which peers there are.
    pub about: &'static str,
    /// The figure in which the lines are reported.
    pub figure: Figure,
    /// The case and operation that represent the suite in overviews.
    pub headline: Option<(&'static str, &'static str)>,
    /// Quoted figures of other implementations, shown with the lines that do the same.
    pub quoted: &'static [Quoted],
    /// Makes the cases.
    pub cases: fn(&Scope) -> Result<Vec<Case>>,
    /// Whether processes that were started together (`--ranks`) measure it together.
    pub by_ranks: bool,
}

/// The suites of a command, in page order.
pub type Suites = &'static [&'static Suite];

impl core::fmt::Debug for Suite {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Suite({})", self.name)
    }
}

/// When a suite runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// With `ringforge bench`.
    Area,
    /// With `ringforge-bench bench papers`.
    Papers,
    /// With `ringforge-bench bench rates`.
    Rates,
    /// With `ringforge bench RING OP`, or `ringforge tune`.
    Own,
}

/// Figures of another implementation that were not measured in the same run.
#[derive(Debug)]
pub struct Quoted {
    /// The case of the suite that does the same.
    pub case: &'static str,
    /// Name of the other implementation.
    pub peer: &'static str,
    /// Source of the figures.
    pub source: &'static str,
    /// The device whose lines are compared with the figures; `None` for all, if the source measured on a device of its
    /// own.
    pub device: Option<&'static str>,
    /// Pairs of an operation and its seconds per item.
    pub seconds: &'static [(&'static str, f64)],
}

/// The settings by which cases are chosen and sized.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// All suites of the command.
    pub suites: Suites,
    /// Whether the device is a CPU.
    pub cpu: bool,
    /// Whether to measure fewer lines (`--quick`).
    pub quick: bool,
    /// Whether to add lines that are checked but not measured.
    pub check: bool,
    /// Whether to keep only what several processes measure together (`--ranks`).
    pub ranks: bool,
    /// Batches that the user asked for; empty for the usual ones.
    pub batches: Vec<usize>,
    /// Limit on log2 of transform lengths, for tests.
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

    /// log2 of a transform length, reduced to the limit.
    pub fn log_n(&self, log_n: u32) -> u32 {
        self.most_log_n.map_or(log_n, |most| log_n.min(most))
    }

    /// Whether to measure a line: with `--quick`, only if `is_quick` is set.
    pub fn wants(&self, is_quick: bool) -> bool {
        is_quick || !self.quick
    }
}

/// The operations of a case to measure. Others may be run for their results only.
pub struct Wanted(pub Vec<String>);

impl Wanted {
    /// Whether this operation is to be measured.
    pub fn has(&self, operation: impl ToString) -> bool {
        self.0.contains(&operation.to_string())
    }

    /// How long to measure this operation; one run if it is not to be measured.
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
    /// Further text that filters match.
    pub ring: String,
    /// Names of the operations; empty for one without a name.
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

    /// A case of one operation, with a line for each batch.
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
    /// A suite without cases, as a base for others.
    pub const NONE: Self = Self {
        name: "",
        kind: Kind::Area,
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

    /// Adds the quoted figures of the same operation to a line.
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
