//! Where transforms run: an engine, and host memory that data passes through.

use core::any::TypeId;
use core::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ringforge::{Device, Engine, Job, Op, Order, PinnedBuffer, Program, Result};

use crate::field::{EngineField, coset};
use crate::witness::{Reduction, WitnessMap};

static SHARED: OnceLock<Backend> = OnceLock::new();

/// An engine of its own for programs and their tables: one for each field, size, coset and operation, used by all calls and
/// proofs; of many, those that were used last. Serves any number of threads; cloning is cheap and gives the same backend.
#[derive(Clone)]
pub struct Backend(Arc<Parts>);

struct Parts {
    engine: Engine,
    /// Host memory that data passes through: the largest so far, unless a call has it.
    staging: Mutex<Option<PinnedBuffer>>,
}

/// Programs that are kept: without an end, a prover that draws a new coset for each proof would fill the device's memory.
const MOST: usize = 64;

impl Backend {
    /// A backend on an engine's device, by its tuning.
    #[must_use]
    pub fn new(engine: &Engine) -> Self {
        Self(Arc::new(Parts { engine: engine.keeping(MOST), staging: Mutex::default() }))
    }

    /// A backend on the first CUDA GPU if it is usable, else on the CPU; a line in the log says which, and why.
    #[must_use]
    pub fn best() -> Self {
        let engine = Engine::best();
        match engine.no_gpu() {
            Some(error) => log::warn!("transforms run on the CPU: {error}"),
            None => log::info!("transforms run on {}", engine.device()),
        }
        Self::new(&engine)
    }

    /// The backend behind arkworks' traits: what [`Backend::share`] was given, else [`Backend::best`].
    #[must_use]
    pub fn shared() -> &'static Self {
        SHARED.get_or_init(Self::best)
    }

    /// Puts this backend behind arkworks' traits, for good.
    ///
    /// # Errors
    /// Gives it back where there is one already.
    pub fn share(self) -> core::result::Result<(), Self> {
        SHARED.set(self)
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.0.engine.device()
    }

    /// Gives back what is kept for later: programs, tables, and free memory.
    pub fn trim(&self) {
        self.staging().take();
        self.0.engine.trim();
    }

    /// Whether transforms of n points are worth their way to the device.
    pub(crate) fn serves(&self, n: usize) -> bool {
        n >= if self.device().limits().is_cpu() { SMALLEST_ON_CPU } else { SMALLEST_ON_GPU }
    }

    /// The transform on a coset of n points, in place and in natural order.
    pub(crate) fn transform<F: EngineField>(&self, op: Op, n: usize, offset: F) -> Result<Program> {
        self.0.engine.program_of(&(TypeId::of::<F>(), n, offset.limbs(), op), |planner| {
            planner.plan(&Job::new(&coset(n, offset)?, op).order(Order::Natural).in_place().batch_hint(1))
        })
    }

    /// A witness map on the subgroup of n points.
    ///
    /// # Errors
    /// [`Error::NoRoot`](ringforge::Error::NoRoot) where F has no roots of order n, or for [`Reduction::Circom`] of order
    /// 2n; [`Error::TooLarge`](ringforge::Error::TooLarge) beyond [`Ring::MAX_DEGREE`](ringforge::Ring::MAX_DEGREE);
    /// [`Error::Unsupported`](ringforge::Error::Unsupported) for a field of fewer than 193 bits; what the device says.
    pub fn witness_map<F: EngineField>(&self, reduction: Reduction, n: usize) -> Result<WitnessMap> {
        WitnessMap::new::<F>(&self.0.engine, reduction, n)
    }

    /// Does something with host memory for this many elements, which hold anything.
    pub(crate) fn staged<T>(&self, elements: usize, work: impl FnOnce(&mut [[u64; 4]]) -> Result<T>) -> Result<T> {
        let bytes = elements * size_of::<[u64; 4]>();
        let kept = self.staging().take().filter(|kept| kept.len() >= bytes);
        let mut memory = kept.map_or_else(|| self.device().pinned(bytes), Ok)?;
        let outcome = work(&mut memory.elements_mut()?[..elements]);
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

/// Below these sizes arkworks' own code is done sooner.
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
    fn a_backend_is_shared_once_and_serves_many_threads() {
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
