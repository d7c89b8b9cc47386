//! SM2 signatures (GB/T 32918), for single items and batches, on CPUs and GPUs.
//!
//! Single operations on the CPU: [`PrivateKey`], [`PublicKey`] and [`Signature`] for digests; [`SigningKey`] and
//! [`VerifyingKey`] for messages, with the traits of the crate `signature`. Batches of any size, on a CPU or a GPU:
//! [`Signer`], [`Verifier`] and [`CachedKeys`] for digests; [`Identities`] and [`Digests`] compute digests of messages.
//!
//! ```
//! use ringforge_sm2::{DEFAULT_ID, PrivateKey, SigningKey};
//! use signature::{Keypair, Signer, Verifier};
//!
//! let key = PrivateKey::from_bytes(&[7; 32])?; // in production, use `PrivateKey::generate`
//! let signer = SigningKey::new(key, DEFAULT_ID)?;
//! let signature = signer.sign(b"message");
//! assert!(signer.verifying_key().verify(b"message", &signature).is_ok());
//! assert!(signer.verifying_key().verify(b"massage", &signature).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | contents |
//! | --- | --- |
//! | `params.rs`, `field.rs`, `point.rs`, `windows.rs` | The curve, its two fields, its points, and their multiples. |
//! | `item.rs`, `nonce.rs`, `message.rs` | One item: the equations and checks, RFC 6979, Z_A and e. |
//! | `error.rs` | The errors of an item. |
//! | `key.rs`, `encoding.rs`, `rustcrypto.rs` | Keys and signatures, their encodings, RustCrypto's traits. |
//! | `kernels.rs`, `kernels/` | The kernels of batches: ports, CPU reference, CUDA source. |
//! | `plans.rs`, `batch.rs`, `hashes.rs` | Plans of these kernels, and their public interface. |
//!
//! The guide `docs/guides/batches.md` in the repository explains the checks, the meaning of constant time, and the GPU
//! implementation.
//!
//! Feature `hazmat` adds entry points that take the nonce from the caller; `testkit` adds plans with test samples.

mod batch;
mod encoding;
mod error;
mod field;
mod hashes;
mod item;
mod kernels;
mod key;
mod message;
mod nonce;
mod params;
mod plans;
mod point;
mod rustcrypto;
#[cfg(feature = "testkit")]
mod scheme;
mod windows;

pub use batch::{CachedKeys, PreparedKeys, Signer, Verifier, batch_status};
pub use error::Sm2Error;
pub use hashes::{Digests, Identities};
pub use key::{PrivateKey, PublicKey, Signature};
pub use message::Identity;
pub use params::{DEFAULT_ID, MAX_ID_BYTES, TLS13_ID};
pub use rustcrypto::{SigningKey, VerifyingKey};
#[cfg(feature = "testkit")]
pub use scheme::{Sm2, full_plans, plans_in_blocks};
pub use windows::Mode;
