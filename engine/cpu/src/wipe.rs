//! Zeroization: overwrites memory that held secrets with zeros, in a way that the compiler cannot remove.

use core::ops::{Deref, DerefMut};

use bytemuck::{Pod, cast_slice_mut};
use zeroize::optimization_barrier;

/// Overwrites bytes with zeros, at the speed of plain stores.
pub fn bytes(bytes: &mut [u8]) {
    bytes.fill(0);
    optimization_barrier(bytes);
}

/// A vector of numbers that may be secret. Its memory is zeroized before it is freed.
#[expect(missing_debug_implementations, reason = "they may be secret")]
pub struct Wiped<T: Pod>(Vec<T>);

impl<T: Pod> Wiped<T> {
    /// Returns a vector of `len` zeros.
    #[must_use]
    pub fn zeros(len: usize) -> Self {
        Self(vec![T::zeroed(); len])
    }

    /// Sets the length to `len`. If the length grows, all numbers become zero; if it shrinks, the first numbers are
    /// kept.
    pub fn set_len(&mut self, len: usize) {
        if len > self.0.len() {
            *self = Self::zeros(len);
        } else {
            bytes(cast_slice_mut(&mut self.0[len..]));
            self.0.truncate(len);
        }
    }

    /// Replaces the contents with these numbers and sets the length accordingly.
    pub fn set(&mut self, numbers: impl ExactSizeIterator<Item = T>) {
        self.set_len(numbers.len());
        self.0.iter_mut().zip(numbers).for_each(|(x, number)| *x = number);
    }
}

impl<T: Pod> Default for Wiped<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Pod> From<Vec<T>> for Wiped<T> {
    fn from(numbers: Vec<T>) -> Self {
        Self(numbers)
    }
}

impl<T: Pod> Deref for Wiped<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Pod> DerefMut for Wiped<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T: Pod> Drop for Wiped<T> {
    fn drop(&mut self) {
        bytes(cast_slice_mut(&mut self.0));
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn bytes_become_zero() {
        let mut memory = [7; 100];
        super::bytes(&mut memory[1..]);
        assert!(memory[0] == 7 && memory[1..] == [0; 99]);
    }
}
