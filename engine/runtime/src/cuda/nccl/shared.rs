//! Memory of a GPU that the other ranks of its host write straight into.

use core::ffi::c_void;
use core::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::cuda::driver::Gpu;
use ringforge_math::error::{Error, Result};

use super::Raw;
use super::library::{Nccl, SUCCESS};

/// Memory that the library gave and knows: what it receives there takes no detour.
pub(crate) struct Shared {
    nccl: &'static Nccl,
    gpu: Arc<Gpu>,
    connection: Arc<Mutex<Option<Raw>>>,
    address: *mut c_void,
    bytes: usize,
    /// By which the connection knows it; null if that had ended.
    registration: *mut c_void,
    /// Whether other ranks have met it.
    met: AtomicBool,
}

// SAFETY: the address is only handed out, and the library lets any thread free memory.
unsafe impl Send for Shared {}
// SAFETY: as above; nothing is changed through a shared reference.
unsafe impl Sync for Shared {}

impl Shared {
    /// Memory for a connection. Either all ranks have such or none: the library wants both ends of a message registered.
    pub(crate) fn new(
        nccl: &'static Nccl,
        gpu: &Arc<Gpu>,
        connection: &Arc<Mutex<Option<Raw>>>,
        bytes: usize,
    ) -> Result<Self> {
        gpu.bind()?;
        let mut address = ptr::null_mut();
        // SAFETY: the GPU's context is current; the address is written before the call returns.
        let mut allocate = || unsafe { (nccl.allocate)(&raw mut address, bytes) };
        if allocate() != SUCCESS {
            gpu.pool.release(&gpu.context);
            if allocate() != SUCCESS {
                return Err(Error::OutOfMemory { bytes });
            }
        }
        gpu.pool.held.fetch_add(bytes, Ordering::Relaxed);
        let (gpu, connection) = (gpu.clone(), connection.clone());
        let mut this =
            Self { nccl, gpu, connection, address, bytes, registration: ptr::null_mut(), met: AtomicBool::new(false) };
        if let Some(Raw(handle)) = *this.connection.lock().unwrap_or_else(PoisonError::into_inner) {
            // SAFETY: the memory is ours and stays until `drop` has taken it from the connection.
            nccl.check("ncclCommRegister", unsafe {
                (nccl.register)(handle, address, bytes, &raw mut this.registration)
            })?;
        }
        Ok(this)
    }

    /// Where it lies.
    pub(crate) fn address(&self) -> u64 {
        self.address as u64
    }

    /// Whether other ranks have not met it before, which they do now.
    pub(crate) fn meets(&self) -> bool {
        !self.met.swap(true, Ordering::Relaxed)
    }

    /// Whose it is.
    pub(crate) fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }
}

/// Whoever drops it has waited for its users.
impl Drop for Shared {
    fn drop(&mut self) {
        let failed = self.gpu.bind().and_then(|()| {
            // a connection that was aborted knows nothing any more
            if let Some(Raw(handle)) = *self.connection.lock().unwrap_or_else(PoisonError::into_inner)
                && !self.registration.is_null()
            {
                // SAFETY: it was registered there.
                self.nccl.check("ncclCommDeregister", unsafe { (self.nccl.deregister)(handle, self.registration) })?;
            }
            // SAFETY: the library gave it, and nobody uses it.
            self.nccl.check("ncclMemFree", unsafe { (self.nccl.free)(self.address) })
        });
        match failed {
            Ok(()) => _ = self.gpu.pool.held.fetch_sub(self.bytes, Ordering::Relaxed),
            Err(error) => log::warn!("device memory was not freed: {error}"),
        }
    }
}
