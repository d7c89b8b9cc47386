//! The cases and operations that a command measures.

use anyhow::{Context, Result, bail, ensure};
use ringforge::{Error, Op, PolyType};

use crate::job::Shape;
use crate::record::Record;
use crate::session::Bench;
use crate::suite::{Case, Scope, Suite, SuiteKind, Wanted};
use crate::suites::rings;

/// A case of a suite, and which of its operations to measure.
pub(crate) struct Selected {
    pub(crate) suite: &'static Suite,
    pub(crate) case: Case,
    pub(crate) wanted: Wanted,
}

impl Selected {
    /// Selects an operation on a ring that the user names, for these batches. Without batches, a suitable batch is
    /// chosen for the device.
    pub(crate) fn own(text: &str, op: Op, shape: &Shape, batches: &[usize]) -> Result<Self> {
        let ring: PolyType = text.parse().with_context(|| format!("{text:?} is not a ring"))?;
        let batches = if batches.is_empty() { vec![0] } else { batches.to_vec() };
        let case = rings::case(text, &shape.job(&ring, op), batches);
        Ok(Self { suite: &rings::OWN, wanted: Wanted(case.operations.clone()), case })
    }

    /// Selects the cases of all suites for which `rank` returns a number, in ascending order of this number, and the
    /// operations whose title contains `filter`. Returns an error if no operation is left.
    pub(crate) fn of(rank: impl Fn(&Suite) -> Option<usize>, scope: &Scope, filter: &str) -> Result<Vec<Self>> {
        let mut suites: Vec<_> = scope.suites.iter().filter_map(|suite| Some((rank(suite)?, *suite))).collect();
        suites.sort_by_key(|(rank, _)| *rank);
        let mut selected = Vec::new();
        for (_, suite) in suites {
            if scope.ranks && !suite.by_ranks {
                continue;
            }
            for case in (suite.cases)(scope)? {
                let wanted = case.wanted(suite, filter);
                if !wanted.0.is_empty() {
                    selected.push(Self { suite, case, wanted });
                }
            }
        }
        ensure!(!selected.is_empty(), "no line matches --filter {filter:?}");
        Ok(selected)
    }

    /// Finds an operation by the name of its case and its own name, in the first suite that times kernels and has the
    /// operation. A case of the papers' experiments is named by the part after its last colon.
    pub(crate) fn named(scope: &Scope, name: &str, operation: &str) -> Result<Self> {
        let is_timed =
            |suite: &Suite| (suite.kind != SuiteKind::Rates && !["CPU", "SM2"].contains(&suite.name)).then_some(0);
        for Self { suite, case, .. } in Self::of(is_timed, scope, "")? {
            let of = case.name.rsplit(": ").next().unwrap_or_default();
            if of.eq_ignore_ascii_case(name)
                && let Some(found) = case.operations.iter().find(|found| found.eq_ignore_ascii_case(operation))
            {
                return Ok(Self { suite, wanted: Wanted(vec![found.clone()]), case });
            }
        }
        bail!("{name:?} is not a ring, and no suite has a case of that name with the operation {operation:?}")
    }

    /// Title of the selection for the progress bar.
    pub(crate) fn title(&self) -> String {
        let (suite, case) = (self.suite.name, &self.case.name);
        if case.starts_with(suite) { case.clone() } else { format!("{suite} {case}") }
    }

    /// Measures the selection and adds the results to a record. If the device does not support it, the record gets the
    /// reason instead.
    pub(crate) fn measure(&self, bench: &Bench, record: &mut Record) -> Result<()> {
        match self.suite.measure(&self.case, &self.wanted, bench) {
            Ok(lines) => record.measurements.extend(lines),
            Err(error) => match error.downcast_ref::<Error>() {
                Some(Error::Unsupported { .. }) => record.unsupported.push(format!("{}: {error}", self.title())),
                _ => return Err(error.context(self.title())),
            },
        }
        Ok(())
    }
}

#[cfg(all(test, feature = "schemes"))]
mod tests {
    use super::*;
    use crate::suites::SUITES;

    #[test]
    fn cases_are_found_by_name() -> Result<()> {
        let scope = Scope { suites: SUITES, cpu: true, ..Scope::default() };
        for (name, operation, suite) in [("ctru-768", "encaps", "CTRU"), ("ml-kem", "MUL", "rings")] {
            let found = Selected::named(&scope, name, operation)?;
            assert_eq!((found.suite.name, found.wanted.0.len()), (suite, 1), "{name}");
        }
        assert!(Selected::named(&scope, "ctru-768", "sign").is_err());
        Ok(())
    }
}
