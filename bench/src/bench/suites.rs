//! The suites: what is measured, in which cases, and what a reader must know about each. Adding a case is one entry in the
//! list of its suite's module; adding a suite is one entry here.

use anyhow::Result;
use ringforge::Device;

use super::cpu;
pub(crate) use super::figure::Figure;
use super::{Bench, ckks, commit, convert, fhe, group, kems, operations, papers, rates, rings, sm2, stark, zk};
use crate::measure::Effort;
use crate::record::{Measurement, Peer};
use crate::tune;

/// Measurements that belong together.
pub(crate) struct Suite {
    /// As filters and records have it.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// As a heading.
    pub(crate) title: &'static str,
    /// What is measured, what is resident, what peers are: one or two sentences.
    pub(crate) about: &'static str,
    pub(crate) figure: Figure,
    /// The case and operation that stand for the suite where all are compared.
    pub(crate) headline: Option<(&'static str, &'static str)>,
    /// Figures of others, beside the lines that do the same.
    pub(crate) quoted: &'static [Quoted],
    pub(crate) cases: fn(&Scope) -> Result<Vec<Case>>,
}

/// When a suite runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// With `ringforge bench`.
    Area,
    /// With `ringforge bench papers`.
    Papers,
    /// With `ringforge bench rates`.
    Rates,
    /// With `ringforge bench RING OP`, or `ringforge tune`.
    Own,
}

/// Figures of another implementation that were not measured in the same run.
#[derive(Debug)]
pub(crate) struct Quoted {
    pub(crate) case: &'static str,
    pub(crate) peer: &'static str,
    pub(crate) source: &'static str,
    /// The device that they are compared on; `None` where the source has a device of its own.
    pub(crate) device: Option<&'static str>,
    /// The operation, and the seconds of an item.
    pub(crate) seconds: &'static [(&'static str, f64)],
}

/// What cases are chosen and sized by.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scope {
    /// Whether it is measured on a CPU.
    pub(crate) cpu: bool,
    /// Fewer lines.
    pub(crate) quick: bool,
    /// More lines: those that are checked, but not measured.
    pub(crate) check: bool,
    /// What several processes do together, alone.
    pub(crate) ranks: bool,
    /// The batches that the user asked for.
    pub(crate) batches: Vec<usize>,
    /// Transforms are no longer than this power of two: in tests.
    pub(crate) most_log_n: Option<u32>,
}

impl Scope {
    /// The scope on a device.
    pub(crate) fn new(device: &Device, quick: bool, batches: &[usize]) -> Self {
        Self { cpu: device.limits().is_cpu(), quick, batches: batches.to_vec(), ..Self::default() }
    }

    /// The one on a GPU, the other on a CPU.
    pub(crate) fn either<T>(&self, gpu: T, cpu: T) -> T {
        if self.cpu { cpu } else { gpu }
    }

    /// The batches that were asked for, else these.
    pub(crate) fn batches(&self, usual: &[usize]) -> Vec<usize> {
        if self.batches.is_empty() { usual.to_vec() } else { self.batches.clone() }
    }

    /// The length of a transform as a power of two.
    pub(crate) fn log_n(&self, log_n: u32) -> u32 {
        self.most_log_n.map_or(log_n, |most| log_n.min(most))
    }

    /// Whether to measure what is, or is not, measured in a hurry too.
    pub(crate) fn wants(&self, is_quick: bool) -> bool {
        is_quick || !self.quick
    }
}

/// The operations of a case that are wanted; others may be run for what they leave.
pub(crate) struct Wanted(pub(crate) Vec<String>);

impl Wanted {
    /// Whether this one is.
    pub(crate) fn has(&self, operation: impl ToString) -> bool {
        self.0.contains(&operation.to_string())
    }

    /// How long to measure this one.
    pub(crate) fn effort(&self, operation: impl ToString, bench: &Bench) -> Effort {
        if self.has(operation) { bench.effort } else { Effort::NONE }
    }
}

/// What measures the wanted operations of a case.
type Run = Box<dyn Fn(&Bench, &Wanted) -> Result<Vec<Measurement>> + Send + Sync>;

/// What is measured at once.
pub(crate) struct Case {
    pub(crate) name: String,
    /// More that filters go by.
    pub(crate) ring: String,
    pub(crate) operations: Vec<String>,
    pub(crate) run: Run,
}

impl Case {
    /// A case of some operations.
    pub(crate) fn new<O: ToString>(
        name: impl Into<String>,
        operations: &[O],
        run: impl Fn(&Bench, &Wanted) -> Result<Vec<Measurement>> + Send + Sync + 'static,
    ) -> Self {
        let operations = operations.iter().map(ToString::to_string).collect();
        Self { name: name.into(), ring: String::new(), operations, run: Box::new(run) }
    }

    /// A case of one operation, and a line for each of its batches.
    pub(crate) fn of_batches<O: ToString>(
        name: impl Into<String>,
        operation: O,
        batches: Vec<usize>,
        run: impl Fn(&Bench, usize) -> Result<Measurement> + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, &[operation], move |bench, _| batches.iter().map(|&batch| run(bench, batch)).collect())
    }

    /// The operations whose title contains this.
    pub(crate) fn wanted(&self, suite: &Suite, filter: &str) -> Wanted {
        let title = |operation: &String| {
            let parts = [suite.name, &self.name, &self.ring, operation];
            parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
        };
        Wanted(self.operations.iter().filter(|operation| title(operation).contains(filter)).cloned().collect())
    }
}

