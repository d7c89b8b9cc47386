//! [`SignatureScheme`] and [`SignatureSteps`]: the traits that a signature scheme implements to run in
//! [`Signatures`](crate::Signatures).

use ringforge::{Limits, Pipeline, Plan, Planner, Result, Value};

use crate::kem_scheme::Randomness;
use crate::status::SchemeError;

/// Sizes of the items of a signature scheme, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SignatureSizes {
    /// A public key.
    pub public_key: usize,
    /// A secret key.
    pub secret_key: usize,
    /// A signature.
    pub signature: usize,
    /// The seed of a key pair, and the randomness of a signature: 32 or 64 bytes.
    pub seed: usize,
}

/// A signature scheme that [`Signatures`](crate::Signatures) can run: its name, item sizes, errors and steps.
pub trait SignatureScheme: 'static {
    /// Name in messages. It need not be unique, because keys and programs are distinguished by type.
    const NAME: &'static str;
    /// Sizes of keys and signatures.
    const SIZES: SignatureSizes;
    /// The most attempts at a signature.
    const ATTEMPTS: u32;
    /// Errors of single items that the scheme's kernels report.
    type Error: SchemeError;

    /// Returns the steps of the scheme's operations for devices with these limits.
    ///
    /// # Errors
    /// Fails if a ring of the scheme cannot be built.
    fn steps(limits: &Limits) -> Result<impl SignatureSteps>;
}

/// Whether each item has a key of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Keys {
    /// All items have the same key.
    One,
    /// Item i has key i.
    PerItem,
}

impl Keys {
    /// Whether all items have the same key.
    #[must_use]
    pub const fn is_one(self) -> bool {
        matches!(self, Self::One)
    }
}

/// The expanded form of a key. It is computed once, so that each signature needs less work.
#[derive(Debug, Clone, Copy)]
pub struct Prepared<T> {
    /// The hash of the public key that goes into the representative of a message.
    pub hash: T,
    /// The part that both signing and verification read.
    pub common: T,
    /// The part that only verification reads.
    pub public: T,
    /// The part that only signing reads. `None` for a public key.
    pub secret: Option<T>,
}

