//! Plans: sequences of kernels between the caller's inputs and outputs. Items are packed bytes.

use core::iter::zip;

use ringforge::{Engine, Limits, Pipeline, Plan, Planner, Program, Result, Value};

use crate::item::NARROW;
use crate::kernels::{Base, Keys, Stage, Tuning};
use crate::windows::{Mode, Windows};

/// The work of a plan on each item: its inputs, then its outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Private keys to prepared ones.
    Prepare,
    /// Randomness to key pairs.
    Generate,
    /// Private keys to public ones.
    PublicKeys,
    /// Prepared keys, or one for all, and digests to signatures.
    Sign { one_key: bool },
    /// New signatures and statuses for items whose nonce was refused.
    #[cfg(feature = "testkit")]
    SignAgain,
    /// Signatures with a given nonce per item.
    #[cfg(any(feature = "hazmat", feature = "testkit"))]
    SignWithNonces,
    /// Public keys, digests and signatures to statuses.
    Verify,
    /// Tables of keys for many signatures.
    KeyTables,
    /// Like [`Operation::Verify`], with a key number per item, among this many keys with tables.
    VerifyCached(usize),
    /// Public keys, identifiers in slots of `words` words, and their lengths in bytes, to identities. There may be one
    /// identifier for all.
    Identity { words: usize, one_id: bool },
    /// Identities, messages in slots of `words` words, and their lengths in bytes, to digests. There may be one
    /// identity for all.
    Digest { words: usize, one_identity: bool },
}

/// The windows of base points for a device, and the tuning. Together with an operation, they determine a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plans {
    /// The base point's table for secret scalars.
    pub(crate) secret: Base,
    /// The base point's windows for public scalars.
    public: Windows,
    /// The windows of cached keys.
    pub(crate) cached: Windows,
    pub(crate) tuning: Tuning,
}

impl Plans {
    /// For a device with these limits.
    pub(crate) fn new(limits: &Limits, mode: Mode) -> Self {
        // a table of 16-bit windows takes 32 MiB, which fits an H200's cache of 60 MB but no CPU's
        let wide = Windows::of_width(if limits.is_cpu() { 8 } else { 16 });
        Self::with_windows(mode, wide, Windows::of_width(8), Tuning::LARGE)
    }

    /// With small windows and blocks: for tests, and for the emulator.
    #[cfg(feature = "testkit")]
    pub(crate) fn small(mode: Mode) -> Self {
        let small = Windows::of_width(4);
        Self::with_windows(mode, small, small, Tuning::SMALL)
    }

    fn with_windows(mode: Mode, public: Windows, cached: Windows, tuning: Tuning) -> Self {
        let secret = Base { windows: if mode == Mode::Scan { NARROW } else { public }, mode };
        Self { secret, public, cached, tuning }
    }