impl Suite {
    /// A suite without cases.
    pub(crate) const NONE: Self = Self {
        name: "",
        kind: Kind::Area,
        title: "",
        about: "",
        figure: Figure::Rate,
        headline: None,
        quoted: &[],
        cases: |_| Ok(Vec::new()),
    };

    /// Measures a case's wanted operations.
    pub(crate) fn measure(&self, case: &Case, wanted: &Wanted, bench: &Bench) -> Result<Vec<Measurement>> {
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

/// All suites, in the order of pages.
pub(crate) static SUITES: &[&Suite] = &[
    &rings::SUITE,
    &fhe::SUITE,
    &ckks::SUITE,
    &operations::SUITE,
    &convert::SUITE,
    &stark::SUITE,
    &commit::SUITE,
    &zk::SUITE,
    &kems::CTRU,
    &kems::CTRU_PRIME,
    &kems::ML_KEM,
    &sm2::SUITE,
    &group::SUITE,
    &cpu::SUITE,
    &papers::SUITE,
    &rates::SUITE,
    &rings::OWN,
    &tune::SUITE,
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use anyhow::{Context, ensure};

    use super::*;

    /// Every case of every suite that a CPU can do, as briefly as can be, with each kernel's time.
    #[test]
    fn every_case_is_right_on_a_cpu() -> Result<()> {
        let bench = Bench { steps: true, ..Bench::of_cpu() };
        let scope = Scope { cpu: true, batches: vec![2], most_log_n: Some(8), ..Scope::default() };
        for suite in SUITES.iter().filter(|suite| matches!(suite.kind, Kind::Area | Kind::Papers)) {
            let cases = (suite.cases)(&scope)?;
            ensure!(!cases.is_empty(), "{} has no case", suite.name);
            for case in cases {
                let wanted = case.wanted(suite, "");
                let lines = suite.measure(&case, &wanted, &bench).with_context(|| case.name.clone())?;
                let measured: BTreeSet<&str> = lines.iter().map(|line| line.operation.as_str()).collect();
                let asked: BTreeSet<&str> = wanted.0.iter().map(String::as_str).collect();
                ensure!(measured == asked, "{} {}: {measured:?}, not {asked:?}", suite.name, case.name);
                for line in &lines {
                    ensure!(line.right && !line.checked.is_empty(), "{line:?}");
                    ensure!(line.suite == suite.name && line.items_per_second > 0.0, "{line:?}");
                    ensure!(line.peers.iter().all(|peer| peer.seconds > 0.0), "{line:?}");
                    // a CPU has no multiprocessors
                    ensure!(line.steps.iter().all(|step| step.resources.is_none()), "{line:?}");
                }
            }
        }
        Ok(())
    }

    #[test]
    fn one_operation_may_be_wanted_alone() -> Result<()> {
        let scope = Scope { cpu: true, quick: true, batches: vec![3], most_log_n: Some(6), ..Scope::default() };
        for (suite, filter, operation) in
            [(&kems::CTRU, "CTRU-768 Decaps", "Decaps"), (&fhe::SUITE, "FHE 2^16, 60 bits inverse", "inverse")]
        {
            let cases = (suite.cases)(&scope)?;
            let wanted = cases.iter().map(|case| (case, case.wanted(suite, filter)));
            let wanted: Vec<_> = wanted.filter(|(_, wanted)| !wanted.0.is_empty()).collect();
            ensure!(wanted.len() == 1, "{filter} wants one case");
            let lines = suite.measure(wanted[0].0, &wanted[0].1, &Bench::of_cpu())?;
            ensure!(!lines.is_empty() && lines.iter().all(|line| line.operation == operation && line.right));
        }
        Ok(())
    }

    #[test]
    fn names_are_of_one_suite_and_headlines_of_a_case() -> Result<()> {
        let names: BTreeSet<_> = SUITES.iter().map(|suite| suite.name).collect();
        assert_eq!(names.len(), SUITES.len());
        for suite in SUITES.iter().filter(|suite| matches!(suite.kind, Kind::Area | Kind::Papers)) {
            let mut cases = (suite.cases)(&Scope::default())?;
            cases.extend((suite.cases)(&Scope { cpu: true, ..Scope::default() })?);
            let has = |name: &str, operation: &str| {
                cases.iter().any(|case| case.name == name && case.operations.iter().any(|found| found == operation))
            };
            let (case, operation) = suite.headline.unwrap_or(("CTRU paper, 4.3.2: CTRU-768", "mul"));
            assert!(has(case, operation), "{}: {case} {operation}", suite.name);
            for quoted in suite.quoted {
                for (operation, _) in quoted.seconds {
                    assert!(has(quoted.case, operation), "{}: {} {operation}", suite.name, quoted.case);
                }
            }
        }
        Ok(())
    }
}
