//! Engines: devices with their caches of compiled programs.

use core::ffi::{CStr, c_char};
use std::ffi::CString;

use ringforge::Engine;
use ringforge_arkworks::Backend;

use crate::code::{RingforgeCode, guarded, text};
use crate::pointer::{give, reference, take_back};

/// A device with its cache of compiled programs. Threads may share it.
#[derive(Debug)]
pub struct RingforgeEngine {
    pub(crate) engine: Engine,
    /// The same engine with a cache of its own for provers.
    pub(crate) backend: Backend,
    device: CString,
}

impl RingforgeEngine {
    fn new(engine: Engine) -> Self {
        let (device, backend) = (text(engine.device().to_string()), Backend::new(&engine));
        Self { engine, backend, device }
    }
}

/// Makes an engine on the first CUDA GPU if it is usable, else on the CPU.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_engine_best(engine: *mut *mut RingforgeEngine) -> RingforgeCode {
    guarded(|| give("engine", engine, || Ok(RingforgeEngine::new(Engine::best()))))
}

/// Makes an engine on the CPU.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_engine_cpu(engine: *mut *mut RingforgeEngine) -> RingforgeCode {
    guarded(|| give("engine", engine, || Ok(RingforgeEngine::new(Engine::cpu()))))
}

/// Makes an engine on the CUDA GPU with this ordinal, in the GPU's primary context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_engine_cuda(ordinal: usize, engine: *mut *mut RingforgeEngine) -> RingforgeCode {
    guarded(|| give("engine", engine, || Ok(RingforgeEngine::new(Engine::cuda(ordinal)?))))
}

/// Returns the name of the engine's device. The string is valid until the engine is freed, and empty for null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_engine_device(engine: *const RingforgeEngine) -> *const c_char {
    engine.as_ref().map_or(c"", |engine| -> &CStr { &engine.device }).as_ptr()
}

/// Drops all cached programs and releases the memory that the device caches.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_engine_trim(engine: *const RingforgeEngine) -> RingforgeCode {
    guarded(|| {
        let engine = reference("engine", engine)?;
        engine.backend.trim();
        engine.engine.trim();
        Ok(())
    })
}

/// Frees an engine; null is ignored. Handles made with the engine stay valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_engine_free(engine: *mut RingforgeEngine) {
    take_back(engine);
}
