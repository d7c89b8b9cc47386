//! [`Ckks`]: the scheme with fixed parameters on an engine.

use std::sync::Arc;

use ringforge::{Buffer, Engine, Stream};
use ringforge_rlwe::{KeyGenerator, check_own};

use crate::embedding::Embedding;
use crate::error::{Error, Result};
use crate::params::Parameters;
use crate::steps::Level;
use crate::types::{Ciphertext, Items};

/// RNS-CKKS (eprint 2018/931) with fixed parameters on an engine's device. Clones are cheap, share the same scheme, and
/// may be used from several threads.
///
/// Operations are asynchronous: they enqueue work on [`Engine::stream`] and return. Functions that return numbers or
/// bytes, such as [`Ckks::decrypt`], wait for the result, and so does [`Ckks::encode`], which checks it. Ciphertexts,
/// plaintexts and keys stay on the device. The same [seed](crate::Randomness::from_seed) and the same numbers give the
/// same bits on every device.
#[derive(Clone)]
pub struct Ckks(Arc<Parts>);

struct Parts {
    keys: KeyGenerator,
    parameters: Arc<Parameters>,
    levels: Vec<Level>,
}

impl Ckks {
    /// Creates the scheme with these parameters.
    ///
    /// # Errors
    /// [`Error::Engine`] if a ring with these primes is not supported.
    pub fn new(engine: &Engine, parameters: Parameters) -> Result<Self> {
        let keys = KeyGenerator::new(engine, parameters.rlwe().clone())?;
        let embedding = Arc::new(Embedding::new(parameters.degree()));
        let level = |level| Level::with(&embedding, &parameters, level, |limbs| Ok(keys.basis(limbs)?));
        let levels = (0..=parameters.top_level()).map(level).collect::<Result<_>>()?;
        Ok(Self(Arc::new(Parts { keys, parameters: Arc::new(parameters), levels })))
    }

    /// The engine.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        self.0.keys.engine()
    }

    /// Generates keys, and reads and writes their bytes.
    #[must_use]
    pub fn keys(&self) -> &KeyGenerator {
        &self.0.keys
    }

    /// The parameters.
    #[must_use]
    pub fn parameters(&self) -> &Parameters {
        &self.0.parameters
    }

    pub(crate) fn shared_parameters(&self) -> &Arc<Parameters> {
        &self.0.parameters
    }

    /// The rings and pipeline steps of a level, for custom pipelines.
    ///
    /// # Errors
    /// [`Error::NoLevel`] if the level is above the top level.
    pub fn level(&self, level: usize) -> Result<&Level> {
        let from = self.parameters().top_level();
        self.0.levels.get(level).ok_or(Error::NoLevel { from, wanted: level as i64 })
    }

    pub(crate) fn stream(&self) -> Result<&Stream> {
        Ok(self.engine().stream()?)
    }

    /// Allocates a batch of ciphertexts, and calls `run` to write them.
    pub(crate) fn ciphertext(
        &self,
        level: usize,
        scale: f64,
        batch: usize,
        run: impl FnOnce(&mut Buffer) -> Result<()>,
    ) -> Result<Ciphertext> {
        let mut buffer = self.engine().device().buffer(batch * self.parameters().ciphertext_bytes(level))?;
        run(&mut buffer)?;
        Ok(Ciphertext(self.items(buffer, level, scale, batch)))
    }

    pub(crate) fn items(&self, buffer: Buffer, level: usize, scale: f64, batch: usize) -> Items {
        Items { parameters: self.0.parameters.clone(), buffer, level, scale, batch }
    }

    /// Returns [`Foreign`](crate::rlwe::Error::Foreign) if the argument `what` was made for parameters other than this
    /// scheme's.
    pub(crate) fn own(&self, parameters: &Arc<Parameters>, what: &'static str) -> Result<()> {
        Ok(check_own(&self.0.parameters, parameters, what)?)
    }

    pub(crate) fn top_level(&self) -> usize {
        self.parameters().top_level()
    }
}

impl core::fmt::Debug for Ckks {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Ckks").field("engine", self.engine()).field("parameters", self.parameters()).finish()
    }
}
