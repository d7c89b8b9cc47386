//! Plans: sequences of kernels between the caller's inputs and outputs.

use core::iter::zip;

use ringforge::{Engine, Limits, Pipeline, Plan, Planner, Program, Result, Value};

use crate::item::NARROW;
use crate::kernels::{Base, Keys, Stage, Tuning};
use crate::windows::{Mode, Windows};

/// The operations on batches, by what they compute for each item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Prepares private keys d for signing: computes (1 + d)^-1 mod n.
    Prepare,
    /// Generates key pairs from a random generator key.
    Generate,
    /// Computes public keys of private keys.
    PublicKeys,
    /// Signs digests with keys from [`Operation::Prepare`]: one per item, or one for all items.
    Sign { one_key: bool },
    /// Re-signs items whose nonce was rejected, with new nonces.
    #[cfg(feature = "testkit")]
    SignAgain,
    /// Signs digests with a given nonce per item.
    #[cfg(any(feature = "hazmat", feature = "testkit"))]
    SignWithNonces,
    /// Verifies signatures of digests with one public key per item.
    Verify,
    /// Computes tables of public keys, for verifying many signatures by few keys.
    KeyTables,
    /// Like [`Operation::Verify`], with a key number per item. The field is the number of keys, each of which has a
    /// table.
    VerifyCached(usize),
    /// Computes Z_A of public keys and identifiers. Identifiers are in slots of `words` words, each with its length in
    /// bytes. If `one_id` is true, all keys have the same identifier.
    Identity { words: usize, one_id: bool },
    /// Computes digests of messages. Messages are in slots of `words` words, each with its length in bytes. If
    /// `one_identity` is true, all messages have the same Z_A.
    Digest { words: usize, one_identity: bool },
}

/// The shapes of the tables and the kernels' tuning for a device. Together with an operation, they determine a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plans {
    /// The table of the base point for secret scalars.
    pub(crate) secret: Base,
    /// The shape of the base point's table for public scalars.
    public: Windows,
    /// The shape of cached public keys' tables.
    pub(crate) cached: Windows,
    pub(crate) tuning: Tuning,
}

impl Plans {
    /// Chooses windows and tuning for a device with these limits.
    pub(crate) fn new(limits: &Limits, mode: Mode) -> Self {
        // a table of 16-bit windows takes 32 MiB: it fits an H200's L2 cache of 60 MB, but not a CPU core's L2 cache
        let wide = Windows::of_width(if limits.is_cpu() { 8 } else { 16 });
        Self::with_windows(mode, wide, Windows::of_width(8), Tuning::LARGE)
    }

    /// Chooses small windows and blocks, for tests, also with an emulator.
    #[cfg(feature = "testkit")]
    pub(crate) fn small(mode: Mode) -> Self {
        let small = Windows::of_width(4);
        Self::with_windows(mode, small, small, Tuning::SMALL)
    }

    fn with_windows(mode: Mode, public: Windows, cached: Windows, tuning: Tuning) -> Self {
        let secret = Base { windows: if mode == Mode::Scan { NARROW } else { public }, mode };
        Self { secret, public, cached, tuning }
    }

    /// Returns the plan of an operation.
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

    /// Returns a plan that consists of one kernel.
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

    /// Adds the kernel that writes scalars k (given or random), the points k G for the base point G, and statuses.
    fn points<'p>(&self, p: &'p Pipeline, given: bool, source: [Value<'p>; 1]) -> [Value<'p>; 3] {
        self.step(p, Stage::Points { base: self.secret, given }, &source)
    }

    fn step<'p, const N: usize>(&self, p: &'p Pipeline, stage: Stage, inputs: &[Value<'p>]) -> [Value<'p>; N] {
        p.step(stage.kernel(self.tuning), inputs)
    }
}

/// Returns a plan with the kernels that `steps` adds. `inputs` and `outputs` are the names of its inputs and outputs.
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

/// The compiled programs of these plans, which the engine caches.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    pub(crate) engine: Engine,
    pub(crate) plans: Plans,
}

impl Programs {
    /// Returns the program of an operation. The first call compiles it.
    pub(crate) fn get(&self, operation: Operation) -> Result<Program> {
        self.engine.program_of(&(self.plans, operation), |planner| self.plans.plan(operation, planner))
    }

    /// Compiles the programs of these operations.
    pub(crate) fn ready<const N: usize>(self, operations: [Operation; N]) -> Result<Self> {
        operations.into_iter().try_for_each(|operation| self.get(operation).map(drop))?;
        Ok(self)
    }
}
