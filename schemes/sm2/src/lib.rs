//! SM2 signatures (GB/T 32918), one by one and in batches, on CPUs and GPUs.

mod encoding;
mod field;
mod item;
mod key;
mod message;
mod nonce;
mod params;
mod point;
mod rustcrypto;
mod windows;

pub use key::{PrivateKey, PublicKey, Signature};
pub use message::Identity;
pub use params::{DEFAULT_ID, MAX_ID_BYTES, TLS13_ID};
pub use ringforge_batch::Reason;
pub use rustcrypto::{SigningKey, VerifyingKey};
pub use windows::Mode;
