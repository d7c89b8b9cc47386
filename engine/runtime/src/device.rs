//! Devices: the CPU or a CUDA GPU, on which programs run.

mod buffer;
#[cfg(feature = "cuda")]
pub mod raw;
mod stream;

use core::fmt;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::backend::cpu::Cpu;
use crate::backend::{Backend, Binding, Loaded, To};
use crate::kernel::{Kernel, Table};
use crate::limits::Limits;
use crate::memory::{Memory, Read};
use crate::pinned::PinnedBuffer;
use ringforge_math::error::{Error, Result};

pub use buffer::{Buffer, BufferSlice, BufferSliceMut};
pub use stream::Stream;

/// A device that runs programs: the CPU or one CUDA GPU. Cloning is cheap, and a clone is the same device.
#[derive(Clone)]
pub struct Device {
    parts: Arc<Parts>,
    /// Number of devices of the engine that returned this handle. It is 1 unless that engine uses a group of devices.
    group: usize,
}

struct Parts {
    backend: Arc<dyn Backend>,
    tables: Mutex<HashMap<String, Arc<MadeTable>>>,
}

impl Device {
    #[doc(hidden)]
    pub fn new(backend: impl Backend + 'static) -> Self {
        Self { parts: Arc::new(Parts { backend: Arc::new(backend), tables: Mutex::default() }), group: 1 }
    }

    /// The CPU, with rayon's threads.
    #[must_use]
    pub fn cpu() -> Self {
        Self::new(Cpu::default())
    }

    /// The CUDA GPU with this ordinal.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if there is no usable driver or no such GPU, if opening the GPU fails, or if the crate was
    /// built without the feature `cuda`.
    pub fn cuda(ordinal: usize) -> Result<Self> {
        #[cfg(feature = "cuda")]
        return Ok(Self::new(crate::backend::cuda::Cuda::open(ordinal)?));
        #[cfg(not(feature = "cuda"))]
        {
            let _ = ordinal;
            Err(Error::NoDevice(ringforge_math::error::NoDevice::NotBuilt))
        }
    }

    /// Loads kernels from this bundle from now on, if it contains them, without a look-up in the cache or a call of
    /// NVRTC. Kernels that the bundle lacks are logged, and loaded as without a bundle.
    ///
    /// # Errors
    /// [`Error::Bundle`] if the bundle has no kernels for this device's architecture, or if the bundle that
    /// `RINGFORGE_BUNDLE` names is unusable; [`Error::Unsupported`] on a CPU.
    #[cfg(feature = "cuda")]
    pub fn use_bundle(&self, bundle: &crate::cuda::Bundle) -> Result<()> {
        match self.backend().gpu() {
            Some(gpu) => gpu.codes.use_bundle(bundle, gpu.limits.capability),
            None => Err(Error::Unsupported {
                job: format!("a kernel bundle on {self}"),
                why: "only GPUs run compiled kernels".into(),
            }),
        }
    }

