//! Page-locked host memory, for the fastest copies to and from a device.

use core::fmt;
use core::ops::{Deref, DerefMut};

use bytemuck::Pod;

use crate::memory::HostMemory;
use ringforge_math::error::{Error, Result};

/// Host memory made by [`Device::pinned`](crate::Device::pinned). It is page-locked for a GPU, so that copies need no
/// staging memory and run at full speed. Allocation is slow, so allocate once and reuse the memory. It may hold keys,
/// so it is wiped on drop.
pub struct PinnedBuffer {
    memory: Pinned,
    len: usize,
}

pub(crate) enum Pinned {
    Host(HostMemory),
    #[cfg(feature = "cuda")]
    Cuda(crate::cuda::PinnedBytes),
}

impl PinnedBuffer {
    pub(crate) fn new(memory: Pinned, len: usize) -> Self {
        Self { memory, len }
    }

    /// The buffer's contents as elements of type `T`.
    ///
    /// # Errors
    /// [`Error::Length`] if the buffer does not hold a whole number of elements.
    pub fn elements<T: Pod>(&self) -> Result<&[T]> {
        bytemuck::try_cast_slice(self).map_err(|_| self.uneven(size_of::<T>()))
    }

    /// The buffer's contents as elements of type `T`, for writing.
    ///
    /// # Errors
    /// [`Error::Length`] if the buffer does not hold a whole number of elements.
    pub fn elements_mut<T: Pod>(&mut self) -> Result<&mut [T]> {
        let error = self.uneven(size_of::<T>());
        bytemuck::try_cast_slice_mut(self).map_err(|_| error)
    }

    fn uneven(&self, size: usize) -> Error {
        Error::Length {
            what: "bytes of a pinned buffer, in whole elements",
            expected: self.len / size.max(1) * size,
            got: self.len,
        }
    }
}

impl Deref for PinnedBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.memory {
            Pinned::Host(memory) => memory.bytes(),
            #[cfg(feature = "cuda")]
            Pinned::Cuda(memory) => &memory.bytes()[..self.len],
        }
    }
}

impl DerefMut for PinnedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.memory {
            Pinned::Host(memory) => memory.bytes_mut(),
            #[cfg(feature = "cuda")]
            Pinned::Cuda(memory) => &mut memory.bytes_mut()[..self.len],
        }
    }
}

impl Drop for PinnedBuffer {
    fn drop(&mut self) {
        ringforge_cpu::wipe::bytes(self);
    }
}

impl fmt::Debug for PinnedBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // the contents are not printed, because they may be secret
        write!(f, "PinnedBuffer({} bytes)", self.len)
    }
}

#[cfg(test)]
mod tests {
    use crate::device::Device;

    #[test]
    fn elements_share_the_bytes() {
        let mut buffer = Device::cpu().pinned(12).unwrap();
        assert!(buffer.elements::<u64>().is_err());
        buffer.elements_mut::<u32>().unwrap()[1] = 5;
        assert_eq!(buffer[4..8], 5u32.to_ne_bytes());
        assert_eq!(buffer.len(), 12);
        assert!(Device::cpu().pinned(0).unwrap().is_empty());
    }
}
