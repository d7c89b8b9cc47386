//! Elements in page-locked memory.

use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

use ringforge::{Device, PinnedBuffer, Result};

use crate::field::{EngineField, elements, elements_mut};

/// Elements in page-locked host memory, which is fastest for copies to and from a device. They are initially 0.
#[derive(Debug)]
pub struct Pinned<F> {
    words: PinnedBuffer,
    field: PhantomData<F>,
}

impl<F: EngineField> Pinned<F> {
    /// Allocates `len` elements for copies to and from this device.
    ///
    /// # Errors
    /// The errors of [`Device::pinned`].
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
