//! Suites: what is measured, in which cases, and what a reader must know about each. Adding a case is one entry in the list of
//! its suite's module; adding a suite is one entry in the list of a command's suites.

use anyhow::Result;
use ringforge::Device;

pub use crate::figure::Figure;
use crate::measure::Effort;
use crate::record::{Measurement, Peer};
use crate::session::Bench;

/// Measurements that belong together.
pub struct Suite {
    /// As filters and records have it.
    pub name: &'static str,
    /// When it runs.
    pub kind: Kind,
    /// As a heading.
    pub title: &'static str,
    /// What is measured, what is resident, what peers are: one or two sentences.
    pub about: &'static str,
    /// How its lines are read.
    pub figure: Figure,
    /// The case and operation that stand for the suite where all are compared.
    pub headline: Option<(&'static str, &'static str)>,
    /// Figures of others, beside the lines that do the same.
    pub quoted: &'static [Quoted],
    /// Its cases.
    pub cases: fn(&Scope) -> Result<Vec<Case>>,
    /// Whether processes that were started together measure it together.
    pub by_ranks: bool,
}

/// The suites of a command, in the order of pages.
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
    /// The case that does the same.
    pub case: &'static str,
    /// Whose figures these are.
    pub peer: &'static str,
    /// Where they come from.
    pub source: &'static str,
    /// The device that they are compared on; `None` where the source has a device of its own.
    pub device: Option<&'static str>,
    /// The operation, and the seconds of an item.
    pub seconds: &'static [(&'static str, f64)],
}

/// What cases are chosen and sized by.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// What there is.
    pub suites: Suites,
    /// Whether it is measured on a CPU.
    pub cpu: bool,
    /// Fewer lines.
    pub quick: bool,
    /// More lines: those that are checked, but not measured.
    pub check: bool,
    /// What several processes do together, alone.
    pub ranks: bool,
    /// The batches that the user asked for.
    pub batches: Vec<usize>,
    /// Transforms are no longer than this power of two: in tests.
    pub most_log_n: Option<u32>,
}

impl Scope {
    /// The scope on a device.
    pub fn new(device: &Device, quick: bool, batches: &[usize], suites: Suites) -> Self {
        Self { suites, cpu: device.limits().is_cpu(), quick, batches: batches.to_vec(), ..Self::default() }
    }

    /// The one on a GPU, the other on a CPU.
    pub fn either<T>(&self, gpu: T, cpu: T) -> T {
        if self.cpu { cpu } else { gpu }
    }

    /// The batches that were asked for, else these.
    pub fn batches(&self, usual: &[usize]) -> Vec<usize> {
        if self.batches.is_empty() { usual.to_vec() } else { self.batches.clone() }
    }

    /// The length of a transform as a power of two.
    pub fn log_n(&self, log_n: u32) -> u32 {
        self.most_log_n.map_or(log_n, |most| log_n.min(most))
    }

    /// Whether to measure what is, or is not, measured in a hurry too.
    pub fn wants(&self, is_quick: bool) -> bool {
        is_quick || !self.quick
    }
}

/// The operations of a case that are wanted; others may be run for what they leave.
pub struct Wanted(pub Vec<String>);

impl Wanted {
    /// Whether this one is.
    pub fn has(&self, operation: impl ToString) -> bool {
        self.0.contains(&operation.to_string())
    }

    /// How long to measure this one.
    pub fn effort(&self, operation: impl ToString, bench: &Bench) -> Effort {
        if self.has(operation) { bench.effort } else { Effort::NONE }
    }
}

/// What measures the wanted operations of a case.
type Run = Box<dyn Fn(&Bench, &Wanted) -> Result<Vec<Measurement>> + Send + Sync>;

/// What is measured at once.
pub struct Case {
    /// The name.
    pub name: String,
    /// More that filters go by.
    pub ring: String,
    /// The names of its operations; one without a name is empty.
    pub operations: Vec<String>,
    /// Measures wanted operations.
    pub run: Run,
}

impl Case {
    /// A case of some operations.
    pub fn new<O: ToString>(
        name: impl Into<String>,
        operations: &[O],
        run: impl Fn(&Bench, &Wanted) -> Result<Vec<Measurement>> + Send + Sync + 'static,
    ) -> Self {
        let operations = operations.iter().map(ToString::to_string).collect();
        Self { name: name.into(), ring: String::new(), operations, run: Box::new(run) }
    }

    /// A case of one operation, and a line for each of its batches.
    pub fn of_batches<O: ToString>(
        name: impl Into<String>,
        operation: O,
        batches: Vec<usize>,
        run: impl Fn(&Bench, usize) -> Result<Measurement> + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, &[operation], move |bench, _| batches.iter().map(|&batch| run(bench, batch)).collect())
    }

    /// The operations whose title contains this.
    pub fn wanted(&self, suite: &Suite, filter: &str) -> Wanted {
        let title = |operation: &String| {
            let parts = [suite.name, &self.name, &self.ring, operation];
            parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
        };
        Wanted(self.operations.iter().filter(|operation| title(operation).contains(filter)).cloned().collect())
    }
}

impl Suite {
    /// A suite without cases.
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

    /// Measures a case's wanted operations.
    pub fn measure(&self, case: &Case, wanted: &Wanted, bench: &Bench) -> Result<Vec<Measurement>> {
        let mut lines = (case.run)(bench, wanted)?;
        lines.retain(|line| wanted.has(&line.operation));
        for line in &mut lines {
            line.suite = self.name.into();
            self.quote(line, &bench.device.limits().name);
        }
        Ok(lines)
    }

    /// Adds the quoted figures of what does the same on a device.
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
