//! Plans that do the same, measured on the same inputs.

use anyhow::{Result, ensure};
use ringforge::testkit::Named;
use ringforge::{Device, Plan};

use crate::bench::runs::Runs;
use crate::measure::{Effort, Times};
use crate::work::slices;

/// Plans for the same arguments on one device: each is measured, and must leave what the first one left.
pub(super) struct Contest<'a> {
    device: &'a Device,
    batch: usize,
    inputs: Named,
    effort: Effort,
    /// What the first plan left.
    expected: Option<Named>,
}

impl<'a> Contest<'a> {
    pub(super) fn new(device: &'a Device, batch: usize, inputs: Named, effort: Effort) -> Self {
        Self { device, batch, inputs, effort, expected: None }
    }

    pub(super) fn device(&self) -> &'a Device {
        self.device
    }

    /// What a plan takes.
    pub(super) fn enter(&mut self, name: &str, plan: &Plan) -> Result<Times> {
        let outcome = Runs::new(plan, self.batch, &slices(&self.inputs)).times(self.device, self.effort)?;
        let expected = self.expected.get_or_insert_with(|| outcome.results.clone());
        ensure!(
            outcome.alike && outcome.results == *expected,
            "{name}: the result is not that of the usual plan\n{plan}"
        );
        Ok(outcome.times)
    }
}

#[cfg(test)]
mod tests {
    use ringforge::testkit::Random;
    use ringforge::{Job, Op, Planner, Ring};

    use super::*;
    use crate::sample;

    #[test]
    fn a_plan_that_does_another_thing_is_refused() -> Result<()> {
        let ring: Ring = "3329:x^256+1".parse()?;
        let device = Device::cpu();
        let [forward, inverse] = [Op::Forward, Op::Inverse].map(|op| Job::new(&ring, op));
        let inputs = sample::operands(&forward, &mut Random::new(1), 0, 3)?;
        let mut contest = Contest::new(&device, 3, inputs, Effort::LEAST);
        let plan = |job| Planner::default().plan(job);
        contest.enter("usual", &plan(&forward)?)?;
        contest.enter("again", &plan(&forward)?)?;
        let error = contest.enter("another", &plan(&inverse)?);
        assert!(error.is_err_and(|error| error.to_string().starts_with("another: the result is not")));
        Ok(())
    }
}
