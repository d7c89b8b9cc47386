//! The digest of a message: the identity hash Z_A and e = SM3(Z_A ‖ message) (GB/T 32918.2, sections 5.5 and 6.1).

use ringforge::{Error, Result};
use sm3::{Digest as _, Sm3};

use crate::field::{limbs, to_be};
use crate::item::Digest;
use crate::key::PublicKey;
use crate::params::{A, B, G, MAX_ID_BYTES};

/// Returns Z_A of a public key x ‖ y and an identifier of at most [`MAX_ID_BYTES`] bytes.
pub(crate) fn identity(key: &[u8; 64], id: &[u8]) -> [u8; 32] {
    let hash = Sm3::new()
        .chain_update((8 * id.len() as u16).to_be_bytes())
        .chain_update(id)
        .chain_update(to_be(limbs(A)))
        .chain_update(B.to_bytes())
        .chain_update(G[0].to_bytes())
        .chain_update(G[1].to_bytes())
        .chain_update(key);
    hash.finalize().into()
}

/// Returns the digest e = SM3(Z_A ‖ message), where `identity` is Z_A.
pub(crate) fn digest(identity: &[u8; 32], message: &[u8]) -> Digest {
    Sm3::new().chain_update(identity).chain_update(message).finalize().into()
}

/// Z_A, the hash of a public key and its owner's identifier. It is the same for all messages of that key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity([u8; 32]);

impl Identity {
    /// Computes Z_A = SM3(ENTL ‖ identifier ‖ a ‖ b ‖ G ‖ key), where ENTL is the length of the identifier in bits, two
    /// bytes big-endian. The identifier may be empty; its Z_A differs from that of [`DEFAULT_ID`](crate::DEFAULT_ID).
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the identifier is longer than [`MAX_ID_BYTES`].
    pub fn new(key: &PublicKey, id: &[u8]) -> Result<Self> {
        if id.len() > MAX_ID_BYTES {
            return Err(Error::TooLarge { what: "the identifier's size in bytes", limit: MAX_ID_BYTES, got: id.len() });
        }
        Ok(Self(identity(&key.to_bytes(), id)))
    }

    /// The 32 bytes of Z_A.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Computes the digest e = SM3(Z_A ‖ message).
    #[must_use]
    pub fn digest(&self, message: &[u8]) -> Digest {
        digest(&self.0, message)
    }
}
