//! The plans of a parameter set: stages in order, from the caller's arguments to the caller's arguments.

use ringforge::kernels::Draw;
use ringforge::{Error, Limits, Plan, Result, Slot, Step};
use ringforge_batch::{Operation, Randomness};

use crate::kernels::{Keys, PrimeKernel, Stage};
use crate::params::Parameters;
use crate::product::Way;

use Slot::{Arg, Temp};

/// The plan of an operation.
pub(crate) fn plan(p: &Parameters, operation: Operation, limits: &Limits) -> Result<Plan> {
    let plans = Plans::new(p, limits);
    match operation {
        Operation::Generate(Randomness::Seeds) => plans.generate_from(),
        Operation::Generate(Randomness::Draws) => plans.generate(),
        Operation::Encapsulate(Randomness::Seeds) => plans.encapsulate_from(),
        Operation::Encapsulate(Randomness::Draws) => plans.encapsulate(),
        Operation::Decapsulate => plans.decapsulate(),
        Operation::CheckSecretKeys => plans.check_secret(),
        Operation::CheckPublicKeys => Err(Error::Unsupported {
            job: format!("a check of public keys of {}", p.name),
            why: "any bytes are one".into(),
        }),
    }
}

/// The plans of a parameter set for devices with some limits. All arguments are tight bytes, item i at i · size.
pub(crate) struct Plans {
    parameters: Parameters,
    limits: Limits,
    way: Way,
}

impl Plans {
    /// Plans that multiply in the way that is fastest.
    pub(crate) fn new(parameters: &Parameters, limits: &Limits) -> Self {
        Self { parameters: *parameters, limits: limits.clone(), way: Way::fastest(limits) }
    }

    /// The same with this way to multiply.
    #[cfg(feature = "testkit")]
    pub(crate) fn multiplying(mut self, way: Way) -> Self {
        self.way = way;
        self
    }

    pub(crate) fn way(&self) -> Way {
        self.way
    }

    /// Seeds d ‖ z → public keys, secret keys.
    pub(crate) fn generate_from(&self) -> Result<Plan> {
        let steps = vec![
            self.stage(Stage::Expand, vec![Arg(0), Temp(0)])?,
            self.stage(Stage::Gather, vec![Temp(0), Temp(1), Temp(2)])?,
            self.stage(Stage::Invert, vec![Temp(2), Temp(3)])?,
            self.stage(Stage::Generate, vec![Arg(0), Temp(0), Temp(1), Temp(3), Arg(1), Arg(2)])?,
        ];
        self.plan("generate from seeds", steps)
    }

    /// Draws → public keys, secret keys.
    pub(crate) fn generate(&self) -> Result<Plan> {
        let steps = vec![
            Draw::new(64, 0)?.step(Arg(0), Temp(0)),
            self.stage(Stage::Expand, vec![Temp(0), Temp(1)])?,
            self.stage(Stage::Gather, vec![Temp(1), Temp(2), Temp(3)])?,
            self.stage(Stage::Invert, vec![Temp(3), Temp(4)])?,
            self.stage(Stage::Generate, vec![Temp(0), Temp(1), Temp(2), Temp(4), Arg(1), Arg(2)])?,
        ];
        self.plan("generate", steps)
    }

    /// Public keys, seeds s → ciphertexts, shared keys.
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
            self.stage(Stage::Decapsulate, vec![Temp(0), Temp(1), Temp(2), Temp(3), Arg(3)])?,
            self.stage(Stage::Compare, vec![Arg(0), Arg(1), Temp(0), Temp(3), Temp(2), Arg(3), Arg(2)])?,
        ];
        self.plan("decapsulate", steps)
    }

    /// Secret keys → status.
    pub(crate) fn check_secret(&self) -> Result<Plan> {
        self.plan("check secret keys", vec![self.stage(Stage::CheckSecret, vec![Arg(0), Arg(1)])?])
    }

    /// Public keys → what is prepared of them.
    pub(crate) fn prepare_public(&self) -> Result<Plan> {
        let step = self.step(Stage::PreparePublic, Keys::Prepared, vec![Arg(0), Arg(1)])?;
        self.plan("prepare public keys", vec![step])
    }

    /// Secret keys → what is prepared of them for decryption; for the other half of a decapsulation the public key in them
    /// is to be prepared.
    pub(crate) fn prepare_secret(&self) -> Result<Plan> {
        let step = self.step(Stage::PrepareSecret, Keys::Prepared, vec![Arg(0), Arg(1)])?;
        self.plan("prepare secret keys", vec![step])
    }

    /// A prepared public key, seeds s → ciphertexts, shared keys.
    #[cfg(feature = "testkit")]
    pub(crate) fn encapsulate_to_one_from(&self) -> Result<Plan> {
        let steps = vec![
            self.step(Stage::Encapsulate, Keys::One, vec![Arg(0), Arg(1), Temp(0), Temp(1), Arg(3)])?,
            self.step(Stage::Encrypt, Keys::One, vec![Arg(0), Temp(0), Temp(1), Arg(2)])?,
        ];
        self.plan("encapsulate to one key from seeds", steps)
    }

    /// A prepared public key, draws → ciphertexts, shared keys.
    pub(crate) fn encapsulate_to_one(&self) -> Result<Plan> {
        let steps = vec![
            Draw::new(32, 0)?.step(Arg(1), Temp(0)),
            self.step(Stage::Encapsulate, Keys::One, vec![Arg(0), Temp(0), Temp(1), Temp(2), Arg(3)])?,
            self.step(Stage::Encrypt, Keys::One, vec![Arg(0), Temp(1), Temp(2), Arg(2)])?,
        ];
        self.plan("encapsulate to one key", steps)
    }

    /// A prepared secret key, its public key prepared, ciphertexts → shared keys.
    pub(crate) fn decapsulate_with_one(&self) -> Result<Plan> {
        let steps = vec![
            self.step(Stage::Decrypt, Keys::One, vec![Arg(0), Arg(2), Temp(0), Temp(1), Temp(2)])?,
            self.stage(Stage::Decapsulate, vec![Temp(0), Temp(1), Temp(3), Temp(4), Temp(2)])?,
            self.step(Stage::Compare, Keys::One, vec![Arg(1), Arg(2), Temp(0), Temp(4), Temp(3), Temp(2), Arg(3)])?,
        ];
        self.plan("decapsulate with one key", steps)
    }

    /// Residues modulo q, numbers from −η to η, both as words of 16 bits → products modulo q and x^n − x − 1.
    #[cfg(feature = "testkit")]
    pub(crate) fn multiply(&self) -> Result<Plan> {
        self.plan("multiply", vec![self.stage(Stage::Multiply, vec![Arg(0), Arg(1), Arg(2)])?])
    }

    fn stage(&self, stage: Stage, slots: Vec<Slot>) -> Result<Step> {
        self.step(stage, Keys::Plain, slots)
    }

    fn step(&self, stage: Stage, keys: Keys, slots: Vec<Slot>) -> Result<Step> {
        Ok(PrimeKernel::new(stage, keys, self.way, &self.parameters, &self.limits)?.step(slots))
    }

    fn plan(&self, what: &str, steps: Vec<Step>) -> Result<Plan> {
        let way = if self.way == Way::Tensor { ", tensor cores" } else { "" };
        Plan::new(format!("{} {what}{way}", self.parameters.name), steps)
    }
}
