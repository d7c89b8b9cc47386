//! Key encapsulation in batches, on CPUs and GPUs: many independent operations in one call.
//!
//! A scheme declares its sizes and its [`Steps`] as a [`KemScheme`]; [`Batch`] runs it on any device. Batches in host
//! memory are contiguous: item i is at offset i · size, with sizes from [`Sizes`]. Batches on a device are handles,
//! [`Items`], used in stream order. An error in one item never affects another: the [`BatchStatus`] names the item and
//! the scheme's error.
//!
//! ```
//! use ringforge_batch::{Batch, KemScheme};
//!
//! /// Both parties of `batch` key agreements; returns whether the keys agree.
//! fn agree<M: KemScheme>(kem: &Batch<M>, batch: usize) -> Result<bool, Box<dyn std::error::Error>> {
//!     let sizes = kem.sizes();
//!     let (mut public_keys, mut secret_keys) = (vec![0; batch * sizes.public_key], vec![0; batch * sizes.secret_key]);
//!     kem.generate(&mut public_keys, &mut secret_keys)?.into_result()?;
//!
//!     // one party, in host memory
//!     let (mut ciphertexts, mut sent) = (vec![0; batch * sizes.ciphertext], vec![0; batch * sizes.shared_key]);
//!     kem.encapsulate(&public_keys, &mut ciphertexts, &mut sent)?.into_result()?;
//!
//!     // the other party, on the device
//!     let stream = kem.device().stream()?;
//!     let secret_keys = kem.import_secret_keys(&stream, &secret_keys)?;
//!     let ciphertexts = kem.import_ciphertexts(&stream, &ciphertexts)?;
//!     let mut received = vec![0; batch * sizes.shared_key];
//!     kem.decapsulate_on(&stream, &secret_keys, &ciphertexts)?.export(&stream, &mut received)?.into_result()?;
//!     Ok(sent == received)
//! }
//! ```
//!
//! # Randomness
//!
//! Each call of key generation or encapsulation asks the operating system for a fresh key
//! ([`RandomKey`](ringforge::RandomKey)), from which the device derives the seeds. A process may therefore `fork` at any time.
//! Two cases remain in which two copies use the same seeds: a machine is copied during a call, or a snapshot is
//! restored twice and the system repeats its randomness. Both copies then generate the same key pairs and encapsulate
//! the same messages. For one public key they get the same shared key; for two public keys, each owner can compute the
//! other's shared key. Seeds are the only input that these schemes could use, so they cannot be hedged.
//!
//! Feature `hazmat` adds functions whose randomness comes from the caller.

mod batch;
mod host;
mod items;
mod kem_scheme;
mod sizes;
mod status;

pub use batch::Batch;
pub use host::run_host;
pub use items::{Ciphertexts, Items, Kind, PublicKeys, SecretKeys, SharedKeys, kinds};
pub use kem_scheme::{KemScheme, Made, Operation, Randomness, Steps};
pub use sizes::{ENCAPSULATION_SEED, KEY_SEED, Sizes, batch_of};
pub use status::{
    BatchStatus, ErrorKind, HALF_DONE, ItemError, NOT_REACHED, OK, PENDING, STATUS, SchemeError, status, word,
};
