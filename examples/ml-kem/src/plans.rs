//! The plans: stages in order, from the caller's arguments to the caller's arguments.

use ringforge::{Limits, Plan, Result, Slot};
use ringforge_batch::Operation;

use crate::item::Scheme;
use crate::kernels::{MlKemKernel, Stage};
use crate::params::{Parameters, SEED};

use Slot::{Arg, Temp};

/// The plan of an operation, for devices with some limits. All arguments are tight bytes, item i at i times its size.
///
/// # Errors
/// What makes the ring fail on such a device.
pub fn plan(parameters: &Parameters, operation: Operation, limits: &Limits) -> Result<Plan> {
    let scheme = Scheme::new(parameters)?;
    let step = |stage, slots| MlKemKernel::step(stage, &scheme, limits, slots);
    // temporaries: 0 is rho, 1 noise, 2 the matrix, 3 what an item begins with, 4 both shared keys
    let mut steps = Vec::new();
    match operation {
        Operation::Generate(from) => {
            let (seeds, draw) = from.slot(2 * SEED, 0, 3)?;
            steps.extend(draw);
            steps.push(step(Stage::Seed, vec![seeds.clone(), Temp(0), Temp(1)])?);
            steps.push(step(Stage::Matrix { transposed: false }, vec![Temp(0), Temp(2)])?);
            steps.push(step(Stage::Generate, vec![seeds, Temp(0), Temp(2), Temp(1), Arg(1), Arg(2)])?);
            steps.push(step(Stage::Finish, vec![Arg(1), Arg(2)])?);
        }
        Operation::Encapsulate(from) => {
            let (messages, draw) = from.slot(SEED, 1, 3)?;
            steps.extend(draw);
            steps.push(step(Stage::Encapsulate, vec![Arg(0), messages.clone(), Arg(3), Temp(0), Temp(1)])?);
            steps.push(step(Stage::Matrix { transposed: true }, vec![Temp(0), Temp(2)])?);
            steps.push(step(Stage::Encrypt, vec![Arg(0), messages, Temp(2), Temp(1), Arg(2)])?);
        }
        Operation::Decapsulate => {
            steps.push(step(Stage::Decrypt, vec![Arg(0), Arg(1), Temp(3)])?);
            steps.push(step(Stage::Decapsulate, vec![Arg(0), Arg(1), Temp(3), Temp(4), Temp(0), Temp(1)])?);
            steps.push(step(Stage::Matrix { transposed: true }, vec![Temp(0), Temp(2)])?);
            let slots = vec![Arg(0), Arg(1), Temp(3), Temp(2), Temp(1), Temp(4), Arg(2)];
            steps.push(step(Stage::Compare, slots)?);
        }
        Operation::CheckPublicKeys => steps.push(step(Stage::CheckPublic, vec![Arg(0), Arg(1)])?),
        Operation::CheckSecretKeys => steps.push(step(Stage::CheckSecret, vec![Arg(0), Arg(1)])?),
    }
    Plan::new(format!("{} {operation:?}", parameters.name), steps)
}