/// The operations of a signature scheme, as steps of a pipeline. All values hold bytes, item after item. The
/// representative of a message is the hash that is signed.
///
/// # Errors
/// Every method fails if a step cannot be planned.
#[allow(clippy::missing_errors_doc, reason = "the trait's documentation says it")]
pub trait SignatureSteps {
    /// Key generation: seeds → public keys, secret keys.
    fn generate<'p>(&self, p: &'p Pipeline, seeds: Value<'p>) -> Result<[Value<'p>; 2]>;

    /// Secret keys → expanded keys, with the part for signing.
    fn signing_keys<'p>(&self, p: &'p Pipeline, secret_keys: Value<'p>) -> Result<Prepared<Value<'p>>>;

    /// Public keys → expanded keys.
    fn verifying_keys<'p>(&self, p: &'p Pipeline, public_keys: Value<'p>) -> Result<Prepared<Value<'p>>>;

    /// Hashes of keys, slots of messages → representatives. A slot has `slot` bytes: the length of the message as a
    /// 64-bit word, the message, and zeros.
    fn represent<'p>(
        &self,
        p: &'p Pipeline,
        keys: Keys,
        hash: Value<'p>,
        slots: Value<'p>,
        slot: usize,
    ) -> Result<Value<'p>>;

    /// The start of a signature: secret keys, randomness, representatives → seeds of attempts.
    fn begin<'p>(&self, p: &'p Pipeline, keys: Keys, inputs: [Value<'p>; 3]) -> Result<Value<'p>>;

    /// An attempt at a signature: the parts `common` and `secret` of keys; representatives, seeds of attempts, numbers of
    /// attempts → slots of signatures, statuses. The status is [`OK`](crate::OK) or [`AGAIN`](ringforge::run::AGAIN). A slot
    /// may have more bytes than a signature; their number is a multiple of 4.
    fn attempt<'p>(
        &self,
        p: &'p Pipeline,
        keys: Keys,
        prepared: [Value<'p>; 2],
        inputs: [Value<'p>; 3],
    ) -> Result<[Value<'p>; 2]>;

    /// Signatures → slots of signatures.
    fn open<'p>(&self, p: &'p Pipeline, signatures: Value<'p>) -> Result<Value<'p>>;

    /// Verification: the parts `common` and `public` of keys; representatives, slots of signatures → statuses.
    fn verify<'p>(
        &self,
        p: &'p Pipeline,
        keys: Keys,
        prepared: [Value<'p>; 2],
        inputs: [Value<'p>; 2],
    ) -> Result<Value<'p>>;

    /// Slots of signatures, statuses of attempts, statuses of verification → signatures, statuses. A signature is zero
    /// unless both statuses are [`OK`](crate::OK).
    fn release<'p>(&self, p: &'p Pipeline, inputs: [Value<'p>; 3]) -> Result<[Value<'p>; 2]>;
}

/// An operation that a plan runs on each item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SignatureOperation {
    /// `seeds` or `random_key` → `public keys`, `secret keys`.
    Generate(Randomness),
    /// `secret keys` → `hashes`, `common`, `public`, `secret`.
    SigningKeys,
    /// `public keys` → `hashes`, `common`, `public`.
    VerifyingKeys,
    /// `hashes`, `messages` (slots of this many bytes) → `representatives`.
    Represent(Keys, usize),
    /// `secret keys`, `seeds` or `random_key`, `representatives` → `seeds of attempts`.
    Begin(Keys, Randomness),
    /// `common`, `secret`, `representatives`, `seeds of attempts`, `attempt` → `slots`, `statuses`.
    Attempt(Keys),
    /// `slots`, `attempted` (the statuses of attempts) → `signatures`, `statuses`.
    Release,
    /// The same for signatures that are verified first: `common`, `public`, `representatives`, `slots`, `attempted` →
    /// `signatures`, `statuses`.
    VerifiedRelease(Keys),
    /// `common`, `public`, `representatives`, `signatures` → `statuses`.
    Verify(Keys),
    /// `public keys`, `messages` (slots of this many bytes), `signatures` → `statuses`.
    VerifyMessages(Keys, usize),
}

impl SignatureOperation {
    /// Builds the plan of this operation from the scheme's `steps`.
    ///
    /// # Errors
    /// Fails if a step cannot be planned.
    pub fn plan<M: SignatureScheme>(self, planner: &Planner) -> Result<Plan> {
        let p = planner.pipeline(format!("{} {self:?}", M::NAME));
        self.add::<M>(&p)?;
        p.build()
    }

    /// Adds the steps of this operation to an empty pipeline.
    ///
    /// # Errors
    /// Fails if a step cannot be planned.
    pub(crate) fn add<M: SignatureScheme>(self, p: &Pipeline) -> Result<()> {
        let (steps, sizes) = (M::steps(p.limits())?, M::SIZES);
        let prepared = |of: Prepared<Value<'_>>| {
            let parts = [("hashes", Some(of.hash)), ("common", Some(of.common)), ("public", Some(of.public))];
            for (name, value) in parts.into_iter().chain([("secret", of.secret)]) {
                value.into_iter().for_each(|value| p.output(name, value));
            }
        };
        let signed = |[signatures, statuses]: [Value<'_>; 2]| {
            p.output("signatures", signatures);
            p.output("statuses", statuses);
        };
        match self {
            Self::Generate(from) => {
                let [public, secret] = steps.generate(p, from.seeds(p, sizes.seed)?.0)?;
                p.output("public keys", public);
                p.output("secret keys", secret);
            }
            Self::SigningKeys => prepared(steps.signing_keys(p, p.bytes("secret keys", sizes.secret_key).secret())?),
            Self::VerifyingKeys => prepared(steps.verifying_keys(p, p.bytes("public keys", sizes.public_key))?),
            Self::Represent(keys, slot) => {
                p.output("representatives", steps.represent(p, keys, p.input("hashes"), p.input("messages"), slot)?);
            }
            Self::Begin(keys, from) => {
                let (random, _) = from.seeds(p, sizes.seed)?;
                let inputs = [p.input("secret keys"), random, p.input("representatives")];
                p.output("seeds of attempts", steps.begin(p, keys, inputs)?);
            }
            Self::Attempt(keys) => {
                let inputs = ["representatives", "seeds of attempts", "attempt"].map(|name| p.input(name));
                let [slots, statuses] = steps.attempt(p, keys, [p.input("common"), p.input("secret")], inputs)?;
                p.output("slots", slots);
                p.output("statuses", statuses);
            }
            Self::Release => {
                let [slots, attempted] = ["slots", "attempted"].map(|name| p.input(name));
                signed(steps.release(p, [slots, attempted, attempted])?);
            }
            Self::VerifiedRelease(keys) => {
                let [representatives, slots, attempted] =
                    ["representatives", "slots", "attempted"].map(|name| p.input(name));
                let of_key = [p.input("common"), p.input("public")];
                let verified = steps.verify(p, keys, of_key, [representatives, slots])?;
                signed(steps.release(p, [slots, attempted, verified])?);
            }
            Self::VerifyMessages(keys, slot) => {
                let public_keys = match keys {
                    Keys::One => p.shared("public keys", sizes.public_key),
                    Keys::PerItem => p.bytes("public keys", sizes.public_key),
                };
                let Prepared { hash, common, public, .. } = steps.verifying_keys(p, public_keys)?;
                let representatives = steps.represent(p, keys, hash, p.input("messages"), slot)?;
                let slots = steps.open(p, p.input("signatures"))?;
                p.output("statuses", steps.verify(p, keys, [common, public], [representatives, slots])?);
            }
            Self::Verify(keys) => {
                let slots = steps.open(p, p.input("signatures"))?;
                let of_key = [p.input("common"), p.input("public")];
                p.output("statuses", steps.verify(p, keys, of_key, [p.input("representatives"), slots])?);
            }
        }
        Ok(())
    }

    /// Names of the plan's secret arguments; the tests of a scheme pass them to the test kit.
    #[must_use]
    pub const fn secrets(self) -> &'static [&'static str] {
        match self {
            Self::Generate(Randomness::Seeds) => &["seeds", "secret keys"],
            Self::Generate(Randomness::RandomKey) => &["random_key", "secret keys"],
            Self::SigningKeys => &["secret keys", "hashes", "common", "public", "secret"],
            Self::Begin(_, Randomness::Seeds) => &["secret keys", "seeds", "seeds of attempts"],
            Self::Begin(_, Randomness::RandomKey) => &["secret keys", "random_key", "seeds of attempts"],
            Self::Attempt(_) => &["secret", "seeds of attempts"],
            Self::VerifyingKeys
            | Self::Represent(..)
            | Self::Release
            | Self::VerifiedRelease(_)
            | Self::Verify(_)
            | Self::VerifyMessages(..) => &[],
        }
    }
}
