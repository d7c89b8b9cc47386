//! Loads kernels onto a GPU. A kernel that is not loaded yet is taken from a bundle, else from the cache on disk;
//! otherwise it is compiled.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys::CUfunction_attribute as Attribute;
use cudarc::driver::{CudaContext, CudaFunction, sys};
use cudarc::nvrtc::Ptx;

use crate::cache::Cache;
use crate::cuda::bundle::Bundle;
use crate::cuda::cache::{self, Entry};
use crate::cuda::driver::{Gpu, failed};
use crate::cuda::nvrtc;
use crate::cuda::queue::GpuStream;
use crate::cuda::text::{Key, Unit};
use crate::kernel::{Epilogue, Grid, Kernel, Launch, Port};
use crate::tiles::Tiles;
use ringforge_math::error::{Error, Result};

/// Bytes of dynamic shared memory that a block may use without an opt-in.
const FREE_SHARED_BYTES: u32 = 48 << 10;
/// Threads per warp.
const WARP: u32 = 32;
/// Number of kernel parameters after the pointers and the run-time constants: the first item, and the end of the items.
const RANGE: usize = 2;
/// Bytes of a pointer or a run-time constant among a kernel's parameters.
const POINTER: usize = 8;
/// The first driver version with `cuFuncGetParamInfo`, as `1000 * major + 10 * minor`.
pub(super) const TELLS_PARAMETERS: i32 = 12_040;

/// A kernel loaded on a GPU: its function, which other kernels may share, and its launch configuration.
#[derive(Clone)]
pub(crate) struct CudaCode {
    function: Arc<Function>,
    launch: Launch,
    /// Run-time constants: the 64-bit parameters between the pointers and the range of items.
    numbers: Vec<u64>,
    epilogue: Option<Epilogue>,
    /// Set if the function itself waits for earlier launches, so that its launch may begin before the earlier one has
    /// ended (programmatic dependent launch). The value is the number of blocks that the GPU holds at once.
    follows: Option<u32>,
}

/// A compiled function, loaded on a GPU.
struct Function {
    name: String,
    function: CudaFunction,
    /// The function's context, which must be current on a thread that queries the function.
    context: Arc<CudaContext>,
    /// Limit in bytes on the dynamic shared memory of launches, raised by [`Function::allow`] when necessary.
    shared_bytes: Mutex<u32>,
    /// Maximum number of resident threads per multiprocessor of the GPU.
    multiprocessor_threads: u32,
    /// Size of each parameter in bytes. `None` if the driver does not report sizes.
    parameters: Option<Vec<usize>>,
}

/// Resources that a loaded kernel uses on a multiprocessor, as reported by the driver.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Occupancy {
    /// The kernel's name.
    pub kernel: String,
    /// The launch configuration.
    pub launch: Launch,
    /// Registers per thread.
    pub registers: u32,
    /// Bytes of local memory per thread: stack and spilled registers.
    pub local_bytes: u32,
    /// Bytes of static shared memory per block. [`Launch::shared_bytes`] are added at launch.
    pub static_shared_bytes: u32,
    /// Number of blocks that a multiprocessor holds at once.
    pub blocks_per_multiprocessor: u32,
    /// Maximum number of resident threads per multiprocessor.
    pub multiprocessor_threads: u32,
}

impl Occupancy {
    /// The theoretical occupancy: the number of resident threads divided by the maximum number of resident threads.
    #[must_use]
    pub fn share(&self) -> f64 {
        f64::from(self.blocks_per_multiprocessor * self.launch.threads.next_multiple_of(WARP))
            / f64::from(self.multiprocessor_threads.max(1))
    }
}

/// The code that a GPU has loaded, and the bundles and the cache from which it loads more.
pub(crate) struct Codes {
    loaded: Mutex<HashMap<Key, Arc<Slot>>>,
    /// The bundles in use, or the error with which the bundle named by `RINGFORGE_BUNDLE` could not be loaded. With an
    /// error, no kernel can be loaded.
    bundles: Mutex<Result<Vec<Arc<Bundle>>>>,
    cache: Option<Cache>,
}

/// A loaded kernel; `None` until it is loaded. The thread that loads the kernel holds the lock, so that other threads
/// that need the kernel wait.
type Slot = Mutex<Option<Arc<Function>>>;

impl Codes {
    /// Opens the bundle and the cache that the environment variables select, for a GPU of this architecture. Loads no
    /// kernel.
    pub(crate) fn from_environment(capability: u32) -> Self {
        let bundles = Bundle::from_environment(capability).map(|bundle| bundle.into_iter().map(Arc::new).collect());
        Self { loaded: Mutex::default(), bundles: Mutex::new(bundles), cache: cache::from_environment() }
    }

