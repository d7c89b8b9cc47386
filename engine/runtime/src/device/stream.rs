//! Streams, which run work of a device in order, and the copies on them.

use core::ops::Range;

use bytemuck::Pod;

use crate::backend::BackendStream;
use crate::event::Event;
use crate::guarded::Guarded;
use crate::memory::Memory;
use crate::random::RandomKey;
use crate::tiles::Shape;
use ringforge_math::error::{Error, Result, same_length};
use ringforge_math::poly::PolyType;

use super::{Buffer, BufferSlice, BufferSliceMut, Device};

/// A stream: a queue of work that a device runs in order. Work on different streams may overlap, but work that uses the
/// same buffer is ordered across streams.
#[derive(Debug, Clone)]
pub struct Stream {
    pub(super) device: Device,
    pub(super) queue: BackendStream,
}

impl Stream {
    /// The stream's device.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// A new buffer that holds these elements. They are not checked; [`Stream::upload_elements`] checks that residues
    /// are below their moduli.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the device has too little free memory; [`Error::Driver`] if a driver call fails.
    pub fn upload<T: Pod>(&self, from: &[T]) -> Result<Buffer> {
        let mut buffer = self.device.buffer(size_of_val(from))?;
        self.write(&mut buffer, from)?;
        Ok(buffer)
    }

    /// A new buffer of zeros, which counts as written.
    ///
    /// # Errors
    /// The errors of [`Stream::upload`].
    pub fn zeros(&self, bytes: usize) -> Result<Buffer> {
        let mut buffer = self.device.buffer(bytes)?;
        self.device.backend().wipe(&self.queue, buffer.memory.write())?;
        buffer.holds_anything();
        Ok(buffer)
    }

    /// A new buffer for secrets, which is wiped when it is dropped, also after an error or a panic. The wipe runs on
    /// this stream, after its earlier work. Otherwise the buffer is like one from [`Device::buffer`].
    ///
    /// # Errors
    /// The errors of [`Device::buffer`].
    pub fn secret_buffer(&self, bytes: usize) -> Result<Buffer> {
        let memory = self.guard(self.device.allocate(bytes)?, true);
        Ok(Buffer::new(&self.device, memory, bytes))
    }

    /// Like [`Stream::secret_buffer`], in memory that was already allocated on the device.
    #[doc(hidden)]
    #[must_use]
    pub fn secret_buffer_in(&self, memory: Memory, bytes: usize) -> Buffer {
        Buffer::new(&self.device, self.guard(memory, true), bytes)
    }

    /// A new [buffer for secrets](Self::secret_buffer) with these elements.
    ///
    /// # Errors
    /// The errors of [`Stream::upload`].
    pub fn upload_secret<T: Pod>(&self, from: &[T]) -> Result<Buffer> {
        let mut buffer = self.secret_buffer(size_of_val(from))?;
        self.write(&mut buffer, from)?;
        Ok(buffer)
    }

