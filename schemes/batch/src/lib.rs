//! Key encapsulation in batches, on CPUs and GPUs: many independent operations in one call.
//!
//! A scheme says its sizes and its [`Steps`], as a [`KemScheme`]; [`Batch`] runs it on any device. It works on byte batches in
//! host memory: item i lies at i times its size, as [`Sizes`] says, without gaps. It also works on handles, [`Items`], which
//! stay on its device, in a stream's order. What is wrong with one item never harms another: a [`BatchStatus`] names it,
//! with errors of the scheme's own.
//!
//! ```
//! use ringforge_batch::{Batch, KemScheme};
//!
//! /// Both ends of `batch` key agreements: whether they got the same keys.
//! fn agree<M: KemScheme>(kem: &Batch<M>, batch: usize) -> Result<bool, Box<dyn std::error::Error>> {
//!     let sizes = kem.sizes();
//!     let (mut public_keys, mut secret_keys) = (vec![0; batch * sizes.public_key], vec![0; batch * sizes.secret_key]);
//!     kem.generate(&mut public_keys, &mut secret_keys)?.into_result()?;
//!
//!     // one end on host memory
//!     let (mut ciphertexts, mut sent) = (vec![0; batch * sizes.ciphertext], vec![0; batch * sizes.shared_key]);
//!     kem.encapsulate(&public_keys, &mut ciphertexts, &mut sent)?.into_result()?;
//!
//!     // the other with all that it can on the device
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
//! Each call that generates or encapsulates asks the system for a key of its own, under which the device draws the seeds
//! ([`Draws`](ringforge::Draws)), so a process may `fork` at any time. Where a machine is copied in the middle of a call, or
//! a snapshot is restored twice and the system repeats itself, both copies have the same seeds. Then they make the same key
//! pairs, and encapsulate the same messages: to one public key with the same shared key, and to two such that either
//! owner can find the other's shared key. Seeds are all that these schemes have, so there is nothing to hedge them with.
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
    BatchStatus, ErrorKind, FINE, HALFWAY, ItemError, NOT_REACHED, PENDING, STATUS, SchemeError, status, word,
};
