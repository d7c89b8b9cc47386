//! The default engine, and the fallback to Plonky3's code on errors.

use core::fmt::Display;
use std::sync::{Once, OnceLock};

use ringforge::{Engine, Result};

/// Maximum number of cached programs. Without a limit, a prover that uses new random shifts would fill the device's
/// memory.
pub(crate) const MOST: usize = 64;

/// The engine on the first CUDA GPU, or else on the CPU. The first call logs the GPU, or why no GPU is used.
pub(crate) fn shared() -> &'static Engine {
    static SHARED: OnceLock<Engine> = OnceLock::new();
    SHARED.get_or_init(|| {
        let engine = Engine::best();
        match engine.no_gpu() {
            Some(error) => log::warn!("Plonky3's transforms and hashes run on the CPU: {error}"),
            None => log::info!("Plonky3's transforms and hashes run on {}", engine.device()),
        }
        engine.with_cache_limit(MOST)
    })
}

/// Returns the value, or `None` on an error, so that the caller can run Plonky3's code. The first error of the process
/// is logged.
pub(crate) fn or_stock<T>(what: impl Display, outcome: Result<T>) -> Option<T> {
    static FAILED: Once = Once::new();
    if let Err(error) = &outcome {
        FAILED.call_once(|| log::warn!("{what} falls back to Plonky3's code: {error}"));
    }
    outcome.ok()
}
