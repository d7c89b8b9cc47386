//! Devices, streams and buffers: where, in what order, and on what.

use core::fmt;
use core::ops::Range;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytemuck::Pod;

use crate::backend::{Backend, Bound, Loaded, Queue, To};
use crate::cpu::Cpu;
use crate::draws::Draws;
use crate::error::{Error, Result, same_length};
use crate::event::Event;
use crate::guarded::Guarded;
use crate::kernel::Kernel;
use crate::limits::Limits;
use crate::memory::{Memory, Read};
use crate::pinned::PinnedBuffer;
use crate::plan::Content;
use crate::ring::Ring;
use crate::table::Table;

/// A place where programs run: the CPU, or one CUDA GPU. Cloning is cheap and gives the same device.
#[derive(Clone)]
pub struct Device(Arc<Parts>);

struct Parts {
    backend: Box<dyn Backend>,
    tables: Mutex<HashMap<String, Arc<MadeTable>>>,
}

impl Device {
    pub(crate) fn new(backend: impl Backend + 'static) -> Self {
        Self(Arc::new(Parts { backend: Box::new(backend), tables: Mutex::default() }))
    }

    /// The CPU, with rayon's threads.
    #[must_use]
    pub fn cpu() -> Self {
        Self::new(Cpu::default())
    }

    /// The CUDA GPU with this ordinal.
    ///
    /// # Errors
    /// [`Error::NoDevice`] where there is none; never a panic, also without a driver.
    pub fn cuda(ordinal: usize) -> Result<Self> {
        #[cfg(feature = "cuda")]
        return Ok(Self::new(crate::cuda::Cuda::open(ordinal)?));
        #[cfg(not(feature = "cuda"))]
        {
            let _ = ordinal;
            Err(Error::NoDevice(crate::error::NoDevice::NotBuilt))
        }
    }

    /// What the device can hold.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        self.0.backend.limits()
    }

    /// A new stream: an order of work.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn stream(&self) -> Result<Stream> {
        Ok(Stream { device: self.clone(), queue: self.0.backend.queue()? })
    }

    /// A buffer of this many bytes, unreadable until written.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn buffer(&self, bytes: usize) -> Result<Buffer> {
        Ok(Buffer::new(self, self.allocate(bytes)?.into(), bytes))
    }

    /// Host memory of this many bytes, all zero, that copies to and from this device go fastest with:
    /// [`Program::on_host`](crate::Program::on_host) and [`Stream`]'s copies then need no staging memory. On a CPU it is ordinary memory.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Driver`].
    pub fn pinned(&self, bytes: usize) -> Result<PinnedBuffer> {
        self.0.backend.pinned(bytes)
    }

    /// Bytes of the device's own memory that buffers, tables and temporaries take, with what is kept for later: as that is
    /// kept until [`trim`](Self::trim), the most that was in use since then. None where memory is the host's.
    #[must_use]
    pub fn held_bytes(&self) -> Option<usize> {
        self.0.backend.held_bytes()
    }

    /// Gives back what is kept for later: tables and code that no program uses, and free memory.
    pub fn trim(&self) {
        let mut tables = self.tables();
        // lists first, which keep what they list
        tables.retain(|_, table| table.parts.is_empty() || Arc::strong_count(table) > 1);
        tables.retain(|_, table| Arc::strong_count(table) > 1);
        drop(tables);
        self.0.backend.trim();
    }

    /// Memory of this many bytes, if need be in place of what is kept for later.
    pub(crate) fn allocate(&self, bytes: usize) -> Result<Memory> {
        match self.0.backend.allocate(bytes) {
            Err(Error::OutOfMemory { .. }) => {
                self.trim();
                self.0.backend.allocate(bytes)
            }
            memory => memory,
        }
    }

    pub(crate) fn backend(&self) -> &dyn Backend {
        &*self.0.backend
    }

    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// A table, made now unless it is there already.
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
            Table::Bytes(bytes) => backend.upload(&queue, bytes, memory.write(), 0)?,
            Table::List(tables) => {
                parts = all(tables)?;
                let addresses: Vec<u64> = parts.iter().map(|part| part.memory.address()).collect();
                backend.upload(&queue, bytemuck::cast_slice(&addresses), memory.write(), 0)?;
            }
            Table::Made { kernel, items, inputs } => {
                let inputs = all(inputs)?;
                let loaded = self.load(std::slice::from_ref(kernel))?;
                let [loaded] = &loaded[..] else {
                    return Err(Error::Kernel { kernel: kernel.name().into(), why: "was not loaded".into() });
                };
                let mut ports: Vec<Bound<'_>> = inputs.iter().map(|input| input.bound()).collect();
                ports.push(Bound::all(To::Write(memory.write())));
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
        self.0.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A table in a device's memory.
pub(crate) struct MadeTable {
    /// Of a list, the addresses of its tables.
    memory: Memory,
    parts: Vec<Arc<Self>>,
}

impl MadeTable {
    /// As what a port is bound to.
    pub(crate) fn bound(&self) -> Bound<'_> {
        Bound::all(match &self.parts[..] {
            [] => To::Read(self.memory.read()),
            parts => To::List(self.memory.read(), parts.iter().map(|part| part.memory.read()).collect()),
        })
    }

    /// The memory that launches use, by its address.
    pub(crate) fn memory(&self) -> Read<'_> {
        self.memory.read()
    }
}