    /// Adds a bundle to those from which kernels are loaded from now on. Fails if the bundle has no kernels for this
    /// architecture, or if the bundle named by `RINGFORGE_BUNDLE` could not be loaded.
    pub(crate) fn use_bundle(&self, bundle: &Bundle, capability: u32) -> Result<()> {
        bundle.check_for(capability)?;
        lock(&self.bundles).as_mut().map_err(|error| error.clone())?.push(Arc::new(bundle.clone()));
        Ok(())
    }

    /// Unloads the code of kernels that no program uses.
    pub(crate) fn trim(&self) {
        let is_used = |code: &Option<Arc<Function>>| code.as_ref().is_some_and(|code| Arc::strong_count(code) > 1);
        // keep a locked slot, because its kernel is being loaded
        self.map().retain(|_, slot| slot.try_lock().map_or(true, |code| is_used(&code)));
    }

    fn slot(&self, key: Key) -> Arc<Slot> {
        self.map().entry(key).or_default().clone()
    }

    fn map(&self) -> MutexGuard<'_, HashMap<Key, Arc<Slot>>> {
        lock(&self.loaded)
    }
}

/// Loads kernels on several threads, and kernels with equal sources only once. Returns for each kernel the ports that
/// its source was generated for, the tiles into which its blocks divide each port, and its code.
pub(crate) fn load(gpu: &Arc<Gpu>, kernels: &[Arc<dyn Kernel>]) -> Result<Vec<(Vec<Port>, Tiles, CudaCode)>> {
    let mut units: Vec<(Unit, Arc<Slot>, Key)> = Vec::new();
    let mut of_kernel = Vec::with_capacity(kernels.len());
    for kernel in kernels {
        let mut unit = Unit::new(&**kernel, &gpu.limits, false)?;
        let take = (core::mem::take(&mut unit.ports), core::mem::take(&mut unit.shares));
        let own = (take, unit.launch, core::mem::take(&mut unit.numbers), unit.epilogue, unit.follows);
        let key = unit.key();
        let slot = gpu.codes.slot(key);
        let known = units.iter().position(|(_, known, _)| Arc::ptr_eq(known, &slot));
        of_kernel.push((known.unwrap_or(units.len()), own));
        if known.is_none() {
            units.push((unit, slot, key));
        }
    }
    let codes: Vec<Mutex<Option<Result<Arc<Function>>>>> = units.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let (Some((unit, slot, key)), Some(result)) = (units.get(at), codes.get(at)) else { return };
            let mut filled = lock(slot);
            let code = filled.clone().map_or_else(|| make(gpu, unit, key), Ok);
            *filled = code.as_ref().ok().cloned();
            *lock(result) = Some(code);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(units.len());
    // rayon's threads cannot be used: one that waits may run another task, which must not happen while it has locked a
    // slot
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // if a thread does not start, the other threads do its work
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let lost = |kernel: &Arc<dyn Kernel>| Error::Kernel { kernel: kernel.name().into(), why: "was not loaded".into() };
    // if all kernels were loaded before, the GPU's context may not be current on this thread yet
    gpu.bind()?;
    kernels
        .iter()
        .zip(of_kernel)
        .map(|(kernel, (at, ((ports, shares), launch, numbers, epilogue, follows)))| {
            let function = codes.get(at).and_then(|code| lock(code).clone()).ok_or_else(|| lost(kernel))??;
            function.takes(&ports, &numbers, epilogue)?;
            function.allow(launch.shared_bytes)?;
            let mut code = CudaCode { function, launch, numbers, epilogue, follows: None };
            if follows {
                code.follows = Some(code.occupancy()?.blocks_per_multiprocessor * gpu.limits.multiprocessors);
            }
            Ok((ports, shares, code))
        })
        .collect()
}

fn make(gpu: &Arc<Gpu>, unit: &Unit, key: &Key) -> Result<Arc<Function>> {
    let bundles = lock(&gpu.codes.bundles).clone()?;
    for (bundle, image) in bundles.iter().filter_map(|bundle| Some((bundle, bundle.image(key)?))) {
        match Function::new(gpu, unit, image) {
            Ok(function) => {
                log::debug!("{} is from {bundle}", unit.entry);
                return Ok(Arc::new(function));
            }
            Err(error) => log::warn!("{} of {bundle} cannot be used: {error}", unit.entry),
        }
    }
    let searched = bundles.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if !bundles.is_empty() {
        log::warn!("{searched}: no {} of this shape for sm_{}", unit.entry, unit.capability);
    }
    let cached = gpu.codes.cache.as_ref();
    let compiler = cached.and_then(|_| nvrtc::version());
    for entry in cached.into_iter().flat_map(|cache| cache::load(cache, key, compiler.as_deref())) {
        match Function::new(gpu, unit, entry.image) {
            Ok(function) => return Ok(Arc::new(function)),
            Err(error) => log::warn!("cached {} by {} cannot be used: {error}", unit.entry, entry.compiler),
        }
    }
    let compiled = nvrtc::compile(unit).map_err(|error| match error {
        Error::NoCompiler { kernel, .. } if !bundles.is_empty() => Error::NoCompiler { kernel, bundle: Some(searched) },
        error => error,
    })?;
    log::debug!("compiled {} with {}: {}", unit.entry, compiled.compiler, compiled.log);
    let entry = Entry { image: compiled.image, compiler: compiled.compiler };
    let function = Function::new(gpu, unit, entry.image.clone())?;
    if let Some(cached) = cached {
        cache::store(cached, key, &entry);
    }
    Ok(Arc::new(function))
}

