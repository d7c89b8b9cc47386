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

/// What a key is expanded to once, so that each signature needs less work.
#[derive(Debug, Clone, Copy)]
pub struct Prepared<T> {
    /// The hash of the public key that goes into the representative of a message.
    pub hash: T,
    /// The key in the form that signing or verification reads.
    pub expanded: [T; 2],
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

    /// Secret keys → what signing reads.
    fn signing_keys<'p>(&self, p: &'p Pipeline, secret_keys: Value<'p>) -> Result<Prepared<Value<'p>>>;

    /// Public keys → what verification reads.
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

    /// An attempt at a signature: expanded keys; representatives, seeds of attempts, numbers of attempts → signatures,
    /// statuses. The status is [`OK`](crate::OK) or [`AGAIN`](ringforge::run::AGAIN). A signature may have more bytes than
    /// [`SignatureSizes::signature`] here: a multiple of 4.
    fn attempt<'p>(
        &self,
        p: &'p Pipeline,
        keys: Keys,
        expanded: [Value<'p>; 2],
        inputs: [Value<'p>; 3],
    ) -> Result<[Value<'p>; 2]>;

    /// Signatures of attempts, statuses → signatures, with zeros for items that are not ok.
    fn release<'p>(&self, p: &'p Pipeline, signatures: Value<'p>, statuses: Value<'p>) -> Result<Value<'p>>;

    /// Verification: expanded keys; representatives, signatures → statuses.
    fn verify<'p>(
        &self,
        p: &'p Pipeline,
        keys: Keys,
        expanded: [Value<'p>; 2],
        inputs: [Value<'p>; 2],
    ) -> Result<Value<'p>>;
}

/// An operation that a plan runs on each item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SignatureOperation {
    /// `seeds` or `random_key` → `public keys`, `secret keys`.
    Generate(Randomness),
    /// `secret keys` → `hashes`, `expanded 0`, `expanded 1`.
    SigningKeys,
    /// `public keys` → `hashes`, `expanded 0`, `expanded 1`.
    VerifyingKeys,
    /// `hashes`, `messages` (slots of this many bytes) → `representatives`.
    Represent(Keys, usize),
    /// `secret keys`, `seeds` or `random_key`, `representatives` → `seeds of attempts`.
    Begin(Keys, Randomness),
    /// `expanded 0`, `expanded 1`, `representatives`, `seeds of attempts`, `attempt` → `signatures`, `statuses`.
    Attempt(Keys),
    /// `signatures of attempts`, `statuses` → `signatures`.
    Release,
    /// `expanded 0`, `expanded 1`, `representatives`, `signatures` → `statuses`.
    Verify(Keys),
}

pub(crate) const EXPANDED: [&str; 2] = ["expanded 0", "expanded 1"];

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
        let expanded = || EXPANDED.map(|name| p.input(name));
        let prepared = |of: Prepared<Value<'_>>| {
            p.output("hashes", of.hash);
            EXPANDED.iter().zip(of.expanded).for_each(|(name, value)| p.output(name, value));
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
                let [signatures, statuses] = steps.attempt(p, keys, expanded(), inputs)?;
                p.output("signatures", signatures);
                p.output("statuses", statuses);
            }
            Self::Release => {
                let [signatures, statuses] = ["signatures of attempts", "statuses"].map(|name| p.input(name));
                p.output("signatures", steps.release(p, signatures, statuses)?);
            }
            Self::Verify(keys) => {
                let inputs = ["representatives", "signatures"].map(|name| p.input(name));
                p.output("statuses", steps.verify(p, keys, expanded(), inputs)?);
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
            Self::SigningKeys => &["secret keys", "hashes", "expanded 0", "expanded 1"],
            Self::Begin(_, Randomness::Seeds) => &["secret keys", "seeds", "seeds of attempts"],
            Self::Begin(_, Randomness::RandomKey) => &["secret keys", "random_key", "seeds of attempts"],
            Self::Attempt(_) => &["expanded 1", "seeds of attempts"],
            Self::VerifyingKeys | Self::Represent(..) | Self::Release | Self::Verify(_) => &[],
        }
    }
}
