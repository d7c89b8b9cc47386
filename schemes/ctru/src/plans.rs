//! The plans of a parameter set: stages in order, from the caller's arguments to the caller's arguments.

use ringforge::kernels::Draw;
use ringforge::{Limits, Plan, Result, Slot, Step};

use crate::kernels::{CtruKernel, Stage};
use crate::params::Parameters;

use Slot::{Arg, Temp};

/// The plans of a parameter set for devices with some limits.
///
/// All arguments are tight bytes, item i at i · size, and the last argument is the status of each item.
pub(crate) struct Plans {
    parameters: Parameters,
    limits: Limits,
}

impl Plans {
    pub(crate) fn new(parameters: &Parameters, limits: &Limits) -> Self {
        Self { parameters: *parameters, limits: limits.clone() }
    }

    /// Seeds d ‖ z → public keys, secret keys, status.
    #[cfg(any(feature = "hazmat", feature = "testkit"))]
    pub(crate) fn generate_from(&self) -> Result<Plan> {
        let steps = vec![
            self.stage(Stage::Expand)?.step(vec![Arg(0), Temp(0)]),
            self.stage(Stage::Generate)?.step(vec![Arg(0), Temp(0), Arg(1), Arg(2), Arg(3)]),
        ];
        self.plan("generate from seeds", steps)
    }

    /// Draws → public keys, secret keys, status.
    pub(crate) fn generate(&self) -> Result<Plan> {
        let steps = vec![
            Draw::new(64, 0)?.step(Arg(0), Temp(0)),
            self.stage(Stage::Expand)?.step(vec![Temp(0), Temp(1)]),
            self.stage(Stage::Generate)?.step(vec![Temp(0), Temp(1), Arg(1), Arg(2), Arg(3)]),
            self.stage(Stage::Retry)?.step(vec![Arg(0), Temp(0), Arg(1), Arg(2), Arg(3)]),
        ];
        self.plan("generate", steps)
    }

    /// Draws, seeds d ‖ z, public keys, secret keys, status → the last three, where the status was that there is no inverse.
    #[cfg(feature = "testkit")]
    pub(crate) fn retry(&self) -> Result<Plan> {
        let steps = vec![self.stage(Stage::Retry)?.step((0..5).map(Arg).collect())];
        self.plan("retry", steps)
    }

    /// Public keys, seeds u → ciphertexts, shared keys, status.
    #[cfg(any(feature = "hazmat", feature = "testkit"))]
    pub(crate) fn encapsulate_from(&self) -> Result<Plan> {
        let steps = vec![
            self.stage(Stage::Encapsulate)?.step(vec![Arg(0), Arg(1), Temp(0), Temp(1), Arg(3)]),
            self.stage(Stage::Encrypt)?.step(vec![Arg(0), Temp(0), Temp(1), Arg(2), Arg(3), Arg(4)]),
        ];
        self.plan("encapsulate from seeds", steps)
    }

    /// Public keys, draws → ciphertexts, shared keys, status.
    pub(crate) fn encapsulate(&self) -> Result<Plan> {
        let steps = vec![
            Draw::new(32, 0)?.step(Arg(1), Temp(0)),
            self.stage(Stage::Encapsulate)?.step(vec![Arg(0), Temp(0), Temp(1), Temp(2), Arg(3)]),
            self.stage(Stage::Encrypt)?.step(vec![Arg(0), Temp(1), Temp(2), Arg(2), Arg(3), Arg(4)]),
        ];
        self.plan("encapsulate", steps)
    }

    /// Secret keys, ciphertexts → shared keys, status.
    pub(crate) fn decapsulate(&self) -> Result<Plan> {
        let steps = vec![
            self.stage(Stage::Decrypt)?.step(vec![Arg(0), Arg(1), Temp(0), Arg(3)]),
            self.stage(Stage::Decapsulate)?.step(vec![Arg(0), Arg(1), Temp(0), Temp(1), Temp(2)]),
            self.stage(Stage::Compare)?.step(vec![Arg(0), Arg(1), Temp(0), Temp(2), Temp(1), Arg(2), Arg(3)]),
        ];
        self.plan("decapsulate", steps)
    }

    fn stage(&self, stage: Stage) -> Result<CtruKernel> {
        CtruKernel::new(stage, &self.parameters, &self.limits)
    }

    fn plan(&self, what: &str, steps: Vec<Step>) -> Result<Plan> {
        Plan::new(format!("{} {what}", self.parameters.name), steps)
    }
}
