//! What a scheme shows to tests, benches and warm-up: its plans, each with samples.

use core::fmt;
use std::collections::BTreeMap;
use std::sync::Arc;

use ringforge::Job;
use ringforge::Planner;
use ringforge_math::error::Result;
use ringforge_runtime::kernel::{Role, Sharing};
use ringforge_runtime::limits::Limits;
use ringforge_runtime::plan::Plan;

use super::samples::{self, Random};

/// A scheme: a set of plans.
pub trait Scheme {
    /// Its name.
    const NAME: &'static str;

    /// Its plans for a device with these limits, one for each shape worth testing; the smallest shape of every kernel
    /// is among them.
    ///
    /// # Errors
    /// Whatever makes planning fail.
    fn plans(limits: &Limits) -> Result<Vec<NamedPlan>>;
}

/// What arguments of a plan hold, by their names.
pub type Named = BTreeMap<String, Vec<u8>>;

type Sample = dyn Fn(u64, usize) -> Vec<(&'static str, Vec<u8>)> + Send + Sync;
type StepSample = dyn Fn(u64, usize) -> Vec<(usize, Vec<u8>)> + Send + Sync;
type Oracle = dyn Fn(usize, &Named) -> Vec<(&'static str, Vec<u8>)> + Send + Sync;

/// A plan with a name, samples of its inputs, and an oracle: something slow and obvious that says what the plan should
/// make of them.
#[derive(Clone)]
pub struct NamedPlan {
    /// The name.
    pub name: String,
    /// The plan.
    pub plan: Plan,
    sample: Option<Arc<Sample>>,
    oracle: Option<Arc<Oracle>>,
    secrets: Option<Vec<String>>,
    /// Of steps, by their numbers.
    steps: BTreeMap<usize, Arc<StepSample>>,
    /// Batches beside the smallest ones, if the scheme names some.
    pub(super) batches: Option<Vec<usize>>,
    /// Whether only the smallest batches are run as text.
    pub(super) few_emulated: bool,
    /// Whether each step alone gives the same on every device.
    pub(super) steps_agree: bool,
}

impl NamedPlan {
    /// A plan whose inputs are sampled by what they hold: elements of the ring where that is known, else random bytes.
    #[must_use]
    pub fn new(name: impl Into<String>, plan: Plan) -> Self {
        Self {
            name: name.into(),
            plan,
            sample: None,
            oracle: None,
            secrets: None,
            steps: BTreeMap::new(),
            batches: None,
            few_emulated: false,
            steps_agree: true,
        }
    }

    /// The plan for a job on a device with these limits.
    ///
    /// # Errors
    /// As [`Planner::plan`].
    pub fn of_job(job: &Job, limits: &Limits) -> Result<Self> {
        Ok(Self::new(job.to_string(), Planner::new(limits.clone()).plan(job)?))
    }

    /// With these samples, from a seed and a batch: what inputs of these names hold.
    #[must_use]
    pub fn sampled(
        mut self,
        sample: impl Fn(u64, usize) -> Vec<(&'static str, Vec<u8>)> + Send + Sync + 'static,
    ) -> Self {
        self.sample = Some(Arc::new(sample));
        self
    }

    /// With samples for the step of this number, beside what the steps before it leave: from a seed and a batch, what its ports
    /// of these numbers hold. For values that are rare, or that no input leads to.
    #[must_use]
    pub fn step_sampled(
        mut self,
        step: usize,
        sample: impl Fn(u64, usize) -> Vec<(usize, Vec<u8>)> + Send + Sync + 'static,
    ) -> Self {
        self.steps.insert(step, Arc::new(sample));
        self
    }

    /// Run in these batches as well where kernels' text is not run, the largest of which covers every kind of sample; in one of 16
    /// if this is not called.
    #[must_use]
    pub fn batches(mut self, batches: &[usize]) -> Self {
        self.batches = Some(batches.to_vec());
        self
    }

    /// With this oracle: from a batch and what inputs hold, what outputs of these names should hold afterwards.
    #[must_use]
    pub fn expecting(
        mut self,
        oracle: impl Fn(usize, &Named) -> Vec<(&'static str, Vec<u8>)> + Send + Sync + 'static,
    ) -> Self {
        self.oracle = Some(Arc::new(oracle));
        self
    }

    /// With these arguments secret and no others, which tests of the scheme check.
    #[must_use]
    pub fn with_secrets(mut self, names: &[&str]) -> Self {
        self.secrets = Some(names.iter().map(|&name| name.into()).collect());
        self
    }

    /// Run in the smallest batches alone on devices that run kernels' text, where larger ones would take minutes.
    #[must_use]
    pub fn few_emulated(mut self) -> Self {
        self.few_emulated = true;
        self
    }

    /// Compared as a whole alone: what a step leaves for the next one is not the same on every device.
    #[must_use]
    pub fn compared_whole(mut self) -> Self {
        self.steps_agree = false;
        self
    }

    pub(super) fn check_secrets(&self) {
        if let Some(expected) = &self.secrets {
            let secret = self.plan.args().iter().filter(|arg| arg.secret);
            let (mut found, mut expected): (Vec<_>, Vec<_>) =
                (secret.map(|arg| &arg.name).collect(), expected.iter().collect());
            found.sort();
            expected.sort();
            assert_eq!(found, expected, "secret arguments of {}", self.name);
        }
    }

    /// With another plan for the same arguments.
    pub(super) fn with_plan(mut self, plan: Plan) -> Self {
        self.plan = plan;
        self
    }

    /// What all inputs hold, from a seed and a batch.
    ///
    /// # Panics
    /// If a sample has the name of no input.
    #[must_use]
    pub fn sample(&self, seed: u64, batch: usize) -> Named {
        let mut random = Random::new(seed);
        let samples = self.sample.iter().flat_map(|sample| sample(seed, batch));
        let mut samples: Named = samples.map(|(name, bytes)| (name.into(), bytes)).collect();
        let inputs = self.plan.args().iter().filter(|arg| arg.role != Role::Out);
        let all = inputs.map(|arg| {
            let items = if arg.sharing == Sharing::PerItem { batch } else { 1 };
            let bytes = samples.remove(&arg.name).unwrap_or_else(|| match &arg.before {
                // one kind after another: batches of 1, 2 and 3 have all five
                Some(content) => samples::residues_from(batch * (batch - 1) / 2, content, random.bits(), items),
                None => samples::bytes(random.bits(), items * arg.bytes),
            });
            (arg.name.clone(), bytes)
        });
        let all = all.collect();
        assert!(samples.is_empty(), "{}: no inputs {:?}", self.name, samples.keys());
        all
    }

    /// What ports of a step should hold beside what the steps before it leave, by their numbers.
    pub(super) fn step_samples(&self, step: usize, seed: u64, batch: usize) -> Option<Vec<(usize, Vec<u8>)>> {
        self.steps.get(&step).map(|sample| sample(seed, batch))
    }

    /// What outputs should hold, where an oracle says so.
    #[must_use]
    pub fn expected(&self, batch: usize, inputs: &Named) -> Option<Named> {
        let named = |(name, bytes): (&str, Vec<u8>)| (name.into(), bytes);
        self.oracle.as_ref().map(|oracle| oracle(batch, inputs).into_iter().map(named).collect())
    }
}

impl fmt::Debug for NamedPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NamedPlan({}: {})", self.name, self.plan)
    }
}
