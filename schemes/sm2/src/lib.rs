//! SM2 signatures (GB/T 32918), one by one and in batches, on CPUs and GPUs.

mod batch;
mod digests;
mod encoding;
mod field;
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

pub use batch::{CachedKeys, PreparedKeys, Signer, Verifier, outcome};
pub use digests::Digests;
pub use key::{PrivateKey, PublicKey, Signature};
pub use message::Identity;
pub use params::{DEFAULT_ID, MAX_ID_BYTES, TLS13_ID};
pub use ringforge_batch::Reason;
pub use rustcrypto::{SigningKey, VerifyingKey};
#[cfg(feature = "testkit")]
pub use scheme::Sm2;
pub use windows::Mode;
