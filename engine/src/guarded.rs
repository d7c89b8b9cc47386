//! Memory that is wiped when it goes, if it holds secrets.

use core::ops::{Deref, DerefMut};

use crate::backend::Queue;
use crate::device::{Device, Stream};
use crate::error::Result;
use crate::memory::Memory;

/// Memory of a device. What is secret is wiped when it is dropped: after success as after an error, and while a panic
/// unwinds.
#[derive(Debug)]
pub(crate) struct Guarded {
    memory: Memory,
    /// Of secret memory, who wipes it and in which order of work.
    wiper: Option<(Device, Queue)>,
    /// Whether it was written since it was wiped.
    dirty: bool,
}

impl Guarded {
    /// Memory that a device has just given; wiped in the order of the stream if it is secret.
    pub(crate) fn new(stream: &Stream, memory: Memory, secret: bool) -> Self {
        let wiper = secret.then(|| (stream.device().clone(), stream.queue().clone()));
        Self { memory, wiper, dirty: false }
    }

    /// Whether it is for secrets.
    pub(crate) fn is_secret(&self) -> bool {
        self.wiper.is_some()
    }

    /// Overwrites secrets with zeros, after earlier work on the queue; on drop nothing is left to do then.
    pub(crate) fn wipe(&mut self, queue: &Queue) -> Result<()> {
        if let Some((device, _)) = self.wiper.as_ref().filter(|_| self.dirty) {
            device.backend().wipe(queue, self.memory.write())?;
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
