//! The compilation of an AIR's constraints in the background.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};

use p3_field::ExtensionField;
use ringforge::{Engine, Result};

use super::quotient::Quotient;
use super::unsupported;
use crate::field::EngineField;

/// A compilation that its first use begins. When it is dropped, it ends: a process must not exit while the compiler runs.
#[derive(Debug, Default)]
pub(super) struct Compilation {
    begun: OnceLock<(Arc<State>, Option<JoinHandle<()>>)>,
}

#[derive(Debug, Default)]
struct State {
    cancelled: AtomicBool,
    outcome: Mutex<Option<Result<()>>>,
    ended: Condvar,
}

impl State {
    fn end(&self, outcome: Result<()>) {
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        self.ended.notify_all();
    }
}

impl Compilation {
    fn state<F, EF>(&self, quotient: &Arc<Quotient<F, EF>>, engine: &Engine) -> &State
    where
        F: EngineField,
        EF: ExtensionField<F>,
    {
        let (state, _) = self.begun.get_or_init(|| {
            let state = Arc::<State>::default();
            let (of_thread, quotient, engine) = (state.clone(), quotient.clone(), engine.clone());
            let run = move || of_thread.end(quotient.check(&engine, false, &of_thread.cancelled));
            let thread = thread::Builder::new().name("constraints".into()).spawn(run);
            let thread = thread.map_err(|error| state.end(Err(unsupported(error.to_string()))));
            (state, thread.ok())
        });
        state
    }

    /// Whether all constraints are compiled. Begins to compile them if nothing has yet.
    ///
    /// # Errors
    /// The outcome of the compilation if it failed.
    pub(super) fn is_done<F, EF>(&self, quotient: &Arc<Quotient<F, EF>>, engine: &Engine) -> Result<bool>
    where
        F: EngineField,
        EF: ExtensionField<F>,
    {
        let outcome = self.state(quotient, engine).outcome.lock().unwrap_or_else(PoisonError::into_inner);
        outcome.clone().map_or(Ok(false), |outcome| outcome.map(|()| true))
    }

    /// Compiles all constraints, or waits until they are.
    ///
    /// # Errors
    /// As [`Self::is_done`].
    pub(super) fn wait<F, EF>(&self, quotient: &Arc<Quotient<F, EF>>, engine: &Engine) -> Result<()>
    where
        F: EngineField,
        EF: ExtensionField<F>,
    {
        let State { outcome, ended, .. } = self.state(quotient, engine);
        let outcome = outcome.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = ended.wait_while(outcome, |outcome| outcome.is_none()).unwrap_or_else(PoisonError::into_inner);
        outcome.clone().unwrap_or(Ok(()))
    }
}

impl Drop for Compilation {
    fn drop(&mut self) {
        if let Some((state, thread)) = self.begun.take() {
            state.cancelled.store(true, Ordering::Relaxed);
            // a panic of the thread was reported when it happened
            let _ = thread.map(JoinHandle::join);
        }
    }
}
