//! Plans: kernels in order, from the caller's arguments to the caller's arguments. Items are tight bytes.

use std::sync::Arc;

use ringforge::{Limits, Plan, Result, Slot, Step, Table};

use crate::item::NARROW;
use crate::kernels::{Keys, Sm2Kernel, Stage, Tuning};
use crate::point::Affine;
use crate::windows::{Mode, Windows};

use Slot::{Arg, Temp};

/// The windows of base points for a device, and how kernels are cut up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plans {
    /// The base point's windows where its scalar is secret.
    pub(crate) secret: Windows,
    /// The base point's windows where its scalar is public.
    pub(crate) public: Windows,
    /// The windows of cached keys.
    pub(crate) cached: Windows,
    pub(crate) mode: Mode,
    pub(crate) tuning: Tuning,
}

impl Plans {
    /// For a device with these limits.
    pub(crate) fn new(limits: &Limits, mode: Mode) -> Self {
        // a table of 16-bit windows takes 32 MiB: it fits an H200's cache of 60 MB, and no CPU's
        let wide = Windows::of_width(if limits.is_cpu() { 8 } else { 16 });
        let secret = if mode == Mode::Scan { NARROW } else { wide };
        Self { secret, public: wide, cached: Windows::of_width(8), mode, tuning: Tuning::LARGE }
    }

    /// Private keys → prepared keys.
    pub(crate) fn prepare(&self) -> Result<Plan> {
        Plan::new("SM2 prepare", vec![self.step(Stage::Prepare, vec![Arg(0), Arg(1)])])
    }

    /// Draws → private keys, public keys, statuses.
    pub(crate) fn generate(&self) -> Result<Plan> {
        let public = self.step(Stage::Public, vec![Temp(0), Temp(1), Arg(1), Arg(2), Arg(3)]);
        Plan::new("SM2 generate", vec![self.points(false, Arg(0), Arg(3)), public])
    }

    /// Private keys → public keys, statuses.
    pub(crate) fn public_keys(&self) -> Result<Plan> {
        let public = self.step(Stage::Public, vec![Temp(0), Temp(1), Temp(2), Arg(1), Arg(2)]);
        Plan::new("SM2 public keys", vec![self.points(true, Arg(0), Arg(2)), public])
    }

    /// Prepared keys (or one), digests, draws → signatures, statuses.
    pub(crate) fn sign(&self, one_key: bool) -> Result<Plan> {
        let nonces = Stage::Nonces { base: self.secret, mode: self.mode, one_key };
        let sign = Stage::Sign { one_key, given: false };
        let steps = vec![
            self.step(nonces, vec![Arg(2), self.base(self.secret), Arg(0), Arg(1), Temp(0), Temp(1), Arg(4)]),
            self.step(sign, vec![Arg(0), Arg(1), Temp(0), Temp(1), Arg(3), Arg(4)]),
            self.sign_again_step(one_key),
        ];
        Plan::new("SM2 sign", steps)
    }

    /// Draws, prepared keys (or one), digests, signatures, statuses → the last two, where the nonce was refused.
    #[cfg(feature = "testkit")]
    pub(crate) fn sign_again(&self, one_key: bool) -> Result<Plan> {
        Plan::new("SM2 sign again", vec![self.sign_again_step(one_key)])
    }

    fn sign_again_step(&self, one_key: bool) -> Step {
        let stage = Stage::SignAgain { base: self.secret, mode: self.mode, one_key };
        self.step(stage, vec![Arg(2), self.base(self.secret), Arg(0), Arg(1), Arg(3), Arg(4)])
    }

    /// Prepared keys (or one), digests, nonces → signatures, statuses.
    #[cfg(any(feature = "hazmat", feature = "testkit"))]
    pub(crate) fn sign_with_nonces(&self, one_key: bool) -> Result<Plan> {
        let sign = Stage::Sign { one_key, given: true };
        let steps = vec![
            self.points(true, Arg(2), Arg(4)),
            self.step(sign, vec![Arg(0), Arg(1), Temp(0), Temp(1), Arg(3), Arg(4)]),
        ];
        Plan::new("SM2 sign with nonces", steps)
    }

    /// Public keys, digests, signatures → statuses.
    pub(crate) fn verify(&self) -> Result<Plan> {
        let stage = Stage::Verify { base: self.public, keys: Keys::Each(NARROW) };
        let steps = vec![
            self.step(Stage::Table { windows: NARROW.lowest_row(), shared: false }, vec![Arg(0), Temp(0)]),
            self.step(stage, vec![Arg(0), Arg(1), Arg(2), self.base(self.public), Temp(0), Arg(3)]),
        ];
        Plan::new("SM2 verify", steps)
    }

    /// Public keys → their tables.
    pub(crate) fn cache(&self) -> Result<Plan> {
        let stage = Stage::Table { windows: self.cached, shared: false };
        Plan::new("SM2 key tables", vec![self.step(stage, vec![Arg(0), Arg(1)])])
    }

    /// Numbers of keys, digests, signatures, tables of `keys` keys → statuses.
    pub(crate) fn verify_cached(&self, keys: usize) -> Result<Plan> {
        let stage = Stage::Verify { base: self.public, keys: Keys::Cached(self.cached, keys) };
        let slots = vec![Arg(0), Arg(1), Arg(2), self.base(self.public), Arg(3), Arg(4)];
        Plan::new("SM2 verify, cached keys", vec![self.step(stage, slots)])
    }

    /// Identifiers in slots of `words` words, their lengths in bytes (or one of each), public keys → identities.
    pub(crate) fn identity(&self, words: usize, one_id: bool) -> Result<Plan> {
        let stage = Stage::Identity { words, one_id };
        Plan::new("SM2 identity", vec![self.step(stage, (0..4).map(Arg).collect())])
    }

    /// Identities (or one), messages in slots of `words` words, their lengths in bytes → digests.
    pub(crate) fn digest(&self, words: usize, one_identity: bool) -> Result<Plan> {
        let stage = Stage::Digest { words, one_identity };
        Plan::new("SM2 digest", vec![self.step(stage, (0..4).map(Arg).collect())])
    }

    fn points(&self, given: bool, source: Slot, statuses: Slot) -> Step {
        let stage = Stage::Points { base: self.secret, mode: self.mode, given };
        self.step(stage, vec![source, self.base(self.secret), Temp(0), Temp(1), statuses])
    }

    fn step(&self, stage: Stage, slots: Vec<Slot>) -> Step {
        Sm2Kernel::new(stage, self.tuning).step(slots)
    }

    /// The table of the base point: made on the device when a program first needs it, and cached there.
    fn base(&self, windows: Windows) -> Slot {
        let kernel = Arc::new(Sm2Kernel::new(Stage::Table { windows, shared: true }, self.tuning));
        Slot::Table(Table::Made {
            kernel,
            items: 1,
            inputs: vec![Table::Bytes(Affine::G.to_bytes().as_slice().into())],
        })
    }
}

#[cfg(feature = "testkit")]
impl Plans {
    /// With small windows and blocks: for tests, and a CPU that runs the text.
    pub(crate) fn small(mode: Mode) -> Self {
        let small = Windows::of_width(4);
        let secret = if mode == Mode::Scan { NARROW } else { small };
        Self { secret, public: small, cached: small, mode, tuning: Tuning::SMALL }
    }

    /// The table of a cached key, as bytes.
    pub(crate) fn key_table(&self, key: &[u8]) -> Vec<u8> {
        let point = key.try_into().ok().and_then(Affine::from_bytes).unwrap_or(Affine::G);
        bytemuck::cast_slice(&self.cached.table(point)).to_vec()
    }
}
