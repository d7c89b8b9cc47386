//! The interface of a scheme for tests, benchmarks and warm-up: its plans, each with samples of its inputs.

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
    /// The scheme's name.
    const NAME: &'static str;

    /// The scheme's plans for a device with these limits, one for each shape worth testing. They must include the
    /// smallest shape of every kernel.
    ///
    /// # Errors
    /// Errors of planning.
    fn plans(limits: &Limits) -> Result<Vec<NamedPlan>>;
}

/// Contents of a plan's arguments, by name.
pub type Named = BTreeMap<String, Vec<u8>>;

type Sample = dyn Fn(u64, usize) -> Vec<(&'static str, Vec<u8>)> + Send + Sync;
type StepSample = dyn Fn(u64, usize) -> Vec<(usize, Vec<u8>)> + Send + Sync;
type Oracle = dyn Fn(usize, &Named) -> Vec<(&'static str, Vec<u8>)> + Send + Sync;

/// A plan with a name, samples of its inputs, and an oracle: a slow and simple implementation that computes the
/// expected outputs.
#[derive(Clone)]
pub struct NamedPlan {
    /// The plan's name.
    pub name: String,
    /// The plan to test.
    pub plan: Plan,
    sample: Option<Arc<Sample>>,
    oracle: Option<Arc<Oracle>>,
    secrets: Option<Vec<String>>,
    /// Further samples for single steps, by the step's index.
    steps: BTreeMap<usize, Arc<StepSample>>,
    /// Batch sizes to test in addition to the smallest ones, if the scheme names any.
    pub(super) batches: Option<Vec<usize>>,
    /// Whether only the smallest batches are run on the emulator.
    pub(super) few_emulated: bool,
    /// Whether each step alone must give the same result on every device.
    pub(super) steps_agree: bool,
}

impl NamedPlan {
    /// A plan whose inputs are sampled by type: elements of the ring if the type is known, otherwise random bytes. It
    /// has no oracle.
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
    /// The errors of [`Planner::plan`].
    pub fn of_job(job: &Job, limits: &Limits) -> Result<Self> {
        Ok(Self::new(job.to_string(), Planner::new(limits.clone()).plan(job)?))
    }

    /// The plan with these samples. `sample` returns the contents of inputs by name, for a seed and a batch size.
    #[must_use]
    pub fn sampled(
        mut self,
        sample: impl Fn(u64, usize) -> Vec<(&'static str, Vec<u8>)> + Send + Sync + 'static,
    ) -> Self {
        self.sample = Some(Arc::new(sample));
        self
    }

    /// The plan with samples for the step with this index, in addition to the memory that the earlier steps leave.
    /// `sample` returns the contents of the step's ports by index, for a seed and a batch size. Use this for contents
    /// that are rare, or that no input of the plan leads to.
    #[must_use]
    pub fn step_sampled(
        mut self,
        step: usize,
        sample: impl Fn(u64, usize) -> Vec<(usize, Vec<u8>)> + Send + Sync + 'static,
    ) -> Self {
        self.steps.insert(step, Arc::new(sample));
        self
    }

    /// The plan with these batch sizes in addition to the smallest ones (1, 2 and 3), for tests without an emulator.
    /// The largest must include every kind of sample. The default is 16.
    #[must_use]
    pub fn batches(mut self, batches: &[usize]) -> Self {
        self.batches = Some(batches.to_vec());
        self
    }

    /// The plan with this oracle. `oracle` returns the expected contents of outputs by name, for a batch size and the
    /// contents of the inputs.
    #[must_use]
    pub fn expecting(
        mut self,
        oracle: impl Fn(usize, &Named) -> Vec<(&'static str, Vec<u8>)> + Send + Sync + 'static,
    ) -> Self {
        self.oracle = Some(Arc::new(oracle));
        self
    }

    /// The plan, with the names of its secret arguments. Tests of the scheme check that exactly these arguments are
    /// secret.
    #[must_use]
    pub fn with_secrets(mut self, names: &[&str]) -> Self {
        self.secrets = Some(names.iter().map(|&name| name.into()).collect());
        self
    }

    /// The plan, limited on the emulator to the smallest batches (1, 2 and 3), because larger batches would take
    /// minutes.
    #[must_use]
    pub fn few_emulated(mut self) -> Self {
        self.few_emulated = true;
        self
    }

    /// The plan, compared only as a whole. Use this if the memory that a step leaves for later steps differs between
    /// devices.
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

    /// The same samples and oracle with another plan, which has the same arguments.
    pub(super) fn with_plan(mut self, plan: Plan) -> Self {
        self.plan = plan;
        self
    }

    /// The contents of all inputs, from a seed and a batch size.
    ///
    /// # Panics
    /// If there is a sample for an input that does not exist.
    #[must_use]
    pub fn sample(&self, seed: u64, batch: usize) -> Named {
        let mut random = Random::new(seed);
        let samples = self.sample.iter().flat_map(|sample| sample(seed, batch));
        let mut samples: Named = samples.map(|(name, bytes)| (name.into(), bytes)).collect();
        let inputs = self.plan.args().iter().filter(|arg| arg.role != Role::Out);
        let all = inputs.map(|arg| {
            let items = if arg.sharing == Sharing::PerItem { batch } else { 1 };
            let bytes = samples.remove(&arg.name).unwrap_or_else(|| match &arg.before {
                // the kinds of samples continue from one batch size to the next, so batches of 1, 2 and 3 items have
                // all five kinds
                Some(content) => samples::residues_from(batch * (batch - 1) / 2, content, random.bits(), items),
                None => samples::bytes(random.bits(), items * arg.bytes),
            });
            (arg.name.clone(), bytes)
        });
        let all = all.collect();
        assert!(samples.is_empty(), "{}: samples for inputs that do not exist: {:?}", self.name, samples.keys());
        all
    }

    /// The further samples for the ports of a step, by port index, if there are any.
    pub(super) fn step_samples(&self, step: usize, seed: u64, batch: usize) -> Option<Vec<(usize, Vec<u8>)>> {
        self.steps.get(&step).map(|sample| sample(seed, batch))
    }

    /// The expected contents of outputs, if there is an oracle.
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
