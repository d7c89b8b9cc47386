//! Plans that do the same, measured on the same inputs.

use anyhow::{Result, ensure};
use ringforge::{Device, Plan};

use crate::measure::{self, Effort, Times};
use crate::work::Work;

/// Plans for the same arguments on one device: each is measured, and must leave what the first one left.
pub(super) struct Contest<'a> {
    device: &'a Device,
    batch: usize,
    inputs: Vec<Vec<u8>>,
    effort: Effort,
    /// What the first plan left.
    expected: Option<Vec<Vec<u8>>>,
}

impl<'a> Contest<'a> {
    pub(super) fn new(device: &'a Device, batch: usize, inputs: Vec<Vec<u8>>, effort: Effort) -> Self {
        Self { device, batch, inputs, effort, expected: None }
    }

    pub(super) fn device(&self) -> &'a Device {
        self.device
    }

    /// What a plan takes.
    pub(super) fn enter(&mut self, name: &str, plan: &Plan) -> Result<Times> {
        let work = Work::of_plan(self.device, plan)?;
        let inputs: Vec<&[u8]> = self.inputs.iter().map(Vec::as_slice).collect();
        let sets = (0..measure::sets(&work, self.batch)).map(|_| work.buffers(self.batch, &inputs));
        let mut sets = sets.collect::<Result<Vec<_>>>()?;
        let times = measure::measure(&work, self.batch, &mut sets, self.effort)?;
        for set in &sets {
            let found = work.results(set)?;
            let expected = self.expected.get_or_insert_with(|| found.clone());
            ensure!(found == *expected, "{name}: the result is not that of the usual plan\n{plan}");
        }
        Ok(times)
    }
}

#[cfg(test)]
mod tests {
    use ringforge::{Job, Op, Planner, Ring};

    use super::*;
    use crate::sample;

    #[test]
    fn a_plan_that_does_another_thing_is_refused() -> Result<()> {
        let ring: Ring = "3329:x^256+1".parse()?;
        let device = Device::cpu();
        let mut contest = Contest::new(&device, 3, vec![sample::elements(&ring, 1, 0, 3)?], Effort::LEAST);
        let plan = |op| Planner::default().plan(&Job::new(&ring, op));
        contest.enter("usual", &plan(Op::Forward)?)?;
        contest.enter("again", &plan(Op::Forward)?)?;
        let error = contest.enter("another", &plan(Op::Inverse)?);
        assert!(error.is_err_and(|error| error.to_string().starts_with("another: the result is not")));
        Ok(())
    }
}
