//! The trait by which a scheme tells a [`Batch`](crate::Batch) how to run it.

use ringforge::kernels::RandomBlock;
use ringforge::{Limits, Pipeline, Plan, Planner, Result, Value};

use crate::sizes::{ENCAPSULATION_SEED, KEY_SEED, Sizes};
use crate::status::SchemeError;

/// A KEM: its name, sizes and steps.
pub trait KemScheme: 'static {
    /// Name in messages. Handles are told apart by the type, not by the name.
    const NAME: &'static str;
    /// Sizes of the items.
    const SIZES: Sizes;
    /// Errors that its kernels find in single items.
    type Error: SchemeError;

    /// Returns the steps for devices with these limits.
    ///
    /// # Errors
    /// Fails if one of its rings cannot be built.
    fn steps(limits: &Limits) -> Result<impl Steps>;
}

/// Outputs of an operation, and its [status](crate::status()) output if it writes one. If an item's status is not
/// [`OK`](crate::OK), its outputs are zeroed.
pub type Made<'p, const N: usize> = ([Value<'p>; N], Option<Value<'p>>);

/// The steps of a KEM. All values are contiguous bytes, of the sizes in [`KemScheme::SIZES`].
pub trait Steps {
    /// Key generation: seeds (64 bytes per item) → public keys, secret keys. If `draws` is given, the seeds are its
    /// attempt 0; later attempts may replace seeds that yield no key.
    ///
    /// # Errors
    /// Fails if planning fails, like all others.
    fn generate<'p>(&self, p: &'p Pipeline, seeds: Value<'p>, random_key: Option<Value<'p>>) -> Result<Made<'p, 2>>;

    /// Encapsulation: public keys, seeds (32 bytes per item) → ciphertexts, shared keys.
    ///
    /// # Errors
    /// Fails if planning fails.
    fn encapsulate<'p>(&self, p: &'p Pipeline, public_keys: Value<'p>, seeds: Value<'p>) -> Result<Made<'p, 2>>;

    /// Decapsulation: secret keys, ciphertexts → shared keys.
    ///
    /// # Errors
    /// Fails if planning fails.
    fn decapsulate<'p>(&self, p: &'p Pipeline, secret_keys: Value<'p>, ciphertexts: Value<'p>) -> Result<Made<'p, 1>>;

    /// Check: public keys → statuses. Returns `None` if any bytes are a valid public key.
    ///
    /// # Errors
    /// Fails if planning fails.
    fn check_public<'p>(&self, p: &'p Pipeline, public_keys: Value<'p>) -> Result<Option<Value<'p>>>;

    /// Check: secret keys → statuses. Returns `None` if any bytes are a valid secret key.
    ///
    /// # Errors
    /// Fails if planning fails.
    fn check_secret<'p>(&self, p: &'p Pipeline, secret_keys: Value<'p>) -> Result<Option<Value<'p>>>;
}

/// An operation that a plan runs on each item. The plan's arguments are named `seeds` or `draws`, `public keys`,
/// `secret keys`, `ciphertexts`, `shared keys` and `statuses`.
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

/// Source of a plan's randomness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Randomness {
    /// Seeds from the caller, one per item.
    Seeds,
    /// [`RandomKey`](ringforge::RandomKey), the key of a counter-based random generator; the plan derives the seeds from it.
    RandomKey,
}

impl Operation {
    /// The plan of this operation with the given steps. With `checked`, keys are checked even if the steps do not do it
    /// themselves. Returns `None` for a check that the KEM does not need.
    ///
    /// # Errors
    /// Fails if planning fails.
    pub fn plan(self, name: &str, steps: &impl Steps, checked: bool, planner: &Planner) -> Result<Option<Plan>> {
        let p = planner.pipeline(format!("{name} {self:?}{}", if checked { ", checked" } else { "" }));
        let statuses = match self {
            Self::Generate(from) => {
                let (seeds, random_key) = from.seeds(&p, KEY_SEED)?;
                let ([public, secret], statuses) = steps.generate(&p, seeds, random_key)?;
                p.output("public keys", public);
                p.output("secret keys", secret);
                statuses
            }
            Self::Encapsulate(from) => {
                let public = p.input("public keys");
                let (seeds, _) = from.seeds(&p, ENCAPSULATION_SEED)?;
                let ([ciphertext, shared], statuses) = steps.encapsulate(&p, public, seeds)?;
                p.output("ciphertexts", ciphertext);
                p.output("shared keys", shared);
                if checked && statuses.is_none() { steps.check_public(&p, public)? } else { statuses }
            }
            Self::Decapsulate => {
                let (secret, ciphertext) = (p.input("secret keys"), p.input("ciphertexts"));
                let ([shared], statuses) = steps.decapsulate(&p, secret, ciphertext)?;
                p.output("shared keys", shared);
                if checked && statuses.is_none() { steps.check_secret(&p, secret)? } else { statuses }
            }
            Self::CheckPublicKeys => steps.check_public(&p, p.input("public keys"))?,
            Self::CheckSecretKeys => steps.check_secret(&p, p.input("secret keys"))?,
        };
        match (statuses, self) {
            (Some(statuses), _) => p.output("statuses", statuses),
            (None, Self::CheckPublicKeys | Self::CheckSecretKeys) => return Ok(None),
            _ => {}
        }
        p.build().map(Some)
    }

    /// Names of the plan's arguments that are secret; a scheme's tests pass them to the test kit.
    #[must_use]
    pub const fn secrets(self) -> &'static [&'static str] {
        match self {
            Self::Generate(Randomness::Seeds) => &["seeds", "secret keys"],
            Self::Generate(Randomness::RandomKey) => &["random_key", "secret keys"],
            Self::Encapsulate(Randomness::Seeds) => &["seeds", "shared keys"],
            Self::Encapsulate(Randomness::RandomKey) => &["random_key", "shared keys"],
            Self::Decapsulate => &["secret keys", "shared keys"],
            Self::CheckPublicKeys => &[],
            Self::CheckSecretKeys => &["secret keys"],
        }
    }
}

impl Randomness {
    /// Name among the plan's arguments.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Seeds => "seeds",
            Self::RandomKey => "random_key",
        }
    }

    /// Returns the seeds, of `bytes` bytes per item, and the `RandomKey` they are derived from, if any.
    ///
    /// # Errors
    /// As [`RandomBlock::new`].
    pub fn seeds(self, p: &Pipeline, bytes: usize) -> Result<(Value<'_>, Option<Value<'_>>)> {
        Ok(match self {
            Self::Seeds => (p.input(self.name()), None),
            Self::RandomKey => {
                let random_key = p.input(self.name());
                let [seeds] = p.step(RandomBlock::new(bytes, 0)?, &[random_key]);
                (seeds, Some(random_key))
            }
        })
    }
}
