//! Page-locked host memory, for the fastest copies to and from a GPU.

use core::ffi::c_void;
use core::ptr::null_mut;

use ringforge::PinnedBuffer;

use crate::code::{RingforgeCode, guarded};
use crate::engine::RingforgeEngine;
use crate::pointer::{give, reference, take_back};

/// Page-locked host memory; for an engine on the CPU, ordinary memory.
#[derive(Debug)]
pub struct RingforgePinned {
    /// Owns the memory, which C accesses only through `data`.
    _memory: PinnedBuffer,
    data: *mut c_void,
}

/// Allocates `bytes` bytes of zeroed host memory, for the fastest copies to and from the engine's device. Allocation is
/// slow: allocate once and reuse the memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_pinned_new(
    engine: *const RingforgeEngine,
    bytes: usize,
    pinned: *mut *mut RingforgePinned,
) -> RingforgeCode {
    guarded(|| {
        give("pinned", pinned, || {
            let mut memory = reference("engine", engine)?.engine.device().pinned(bytes)?;
            let data = if bytes == 0 { null_mut() } else { memory.as_mut_ptr().cast() };
            Ok(RingforgePinned { _memory: memory, data })
        })
    })
}

/// Returns the address of the memory, aligned to at least 16 bytes; null if `pinned` is null or the memory is empty.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_pinned_data(pinned: *const RingforgePinned) -> *mut c_void {
    pinned.as_ref().map_or(null_mut(), |pinned| pinned.data)
}

/// Wipes and frees the memory; null is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_pinned_free(pinned: *mut RingforgePinned) {
    take_back(pinned);
}
