//! Memory of a device, and references to it for reading and for writing.

use core::fmt;
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytemuck::{Pod, Zeroable};

/// Alignment in bytes of all memory that kernels work on: the width of the kernels' vector loads and stores.
pub const ALIGNMENT: usize = 16;

/// Memory of a device.
pub enum Memory {
    /// Host memory.
    Host(HostMemory),
    /// Memory of a GPU.
    #[cfg(feature = "cuda")]
    Cuda(crate::cuda::CudaMemory),
}

/// A reference for reading memory, or a range of its bytes.
#[derive(Clone, Copy)]
pub enum Read<'a> {
    Host(&'a [u8]),
    #[cfg(feature = "cuda")]
    Cuda(crate::cuda::GpuSlice<'a>),
}

/// A reference for writing memory, or a range of its bytes.
pub enum Write<'a> {
    Host(&'a mut [u8]),
    #[cfg(feature = "cuda")]
    Cuda(crate::cuda::GpuSlice<'a>),
}

impl Memory {
    #[doc(hidden)]
    pub fn read(&self) -> Read<'_> {
        match self {
            Self::Host(memory) => Read::Host(memory.bytes()),
            #[cfg(feature = "cuda")]
            Self::Cuda(memory) => Read::Cuda(memory.all()),
        }
    }

    #[doc(hidden)]
    pub fn write(&mut self) -> Write<'_> {
        match self {
            Self::Host(memory) => Write::Host(memory.bytes_mut()),
            #[cfg(feature = "cuda")]
            Self::Cuda(memory) => Write::Cuda(memory.all()),
        }
    }
}

impl Memory {
    /// Keeps the contents of an earlier owner, which a GPU would otherwise zero. No byte may be read before it is
    /// written again.
    pub(crate) fn skip_zeroing(&mut self) {
        match self {
            Self::Host(_) => {}
            #[cfg(feature = "cuda")]
            Self::Cuda(memory) => memory.skip_zeroing(),
        }
    }

    /// The device address of the first byte; 0 for host memory.
    pub(crate) fn address(&self) -> u64 {
        match self {
            Self::Host(_) => 0,
            #[cfg(feature = "cuda")]
            Self::Cuda(memory) => memory.address(0),
        }
    }

    /// Records all users of `_other` as readers of this memory.
    pub(crate) fn used_with(&self, _other: &Self) {
        #[cfg(feature = "cuda")]
        if let (Self::Cuda(memory), Self::Cuda(other)) = (self, _other) {
            memory.used_with(other);
        }
    }
}

impl Read<'_> {
    /// The sub-range `bytes`, which must be within the memory.
    #[doc(hidden)]
    pub fn part(self, bytes: &Range<usize>) -> Self {
        match self {
            Self::Host(memory) => Self::Host(&memory[bytes.clone()]),
            #[cfg(feature = "cuda")]
            Self::Cuda(memory) => Self::Cuda(memory.part(bytes)),
        }
    }
}

impl Write<'_> {
    /// The sub-range `bytes`, which must be within the memory.
    pub(crate) fn part(self, bytes: &Range<usize>) -> Self {
        match self {
            Self::Host(memory) => Self::Host(&mut memory[bytes.clone()]),
            #[cfg(feature = "cuda")]
            Self::Cuda(memory) => Self::Cuda(memory.part(bytes)),
        }
    }

    /// Splits the memory into consecutive pieces of this many bytes. A shorter rest at the end is left out.
    #[doc(hidden)]
    pub fn pieces(self, bytes: usize) -> Vec<Self> {
        match self {
            Self::Host(memory) => memory.chunks_exact_mut(bytes).map(Self::Host).collect(),
            #[cfg(feature = "cuda")]
            Self::Cuda(memory) => {
                let starts = (0..memory.len / bytes).map(|i| i * bytes);
                starts.map(|start| Self::Cuda(memory.part(&(start..start + bytes)))).collect()
            }
        }
    }

    /// The same memory, for reading.
    pub(crate) fn as_read(&self) -> Read<'_> {
        match self {
            Self::Host(bytes) => Read::Host(bytes),
            #[cfg(feature = "cuda")]
            Self::Cuda(memory) => Read::Cuda(*memory),
        }
    }

    /// The same memory, borrowed for a shorter lifetime.
    pub(crate) fn reborrow(&mut self) -> Write<'_> {
        match self {
            Self::Host(bytes) => Write::Host(bytes),
            #[cfg(feature = "cuda")]
            Self::Cuda(memory) => Write::Cuda(*memory),
        }
    }
}

