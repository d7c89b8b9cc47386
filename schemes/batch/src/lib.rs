//! Key encapsulation and signatures in batches, on CPUs and GPUs: many independent operations in one call.
//!
//! Guides in the repository: `docs/guides/batches.md` for users of a scheme, `docs/guides/scheme.md` for its authors.
//!
//! A scheme declares its sizes and its [`Steps`] as a [`KemScheme`]; [`Batch`] runs it on any device. In host memory,
//! the items of a batch are contiguous: item i is at offset i · size, with the size from [`Sizes`]. In device memory, a
//! handle ([`Items`]) holds a batch. An error in one item never affects another: the [`BatchStatus`] names the item and
//! the scheme's error.
//!
//! ```
//! use ringforge_batch::{Batch, KemScheme};
//!
//! /// Runs `batch` key agreements; returns true if both parties get the same keys.
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
//! ([`RandomKey`](ringforge::RandomKey)), from which the device derives the seeds. A process may therefore `fork` at
//! any time. Two copies of a machine can still use the same seeds in two cases: if the machine is copied during a call,
//! or if a snapshot is restored twice and the system repeats its randomness. Both copies then generate the same key
//! pairs and encapsulate the same messages. For one public key they get the same shared key; for two public keys, each
//! owner can compute the other's shared key. The seed is the only fresh input, so mixing it with other inputs (hedging)
//! cannot prevent this.
//!
//! Feature `hazmat` adds functions whose randomness the caller passes.

mod batch;
mod host;
mod items;
mod kem_scheme;
pub mod keys;
mod messages;
mod signature_scheme;
mod signatures;
mod sizes;
mod status;

pub use batch::Batch;
pub use host::run_host;
pub use items::{Ciphertexts, ItemKind, Items, PublicKeys, SecretKeys, SharedKeys, kinds};
pub use kem_scheme::{KemScheme, Made, Operation, Randomness, Steps};
pub use messages::{Messages, PreHash};
pub use signature_scheme::{Keys, Prepared, SignatureOperation, SignatureScheme, SignatureSizes, SignatureSteps};
pub use signatures::{PreparedKeys, Signatures};
pub use sizes::{ENCAPSULATION_SEED, KEY_SEED, Sizes, batch_of};
pub use status::{
    BatchStatus, ErrorKind, HALF_DONE, ItemError, NOT_REACHED, OK, PENDING, STATUS, SchemeError, status, word,
};
