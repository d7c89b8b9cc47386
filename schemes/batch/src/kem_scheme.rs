//! [`KemScheme`] and [`Steps`]: the traits that a KEM implements to run in a [`Batch`](crate::Batch).

use ringforge::kernels::RandomBlock;
use ringforge::{Limits, Pipeline, Plan, Planner, Result, Value};

use crate::sizes::{ENCAPSULATION_SEED, KEY_SEED, Sizes};
use crate::status::SchemeError;

/// A KEM that [`Batch`](crate::Batch) can run: its name, item sizes, errors and steps.
pub trait KemScheme: 'static {
    /// Name in messages. It need not be unique, because handles and programs are distinguished by type.
    const NAME: &'static str;
    /// Sizes of keys, ciphertexts and shared keys.
    const SIZES: Sizes;
    /// Errors of single items that the KEM's kernels report.
    type Error: SchemeError;

    /// Returns the steps of the KEM's operations for devices with these limits.
    ///
    /// # Errors
    /// Fails if a ring of the KEM cannot be built.
    fn steps(limits: &Limits) -> Result<impl Steps>;
}

/// Outputs of an operation and, if it writes one, its [status](crate::status()) output. [`Batch`](crate::Batch) returns
/// zeros for an item whose status is not [`OK`](crate::OK).
pub type Made<'p, const N: usize> = ([Value<'p>; N], Option<Value<'p>>);

/// The operations of a KEM, as steps of a pipeline. All values hold bytes, item after item, with the item sizes of
/// [`KemScheme::SIZES`].
pub trait Steps {
    /// Key generation: seeds (64 bytes per item) → public keys, secret keys. If `random_key` is given, the seeds are
    /// the random blocks ([`RandomBlock`]) that it yields for attempt 0, one per item. Its blocks for later attempts
    /// may replace seeds that yield no key.
    ///
    /// # Errors
    /// Fails if a step cannot be planned.
    fn generate<'p>(&self, p: &'p Pipeline, seeds: Value<'p>, random_key: Option<Value<'p>>) -> Result<Made<'p, 2>>;

    /// Encapsulation: public keys, seeds (32 bytes per item) → ciphertexts, shared keys.
    ///
    /// # Errors
    /// Fails if a step cannot be planned.
    fn encapsulate<'p>(&self, p: &'p Pipeline, public_keys: Value<'p>, seeds: Value<'p>) -> Result<Made<'p, 2>>;

    /// Decapsulation: secret keys, ciphertexts → shared keys.
    ///
    /// # Errors
    /// Fails if a step cannot be planned.
    fn decapsulate<'p>(&self, p: &'p Pipeline, secret_keys: Value<'p>, ciphertexts: Value<'p>) -> Result<Made<'p, 1>>;

    /// Key check: public keys → statuses. Returns `None` if no check is needed, because every byte string is a valid
    /// key.
    ///
    /// # Errors
    /// Fails if a step cannot be planned.
    fn check_public<'p>(&self, p: &'p Pipeline, public_keys: Value<'p>) -> Result<Option<Value<'p>>>;

    /// Key check: secret keys → statuses. Returns `None` if no check is needed, because every byte string is a valid
    /// key.
    ///
    /// # Errors
    /// Fails if a step cannot be planned.
    fn check_secret<'p>(&self, p: &'p Pipeline, secret_keys: Value<'p>) -> Result<Option<Value<'p>>>;
}

/// An operation that a plan runs on each item. The plan's arguments are named `seeds` or `random_key`, `public keys`,
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
    /// Key of a counter-based random generator ([`RandomKey`](ringforge::RandomKey)), from which the plan derives the
    /// seeds.
    RandomKey,
}

impl Operation {
    /// Builds the plan of this operation from the KEM's `steps`. With `checked`, the plan also checks the input keys,
    /// unless the operation itself writes statuses. Returns `None` if the operation is a key check that the KEM does
    /// not need.
    ///
    /// # Errors
    /// Fails if a step cannot be planned.
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

    /// Names of the plan's secret arguments; the tests of a scheme pass them to the test kit.
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
    /// Name of the plan argument that holds this randomness.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Seeds => "seeds",
            Self::RandomKey => "random_key",
        }
    }

    /// Adds this randomness to the pipeline as an input. Returns the seeds, `bytes` bytes per item, and for
    /// [`Randomness::RandomKey`] also the key, from which a new step derives the seeds.
    ///
    /// # Errors
    /// The errors of [`RandomBlock::new`].
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
