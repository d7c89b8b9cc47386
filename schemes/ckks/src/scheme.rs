//! [`Ckks`]: the scheme with fixed parameters on an engine.

use std::sync::Arc;

use ringforge::{Buffer, Engine, Stream};
use zeroize::Zeroizing;

use crate::embedding::Embedding;
use crate::error::{Error, Result};
use crate::params::Parameters;
use crate::randomness::Randomness;
use crate::steps::Level;
use crate::types::{Ciphertext, Items};

/// RNS-CKKS (eprint 2018/931) with fixed parameters on an engine's device. Clones are cheap, share the same scheme, and
/// may be used from several threads.
///
/// Operations are asynchronous: they enqueue work on [`Engine::stream`] and return. Functions that return numbers or
/// bytes, such as [`Ckks::decrypt`], wait for the result, and so does [`Ckks::encode`], which checks it. Ciphertexts, plaintexts and keys stay on the device.
/// The same [seed](Randomness::from_seed) and the same numbers give the same bits on every device.
#[derive(Clone)]
pub struct Ckks(Arc<Parts>);

struct Parts {
    engine: Engine,
    parameters: Arc<Parameters>,
    levels: Vec<Level>,
}

impl Ckks {
    /// Creates the scheme with these parameters.
    ///
    /// # Errors
    /// [`Error::Engine`] if a ring with these primes is not supported.
    pub fn new(engine: &Engine, parameters: Parameters) -> Result<Self> {
        let key = Level::key_type(&parameters)?;
        let embedding = Arc::new(Embedding::new(parameters.degree()));
        let level = |level| Level::of_key(&key, &embedding, &parameters, level);
        let levels = (0..=parameters.top_level()).map(level).collect::<Result<_>>()?;
        Ok(Self(Arc::new(Parts { engine: engine.clone(), parameters: Arc::new(parameters), levels })))
    }

    /// The engine.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.0.engine
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

    /// Uploads secret residues to device memory that is wiped on drop.
    pub(crate) fn upload_words(&self, words: &[u64]) -> Result<Buffer> {
        let stream = self.stream()?;
        Ok(match self.parameters().word() {
            4 => {
                let narrow = Zeroizing::new(words.iter().map(|&word| word as u32).collect::<Vec<u32>>());
                stream.upload_secret::<u32>(&narrow)?
            }
            _ => stream.upload_secret(words)?,
        })
    }

    /// Downloads residues; the reverse of `upload_words`.
    pub(crate) fn download_words(&self, from: &Buffer) -> Result<Zeroizing<Vec<u64>>> {
        let stream = self.stream()?;
        Ok(Zeroizing::new(match self.parameters().word() {
            4 => Zeroizing::new(stream.download::<u32>(from)?).iter().map(|&word| word.into()).collect(),
            _ => stream.download(from)?,
        }))
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

    /// Returns [`Error::Foreign`] if the argument `what` was made for parameters other than this scheme's.
    pub(crate) fn own(&self, parameters: &Arc<Parameters>, what: &'static str) -> Result<()> {
        let same = Arc::ptr_eq(parameters, &self.0.parameters) || **parameters == *self.0.parameters;
        if same { Ok(()) } else { Err(Error::Foreign { what }) }
    }

    pub(crate) fn random_key(&self, randomness: &mut Randomness) -> Result<Buffer> {
        Ok(self.stream()?.upload_secret(randomness.random_key()?.as_bytes())?)
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