    /// The limits of the device.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        self.parts.backend.limits()
    }

    /// A new stream. Work on it runs in order.
    ///
    /// # Errors
    /// [`Error::Driver`] if the GPU's driver cannot create the stream.
    pub fn stream(&self) -> Result<Stream> {
        Ok(Stream { device: self.clone(), queue: self.parts.backend.queue()? })
    }

    /// A new stream of high priority. If work of several streams is ready to start, the device starts the work of this
    /// stream first.
    #[doc(hidden)]
    pub fn urgent_stream(&self) -> Result<Stream> {
        Ok(Stream { device: self.clone(), queue: self.parts.backend.urgent_queue()? })
    }

    /// A new buffer of this many bytes. It cannot be read before it is written.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the device has too little free memory; [`Error::Driver`] if a driver call fails
    /// otherwise.
    pub fn buffer(&self, bytes: usize) -> Result<Buffer> {
        Ok(Buffer::new(self, self.allocate(bytes)?.into(), bytes))
    }

    /// Like [`Device::buffer`], for a buffer that is written in slices. It counts as written, so the caller must write all
    /// bytes before any is read: they may hold data of earlier buffers.
    #[doc(hidden)]
    pub fn buffer_of_parts(&self, bytes: usize) -> Result<Buffer> {
        let mut memory = self.allocate(bytes)?;
        memory.skip_zeroing();
        let mut buffer = Buffer::new(self, memory.into(), bytes);
        buffer.holds_anything();
        Ok(buffer)
    }

    /// Allocates zeroed host memory of this many bytes, for the fastest copies to and from this device. With it,
    /// [`Program::on_host`](crate::Program::on_host) and [`Stream`]'s copies need no staging memory. On a CPU it is
    /// ordinary memory.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the host has too little free memory; [`Error::Driver`] if a driver call fails
    /// otherwise.
    pub fn pinned(&self, bytes: usize) -> Result<PinnedBuffer> {
        self.parts.backend.pinned(bytes)
    }

    /// Bytes of device memory held by buffers, tables and temporaries, and by freed memory in the pool. The pool keeps
    /// freed memory until [`trim`](Self::trim), so this is the peak usage since the last trim. `None` if the device
    /// uses host memory.
    #[must_use]
    pub fn held_bytes(&self) -> Option<usize> {
        self.parts.backend.held_bytes()
    }

    /// Frees tables and code that no program uses, and the freed memory in the pool.
    pub fn trim(&self) {
        let mut tables = self.tables();
        // drop lists of tables first, because they hold references to the tables that they list
        tables.retain(|_, table| table.parts.is_empty() || Arc::strong_count(table) > 1);
        tables.retain(|_, table| Arc::strong_count(table) > 1);
        drop(tables);
        self.parts.backend.trim();
    }

    /// Allocates this many bytes. If memory runs out, trims the device and tries again once.
    pub(crate) fn allocate(&self, bytes: usize) -> Result<Memory> {
        self.or_trimmed(|backend| backend.allocate(bytes))
    }

    /// Like `allocate`, for memory that is used for one run only.
    pub(crate) fn allocate_for_run(&self, bytes: usize) -> Result<Memory> {
        self.or_trimmed(|backend| backend.allocate_for_run(bytes))
    }

    fn or_trimmed(&self, allocate: impl Fn(&dyn Backend) -> Result<Memory>) -> Result<Memory> {
        match allocate(&**self.backend()) {
            Err(Error::OutOfMemory { .. }) => {
                self.trim();
                allocate(&**self.backend())
            }
            memory => memory,
        }
    }

    #[doc(hidden)]
    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.parts.backend
    }

    /// The same device, as the first one of a group of `group` devices.
    #[doc(hidden)]
    pub fn of_group(&self, group: usize) -> Self {
        Self { group, ..self.clone() }
    }

    /// Number of devices of the engine that returned this handle.
    pub(crate) fn group(&self) -> usize {
        self.group
    }

    #[doc(hidden)]
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.parts, &other.parts)
    }

    /// Returns the contents of a table, which is computed on the device if necessary.
    #[doc(hidden)]
    #[cfg(feature = "testkit")]
    pub fn table_bytes(&self, table: &Table) -> Result<Vec<u8>> {
        let (made, mut bytes) = (self.table(table)?, vec![0; table.bytes()]);
        self.backend().download(&self.backend().queue()?, made.memory(), &mut bytes)?;
        Ok(bytes)
    }

    /// Returns a table in device memory. It is computed on first use, and cached under the `Debug` output of `table`.
    pub(crate) fn table(&self, table: &Table) -> Result<Arc<MadeTable>> {
        let key = format!("{table:?}");
        if let Some(table) = self.tables().get(&key) {
            return Ok(table.clone());
        }
        let backend = self.backend();
        let queue = backend.queue()?;
        let mut memory = self.allocate(table.bytes())?;
        let all = |tables: &[Table]| tables.iter().map(|table| self.table(table)).collect::<Result<Vec<_>>>();
        let mut parts = Vec::new();
        match table {
            Table::Bytes(bytes) => backend.upload(&queue, bytes, memory.write())?,
            Table::List(tables) => {
                parts = all(tables)?;
                let addresses: Vec<u64> = parts.iter().map(|part| part.memory.address()).collect();
                backend.upload(&queue, bytemuck::cast_slice(&addresses), memory.write())?;
            }
            Table::Made { kernel, items, inputs } => {
                let inputs = all(inputs)?;
                let loaded = self.load(std::slice::from_ref(kernel))?;
                let [loaded] = &loaded[..] else {
                    return Err(Error::Kernel { kernel: kernel.name().into(), why: "was not loaded".into() });
                };
                let mut ports: Vec<Binding<'_>> = inputs.iter().map(|input| input.bound()).collect();
                ports.push(Binding::all(To::Write(memory.write())));
                backend.launch(&queue, loaded, 0..*items, ports)?;
                backend.synchronize(&queue)?;
            }
        }
        backend.synchronize(&queue)?;
        Ok(self.tables().entry(key).or_insert_with(|| Arc::new(MadeTable { memory, parts })).clone())
    }

    pub(crate) fn load(&self, kernels: &[Arc<dyn Kernel>]) -> Result<Vec<Loaded>> {
        self.backend().load(kernels)
    }

    fn tables(&self) -> MutexGuard<'_, HashMap<String, Arc<MadeTable>>> {
        self.parts.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A table in a device's memory.
pub(crate) struct MadeTable {
    /// The table's contents. For a list of tables, the contents are the device addresses of the listed tables.
    memory: Memory,
    parts: Vec<Arc<Self>>,
}

impl MadeTable {
    /// The binding of a port that reads this table.
    pub(crate) fn bound(&self) -> Binding<'_> {
        Binding::all(match &self.parts[..] {
            [] => To::Read(self.memory.read()),
            parts => To::List(self.memory.read(), parts.iter().map(|part| part.memory.read()).collect()),
        })
    }

    /// The memory whose address kernels get at launch.
    pub(crate) fn memory(&self) -> Read<'_> {
        self.memory.read()
    }
}

impl Drop for MadeTable {
    fn drop(&mut self) {
        // a launch counts as a user of the list only, so the list's users are recorded as readers of the listed tables
        self.parts.iter().for_each(|part| part.memory.used_with(&self.memory));
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.limits().name)
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({self})")
    }
}
