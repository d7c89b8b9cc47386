//! Buffers (memory on a device), and slices of buffers.

use core::borrow::Borrow;
use core::ops::Range;

use crate::guarded::Guarded;
use crate::memory::{ALIGNMENT, Read, Write};
use ringforge_math::error::{Error, Result};
use ringforge_math::poly::PolyType;

use super::Device;

/// Memory on a device. A buffer records whether it was written. If a program or a checked upload filled it, it also
/// records the type of its contents.
#[derive(Debug)]
pub struct Buffer {
    device: Device,
    pub(crate) memory: Guarded,
    len: usize,
    pub(crate) written: bool,
    #[doc(hidden)]
    pub content: Option<PolyType>,
}

impl Buffer {
    pub(crate) fn new(device: &Device, memory: Guarded, len: usize) -> Self {
        Self { device: device.clone(), memory, len, written: false, content: None }
    }

    /// The buffer's memory, for reading.
    #[doc(hidden)]
    #[must_use]
    pub fn read(&self) -> Read<'_> {
        self.memory.read()
    }

    /// The buffer's memory, for writing. The caller must update `written` and `content`.
    #[doc(hidden)]
    pub fn write(&mut self) -> Write<'_> {
        self.memory.write()
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

    /// The type of the contents, if known.
    #[must_use]
    pub fn content(&self) -> Option<&PolyType> {
        self.content.as_ref()
    }

    /// The buffer's device.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// A range of the buffer's bytes, for reading by [runs](crate::Call::input) and [copies](super::Stream::copy). For
    /// a run, the range must start at a multiple of 16 bytes.
    ///
    /// ```
    /// # use ringforge::{Engine, Job, Op, PolyType};
    /// # let (engine, poly) = (Engine::cpu(), "17:x^8+1".parse::<PolyType>()?);
    /// let (program, stream) = (engine.program(&Job::new(&poly, Op::Mul))?, engine.stream()?);
    /// let both = stream.upload_elements(&poly, &[[1u16, 2, 3, 4, 5, 6, 7, 8], [0, 1, 0, 0, 0, 0, 0, 0]])?;
    /// let mut product = engine.device().buffer(poly.bytes())?;
    /// let [a, x] = [both.slice(0..poly.bytes())?, both.slice(poly.bytes()..both.len())?];
    /// program.on(stream, 1).input("a", a).input("b", x).output("product", &mut product).run()?;
    /// assert_eq!(stream.download::<u16>(&product)?, [9, 1, 2, 3, 4, 5, 6, 7]); // x^8 = -1
    /// # Ok::<(), ringforge::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`] if the range is not within the buffer.
    pub fn slice(&self, bytes: Range<usize>) -> Result<BufferSlice<'_>> {
        self.check(&bytes)?;
        Ok(BufferSlice { buffer: self, bytes })
    }

    /// A range of the buffer's bytes, for writing. Unless the range is the whole buffer, the buffer must have been
    /// written before. For a run, the range must start at a multiple of 16 bytes.
    ///
    /// # Errors
    /// [`Error::Length`] if the range is not within the buffer.
    pub fn slice_mut(&mut self, bytes: Range<usize>) -> Result<BufferSliceMut<'_>> {
        self.check(&bytes)?;
        Ok(BufferSliceMut { buffer: self, bytes })
    }

    fn check(&self, bytes: &Range<usize>) -> Result<()> {
        if bytes.start <= bytes.end && bytes.end <= self.len {
            return Ok(());
        }
        let got = bytes.start.max(bytes.end);
        Err(Error::Length { what: "end of the byte range (at most the length of the buffer)", expected: self.len, got })
    }

    /// A buffer in memory that other code has allocated and written.
    #[cfg(feature = "cuda")]
    pub(crate) fn foreign(device: &Device, memory: crate::memory::Memory, len: usize) -> Self {
        Self { written: true, ..Self::new(device, memory.into(), len) }
    }

    /// Marks the buffer as written, with contents of unknown type.
    #[doc(hidden)]
    pub fn holds_anything(&mut self) {
        (self.written, self.content) = (true, None);
    }

    pub(crate) fn on(&self, device: &Device, what: &str) -> Result<()> {
        if self.device.is(device) {
            return Ok(());
        }
        Err(Error::ForeignDevice { what: what.into(), expected: device.to_string(), got: self.device.to_string() })
    }
}

