//! The suites of this project, including those of the `ringforge` command.

use ringforge_cli::suite::Suites;
use ringforge_cli::suites::{kems, rings, sm2};

use crate::{
    bfv, bootstrapping, ckks, commit, convert, cpu, dsa, fhe, group, msm, operations, papers, proofs, rates, serve,
    stark, zk,
};

/// All suites, in the order in which pages show them.
pub(crate) static SUITES: Suites = &[
    &rings::SUITE,
    &fhe::SUITE,
    &bfv::SUITE,
    &ckks::SUITE,
    &bootstrapping::SUITE,
    &operations::SUITE,
    &convert::SUITE,
    &stark::SUITE,
    &commit::SUITE,
    &proofs::SUITE,
    &zk::SUITE,
    &msm::SUITE,
    &kems::CTRU,
    &kems::CTRU_PRIME,
    &kems::ML_KEM,
    &dsa::SUITE,
    &sm2::SUITE,
    &serve::SUITE,
    &group::SUITE,
    &cpu::SUITE,
    &papers::SUITE,
    &rates::SUITE,
    &rings::OWN,
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use anyhow::{Context, Result, ensure};

    use ringforge_cli::session::Bench;
    use ringforge_cli::suite::{Scope, SuiteKind};

    use super::*;

    /// Tests that every case of every suite that a CPU supports gives right results. Cases run as briefly as possible,
    /// and each kernel is timed.
    #[test]
    fn every_case_is_right_on_a_cpu() -> Result<()> {
        let bench = Bench { steps: true, ..Bench::of_cpu() };
        let scope = Scope { cpu: true, batches: vec![2], most_log_n: Some(8), ..Scope::default() };
        for suite in SUITES.iter().filter(|suite| matches!(suite.kind, SuiteKind::Area | SuiteKind::Papers)) {
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
                    // a CPU has no multiprocessors, so steps have no resources
                    ensure!(line.steps.iter().all(|step| step.resources.is_none()), "{line:?}");
                }
            }
        }
        Ok(())
    }

    #[test]
    fn one_operation_can_be_selected() -> Result<()> {
        let scope = Scope { cpu: true, quick: true, batches: vec![3], most_log_n: Some(6), ..Scope::default() };
        for (suite, filter, operation) in
            [(&kems::CTRU, "CTRU-768 Decaps", "Decaps"), (&fhe::SUITE, "FHE 2^16, 60 bits inverse", "inverse")]
        {
            let cases = (suite.cases)(&scope)?;
            let wanted = cases.iter().map(|case| (case, case.wanted(suite, filter)));
            let wanted: Vec<_> = wanted.filter(|(_, wanted)| !wanted.0.is_empty()).collect();
            ensure!(wanted.len() == 1, "{filter} must select one case");
            let lines = suite.measure(wanted[0].0, &wanted[0].1, &Bench::of_cpu())?;
            ensure!(!lines.is_empty() && lines.iter().all(|line| line.operation == operation && line.right));
        }
        Ok(())
    }

    #[test]
    fn suite_names_are_unique_and_headlines_exist() -> Result<()> {
        let names: BTreeSet<_> = SUITES.iter().map(|suite| suite.name).collect();
        assert_eq!(names.len(), SUITES.len());
        for suite in SUITES.iter().filter(|suite| matches!(suite.kind, SuiteKind::Area | SuiteKind::Papers)) {
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
