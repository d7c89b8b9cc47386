//! The compilation of an AIR's constraints in the background.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use ringforge::{Error, Result};

use super::unsupported;

/// A compilation that its first use begins. When it is dropped, it ends: a process must not exit while the compiler runs.
#[derive(Debug, Default)]
pub(super) struct Compilation {
    cancelled: Arc<AtomicBool>,
    stage: Mutex<Stage>,
}

#[derive(Debug, Default)]
enum Stage {
    #[default]
    New,
    Begun(JoinHandle<Result<()>>),
    Ended(Result<()>),
}

impl Compilation {
    /// Whether all constraints are compiled. Begins to `compile` them if nothing has yet, and with `waits` lets that end.
    /// `compile` gets a flag that tells it to stop.
    ///
    /// # Errors
    /// The error of the compilation. Unless it is [`Error::NoCompiler`], the next call begins anew.
    pub(super) fn is_done<C>(&self, waits: bool, compile: C) -> Result<bool>
    where
        C: FnOnce(&AtomicBool) -> Result<()> + Send + 'static,
    {
        let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        if let Stage::New = *stage {
            let cancelled = self.cancelled.clone();
            let run = move || compile(&cancelled);
            let thread = thread::Builder::new().name("constraints".into()).spawn(run);
            *stage = Stage::Begun(thread.map_err(|error| unsupported(error.to_string()))?);
        }
        *stage = match core::mem::take(&mut *stage) {
            Stage::Begun(thread) if waits || thread.is_finished() => {
                Stage::Ended(thread.join().unwrap_or_else(|_| Err(unsupported("the compilation panicked"))))
            }
            other => other,
        };
        let (outcome, ends) = match &*stage {
            Stage::Ended(Ok(())) => (Ok(true), true),
            Stage::Ended(Err(error)) => (Err(error.clone()), matches!(error, Error::NoCompiler { .. })),
            Stage::New | Stage::Begun(_) => (Ok(false), true),
        };
        if !ends {
            *stage = Stage::New;
        }
        outcome
    }
}

impl Drop for Compilation {
    fn drop(&mut self) {
        self.cancelled.store(true, Ordering::Relaxed);
        let stage = self.stage.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Stage::Begun(thread) = core::mem::take(stage) {
            // the outcome has no reader
            let _ = thread.join();
        }
    }
}
