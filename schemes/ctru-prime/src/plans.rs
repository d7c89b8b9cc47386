//! The plans of a parameter set: stages in order, from the caller's arguments to the caller's arguments.

use ringforge::kernels::Draw;
use ringforge::{Limits, Plan, Result, Slot, Step};

use crate::kernels::{PrimeKernel, Stage};
use crate::params::Parameters;

use Slot::{Arg, Temp};

/// The plans of a parameter set for devices with some limits. All arguments are tight bytes, item i at i · size.
pub(crate) struct Plans {
    parameters: Parameters,
    limits: Limits,
}

impl Plans {
    pub(crate) fn new(parameters: &Parameters, limits: &Limits) -> Self {
        Self { parameters: *parameters, limits: limits.clone() }
    }

    /// Seeds d ‖ z → public keys, secret keys.
    #[cfg(any(feature = "hazmat", feature = "testkit"))]
    pub(crate) fn generate_from(&self) -> Result<Plan> {
        let steps = vec![
            self.stage(Stage::Expand, vec![Arg(0), Temp(0)])?,
            self.stage(Stage::Generate, vec![Arg(0), Temp(0), Temp(1), Arg(1), Arg(2)])?,
        ];
        self.plan("generate from seeds", steps)
    }

    /// Draws → public keys, secret keys.
    pub(crate) fn generate(&self) -> Result<Plan> {
        let steps = vec![
            Draw::new(64, 0)?.step(Arg(0), Temp(0)),
            self.stage(Stage::Expand, vec![Temp(0), Temp(1)])?,
            self.stage(Stage::Generate, vec![Temp(0), Temp(1), Temp(2), Arg(1), Arg(2)])?,
        ];
        self.plan("generate", steps)
    }

    /// Public keys, seeds s → ciphertexts, shared keys.
    #[cfg(any(feature = "hazmat", feature = "testkit"))]
    pub(crate) fn encapsulate_from(&self) -> Result<Plan> {
        let steps = vec![
            self.stage(Stage::Encapsulate, vec![Arg(0), Arg(1), Temp(0), Temp(1), Arg(3)])?,
            self.stage(Stage::Encrypt, vec![Arg(0), Temp(0), Temp(1), Arg(2)])?,
        ];
        self.plan("encapsulate from seeds", steps)
    }

    /// Public keys, draws → ciphertexts, shared keys.
    pub(crate) fn encapsulate(&self) -> Result<Plan> {
        let steps = vec![
            Draw::new(32, 0)?.step(Arg(1), Temp(0)),
            self.stage(Stage::Encapsulate, vec![Arg(0), Temp(0), Temp(1), Temp(2), Arg(3)])?,
            self.stage(Stage::Encrypt, vec![Arg(0), Temp(1), Temp(2), Arg(2)])?,
        ];
        self.plan("encapsulate", steps)
    }

    /// Secret keys, ciphertexts → shared keys, status.
    pub(crate) fn decapsulate(&self) -> Result<Plan> {
        let steps = vec![
            self.stage(Stage::Decrypt, vec![Arg(0), Arg(1), Temp(0), Temp(1), Arg(3)])?,
            self.stage(Stage::Decapsulate, vec![Temp(0), Temp(1), Temp(2), Temp(3)])?,
            self.stage(Stage::Compare, vec![Arg(0), Arg(1), Temp(0), Temp(3), Temp(2), Arg(3), Arg(2)])?,
        ];
        self.plan("decapsulate", steps)
    }

    /// Residues modulo q, numbers from −η to η, both as words of 16 bits → products modulo q and x^n − x − 1.
    #[cfg(feature = "testkit")]
    pub(crate) fn multiply(&self) -> Result<Plan> {
        self.plan("multiply", vec![self.stage(Stage::Multiply, vec![Arg(0), Arg(1), Arg(2)])?])
    }

    fn stage(&self, stage: Stage, slots: Vec<Slot>) -> Result<Step> {
        Ok(PrimeKernel::new(stage, &self.parameters, &self.limits)?.step(slots))
    }

    fn plan(&self, what: &str, steps: Vec<Step>) -> Result<Plan> {
        Plan::new(format!("{} {what}", self.parameters.name), steps)
    }
}