impl Function {
    fn new(gpu: &Arc<Gpu>, unit: &Unit, image: nvrtc::Image) -> Result<Self> {
        let (nvrtc::Image::Cubin(bytes) | nvrtc::Image::Ptx(bytes)) = image;
        let module = gpu.context.load_module(Ptx::from_binary(bytes)).map_err(failed("cuModuleLoadData"))?;
        let function = module.load_function(&unit.entry).map_err(failed("cuModuleGetFunction"))?;
        let multiprocessor_threads = gpu
            .context
            .attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)
            .map_err(failed("cuDeviceGetAttribute"))?;
        Ok(Self {
            name: unit.entry.clone(),
            parameters: parameters(gpu, &function),
            function,
            context: gpu.context.clone(),
            shared_bytes: Mutex::new(FREE_SHARED_BYTES),
            multiprocessor_threads: unsigned(multiprocessor_threads),
        })
    }

    /// Checks that the function takes one pointer for each port and the expected number of 64-bit integers. An epilogue
    /// is one struct parameter that holds some of the pointers and integers. Passes if the driver does not report
    /// parameter sizes. Without this check, a launch could read beyond the parameters that it passes.
    fn takes(&self, ports: &[Port], numbers: &[u64], epilogue: Option<Epilogue>) -> Result<()> {
        let (pointers, numbers) = (ports.len(), numbers.len() + RANGE);
        let parameters = parameters_of(pointers + numbers, pointers, epilogue);
        // an empty struct has a size of one byte
        let wanted: Vec<usize> = parameters.map(|words| (words.len() * POINTER).max(1)).collect();
        match &self.parameters {
            Some(sizes) if *sizes != wanted => {
                let why = format!(
                    "takes parameters of {sizes:?} bytes, not {wanted:?}: {pointers} pointers and {numbers} numbers"
                );
                Err(Error::Kernel { kernel: self.name.clone(), why })
            }
            _ => Ok(()),
        }
    }

    /// Raises the limit on dynamic shared memory of launches to at least this many bytes.
    fn allow(&self, shared_bytes: u32) -> Result<()> {
        let mut allowed = lock(&self.shared_bytes);
        if *allowed < shared_bytes {
            let bytes = i32::try_from(shared_bytes).unwrap_or(i32::MAX);
            let attribute = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            self.function.set_attribute(attribute, bytes).map_err(failed("cuFuncSetAttribute"))?;
            *allowed = shared_bytes;
        }
        Ok(())
    }
}

impl CudaCode {
    /// Starts the kernel on these items, or, with `part`, only these blocks of a single item. If `early` is set and the
    /// kernel allows it, the launch may begin before the previous one ends (programmatic dependent launch).
    ///
    /// # Safety
    /// `addresses` must hold one address per port, of device memory that holds what the port requires for these items.
    /// The stream must have waited for all earlier users of that memory.
    pub(crate) unsafe fn start(
        &self,
        queue: &GpuStream,
        items: &Range<usize>,
        part: Option<&Range<usize>>,
        addresses: &[u64],
        early: bool,
    ) -> Result<()> {
        let Grid { blocks, first, end } = self.launch.grid(items, part)?;
        let mut words = [addresses, &self.numbers, &[first, end]].concat();
        let parameters = parameters_of(words.len(), addresses.len(), self.epilogue);
        let start = words.as_mut_ptr();
        let mut parameters: Vec<*mut c_void> = parameters.map(|words| start.wrapping_add(words.start).cast()).collect();
        let Launch { threads, shared_bytes, cluster, .. } = self.launch;
        let mut attributes = Vec::new();
        if early && self.follows.is_some_and(|at_once| pays_early(blocks, at_once)) {
            attributes.push(attribute(
                sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                sys::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
            ));
        }
        if cluster > 1 {
            let dimensions = sys::CUlaunchAttributeValue_union__bindgen_ty_1 { x: cluster, y: 1, z: 1 };
            attributes.push(attribute(
                sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                sys::CUlaunchAttributeValue { clusterDim: dimensions },
            ));
        }
        let config = sys::CUlaunchConfig {
            gridDimX: blocks,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: threads,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: shared_bytes,
            hStream: queue.stream().cu_stream(),
            attrs: attributes.as_mut_ptr(),
            numAttrs: attributes.len() as u32,
        };
        let function = self.function.function.cu_function();
        // SAFETY: the function takes a pointer for each port, then 64-bit integers; with an epilogue, one struct replaces
        // the last pointers and the first integers. Every kernel's source guarantees this. The driver copies all
        // parameters before the call returns. The caller guarantees the requirements on the memory.
        unsafe { sys::cuLaunchKernelEx(&raw const config, function, parameters.as_mut_ptr(), core::ptr::null_mut()) }
            .result()
            .map_err(failed("cuLaunchKernelEx"))
    }

