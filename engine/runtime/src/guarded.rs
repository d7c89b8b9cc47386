//! Zeroizing device memory: wiped on drop if it holds secrets.

use core::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::backend::{Backend, BackendStream};
use crate::memory::Memory;
use ringforge_math::error::Result;

/// Memory of a device. If the memory is for secrets, it is wiped on drop: after success, after an error, and while a
/// panic unwinds.
#[derive(Debug)]
pub(crate) struct Guarded {
    memory: Memory,
    /// For memory with secrets, the backend and the stream that wipe it.
    wiper: Option<(Arc<dyn Backend>, BackendStream)>,
    /// Whether the memory may have been written since the last wipe.
    dirty: bool,
}

impl Guarded {
    /// Newly allocated memory for secrets. It is wiped on drop, after earlier work on the stream `queue`.
    pub(crate) fn secret(memory: Memory, backend: &Arc<dyn Backend>, queue: &BackendStream) -> Self {
        Self { memory, wiper: Some((backend.clone(), queue.clone())), dirty: false }
    }

    /// Whether the memory is for secrets.
    pub(crate) fn is_secret(&self) -> bool {
        self.wiper.is_some()
    }

    /// Overwrites memory for secrets with zeros if it may have been written, after earlier work on the stream `queue`.
    /// The memory then need not be wiped on drop.
    pub(crate) fn wipe(&mut self, queue: &BackendStream) -> Result<()> {
        if let Some((backend, _)) = self.wiper.as_ref().filter(|_| self.dirty) {
            backend.wipe(queue, self.memory.write())?;
            self.dirty = false;
        }
        Ok(())
    }
}

/// Memory without secrets.
impl From<Memory> for Guarded {
    fn from(memory: Memory) -> Self {
        Self { memory, wiper: None, dirty: false }
    }
}

impl Deref for Guarded {
    type Target = Memory;

    fn deref(&self) -> &Memory {
        &self.memory
    }
}

impl DerefMut for Guarded {
    fn deref_mut(&mut self) -> &mut Memory {
        self.dirty = true;
        &mut self.memory
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if let Some((_, queue)) = self.wiper.clone() {
            // if the device no longer responds, the next call on it reports that
            let _ = self.wipe(&queue);
        }
    }
}
