//! The engine that all share who name none, and what becomes of its errors.

use core::fmt::Display;
use std::sync::{Once, OnceLock};

use ringforge::{Engine, Result};

/// Programs that are kept: a prover that draws new shifts would fill the device's memory else.
pub(crate) const MOST: usize = 64;

/// The engine of the first CUDA GPU, or else of the CPU; a line in the log says which the first time.
pub(crate) fn shared() -> &'static Engine {
    static SHARED: OnceLock<Engine> = OnceLock::new();
    SHARED.get_or_init(|| {
        let engine = Engine::best();
        match engine.no_gpu() {
            Some(error) => log::warn!("Plonky3's work is done on the CPU: {error}"),
            None => log::info!("Plonky3's work is done on {}", engine.device()),
        }
        engine.keeping(MOST)
    })
}

/// What came of work for one of Plonky3's traits, which cannot fail: nothing for an error, which goes to the log the first time.
pub(crate) fn or_stock<T>(what: impl Display, outcome: Result<T>) -> Option<T> {
    static FAILED: Once = Once::new();
    if let Err(error) = &outcome {
        FAILED.call_once(|| log::warn!("{what} runs in Plonky3's code: {error}"));
    }
    outcome.ok()
}
