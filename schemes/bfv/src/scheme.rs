//! [`Bfv`]: the scheme with fixed parameters on an engine.

use std::sync::Arc;

use ringforge::{Buffer, Engine, Stream};
use ringforge_rlwe::{KeyGenerator, check_own};

use crate::error::Result;
use crate::params::Parameters;
use crate::steps::Steps;
use crate::types::{Ciphertext, Items};

/// BFV (eprint 2012/144) with fixed parameters on an engine's device. Clones are cheap, share the same scheme, and may be
/// used from several threads.
///
/// Operations are asynchronous: they enqueue work on [`Engine::stream`] and return. Functions that return integers or
/// bytes, such as [`Bfv::decrypt`], wait for the result. Ciphertexts, plaintexts and keys stay on the device. The same
/// [seed](crate::Randomness::from_seed) and the same integers give the same bits on every device.
#[derive(Clone)]
pub struct Bfv(Arc<Parts>);

struct Parts {
    keys: KeyGenerator,
    parameters: Arc<Parameters>,
    steps: Steps,
    /// For each slot, the place of its integer among the evaluations in natural order.
    slots: Vec<u32>,
}

impl Bfv {
    /// Creates the scheme with these parameters.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine) if a ring with these primes is not supported.
    pub fn new(engine: &Engine, parameters: Parameters) -> Result<Self> {
        let keys = KeyGenerator::new(engine, parameters.rlwe().clone())?;
        let steps = Steps::of(&parameters, keys.basis(parameters.q().len())?)?;
        let slots = places(parameters.degree());
        Ok(Self(Arc::new(Parts { keys, parameters: Arc::new(parameters), steps, slots })))
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

    /// The rings and pipeline steps of ciphertexts, for custom pipelines.
    #[must_use]
    pub fn steps(&self) -> &Steps {
        &self.0.steps
    }

    pub(crate) fn shared_parameters(&self) -> &Arc<Parameters> {
        &self.0.parameters
    }

    pub(crate) fn places(&self) -> &[u32] {
        &self.0.slots
    }

    pub(crate) fn stream(&self) -> Result<&Stream> {
        Ok(self.engine().stream()?)
    }

    /// Allocates a batch of ciphertexts, and calls `run` to write them.
    pub(crate) fn ciphertext(&self, batch: usize, run: impl FnOnce(&mut Buffer) -> Result<()>) -> Result<Ciphertext> {
        let mut buffer = self.engine().device().buffer(batch * self.parameters().ciphertext_bytes())?;
        run(&mut buffer)?;
        Ok(Ciphertext(self.items(buffer, batch)))
    }

    pub(crate) fn items(&self, buffer: Buffer, batch: usize) -> Items {
        Items { parameters: self.0.parameters.clone(), buffer, batch }
    }

    /// Returns [`Foreign`](ringforge_rlwe::Error::Foreign) if the argument `what` was made for parameters other than this
    /// scheme's.
    pub(crate) fn own(&self, items: &Items, what: &'static str) -> Result<()> {
        Ok(check_own(&self.0.parameters, &items.parameters, what)?)
    }
}

/// For each slot, the place of its integer among the evaluations in natural order. The slots are two rows of N/2: slot j of
/// the first row is the evaluation at ζ^(5^j), and that of the second row the one at ζ^(−5^j), for a root ζ of order 2N.
fn places(degree: usize) -> Vec<u32> {
    let order = 2 * degree as u64;
    let powers = || core::iter::successors(Some(1), move |power| Some(power * 5 % order)).take(degree / 2);
    powers().chain(powers().map(|power| order - power)).map(|power| ((power - 1) / 2) as u32).collect()
}

impl core::fmt::Debug for Bfv {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Bfv").field("engine", self.engine()).field("parameters", self.parameters()).finish()
    }
}
