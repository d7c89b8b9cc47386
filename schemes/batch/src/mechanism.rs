//! What a scheme gives, so that a [`Batch`](crate::Batch) can run it.

use ringforge::kernels::Draw;
use ringforge::{Limits, Plan, Result, Slot, Step};

use crate::sizes::Sizes;

/// A key encapsulation mechanism as plans.
///
/// All arguments of plans are tight bytes, item i at i times its size. A plan of an operation may have one argument
/// more than is said: the [status](crate::Reason::status) of each item, whose outputs are then zero where it is not fine.
pub trait Mechanism: 'static {
    /// The name, for people; handles belong to the type.
    const NAME: &'static str;
    /// Sizes of items.
    const SIZES: Sizes;
    /// Whether any bytes are a public key: there is then no plan that checks them.
    const ANY_PUBLIC_KEY: bool = false;

    /// The plan of an operation, for devices with some limits.
    ///
    /// # Errors
    /// What makes planning fail.
    fn plan(operation: Operation, limits: &Limits) -> Result<Plan>;
}

/// What a plan does to each item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Randomness → public keys, secret keys.
    Generate(Randomness),
    /// Public keys, randomness → ciphertexts, shared keys.
    Encapsulate(Randomness),
    /// Secret keys, ciphertexts → shared keys.
    Decapsulate,
    /// Public keys → statuses.
    CheckPublicKeys,
    /// Secret keys → statuses.
    CheckSecretKeys,
}

/// What the randomness of a plan is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Randomness {
    /// The caller's, for each item.
    Seeds,
    /// [`Draws`](ringforge::Draws), from which the plan makes it.
    Draws,
}

impl Randomness {
    /// Where steps find `bytes` bytes for each item, the randomness being argument `arg`, and the step that draws them
    /// to temporary `temp` if that is needed.
    ///
    /// # Errors
    /// As [`Draw::new`].
    pub fn slot(self, bytes: usize, arg: usize, temp: usize) -> Result<(Slot, Option<Step>)> {
        Ok(match self {
            Self::Seeds => (Slot::Arg(arg), None),
            Self::Draws => (Slot::Temp(temp), Some(Draw::new(bytes, 0)?.step(Slot::Arg(arg), Slot::Temp(temp)))),
        })
    }
}