    /// The plan of an operation.
    pub(crate) fn plan(&self, operation: Operation, planner: &Planner) -> Result<Plan> {
        let Self { secret: base, public, cached, .. } = *self;
        let signed = ["signatures", "statuses"];
        match operation {
            Operation::Prepare => self.only(planner, "prepare", Stage::Prepare, ["private keys"], ["prepared keys"]),
            Operation::Generate => plan(
                planner,
                "generate",
                ["random_key"],
                ["private keys", "public keys", "statuses"],
                |p, random_key| self.step(p, Stage::Public, &self.points(p, false, random_key)),
            ),
            Operation::PublicKeys => {
                plan(planner, "public keys", ["private keys"], ["public keys", "statuses"], |p, keys| {
                    let [_, public, statuses] = self.step(p, Stage::Public, &self.points(p, true, keys));
                    [public, statuses]
                })
            }
            Operation::Sign { one_key } => plan(
                planner,
                "sign",
                ["prepared keys", "digests", "random_key"],
                signed,
                |p, [keys, digests, random_key]| {
                    let [k, points, statuses] =
                        self.step(p, Stage::Nonces { base, one_key }, &[random_key, keys, digests]);
                    let sign = Stage::Sign { one_key, given: false };
                    let [signatures, statuses] = self.step(p, sign, &[keys, digests, k, points, statuses]);
                    self.step(p, Stage::SignAgain { base, one_key }, &[random_key, keys, digests, signatures, statuses])
                },
            ),
            #[cfg(feature = "testkit")]
            Operation::SignAgain => {
                let inputs = ["random_key", "prepared keys", "digests", "signatures", "statuses"];
                self.only(planner, "sign again", Stage::SignAgain { base, one_key: false }, inputs, signed)
            }
            #[cfg(any(feature = "hazmat", feature = "testkit"))]
            Operation::SignWithNonces => {
                let inputs = ["prepared keys", "digests", "nonces"];
                plan(planner, "sign with nonces", inputs, signed, |p, [keys, digests, nonces]| {
                    let [k, points, statuses] = self.points(p, true, [nonces]);
                    self.step(p, Stage::Sign { one_key: false, given: true }, &[keys, digests, k, points, statuses])
                })
            }
            Operation::Verify => {
                let inputs = ["public keys", "digests", "signatures"];
                plan(planner, "verify", inputs, ["statuses"], |p, [keys, digests, signatures]| {
                    let [tables] = self.step(p, Stage::Table { windows: NARROW.lowest_row(), shared: false }, &[keys]);
                    let verify = Stage::Verify { base: public, keys: Keys::Each(NARROW) };
                    self.step(p, verify, &[keys, digests, signatures, tables])
                })
            }
            Operation::KeyTables => {
                let table = Stage::Table { windows: cached, shared: false };
                self.only(planner, "key tables", table, ["public keys"], ["tables"])
            }
            Operation::VerifyCached(keys) => {
                let verify = Stage::Verify { base: public, keys: Keys::Cached(cached, keys) };
                let inputs = ["numbers", "digests", "signatures", "tables"];
                self.only(planner, "verify, cached keys", verify, inputs, ["statuses"])
            }
            Operation::Identity { words, one_id } => {
                let identity = Stage::Identity { words, one_id };
                self.only(planner, "identity", identity, ["identifiers", "lengths", "public keys"], ["identities"])
            }
            Operation::Digest { words, one_identity } => {
                let digest = Stage::Digest { words, one_identity };
                self.only(planner, "digest", digest, ["identities", "messages", "lengths"], ["digests"])
            }
        }
    }

    /// The plan of one stage.
    fn only<const I: usize, const O: usize>(
        &self,
        planner: &Planner,
        title: &str,
        stage: Stage,
        inputs: [&str; I],
        outputs: [&str; O],
    ) -> Result<Plan> {
        plan(planner, title, inputs, outputs, |p, inputs| self.step(p, stage, &inputs))
    }

    /// Scalars, given or random, their multiples of the base point, and statuses.
    fn points<'p>(&self, p: &'p Pipeline, given: bool, source: [Value<'p>; 1]) -> [Value<'p>; 3] {
        self.step(p, Stage::Points { base: self.secret, given }, &source)
    }

    fn step<'p, const N: usize>(&self, p: &'p Pipeline, stage: Stage, inputs: &[Value<'p>]) -> [Value<'p>; N] {
        p.step(stage.kernel(self.tuning), inputs)
    }
}

/// The plan of these steps, with these names of inputs and outputs.
fn plan<const I: usize, const O: usize>(
    planner: &Planner,
    title: &str,
    inputs: [&str; I],
    outputs: [&str; O],
    steps: impl for<'p> FnOnce(&'p Pipeline, [Value<'p>; I]) -> [Value<'p>; O],
) -> Result<Plan> {
    let p = planner.pipeline(format!("SM2 {title}"));
    let values = steps(&p, inputs.map(|name| p.input(name)));
    zip(outputs, values).for_each(|(name, value)| p.output(name, value));
    p.build()
}

/// The programs of these plans, in an engine.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    pub(crate) engine: Engine,
    pub(crate) plans: Plans,
}

impl Programs {
    /// The program of an operation, compiled on first use.
    pub(crate) fn get(&self, operation: Operation) -> Result<Program> {
        self.engine.program_of(&(self.plans, operation), |planner| self.plans.plan(operation, planner))
    }

    /// Compiles the programs of these operations now.
    pub(crate) fn ready<const N: usize>(self, operations: [Operation; N]) -> Result<Self> {
        operations.into_iter().try_for_each(|operation| self.get(operation).map(drop))?;
        Ok(self)
    }
}
