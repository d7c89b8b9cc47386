//! Page-locked elements.

use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

use ringforge::{Device, PinnedBuffer, Result};

use crate::field::{EngineField, elements, elements_mut};

/// Elements in host memory that copies to and from a device go fastest with, all of them 0 at first.
#[derive(Debug)]
pub struct Pinned<F> {
    words: PinnedBuffer,
    field: PhantomData<F>,
}

impl<F: EngineField> Pinned<F> {
    /// So many, for this device.
    ///
    /// # Errors
    /// As [`Device::pinned`].
    pub fn new(device: &Device, len: usize) -> Result<Self> {
        Ok(Self { words: device.pinned(len.saturating_mul(size_of::<F>()))?, field: PhantomData })
    }
}

impl<F: EngineField> Deref for Pinned<F> {
    type Target = [F];

    fn deref(&self) -> &[F] {
        elements(bytemuck::cast_slice(&self.words))
    }
}

impl<F: EngineField> DerefMut for Pinned<F> {
    fn deref_mut(&mut self) -> &mut [F] {
        elements_mut(bytemuck::cast_slice_mut(&mut self.words))
    }
}
