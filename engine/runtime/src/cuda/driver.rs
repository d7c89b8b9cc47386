//! Opens a GPU: checks that there is a driver and that it is new enough, and queries the device's limits.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cudarc::driver::sys::{CUdevice_attribute as Attribute, CUresult};
use cudarc::driver::{CudaContext, DriverError, sys};

use crate::cuda::code::Codes;
use crate::cuda::pool::Pool;
use crate::cuda::queue::StreamPool;
use crate::cuda::staging::Staging;
use crate::cuda::symbols;
use crate::limits::Limits;
use ringforge_math::error::{Error, NoDevice, Result};

/// The oldest supported driver version, as `1000 * major + 10 * minor`. Such a driver has every function that is called
/// without a check of the version.
const OLDEST_DRIVER: i32 = 12_000;

/// An open GPU, with the state that its memory, streams and code share.
pub struct Gpu {
    pub(crate) context: Arc<CudaContext>,
    pub(crate) limits: Limits,
    /// The CUDA version that the driver supports, as `1000 * major + 10 * minor`.
    pub(crate) driver: i32,
    /// Number of `GpuStream`s in use.
    pub(crate) queues: AtomicUsize,
    pub(crate) idle: StreamPool,
    pub(crate) pool: Pool,
    pub(crate) staging: Staging,
    pub(crate) codes: Codes,
    /// The ordinals of GPUs whose memory this one reads directly, if the links allow it.
    peers: Mutex<Vec<usize>>,
}

impl Gpu {
    /// Opens the GPU with this ordinal, after checking the driver.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if there is no driver, the driver is too old or lacks a function, there is no such GPU, or
    /// opening it fails.
    pub(crate) fn open(ordinal: usize) -> Result<Arc<Self>> {
        if !is_present() {
            return Err(Error::NoDevice(NoDevice::NoDriver));
        }
        let none = |error: DriverError| Error::NoDevice(NoDevice::NoSuchDevice { ordinal, reason: message(error) });
        if let Some(symbol) = symbols::missing_in_driver() {
            return Err(Error::NoDevice(NoDevice::NoSymbol { symbol }));
        }
        let mut driver = 0;
        // SAFETY: the call only writes one integer, and is allowed before the driver is initialised.
        unsafe { sys::cuDriverGetVersion(&raw mut driver) }.result().map_err(none)?;
        if driver < OLDEST_DRIVER {
            return Err(Error::NoDevice(NoDevice::DriverTooOld { found: driver, needed: OLDEST_DRIVER }));
        }
        if let Some(symbol) = symbols::missing_in_driver_of(driver) {
            return Err(Error::NoDevice(NoDevice::NoSymbol { symbol }));
        }
        if i32::try_from(ordinal).is_err() {
            let reason = "must be below 2^31".into();
            return Err(Error::NoDevice(NoDevice::NoSuchDevice { ordinal, reason }));
        }
        let context = CudaContext::new(ordinal).map_err(none)?;
        // SAFETY: event tracking only orders accesses to cudarc's slices, which this crate does not use. `CudaMemory`
        // orders its own accesses.
        unsafe { context.disable_event_tracking() };
        let limits = limits(&context).map_err(none)?;
        let codes = Codes::from_environment(limits.capability);
        Ok(Arc::new(Self {
            context,
            limits,
            driver,
            queues: AtomicUsize::new(0),
            idle: StreamPool::default(),
            pool: Pool::default(),
            staging: Staging::default(),
            codes,
            peers: Mutex::default(),
        }))
    }

    /// Makes the GPU's context current on this thread, as driver calls require.
    pub(crate) fn bind(&self) -> Result<()> {
        self.context.bind_to_thread().map_err(failed("cuCtxSetCurrent"))
    }

    /// Lets this GPU read the memory of another one directly. Where the links do not allow it, the driver copies through
    /// host memory.
    pub(crate) fn reach(&self, other: &Self) -> Result<()> {
        let ordinal = other.context.ordinal();
        if ordinal == self.context.ordinal() {
            return Ok(());
        }
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        if peers.contains(&ordinal) {
            return Ok(());
        }
        self.bind()?;
        // SAFETY: both contexts exist, and this one is current.
        let code = unsafe { sys::cuCtxEnablePeerAccess(other.context.cu_ctx(), 0) };
        if !matches!(code, CUresult::CUDA_SUCCESS | CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) {
            log::warn!("{} reads GPU {ordinal} through host memory: {}", self.limits.name, message(DriverError(code)));
        }
        peers.push(ordinal);
        Ok(())
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        self.pool.release(&self.context);
        self.staging.release();
    }
}

impl core::fmt::Debug for Gpu {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Gpu({})", self.limits.name)
    }
}

/// Whether the driver's library is on this machine. The result of the first call is cached.
fn is_present() -> bool {
    static PRESENT: OnceLock<bool> = OnceLock::new();
    // SAFETY: tries to load the library, and runs only its initialisers.
    *PRESENT.get_or_init(|| unsafe { sys::is_culib_present() })
}

fn limits(context: &CudaContext) -> Result<Limits, DriverError> {
    let ask = |attribute| context.attribute(attribute).map(|value| u32::try_from(value).unwrap_or(0));
    let (major, minor) = context.compute_capability()?;
    let capability = u32::try_from(10 * major + minor).unwrap_or(0);
    Ok(Limits {
        name: context.name()?,
        capability,
        block_threads: Some(ask(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?),
        block_shared_bytes: ask(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        cluster_blocks: Limits::of_capability(capability).cluster_blocks,
        multiprocessors: ask(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        memory_bytes: context.total_mem()? as u64,
    })
}

/// Returns a function that converts a failure of the driver call `call` to this crate's error.
pub(crate) fn failed(call: &'static str) -> impl Fn(DriverError) -> Error {
    move |error| Error::Driver { call, code: error.0 as i32, message: message(error) }
}

fn message(error: DriverError) -> String {
    match error.error_string() {
        Ok(text) => text.to_string_lossy().into_owned(),
        Err(_) => format!("{:?}", error.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_gpu_is_an_error() {
        match Gpu::open(usize::MAX) {
            Err(Error::NoDevice(reason)) => assert_ne!(reason, NoDevice::NotBuilt),
            other => panic!("{other:?}"),
        }
    }
}
