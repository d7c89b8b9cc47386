//! The engine that runs transforms, and the page-locked host memory that their data is copied through.

use core::any::TypeId;
use core::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rayon::prelude::*;
use ringforge::{Buffer, Device, Engine, Error, Job, Op, Order, PinnedBuffer, Program, Result, Stream};
use zeroize::Zeroize;

use crate::field::{EngineField, coset};
use crate::witness::{Reduction, WitnessMap};

static SHARED: OnceLock<Backend> = OnceLock::new();

/// An engine with a cache of compiled programs and their twiddle tables. There is one program per field, size, coset
/// and operation.
///
/// All calls and proofs share the cache, which keeps the most recently used programs. Any number of threads may use a
/// backend at once. Cloning is cheap, and a clone is the same backend.
#[derive(Clone)]
pub struct Backend(Arc<Parts>);

struct Parts {
    engine: Engine,
    /// The largest staging buffer so far, in page-locked memory; `None` before the first call, after
    /// [`Backend::trim`], and while a call uses the buffer.
    staging: Mutex<Option<PinnedBuffer>>,
}

/// Maximum number of cached programs. Without a limit, a prover that uses a new random coset for each proof would fill
/// the device's memory.
const MOST: usize = 64;

impl Backend {
    /// A backend on the device of `engine`, with the engine's tuning.
    #[must_use]
    pub fn new(engine: &Engine) -> Self {
        Self(Arc::new(Parts { engine: engine.with_cache_limit(MOST), staging: Mutex::default() }))
    }

    /// A backend on the first CUDA GPU if it is usable, else on the CPU. Logs the GPU, or why no GPU is used.
    #[must_use]
    pub fn best() -> Self {
        let engine = Engine::best();
        match engine.no_gpu() {
            Some(error) => log::warn!("transforms run on the CPU: {error}"),
            None => log::info!("transforms run on {}", engine.device()),
        }
        Self::new(&engine)
    }

    /// The backend that arkworks' traits use: the one given to [`Backend::share`], else [`Backend::best`].
    #[must_use]
    pub fn shared() -> &'static Self {
        SHARED.get_or_init(Self::best)
    }

    /// Makes this backend the [shared](Backend::shared) one for the rest of the process.
    ///
    /// # Errors
    /// Returns this backend if the shared one is already set.
    pub fn share(self) -> core::result::Result<(), Self> {
        SHARED.set(self)
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.0.engine
    }

    /// The engine's device.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.0.engine.device()
    }

    /// Releases the cached programs and twiddle tables, the staging buffer, and free memory that the device keeps for
    /// reuse.
    pub fn trim(&self) {
        self.staging().take();
        self.0.engine.trim();
    }

    /// Returns true if the engine transforms n points faster than arkworks' own code on this backend's kind of device.
    pub(crate) fn serves(&self, n: usize) -> bool {
        n >= if self.device().limits().is_cpu() { SMALLEST_ON_CPU } else { SMALLEST_ON_GPU }
    }

    /// The in-place program for `op` on the coset of n points with this offset, in natural order.
    pub(crate) fn transform<F: EngineField>(&self, op: Op, n: usize, offset: F) -> Result<Program> {
        self.0.engine.program_of(&(TypeId::of::<F>(), n, offset.limbs(), op), |planner| {
            planner.plan(&Job::new(&coset(n, offset)?, op).order(Order::Natural).in_place().batch_hint(1))
        })
    }

    /// The witness map of `reduction` on the subgroup of n points.
    ///
    /// # Errors
    /// [`Error::NoRoot`](ringforge::Error::NoRoot) if F has no root of unity of order n, or for [`Reduction::Circom`]
    /// of order 2n; [`Error::TooLarge`](ringforge::Error::TooLarge) if n exceeds
    /// [`Ring::MAX_DEGREE`](ringforge::Ring::MAX_DEGREE); [`Error::Unsupported`](ringforge::Error::Unsupported) if the
    /// field has fewer than 193 bits; errors of the device.
    pub fn witness_map<F: EngineField>(&self, reduction: Reduction, n: usize) -> Result<WitnessMap> {
        WitnessMap::new::<F>(&self.0.engine, reduction, n)
    }

    /// Calls `work` with a page-locked staging buffer of this many elements, whose initial contents are unspecified. The
    /// elements are wiped afterwards.
    pub(crate) fn staged<T, E: From<Error>>(
        &self,
        elements: usize,
        work: impl FnOnce(&mut [[u64; 4]]) -> core::result::Result<T, E>,
    ) -> core::result::Result<T, E> {
        let bytes = elements * size_of::<[u64; 4]>();
        let kept = self.staging().take().filter(|kept| kept.len() >= bytes);
        let mut memory = kept.map_or_else(|| self.device().pinned(bytes), Ok)?;
        let staged = &mut memory.elements_mut()?[..elements];
        let outcome = work(staged);
        ringforge_cpu::threads::start();
        staged.as_flattened_mut().par_chunks_mut(1 << 16).for_each(Zeroize::zeroize);
        let mut kept = self.staging();
        if kept.as_ref().is_none_or(|kept| kept.len() < memory.len()) {
            *kept = Some(memory);
        }
        outcome
    }

    fn staging(&self) -> MutexGuard<'_, Option<PinnedBuffer>> {
        self.0.staging.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Copies vectors of equal lengths to the device, which together are as long as `staging`: each as a number of zeros, its
/// elements, and further zeros. The staging buffer can be used again afterwards.
pub(crate) fn copied<F: EngineField>(
    stream: &Stream,
    staging: &mut [[u64; 4]],
    vectors: &[(usize, &[F])],
) -> Result<Buffer> {
    ringforge_cpu::threads::start();
    let length = staging.len() / vectors.len().max(1);
    for (vector, &(before, values)) in staging.chunks_mut(length.max(1)).zip(vectors) {
        let (zeros, rest) = vector.split_at_mut(before);
        let (own, after) = rest.split_at_mut(values.len());
        own.par_iter_mut().zip(values).for_each(|(to, from)| *to = from.limbs());
        zeros.par_iter_mut().chain(after).for_each(|to| *to = [0; 4]);
    }
    let mut buffer = stream.secret_buffer(size_of_val(staging))?;
    stream.write(&mut buffer, staging)?;
    Ok(buffer)
}

/// Minimum number of points of a transform on the engine. For fewer points arkworks' own code is faster.
const SMALLEST_ON_CPU: usize = 1 << 9;
const SMALLEST_ON_GPU: usize = 1 << 11;

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Backend({})", self.device())
    }
}

#[cfg(test)]
mod tests {
    use ark_bls12_381::Fr;
    use ark_poly::{EvaluationDomain, Radix2EvaluationDomain};

    use crate::Domain;

    use super::*;

    #[test]
    fn backends_are_shared_once_and_across_threads() {
        let backend = Backend::new(&Engine::cpu());
        assert!(backend.clone().share().is_ok());
        assert!(backend.clone().share().is_err());
        assert!(Arc::ptr_eq(&Backend::shared().0, &backend.0));

        let x: Vec<Fr> = (0..1 << 12).map(Fr::from).collect();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let x = &x[..1 << (9 + thread % 4)];
                scope.spawn(move || {
                    let expected = Radix2EvaluationDomain::<Fr>::new(x.len()).unwrap().fft(x);
                    for _ in 0..20 {
                        assert_eq!(Domain::<Fr>::new(x.len()).unwrap().fft(x), expected);
                        Backend::shared().trim();
                    }
                });
            }
        });
    }
}
