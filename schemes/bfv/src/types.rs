//! Plaintexts and ciphertexts on the device.

use std::sync::Arc;

use ringforge::Buffer;

use crate::params::Parameters;

/// A batch of plaintexts on the device: polynomials modulo t.
#[derive(Debug)]
pub struct Plaintext(pub(crate) Items);

/// A batch of ciphertexts on the device. Each ciphertext has two parts, c_0 and c_1, as evaluations modulo the primes of
/// Q.
#[derive(Debug)]
pub struct Ciphertext(pub(crate) Items);

/// The fields that batches of plaintexts and of ciphertexts have in common.
#[derive(Debug)]
pub(crate) struct Items {
    pub(crate) parameters: Arc<Parameters>,
    pub(crate) buffer: Buffer,
    pub(crate) batch: usize,
}

macro_rules! items {
    ($($name:ident: $layout:literal;)*) => {$(
        impl $name {
            /// Number of items in the batch.
            #[must_use]
            pub fn batch(&self) -> usize {
                self.0.batch
            }

            #[doc = $layout]
            #[must_use]
            pub fn buffer(&self) -> &Buffer {
                &self.0.buffer
            }
        }
    )*};
}

items! {
    Plaintext: "Device memory of the batch: item by item the coefficients modulo t, in 4 or 8 bytes each as the residues \
                of ciphertexts.";
    Ciphertext: "Device memory of the batch. It is ordered by item, then by part, then by limb (the evaluations modulo \
                 one prime). The evaluations of a limb are in bit-reversed order.";
}
