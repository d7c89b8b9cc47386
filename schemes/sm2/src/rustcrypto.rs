//! The traits of the crate `signature`, for single operations on the CPU.

use ringforge::Result;
use signature::hazmat::{PrehashSigner, PrehashVerifier, RandomizedPrehashSigner};
use signature::{Error, Keypair, RandomizedSigner, SignatureEncoding, Signer, Verifier};
use spki::{AlgorithmIdentifierOwned, DynSignatureAlgorithmIdentifier};

use crate::encoding::SIGNATURE;
use crate::item::Digest;
use crate::key::{PrivateKey, PublicKey, Signature};
use crate::message::Identity;

/// A private key with its owner's identifier, for signing messages.
///
/// [`Signer`] uses the nonces of RFC 6979; [`RandomizedSigner`] also mixes random bytes into them (hedged nonces).
#[derive(Debug, Clone)]
pub struct SigningKey {
    key: PrivateKey,
    identity: Identity,
}

/// A public key with its owner's identifier, for verifying messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerifyingKey {
    key: PublicKey,
    identity: Identity,
}

impl SigningKey {
    /// Creates a key from a private key and its owner's identifier.
    ///
    /// # Errors
    /// The error of [`Identity::new`] if the identifier is too long.
    pub fn new(key: PrivateKey, id: &[u8]) -> Result<Self> {
        Ok(Self { identity: Identity::new(key.public_key(), id)?, key })
    }
}

impl VerifyingKey {
    /// Creates a key from a public key and its owner's identifier.
    ///
    /// # Errors
    /// The error of [`Identity::new`] if the identifier is too long.
    pub fn new(key: PublicKey, id: &[u8]) -> Result<Self> {
        Ok(Self { identity: Identity::new(&key, id)?, key })
    }
}

impl Keypair for SigningKey {
    type VerifyingKey = VerifyingKey;

    fn verifying_key(&self) -> VerifyingKey {
        VerifyingKey { key: *self.key.public_key(), identity: self.identity }
    }
}

impl Signer<Signature> for SigningKey {
    fn try_sign(&self, message: &[u8]) -> Result<Signature, Error> {
        Ok(self.key.sign_digest(&self.identity.digest(message)))
    }
}

impl RandomizedSigner<Signature> for SigningKey {
    fn try_sign_with_rng<R: rand_core::TryCryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        message: &[u8],
    ) -> Result<Signature, Error> {
        self.key.sign_digest_hedged(rng, &self.identity.digest(message)).map_err(|_| Error::new())
    }
}

impl Verifier<Signature> for VerifyingKey {
    fn verify(&self, message: &[u8], signature: &Signature) -> Result<(), Error> {
        self.key.verify_digest(&self.identity.digest(message), signature).map_err(Error::from_source)
    }
}

impl PrehashSigner<Signature> for PrivateKey {
    fn sign_prehash(&self, digest: &[u8]) -> Result<Signature, Error> {
        Ok(self.sign_digest(&whole(digest)?))
    }
}

impl RandomizedPrehashSigner<Signature> for PrivateKey {
    fn sign_prehash_with_rng<R: rand_core::TryCryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        digest: &[u8],
    ) -> Result<Signature, Error> {
        self.sign_digest_hedged(rng, &whole(digest)?).map_err(|_| Error::new())
    }
}

impl PrehashVerifier<Signature> for PublicKey {
    fn verify_prehash(&self, digest: &[u8], signature: &Signature) -> Result<(), Error> {
        self.verify_digest(&whole(digest)?, signature).map_err(Error::from_source)
    }
}

impl SignatureEncoding for Signature {
    type Repr = [u8; 64];
}

impl TryFrom<&[u8]> for Signature {
    type Error = Error;

    fn try_from(bytes: &[u8]) -> Result<Self, Error> {
        bytes.try_into().map(Self).map_err(|_| Error::new())
    }
}

impl From<Signature> for [u8; 64] {
    fn from(signature: Signature) -> Self {
        signature.0
    }
}

impl DynSignatureAlgorithmIdentifier for SigningKey {
    fn signature_algorithm_identifier(&self) -> spki::Result<AlgorithmIdentifierOwned> {
        Ok(AlgorithmIdentifierOwned { oid: SIGNATURE, parameters: None })
    }
}

/// Converts a slice to a digest. Fails unless the slice has 32 bytes.
fn whole(digest: &[u8]) -> Result<Digest, Error> {
    digest.try_into().map_err(|_| Error::new())
}
