//! Plaintexts and ciphertexts on the device.

use std::sync::Arc;

use ringforge::Buffer;

use crate::params::Parameters;

/// The fields that batches of plaintexts and of ciphertexts have in common.
#[derive(Debug)]
pub(crate) struct Items {
    pub(crate) parameters: Arc<Parameters>,
    pub(crate) buffer: Buffer,
    pub(crate) level: usize,
    pub(crate) scale: f64,
    pub(crate) batch: usize,
}

/// A batch of plaintexts of one level and scale, on the device, as evaluations.
#[derive(Debug)]
pub struct Plaintext(pub(crate) Items);

/// A batch of ciphertexts of one level and scale, on the device. Each ciphertext has two parts, c_0 and c_1, as
/// evaluations modulo the primes of Q at this level.
#[derive(Debug)]
pub struct Ciphertext(pub(crate) Items);

macro_rules! items {
    ($($name:ident),*) => {$(
        impl $name {
            /// Level of the batch: how many more times it can be rescaled.
            #[must_use]
            pub fn level(&self) -> usize {
                self.0.level
            }

            /// Scale: the factor by which the encoded numbers are multiplied. Products of scales, and quotients of
            /// scales by primes, are rounded to the nearest double.
            #[must_use]
            pub fn scale(&self) -> f64 {
                self.0.scale
            }

            /// Number of items in the batch.
            #[must_use]
            pub fn batch(&self) -> usize {
                self.0.batch
            }

            /// Device memory of the batch. It is ordered by item, then by part (of a ciphertext), then by limb (the
            /// evaluations modulo one prime). The evaluations of a limb are in bit-reversed order.
            #[must_use]
            pub fn buffer(&self) -> &Buffer {
                &self.0.buffer
            }
        }
    )*};
}

items!(Plaintext, Ciphertext);