macro_rules! opaque_debug {
    ($($name:ty),*) => {$(
        // the contents are not printed, because they may be secret
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(..)"))
            }
        }
    )*};
}
opaque_debug!(Memory, HostMemory, HostPool, Read<'_>, Write<'_>);

/// Bytes in host memory. They are aligned to a cache line, so that they can be read as any element type.
pub struct HostMemory {
    lines: Vec<Line>,
    len: usize,
    /// The pool to which the lines return on drop.
    pool: Option<Arc<HostPool>>,
}

/// A pool of freed host memory, which is reused for later allocations of the same size. Reuse saves zeroing, which is
/// most of the cost of a run's temporaries.
#[derive(Default)]
pub(crate) struct HostPool {
    pieces: Mutex<Vec<Vec<Line>>>,
    in_use: InUse,
}

/// Bytes in use, and the most of them so far.
#[derive(Default)]
pub(crate) struct InUse {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl InUse {
    pub(crate) fn add(&self, bytes: usize) {
        let now = self.now.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.most.fetch_max(now, Ordering::Relaxed);
    }

    pub(crate) fn sub(&self, bytes: usize) {
        self.now.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// The most bytes that were in use since the last call.
    #[cfg(feature = "testkit")]
    pub(crate) fn peak(&self) -> usize {
        self.most.swap(self.now.load(Ordering::Relaxed), Ordering::Relaxed)
    }
}

/// Maximum number of allocations in a [`HostPool`]. `MOST_BYTES` is their maximum total size in bytes.
const MOST_PIECES: usize = 64;
const MOST_BYTES: usize = 1 << 30;

impl HostPool {
    /// Takes memory of this many bytes from the pool, or allocates it; `None` if that fails. The memory holds zeros or
    /// old data. Secrets in it were wiped before it returned to the pool.
    pub(crate) fn take(self: &Arc<Self>, len: usize) -> Option<HostMemory> {
        let count = len.div_ceil(64);
        let mut pieces = self.pieces();
        let fitting = pieces.iter().position(|lines| lines.len() == count);
        let kept = fitting.map(|piece| pieces.swap_remove(piece));
        drop(pieces);
        let mut memory = match kept {
            Some(lines) => HostMemory { lines, len, pool: None },
            None => HostMemory::zeroed(len)?,
        };
        memory.pool = Some(self.clone());
        memory.pool.iter().for_each(|pool| pool.in_use.add(len));
        Some(memory)
    }

    /// The most bytes that were in use since the last call.
    #[cfg(feature = "testkit")]
    pub(crate) fn peak(&self) -> usize {
        self.in_use.peak()
    }

    /// Frees all pooled memory.
    pub(crate) fn clear(&self) {
        self.pieces().clear();
    }

    fn give(&self, lines: Vec<Line>) {
        let mut pieces = self.pieces();
        pieces.push(lines);
        let bytes = |pieces: &[Vec<Line>]| pieces.iter().map(|lines| size_of_val(&lines[..])).sum::<usize>();
        while pieces.len() > MOST_PIECES || bytes(&pieces) > MOST_BYTES {
            pieces.remove(0);
        }
    }

    fn pieces(&self) -> MutexGuard<'_, Vec<Vec<Line>>> {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        if let (Some(pool), true) = (self.pool.take(), self.len > 0) {
            pool.in_use.sub(self.len);
            pool.give(core::mem::take(&mut self.lines));
        }
    }
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

// SAFETY: `Line` is an array of bytes without padding, because its alignment equals its size.
#[allow(unsafe_code)]
unsafe impl Zeroable for Line {}
// SAFETY: the same as for `Zeroable`; besides, any bit pattern is valid.
#[allow(unsafe_code)]
unsafe impl Pod for Line {}

impl HostMemory {
    #[doc(hidden)]
    pub fn zeroed(len: usize) -> Option<Self> {
        let mut lines = Vec::new();
        lines.try_reserve_exact(len.div_ceil(64)).ok()?;
        lines.resize(len.div_ceil(64), Line([0; 64]));
        Some(Self { lines, len, pool: None })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.lines)[..self.len]
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.lines)[..self.len]
    }
}