/// Bytes of a [`Buffer`] to read: all of them, made from `&buffer`, or a [range](Buffer::slice).
#[derive(Debug, Clone)]
pub struct BufferSlice<'a> {
    pub(crate) buffer: &'a Buffer,
    bytes: Range<usize>,
}

/// Bytes of a [`Buffer`] to write: all of them, made from `&mut buffer`, or a [range](Buffer::slice_mut).
#[derive(Debug)]
pub struct BufferSliceMut<'a> {
    pub(crate) buffer: &'a mut Buffer,
    bytes: Range<usize>,
}

/// Makes a slice of all bytes of a buffer, which may be inside an [`Arc`](std::sync::Arc).
impl<'a, B: Borrow<Buffer>> From<&'a B> for BufferSlice<'a> {
    fn from(buffer: &'a B) -> Self {
        let buffer = buffer.borrow();
        Self { buffer, bytes: 0..buffer.len }
    }
}

impl<'a> From<&'a mut Buffer> for BufferSlice<'a> {
    fn from(buffer: &'a mut Buffer) -> Self {
        Self { buffer, bytes: 0..buffer.len }
    }
}

impl<'a> From<&'a mut Buffer> for BufferSliceMut<'a> {
    fn from(buffer: &'a mut Buffer) -> Self {
        Self { bytes: 0..buffer.len, buffer }
    }
}

impl BufferSlice<'_> {
    /// Size in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns true if the slice has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The type of the contents, if it is known and the range consists of whole items of that type.
    pub(crate) fn content(&self) -> Option<&PolyType> {
        self.buffer.content.as_ref().filter(|content| {
            let element = content.bytes();
            self.bytes.start.is_multiple_of(element) && self.bytes.end.is_multiple_of(element)
        })
    }

    pub(crate) fn memory(&self) -> Read<'_> {
        self.buffer.memory.read().part(&self.bytes)
    }

    /// Checks that kernels can use the slice: it must start at a multiple of [`ALIGNMENT`] bytes.
    pub(crate) fn aligned(&self) -> Result<()> {
        let what = "the start of a buffer slice that is an argument";
        if self.bytes.start.is_multiple_of(ALIGNMENT) {
            Ok(())
        } else {
            Err(Error::Alignment { what, needed: ALIGNMENT })
        }
    }

    pub(crate) fn readable(&self, what: &str) -> Result<()> {
        if self.buffer.written || self.is_empty() { Ok(()) } else { Err(Error::Unwritten { what: what.into() }) }
    }
}

impl BufferSliceMut<'_> {
    pub(crate) fn as_read(&self) -> BufferSlice<'_> {
        BufferSlice { buffer: self.buffer, bytes: self.bytes.clone() }
    }

    pub(crate) fn memory(&mut self) -> Write<'_> {
        self.buffer.memory.write().part(&self.bytes)
    }

    /// Returns an error if writing this slice would leave other bytes of the buffer unwritten. The slice must be the
    /// whole buffer, or the buffer must have been written before.
    pub(crate) fn writable(&self, what: &str) -> Result<()> {
        if self.bytes.len() == self.buffer.len { Ok(()) } else { self.as_read().readable(what) }
    }

    /// Records that the slice was written, and the type of its contents.
    pub(crate) fn holds(&mut self, content: Option<&PolyType>) {
        // writing whole items of the recorded type keeps that type; otherwise only writing the whole buffer determines
        // the type
        if content.is_none() || self.as_read().content() != content {
            let whole = self.bytes.len() == self.buffer.len;
            self.buffer.content = content.filter(|_| whole).cloned();
        }
        self.buffer.written = true;
    }
}
