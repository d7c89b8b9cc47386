//! Host memory that copies to and from a GPU go fastest with.

use core::ffi::c_void;
use core::ptr::null_mut;

use ringforge::PinnedBuffer;

use crate::code::{RingforgeCode, guarded};
use crate::engine::RingforgeEngine;
use crate::pointer::{give, reference, take_back};

/// Page-locked host memory, on a CPU ordinary memory.
#[derive(Debug)]
pub struct RingforgePinned {
    /// Keeps the memory, which C reads and writes through the address alone.
    _memory: PinnedBuffer,
    data: *mut c_void,
}

/// Makes host memory of so many bytes, all zero, that copies to and from the engine's device go fastest with. Making it is
/// slow: make it once and use it again.
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

/// Where the memory is, aligned to 16 bytes at least; null for none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_pinned_data(pinned: *const RingforgePinned) -> *mut c_void {
    pinned.as_ref().map_or(null_mut(), |pinned| pinned.data)
}

/// Wipes the memory and gives it back; null is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_pinned_free(pinned: *mut RingforgePinned) {
    take_back(pinned);
}