    /// A new buffer that holds elements of the type `poly`. All residues are checked to be in [0, q), unless the type
    /// [accepts any word](PolyType::accepts_any_word).
    ///
    /// # Errors
    /// [`Error::Length`] unless the slice holds whole items; [`Error::NotReduced`] for a residue that is not below its
    /// modulus; also the errors of [`Stream::upload`].
    pub fn upload_elements<T: Pod>(&self, poly: impl Into<PolyType>, from: &[T]) -> Result<Buffer> {
        let poly = poly.into();
        poly.check(from)?;
        let mut buffer = self.upload(from)?;
        buffer.content = Some(poly);
        Ok(buffer)
    }
    /// Copies host memory to a buffer, or to a [slice](Buffer::slice_mut) of one.
    ///
    /// # Errors
    /// [`Error::Length`] unless the sizes agree; [`Error::Unwritten`] for a slice of a buffer that was not written yet;
    /// [`Error::ForeignDevice`] for a buffer of another device; [`Error::Driver`] if a driver call fails.
    pub fn write<'a, T: Pod>(&self, to: impl Into<BufferSliceMut<'a>>, from: &[T]) -> Result<()> {
        let (mut to, from): (_, &[u8]) = (self.to_write(to, size_of_val(from))?, bytemuck::cast_slice(from));
        self.device.backend().upload(&self.queue, from, to.memory())?;
        to.holds(None);
        Ok(())
    }

    /// Overwrites a buffer, or a [slice](Buffer::slice_mut) of one, with a range of columns of the row-major matrix
    /// `rows` of `width` columns. The copy is row-major too: the selected columns of the first row, then those of the
    /// next row, and so on.
    ///
    /// # Errors
    /// [`Error::Length`] if the columns exceed `width` or the last row is incomplete; also the errors of
    /// [`Stream::write`].
    pub fn write_columns<'a, T: Pod>(
        &self,
        to: impl Into<BufferSliceMut<'a>>,
        rows: &[T],
        width: usize,
        columns: Range<usize>,
    ) -> Result<()> {
        if columns.start > columns.end || columns.end > width {
            let what = "end of the column range (at most the width of the matrix)";
            return Err(Error::Length { what, expected: width, got: columns.start.max(columns.end) });
        }
        if width == 0 || !rows.len().is_multiple_of(width) {
            let what = "elements of the matrix, in whole rows";
            return Err(Error::Length { what, expected: rows.len().next_multiple_of(width.max(1)), got: rows.len() });
        }
        let (size, count) = (size_of::<T>(), rows.len() / width);
        let shape =
            Shape { offset: columns.start * size, rows: count, width: columns.len() * size, pitch: width * size };
        let mut to = self.to_write(to, shape.bytes())?;
        if shape.bytes() > 0 {
            self.device.backend().upload_shape(&self.queue, bytemuck::cast_slice(rows), &shape, to.memory())?;
        }
        to.holds(None);
        Ok(())
    }

    /// Overwrites all bytes of a buffer with zeros, to erase secrets, after earlier work on the stream. The buffer then
    /// counts as unwritten.
    ///
    /// # Errors
    /// [`Error::ForeignDevice`] for a buffer of another device; [`Error::Driver`] if a driver call fails.
    pub fn wipe(&self, buffer: &mut Buffer) -> Result<()> {
        buffer.on(&self.device, "the buffer")?;
        buffer.written = false;
        buffer.content = None;
        self.device.backend().wipe(&self.queue, buffer.memory.write())
    }

    /// Calls `run` with a buffer that holds a new [`RandomKey`], and wipes the buffer afterwards. `run` must pass the
    /// buffer to one [run](crate::Program::on) on this stream.
    ///
    /// Programs should get their randomness in this way: the buffer does not outlive its run, so it cannot be passed to
    /// a second run by mistake. For [`Program::on_host`](crate::Program::on_host), make a new [`RandomKey`] before each
    /// call.
    ///
    /// # Errors
    /// The errors of [`RandomKey::from_os`], [`Stream::upload`] and `run`.
    pub fn with_random_key<T>(&self, run: impl FnOnce(&Buffer) -> Result<T>) -> Result<T> {
        let mut buffer = self.upload_secret(RandomKey::from_os()?.as_bytes())?;
        let value = run(&buffer)?;
        buffer.memory.wipe(&self.queue).map(|()| value)
    }

    /// Copies a buffer, or a [slice](Buffer::slice) of one, to host memory.
    ///
    /// # Errors
    /// [`Error::Length`] unless the sizes agree; [`Error::Unwritten`] for an unwritten buffer; [`Error::ForeignDevice`]
    /// for a buffer of another device; [`Error::Driver`] if a driver call fails, or if earlier work failed.
    pub fn read<'a, T: Pod>(&self, from: impl Into<BufferSlice<'a>>, to: &mut [T]) -> Result<()> {
        let from = self.to_read(from)?;
        let to: &mut [u8] = bytemuck::cast_slice_mut(to);
        same_length("bytes to read", from.len(), to.len())?;
        self.device.backend().download(&self.queue, from.memory(), to)
    }

    /// Copies a buffer, or a slice of one, into a new vector.
    ///
    /// # Errors
    /// The errors of [`Stream::read`]; [`Error::Length`] if the bytes are not a whole number of elements.
    pub fn download<'a, T: Pod>(&self, from: impl Into<BufferSlice<'a>>) -> Result<Vec<T>> {
        let (from, size) = (from.into(), size_of::<T>().max(1));
        let (len, whole) = (from.len(), from.len() / size);
        if len != whole * size {
            let what = "bytes of the buffer, in whole elements";
            return Err(Error::Length { what, expected: whole * size, got: len });
        }
        let mut to = vec![T::zeroed(); whole];
        self.read(from, &mut to)?;
        Ok(to)
    }

    /// Copies from one buffer to another, or between slices of buffers. The destination gets the known type of the
    /// contents. The source may be on another device of the same kind. GPUs copy directly (over NVLink or PCIe) where
    /// their links allow it, and otherwise through host memory.
    ///
    /// # Errors
    /// [`Error::Length`] unless the sizes agree; [`Error::Unwritten`] for an unwritten source, and for a destination
    /// that is a slice of an unwritten buffer; [`Error::ForeignDevice`] for a destination on another device, and for a
    /// source on a CPU if the stream is of a GPU or the reverse; [`Error::Driver`] if a driver call fails.
    pub fn copy<'a, 'b>(&self, from: impl Into<BufferSlice<'a>>, to: impl Into<BufferSliceMut<'b>>) -> Result<()> {
        let from = from.into();
        from.readable("the buffer")?;
        let mut to = self.to_write(to, from.len())?;
        self.device.backend().copy(&self.queue, from.memory(), to.memory())?;
        to.holds(from.content());
        Ok(())
    }

    /// A new buffer with the same bytes and the same known type of contents as the source. It is a [buffer for
    /// secrets](Self::secret_buffer) if the source is one.
    ///
    /// # Errors
    /// The errors of [`Device::buffer`] and [`Stream::copy`].
    pub fn duplicate<'a>(&self, from: impl Into<BufferSlice<'a>>) -> Result<Buffer> {
        let from = from.into();
        let mut to = match from.buffer.memory.is_secret() {
            true => self.secret_buffer(from.len())?,
            false => self.device.buffer(from.len())?,
        };
        self.copy(from, &mut to)?;
        Ok(to)
    }

    /// Waits on the calling thread until all work on the stream is done.
    ///
    /// # Errors
    /// [`Error::Driver`] if a driver call fails, or work failed after it was started.
    pub fn synchronize(&self) -> Result<()> {
        self.device.backend().synchronize(&self.queue)
    }

    /// Records an event after all work on the stream so far. The time between two events can be measured.
    ///
    /// # Errors
    /// [`Error::Driver`] if a driver call fails.
    pub fn mark(&self) -> Result<Event> {
        Event::new(&self.queue)
    }

    /// Wraps newly allocated memory. If `secret`, the memory is wiped on drop, on this stream after its earlier work.
    pub(crate) fn guard(&self, memory: Memory, secret: bool) -> Guarded {
        if secret { Guarded::secret(memory, self.device.backend(), &self.queue) } else { memory.into() }
    }

    pub(crate) fn on(device: &Device, queue: BackendStream) -> Self {
        Self { device: device.clone(), queue }
    }

    #[doc(hidden)]
    pub fn queue(&self) -> &BackendStream {
        &self.queue
    }

    fn to_read<'a>(&self, from: impl Into<BufferSlice<'a>>) -> Result<BufferSlice<'a>> {
        let from = from.into();
        from.buffer.on(&self.device, "the buffer")?;
        from.readable("the buffer")?;
        Ok(from)
    }

    fn to_write<'a>(&self, to: impl Into<BufferSliceMut<'a>>, bytes: usize) -> Result<BufferSliceMut<'a>> {
        let to = to.into();
        to.buffer.on(&self.device, "the buffer")?;
        same_length("bytes to write", to.as_read().len(), bytes)?;
        to.writable("the buffer around the slice")?;
        Ok(to)
    }
}
