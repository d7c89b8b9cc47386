//! The plans: stages in order, from the caller's arguments to the caller's arguments.

use ringforge::kernels::Draw;
use ringforge::{Limits, Plan, Result, Slot, Step};

use crate::item::Scheme;
use crate::kernels::{MlKemKernel, Stage};
use crate::params::{Parameters, SEED};

use Slot::{Arg, Temp};

/// What a plan does. `drawn`: it takes [`Draws`](ringforge::Draws) in place of a seed for each item. `checked`: it checks
/// keys, and has the status of each item as its last argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// Seeds d ‖ z → public keys, secret keys.
    Generate {
        /// Whether the seeds are drawn.
        drawn: bool,
    },
    /// Public keys, messages → ciphertexts, shared keys.
    Encapsulate {
        /// Whether the messages are drawn.
        drawn: bool,
        /// Whether the public keys are checked.
        checked: bool,
    },
    /// Secret keys, ciphertexts → shared keys.
    Decapsulate {
        /// Whether the secret keys are checked.
        checked: bool,
    },
    /// Public keys → statuses.
    CheckPublicKeys,
    /// Secret keys → statuses.
    CheckSecretKeys,
}

/// The plan of an operation, for devices with some limits. All arguments are tight bytes, item i at i times its size.
///
/// # Errors
/// What makes the ring fail on such a device.
pub fn plan(parameters: &Parameters, operation: Operation, limits: &Limits) -> Result<Plan> {
    let scheme = Scheme::new(parameters)?;
    let step = |stage, slots| MlKemKernel::step(stage, &scheme, limits, slots);
    // what an item begins with: the argument itself, or what is drawn for it
    let start = |arg, bytes, temp, drawn: bool| -> Result<(Slot, Option<Step>)> {
        match drawn {
            true => Ok((Temp(temp), Some(Draw::new(bytes, 0)?.step(Arg(arg), Temp(temp))))),
            false => Ok((Arg(arg), None)),
        }
    };
    // temporaries: 0 is rho, 1 noise, 2 the matrix, 3 what an item begins with, 4 both shared keys
    let mut steps = Vec::new();
    match operation {
        Operation::Generate { drawn } => {
            let (seeds, draw) = start(0, 2 * SEED, 3, drawn)?;
            steps.extend(draw);
            steps.push(step(Stage::Seed, vec![seeds.clone(), Temp(0), Temp(1)])?);
            steps.push(step(Stage::Matrix { transposed: false }, vec![Temp(0), Temp(2)])?);
            steps.push(step(Stage::Generate, vec![seeds, Temp(0), Temp(2), Temp(1), Arg(1), Arg(2)])?);
            steps.push(step(Stage::Finish, vec![Arg(1), Arg(2)])?);
        }
        Operation::Encapsulate { drawn, checked } => {
            let (messages, draw) = start(1, SEED, 3, drawn)?;
            steps.extend(draw);
            steps.push(step(Stage::Encapsulate, vec![Arg(0), messages.clone(), Arg(3), Temp(0), Temp(1)])?);
            steps.push(step(Stage::Matrix { transposed: true }, vec![Temp(0), Temp(2)])?);
            steps.push(step(Stage::Encrypt, vec![Arg(0), messages, Temp(2), Temp(1), Arg(2)])?);
            if checked {
                steps.push(step(Stage::CheckPublic, vec![Arg(0), Arg(4)])?);
            }
        }
        Operation::Decapsulate { checked } => {
            steps.push(step(Stage::Decrypt, vec![Arg(0), Arg(1), Temp(3)])?);
            steps.push(step(Stage::Decapsulate, vec![Arg(0), Arg(1), Temp(3), Temp(4), Temp(0), Temp(1)])?);
            steps.push(step(Stage::Matrix { transposed: true }, vec![Temp(0), Temp(2)])?);
            let slots = vec![Arg(0), Arg(1), Temp(3), Temp(2), Temp(1), Temp(4), Arg(2)];
            steps.push(step(Stage::Compare, slots)?);
            if checked {
                steps.push(step(Stage::CheckSecret, vec![Arg(0), Arg(3)])?);
            }
        }
        Operation::CheckPublicKeys => steps.push(step(Stage::CheckPublic, vec![Arg(0), Arg(1)])?),
        Operation::CheckSecretKeys => steps.push(step(Stage::CheckSecret, vec![Arg(0), Arg(1)])?),
    }
    Plan::new(format!("{} {operation:?}", parameters.name), steps)
}
