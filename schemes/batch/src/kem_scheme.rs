//! What a scheme gives, so that a [`Batch`](crate::Batch) can run it.

use ringforge::kernels::Draw;
use ringforge::{Limits, Pipeline, Plan, Planner, Result, Value};

use crate::sizes::{ENCAPSULATION_SEED, KEY_SEED, Sizes};
use crate::status::SchemeError;

/// A key encapsulation mechanism: its name, its sizes, and its steps.
pub trait KemScheme: 'static {
    /// The name, for people; handles belong to the type.
    const NAME: &'static str;
    /// Sizes of items.
    const SIZES: Sizes;
    /// What its kernels find wrong with items.
    type Error: SchemeError;

    /// Its steps, on devices with some limits.
    ///
    /// # Errors
    /// What makes its rings fail.
    fn steps(limits: &Limits) -> Result<impl Steps>;
}

/// What an operation gives of each item, and its [status](crate::status()) where it writes one: outputs are then zero
/// where that is not fine.
pub type Made<'p, const N: usize> = ([Value<'p>; N], Option<Value<'p>>);

/// The steps of a key encapsulation mechanism: all values are tight bytes, of the mechanism's sizes.
pub trait Steps {
    /// From seeds, 64 bytes an item, to public and secret keys. Seeds are drawn by attempt 0 of `draws`, where there are any;
    /// later attempts may be used for seeds that give no key.
    ///
    /// # Errors
    /// What makes planning fail, as for all others.
    fn generate<'p>(&self, p: &'p Pipeline, seeds: Value<'p>, draws: Option<Value<'p>>) -> Result<Made<'p, 2>>;

    /// From public keys and seeds, 32 bytes an item, to ciphertexts and shared keys.
    ///
    /// # Errors
    /// What makes planning fail.
    fn encapsulate<'p>(&self, p: &'p Pipeline, public_keys: Value<'p>, seeds: Value<'p>) -> Result<Made<'p, 2>>;

    /// From secret keys and ciphertexts to shared keys.
    ///
    /// # Errors
    /// What makes planning fail.
    fn decapsulate<'p>(&self, p: &'p Pipeline, secret_keys: Value<'p>, ciphertexts: Value<'p>) -> Result<Made<'p, 1>>;

    /// From public keys to statuses; nothing where any bytes are one.
    ///
    /// # Errors
    /// What makes planning fail.
    fn check_public<'p>(&self, p: &'p Pipeline, public_keys: Value<'p>) -> Result<Option<Value<'p>>>;

    /// From secret keys to statuses.
    ///
    /// # Errors
    /// What makes planning fail.
    fn check_secret<'p>(&self, p: &'p Pipeline, secret_keys: Value<'p>) -> Result<Option<Value<'p>>>;
}

/// What a plan does to each item. Its arguments are named `seeds` or `draws`, `public keys`, `secret keys`, `ciphertexts`,
/// `shared keys` and `statuses`.
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

impl Operation {
    /// The plan of this operation by these steps, with keys checked if that is wanted and the steps do not do so anyway;
    /// nothing for a check of what needs none.
    ///
    /// # Errors
    /// What makes planning fail.
    pub fn plan(self, name: &str, steps: &impl Steps, checked: bool, planner: &Planner) -> Result<Option<Plan>> {
        let p = planner.pipeline(format!("{name} {self:?}{}", if checked { ", checked" } else { "" }));
        let statuses = match self {
            Self::Generate(from) => {
                let (seeds, draws) = from.seeds(&p, KEY_SEED)?;
                let ([public, secret], statuses) = steps.generate(&p, seeds, draws)?;
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

    /// The arguments of its plans that must be secret; tests of a scheme give them to the
    /// test kit.
    #[must_use]
    pub const fn secrets(self) -> &'static [&'static str] {
        match self {
            Self::Generate(Randomness::Seeds) => &["seeds", "secret keys"],
            Self::Generate(Randomness::Draws) => &["draws", "secret keys"],
            Self::Encapsulate(Randomness::Seeds) => &["seeds", "shared keys"],
            Self::Encapsulate(Randomness::Draws) => &["draws", "shared keys"],
            Self::Decapsulate => &["secret keys", "shared keys"],
            Self::CheckPublicKeys => &[],
            Self::CheckSecretKeys => &["secret keys"],
        }
    }
}

impl Randomness {
    /// What it is called among a plan's arguments.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Seeds => "seeds",
            Self::Draws => "draws",
        }
    }

    /// The seeds of items, of so many bytes, and the draws that they come from.
    ///
    /// # Errors
    /// As [`Draw::new`].
    pub fn seeds(self, p: &Pipeline, bytes: usize) -> Result<(Value<'_>, Option<Value<'_>>)> {
        Ok(match self {
            Self::Seeds => (p.input(self.name()), None),
            Self::Draws => {
                let draws = p.input(self.name());
                let [seeds] = p.step(Draw::new(bytes, 0)?, &[draws]);
                (seeds, Some(draws))
            }
        })
    }
}
