//! Plans: kernels in order, from the caller's arguments to the caller's arguments. Items are tight bytes.

use core::iter::zip;

use ringforge::{Limits, Pipeline, Plan, Planner, Result, Value};

use crate::item::NARROW;
use crate::kernels::{Base, Keys, Stage, Tuning};
use crate::windows::{Mode, Windows};

/// The windows of base points for a device, and how kernels are cut up.
#[derive(Debug, Clone)]
pub(crate) struct Plans {
    planner: Planner,
    /// The base point where its scalar is secret.
    pub(crate) secret: Base,
    /// The base point's windows where its scalar is public.
    public: Windows,
    /// The windows of cached keys.
    pub(crate) cached: Windows,
    pub(crate) tuning: Tuning,
}

impl Plans {
    /// For a device with these limits.
    pub(crate) fn new(limits: &Limits, mode: Mode) -> Self {
        // a table of 16-bit windows takes 32 MiB: it fits an H200's cache of 60 MB, and no CPU's
        let wide = Windows::of_width(if limits.is_cpu() { 8 } else { 16 });
        Self::with_windows(limits, mode, wide, Windows::of_width(8), Tuning::LARGE)
    }

    fn with_windows(limits: &Limits, mode: Mode, public: Windows, cached: Windows, tuning: Tuning) -> Self {
        let secret = Base { windows: if mode == Mode::Scan { NARROW } else { public }, mode };
        Self { planner: Planner::new(limits.clone()), secret, public, cached, tuning }
    }

    pub(crate) fn prepare(&self) -> Result<Plan> {
        self.plan("SM2 prepare", ["private keys"], ["prepared keys"], |p, keys| self.step(p, Stage::Prepare, &keys))
    }

    pub(crate) fn generate(&self) -> Result<Plan> {
        self.plan("SM2 generate", ["draws"], ["private keys", "public keys", "statuses"], |p, draws| {
            self.step(p, Stage::Public, &self.points(p, false, draws))
        })
    }

    pub(crate) fn public_keys(&self) -> Result<Plan> {
        self.plan("SM2 public keys", ["private keys"], ["public keys", "statuses"], |p, keys| {
            let [_, public, statuses] = self.step(p, Stage::Public, &self.points(p, true, keys));
            [public, statuses]
        })
    }

    /// With prepared keys, or one for all.
    pub(crate) fn sign(&self, one_key: bool) -> Result<Plan> {
        let inputs = ["prepared keys", "digests", "draws"];
        self.plan("SM2 sign", inputs, ["signatures", "statuses"], |p, [keys, digests, draws]| {
            let nonces = Stage::Nonces { base: self.secret, one_key };
            let [nonces, points, statuses] = self.step(p, nonces, &[draws, keys, digests]);
            let sign = Stage::Sign { one_key, given: false };
            let [signatures, statuses] = self.step(p, sign, &[keys, digests, nonces, points, statuses]);
            let again = Stage::SignAgain { base: self.secret, one_key };
            self.step(p, again, &[draws, keys, digests, signatures, statuses])
        })
    }

    /// Signatures and statuses anew where the nonce was refused.
    #[cfg(feature = "testkit")]
    pub(crate) fn sign_again(&self) -> Result<Plan> {
        let inputs = ["draws", "prepared keys", "digests", "signatures", "statuses"];
        let again = Stage::SignAgain { base: self.secret, one_key: false };
        self.plan("SM2 sign again", inputs, ["signatures", "statuses"], |p, inputs| self.step(p, again, &inputs))
    }

    /// With a nonce for each item.
    #[cfg(any(feature = "hazmat", feature = "testkit"))]
    pub(crate) fn sign_with_nonces(&self) -> Result<Plan> {
        let inputs = ["prepared keys", "digests", "nonces"];
        self.plan("SM2 sign with nonces", inputs, ["signatures", "statuses"], |p, [keys, digests, nonces]| {
            let [nonces, points, statuses] = self.points(p, true, [nonces]);
            let sign = Stage::Sign { one_key: false, given: true };
            self.step(p, sign, &[keys, digests, nonces, points, statuses])
        })
    }

    pub(crate) fn verify(&self) -> Result<Plan> {
        let inputs = ["public keys", "digests", "signatures"];
        self.plan("SM2 verify", inputs, ["statuses"], |p, [keys, digests, signatures]| {
            let [tables] = self.step(p, Stage::Table { windows: NARROW.lowest_row(), shared: false }, &[keys]);
            let verify = Stage::Verify { base: self.public, keys: Keys::Each(NARROW) };
            self.step(p, verify, &[keys, digests, signatures, tables])
        })
    }

    /// Tables of keys for many signatures.
    pub(crate) fn cache(&self) -> Result<Plan> {
        let table = Stage::Table { windows: self.cached, shared: false };
        self.plan("SM2 key tables", ["public keys"], ["tables"], |p, keys| self.step(p, table, &keys))
    }

    /// By the numbers of `keys` keys that have tables.
    pub(crate) fn verify_cached(&self, keys: usize) -> Result<Plan> {
        let verify = Stage::Verify { base: self.public, keys: Keys::Cached(self.cached, keys) };
        let inputs = ["numbers", "digests", "signatures", "tables"];
        self.plan("SM2 verify, cached keys", inputs, ["statuses"], |p, inputs| self.step(p, verify, &inputs))
    }

    /// With identifiers in slots of `words` words and their lengths in bytes, or one of each.
    pub(crate) fn identity(&self, words: usize, one_id: bool) -> Result<Plan> {
        let identity = Stage::Identity { words, one_id };
        let inputs = ["identifiers", "lengths", "public keys"];
        self.plan("SM2 identity", inputs, ["identities"], |p, inputs| self.step(p, identity, &inputs))
    }

    /// With identities, or one, and messages in slots of `words` words, their lengths in bytes.
    pub(crate) fn digest(&self, words: usize, one_identity: bool) -> Result<Plan> {
        let digest = Stage::Digest { words, one_identity };
        let inputs = ["identities", "messages", "lengths"];
        self.plan("SM2 digest", inputs, ["digests"], |p, inputs| self.step(p, digest, &inputs))
    }

    /// Scalars, given or drawn, their multiples of the base point, and statuses.
    fn points<'p>(&self, p: &'p Pipeline, given: bool, source: [Value<'p>; 1]) -> [Value<'p>; 3] {
        self.step(p, Stage::Points { base: self.secret, given }, &source)
    }

    fn step<'p, const N: usize>(&self, p: &'p Pipeline, stage: Stage, inputs: &[Value<'p>]) -> [Value<'p>; N] {
        p.step(stage.kernel(self.tuning), inputs)
    }

    /// The plan of these steps, from inputs to outputs.
    fn plan<const I: usize, const O: usize>(
        &self,
        title: &str,
        inputs: [&str; I],
        outputs: [&str; O],
        steps: impl for<'p> FnOnce(&'p Pipeline, [Value<'p>; I]) -> [Value<'p>; O],
    ) -> Result<Plan> {
        let p = Pipeline::new(title, &self.planner);
        let values = steps(&p, inputs.map(|name| p.input(name)));
        zip(outputs, values).for_each(|(name, value)| p.output(name, value));
        p.build()
    }
}

#[cfg(feature = "testkit")]
impl Plans {
    /// With small windows and blocks: for tests, and a CPU that runs the text.
    pub(crate) fn small(limits: &Limits, mode: Mode) -> Self {
        let small = Windows::of_width(4);
        Self::with_windows(limits, mode, small, small, Tuning::SMALL)
    }
}