impl Drop for MadeTable {
    fn drop(&mut self) {
        // launches know the addresses alone
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

/// An order of work on a device. Work on different streams may overlap; buffers keep it from overtaking what it needs.
#[derive(Debug, Clone)]
pub struct Stream {
    device: Device,
    queue: Queue,
}

impl Stream {
    /// The stream's device.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// A new buffer with these elements. What they are is not looked at: [`Stream::upload_coefficients`] and
    /// [`Stream::upload_values`] see to it that residues are below their moduli.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Driver`].
    pub fn upload<T: Pod>(&self, from: &[T]) -> Result<Buffer> {
        let mut buffer = self.device.buffer(size_of_val(from))?;
        self.write(&mut buffer, from)?;
        Ok(buffer)
    }

    /// A buffer for secrets: as [`Device::buffer`], and wiped when it is dropped, in this stream's order, whether what was
    /// done with it ended well, with an error or with a panic.
    ///
    /// # Errors
    /// As [`Device::buffer`].
    pub fn secret_buffer(&self, bytes: usize) -> Result<Buffer> {
        let memory = Guarded::new(self, self.device.allocate(bytes)?, true);
        Ok(Buffer::new(&self.device, memory, bytes))
    }

    /// A new [buffer for secrets](Self::secret_buffer) with these elements.
    ///
    /// # Errors
    /// As [`Stream::upload`].
    pub fn upload_secret<T: Pod>(&self, from: &[T]) -> Result<Buffer> {
        let mut buffer = self.secret_buffer(size_of_val(from))?;
        self.write(&mut buffer, from)?;
        Ok(buffer)
    }

    /// A new buffer with coefficients of elements of a ring, in its [form](Ring::form), checked to be in [0, q) unless the
    /// ring [accepts any word](Ring::accepts_any_word).
    ///
    /// # Errors
    /// [`Error::Length`] unless the slice holds whole elements of the ring; [`Error::NotReduced`].
    pub fn upload_coefficients<T: Pod>(&self, ring: &Ring, from: &[T]) -> Result<Buffer> {
        self.upload_checked(ring, from, Content::Coefficients(ring.clone()))
    }

    /// A new buffer with values such as a transform leaves: checked like coefficients, and known by their ring, number
    /// of layers and order.
    ///
    /// # Errors
    /// As [`Stream::upload_coefficients`]; [`Error::Mismatch`] if `content` is not about values.
    pub fn upload_values<T: Pod>(&self, content: &Content, from: &[T]) -> Result<Buffer> {
        match content {
            Content::Evaluations { ring, .. } => self.upload_checked(ring, from, content.clone()),
            Content::Coefficients(_) => {
                Err(Error::Mismatch { what: "content".into(), expected: "values".into(), got: content.to_string() })
            }
        }
    }

    fn upload_checked<T: Pod>(&self, ring: &Ring, from: &[T], content: Content) -> Result<Buffer> {
        ring.check(from)?;
        let mut buffer = self.upload(from)?;
        buffer.content = Some(content);
        Ok(buffer)
    }

    /// Overwrites a whole buffer.
    ///
    /// # Errors
    /// [`Error::Length`] unless the sizes agree; [`Error::ForeignDevice`]; [`Error::Driver`].
    pub fn write<T: Pod>(&self, buffer: &mut Buffer, from: &[T]) -> Result<()> {
        self.owns(buffer)?;
        let from: &[u8] = bytemuck::cast_slice(from);
        same_length("bytes to write", buffer.len, from.len())?;
        self.device.backend().upload(&self.queue, from, buffer.memory.write(), 0)?;
        buffer.written = true;
        buffer.content = None;
        Ok(())
    }

    /// Overwrites a buffer with zeros, for one that holds secrets; it counts as unwritten then.
    ///
    /// # Errors
    /// [`Error::ForeignDevice`]; [`Error::Driver`].
    pub fn wipe(&self, buffer: &mut Buffer) -> Result<()> {
        self.owns(buffer)?;
        buffer.written = false;
        buffer.content = None;
        self.device.backend().wipe(&self.queue, buffer.memory.write())
    }

    /// One run that draws: calls `run` with fresh [`Draws`] in memory of the device, to be given to one
    /// [run](crate::Program::on) on this stream, and wipes that memory after it.
    ///
    /// This is how programs should be given randomness: the buffer does not outlive its run, so it cannot be given to
    /// a second one by mistake. For [`Program::on_host`](crate::Program::on_host), make [`Draws`] before each call.
    ///
    /// # Errors
    /// As [`Draws::from_os`] and [`Stream::upload`]; what `run` returns.
    pub fn with_draws<T>(&self, run: impl FnOnce(&Buffer) -> Result<T>) -> Result<T> {
        let mut buffer = self.upload_secret(Draws::from_os()?.as_bytes())?;
        let value = run(&buffer)?;
        buffer.memory.wipe(&self.queue).map(|()| value)
    }

    /// Copies a whole buffer out.
    ///
    /// # Errors
    /// [`Error::Length`] unless the sizes agree; [`Error::Unwritten`]; [`Error::ForeignDevice`]; [`Error::Driver`].
    pub fn read<T: Pod>(&self, buffer: &Buffer, to: &mut [T]) -> Result<()> {
        self.owns(buffer)?;
        buffer.readable("the buffer")?;
        let to: &mut [u8] = bytemuck::cast_slice_mut(to);
        same_length("bytes to read", buffer.len, to.len())?;
        self.device.backend().download(&self.queue, buffer.memory.read(), 0, to)
    }

    /// Copies a whole buffer out into a new vector.
    ///
    /// # Errors
    /// As [`Stream::read`]; [`Error::Length`] if the buffer holds no whole number of elements.
    pub fn download<T: Pod>(&self, buffer: &Buffer) -> Result<Vec<T>> {
        let size = size_of::<T>().max(1);
        if !buffer.len.is_multiple_of(size) {
            return Err(Error::Length {
                what: "bytes of the buffer, in whole elements",
                expected: buffer.len / size * size,
                got: buffer.len,
            });
        }
        let mut to = vec![T::zeroed(); buffer.len / size];
        self.read(buffer, &mut to)?;
        Ok(to)
    }

    /// Copies one buffer into another of the same size, with what is known of what it holds.
    ///
    /// # Errors
    /// [`Error::Length`] unless the sizes agree; [`Error::Unwritten`], [`Error::ForeignDevice`], [`Error::Driver`].
    pub fn copy(&self, from: &Buffer, to: &mut Buffer) -> Result<()> {
        same_length("bytes of the buffer to copy to", from.len, to.len)?;
        self.copy_part(from, 0..from.len, to, 0)?;
        to.written = true;
        to.content.clone_from(&from.content);
        Ok(())
    }

    /// Copies these bytes of one buffer into a written one, from a byte on; what that one holds is not known any more.
    ///
    /// # Errors
    /// [`Error::Length`] where one of them does not reach so far; [`Error::Unwritten`], [`Error::ForeignDevice`],
    /// [`Error::Driver`].
    pub fn write_part(&self, to: &mut Buffer, offset: usize, from: &Buffer, bytes: Range<usize>) -> Result<()> {
        to.readable("the buffer to write to")?;
        self.copy_part(from, bytes, to, offset)?;
        to.content = None;
        Ok(())
    }

    fn copy_part(&self, from: &Buffer, bytes: Range<usize>, to: &mut Buffer, offset: usize) -> Result<()> {
        self.owns(from)?;
        self.owns(to)?;
        from.readable("the buffer to copy from")?;
        let (count, room) = (bytes.end.saturating_sub(bytes.start), to.len.saturating_sub(offset));
        if bytes.start > bytes.end || bytes.end > from.len {
            return Err(Error::Length { what: "bytes of the buffer to copy from", expected: from.len, got: bytes.end });
        }
        if offset > to.len || count > room {
            let what = "bytes of the buffer to write to";
            return Err(Error::Length { what, expected: to.len, got: offset.saturating_add(count) });
        }
        self.device.backend().copy(&self.queue, from.memory.read(), bytes.start, to.memory.write(), offset, count)
    }

    /// Waits for all work on the stream.
    ///
    /// # Errors
    /// [`Error::Driver`], also for work that failed after it was started.
    pub fn synchronize(&self) -> Result<()> {
        self.device.backend().synchronize(&self.queue)
    }

    /// A point after all work so far, to measure time from and to.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn mark(&self) -> Result<Event> {
        Event::new(&self.queue)
    }

    pub(crate) fn on(device: &Device, queue: Queue) -> Self {
        Self { device: device.clone(), queue }
    }

    pub(crate) fn queue(&self) -> &Queue {
        &self.queue
    }

    fn owns(&self, buffer: &Buffer) -> Result<()> {
        buffer.on(&self.device, "the buffer")
    }
}

/// Memory on a device. It knows whether it was written and, where a program or a checked upload filled it, what it holds.
#[derive(Debug)]
pub struct Buffer {
    device: Device,
    pub(crate) memory: Guarded,
    len: usize,
    pub(crate) written: bool,
    pub(crate) content: Option<Content>,
}

impl Buffer {
    fn new(device: &Device, memory: Guarded, len: usize) -> Self {
        Self { device: device.clone(), memory, len, written: false, content: None }
    }

    /// Size in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the size is 0.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// What the buffer holds, where that is known.
    #[must_use]
    pub fn content(&self) -> Option<&Content> {
        self.content.as_ref()
    }

    /// The buffer's device.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// A buffer in memory that somebody else has written.
    #[cfg(feature = "cuda")]
    pub(crate) fn foreign(device: &Device, memory: Memory, len: usize) -> Self {
        Self { written: true, ..Self::new(device, memory.into(), len) }
    }

    pub(crate) fn readable(&self, what: &str) -> Result<()> {
        if self.written || self.len == 0 { Ok(()) } else { Err(Error::Unwritten { what: what.into() }) }
    }

    pub(crate) fn on(&self, device: &Device, what: &str) -> Result<()> {
        if self.device.is(device) {
            return Ok(());
        }
        Err(Error::ForeignDevice { what: what.into(), expected: device.to_string(), got: self.device.to_string() })
    }
}
