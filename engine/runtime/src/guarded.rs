//! Memory that is wiped when it goes, if it holds secrets.

use core::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::backend::{Backend, Queue};
use crate::memory::Memory;
use ringforge_math::error::Result;

/// Memory of a device. What is secret is wiped when it is dropped: after success as after an error, and while a panic
/// unwinds.
#[derive(Debug)]
pub(crate) struct Guarded {
    memory: Memory,
    /// Of secret memory, who wipes it and in which order of work.
    wiper: Option<(Arc<dyn Backend>, Queue)>,
    /// Whether it was written since it was wiped.
    dirty: bool,
}

impl Guarded {
    /// Memory for secrets that a backend has just given; wiped in the order of the queue.
    pub(crate) fn secret(memory: Memory, backend: &Arc<dyn Backend>, queue: &Queue) -> Self {
        Self { memory, wiper: Some((backend.clone(), queue.clone())), dirty: false }
    }

    /// Whether it is for secrets.
    pub(crate) fn is_secret(&self) -> bool {
        self.wiper.is_some()
    }

    /// Overwrites secrets with zeros, after earlier work on the queue; on drop nothing is left to do then.
    pub(crate) fn wipe(&mut self, queue: &Queue) -> Result<()> {
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
            // a device that no longer answers is what the next call on it tells of
            let _ = self.wipe(&queue);
        }
    }
}
