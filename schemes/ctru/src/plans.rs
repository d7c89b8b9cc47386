//! The plans of a parameter set: stages in order, from the caller's arguments to the caller's arguments.

use ringforge::{Limits, Plan, Result, Slot};
use ringforge_batch::{Operation, Randomness};

use crate::kernels::{CtruKernel, Stage};
use crate::params::{Parameters, SEED_BYTES};

use Slot::{Arg, Temp};

/// The plan of an operation, with the status of each item as its last argument.
pub(crate) fn plan(p: &Parameters, operation: Operation, limits: &Limits) -> Result<Plan> {
    let step = |stage, slots| Ok(CtruKernel::new(stage, p, limits)?.step(slots));
    // temporaries: 0 is coins, 1 messages, 2 both shared keys; what is drawn has the next number
    let mut steps = Vec::new();
    match operation {
        Operation::Generate(from) => {
            let (seeds, draw) = from.slot(2 * SEED_BYTES, 0, 1)?;
            steps.extend(draw);
            steps.push(step(Stage::Expand, vec![seeds.clone(), Temp(0), Arg(3)])?);
            steps.push(step(Stage::Generate, vec![seeds.clone(), Temp(0), Arg(1), Arg(2), Arg(3)])?);
            if from == Randomness::Draws {
                steps.push(step(Stage::Retry, vec![Arg(0), seeds, Arg(1), Arg(2), Arg(3)])?);
            }
        }
        Operation::Encapsulate(from) => {
            let (seeds, draw) = from.slot(SEED_BYTES, 1, 2)?;
            steps.extend(draw);
            steps.push(step(Stage::Encapsulate, vec![Arg(0), seeds, Temp(1), Temp(0), Arg(3), Arg(4)])?);
            steps.push(step(Stage::Encrypt, vec![Arg(0), Temp(1), Temp(0), Arg(2), Arg(3), Arg(4)])?);
        }
        Operation::Decapsulate => {
            steps.push(step(Stage::Decrypt, vec![Arg(0), Arg(1), Temp(1), Arg(3)])?);
            steps.push(step(Stage::Decapsulate, vec![Arg(0), Arg(1), Temp(1), Temp(2), Temp(0), Arg(3)])?);
            let slots = vec![Arg(0), Arg(1), Temp(1), Temp(0), Temp(2), Arg(2), Arg(3)];
            steps.push(step(Stage::Compare, slots)?);
        }
        Operation::CheckPublicKeys => steps.push(step(Stage::CheckPublic, vec![Arg(0), Arg(1)])?),
        Operation::CheckSecretKeys => steps.push(step(Stage::CheckSecret, vec![Arg(0), Arg(1)])?),
    }
    Plan::new(format!("{} {operation:?}", p.name), steps)
}

/// Draws, seeds d ‖ z, public keys, secret keys, status → the last three, where the status was that there is no inverse.
#[cfg(feature = "testkit")]
pub(crate) fn retry(p: &Parameters, limits: &Limits) -> Result<Plan> {
    let step = CtruKernel::new(Stage::Retry, p, limits)?.step((0..5).map(Arg).collect());
    Plan::new(format!("{} retry", p.name), vec![step])
}