    /// The kernel's name.
    pub(crate) fn name(&self) -> &str {
        &self.function.name
    }

    /// Resources that the kernel uses on a multiprocessor.
    pub(crate) fn occupancy(&self) -> Result<Occupancy> {
        let Function { name, function, context, multiprocessor_threads, .. } = &*self.function;
        context.bind_to_thread().map_err(failed("cuCtxSetCurrent"))?;
        let blocks = function.occupancy_max_active_blocks_per_multiprocessor(
            self.launch.threads,
            self.launch.shared_bytes as usize,
            Some(sys::CUoccupancy_flags_enum::CU_OCCUPANCY_DEFAULT),
        );
        Ok(Occupancy {
            kernel: name.clone(),
            launch: self.launch,
            registers: unsigned(function.num_regs().map_err(failed("cuFuncGetAttribute"))?),
            local_bytes: unsigned(function.local_size_bytes().map_err(failed("cuFuncGetAttribute"))?),
            static_shared_bytes: unsigned(function.shared_size_bytes().map_err(failed("cuFuncGetAttribute"))?),
            blocks_per_multiprocessor: blocks.map_err(failed("cuOccupancyMaxActiveBlocksPerMultiprocessor"))?,
            multiprocessor_threads: *multiprocessor_threads,
        })
    }
}

impl core::fmt::Debug for CudaCode {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "CudaCode({})", self.function.name)
    }
}

/// Whether a launch of `blocks` blocks should begin before the previous launch has ended. `at_once` is the number of
/// blocks that the GPU holds. If both launches together have slightly more blocks than that, the early blocks crowd on
/// the few multiprocessors with room, and the launch takes longer: see
/// `bench/results/profiles/2026-11-26-h100-turns.txt`.
fn pays_early(blocks: u32, at_once: u32) -> bool {
    blocks <= at_once / 2 || blocks > 2 * at_once
}

/// A launch attribute with this id and value.
fn attribute(id: sys::CUlaunchAttributeID, value: sys::CUlaunchAttributeValue) -> sys::CUlaunchAttribute {
    sys::CUlaunchAttribute { id, pad: [0; 4], value }
}

/// The 64-bit words of a launch are `pointers` pointers, followed by integers, `words` words in all. Returns the range
/// of words of each parameter. A parameter has one word, except an epilogue (struct), which has the last pointers and
/// the first integers.
fn parameters_of(words: usize, pointers: usize, epilogue: Option<Epilogue>) -> impl Iterator<Item = Range<usize>> {
    let Epilogue { pointers: own, numbers } = epilogue.unwrap_or_default();
    let (start, end) = (pointers - own, pointers + numbers);
    let single = |words: Range<usize>| words.map(|word| word..word + 1);
    single(0..start).chain(epilogue.map(|_| start..end)).chain(single(end..words))
}

/// The size of each parameter of a function in bytes. `None` if the driver is too old to report sizes.
fn parameters(gpu: &Gpu, function: &CudaFunction) -> Option<Vec<usize>> {
    if gpu.driver < TELLS_PARAMETERS {
        return None;
    }
    let size = |index| {
        let (mut offset, mut size) = (0, 0);
        // SAFETY: the function is loaded; the call writes two integers, and returns an error if there is no such
        // parameter.
        unsafe { sys::cuFuncGetParamInfo(function.cu_function(), index, &raw mut offset, &raw mut size) }
            .result()
            .is_ok()
            .then_some(size)
    };
    Some((0..).map_while(size).collect())
}

/// Converts a count that the driver returns as a signed number; a negative one becomes 0.
fn unsigned(value: i32) -> u32 {
    u32::try_from(value).unwrap_or(0)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
