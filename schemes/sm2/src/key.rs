//! Keys and signatures, for single operations on the CPU.

use core::fmt;

use rand_core::TryCryptoRng;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing, zeroize_stack};

use crate::error::Sm2Error;
use crate::field::Scalar;
use crate::item::{self, Digest};
use crate::nonce::Nonces;
use crate::point::Affine;

/// A guard that wipes the stack below its holder's frame when the holder returns. Functions that the holder called may
/// have left multiples of points, inverses and nonces in this part of the stack. The holder's return value is not
/// wiped: it is already in its final place.
struct Below;

impl Drop for Below {
    fn drop(&mut self) {
        // several times as much stack as signing uses
        zeroize_stack::<0x4000>();
    }
}

/// A private key d from 1 to n − 2, where n is the order of the group, with its public key. Wiped when dropped.
#[derive(Clone, ZeroizeOnDrop)]
pub struct PrivateKey {
    d: Scalar,
    /// (1 + d)^-1, the only secret that signing needs, besides a nonce.
    inverse: Scalar,
    #[zeroize(skip)]
    public: PublicKey,
}

/// A public key: a point of the curve other than infinity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublicKey(pub(crate) Affine);

/// A signature r ‖ s, two big-endian numbers of 32 bytes. Only verification checks that both are from 1 to n − 1, where
/// n is the order of the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Signature(pub(crate) [u8; 64]);

impl PrivateKey {
    /// Decodes a private key d of 32 big-endian bytes.
    ///
    /// # Errors
    /// [`Sm2Error::PrivateKeyRange`] unless d is from 1 to n − 2, where n is the order of the group.
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<Self, Sm2Error> {
        let _wiped = Below;
        Self::made(bytes)
    }

    #[inline(never)] // this function's stack must be below the frame that wipes the stack
    fn made(bytes: &[u8; 32]) -> Result<Self, Sm2Error> {
        let d = item::private_scalar(bytes)?;
        let inverse = (d + Scalar::ONE).inverse();
        Ok(Self { d, inverse, public: PublicKey(item::base_multiple(&d).to_affine()) })
    }

    /// Generates a private key: reads candidates of 256 bits from `rng` until one is in range.
    ///
    /// # Errors
    /// Errors of the random number generator.
    pub fn generate<R: TryCryptoRng + ?Sized>(rng: &mut R) -> Result<Self, R::Error> {
        let mut bytes = Zeroizing::new([0; 32]);
        loop {
            rng.try_fill_bytes(&mut *bytes)?;
            if let Ok(key) = Self::from_bytes(&bytes) {
                return Ok(key);
            }
        }
    }

    /// Returns d as 32 big-endian bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.d.to_bytes())
    }

    /// The public key.
    #[must_use]
    pub const fn public_key(&self) -> &PublicKey {
        &self.public
    }

    /// Signs a digest e, any 256 bits, with the nonce of RFC 6979 (HMAC-SM3). The signature is deterministic.
    #[must_use]
    pub fn sign_digest(&self, digest: &Digest) -> Signature {
        let _wiped = Below;
        self.sign_with(digest, &[])
    }

    /// Signs a digest with the nonce of RFC 6979 and random additional data ("hedged"). The private key stays safe if
    /// the random numbers or the computation is faulty, but not if both are.
    ///
    /// # Errors
    /// Errors of the random number generator.
    pub fn sign_digest_hedged<R: TryCryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        digest: &Digest,
    ) -> Result<Signature, R::Error> {
        let mut extra = Zeroizing::new([0; 32]);
        rng.try_fill_bytes(&mut *extra)?;
        let _wiped = Below;
        Ok(self.sign_with(digest, &*extra))
    }

    #[inline(never)] // its stack must be below the frame that wipes the stack; the constant-time test needs its name
    fn sign_with(&self, digest: &Digest, extra: &[u8]) -> Signature {
        let mut nonces = Nonces::new(&self.d, digest, extra);
        loop {
            if let Some(signature) = self.try_sign(digest, nonces.next()) {
                return signature;
            }
        }
    }

    /// Signs a digest with the nonce k, 32 big-endian bytes. A nonce that becomes known, or is used for two signatures,
    /// reveals the private key.
    ///
    /// # Errors
    /// [`Sm2Error::NonceRefused`] if k is not from 1 to n − 1 (n: the order of the group), or if it leads to r = 0, r +
    /// k = n or s = 0.
    #[cfg(feature = "hazmat")]
    pub fn sign_digest_with_nonce(&self, digest: &Digest, nonce: &[u8; 32]) -> Result<Signature, Sm2Error> {
        let _wiped = Below;
        self.try_sign(digest, item::nonce(nonce)?).ok_or(Sm2Error::NonceRefused)
    }

    #[inline(never)] // this function's stack must be below the frame that wipes the stack
    fn try_sign(&self, digest: &Digest, mut k: Scalar) -> Option<Signature> {
        let mut point = item::base_multiple(&k);
        let (signature, refused) = item::sign(&self.inverse, digest, &k, point.to_affine().x.plain());
        k.zeroize();
        point.zeroize();
        (!bool::from(refused)).then_some(Signature(signature))
    }
}

impl PublicKey {
    /// Decodes a public key from its big-endian coordinates x ‖ y.
    ///
    /// # Errors
    /// [`Sm2Error::PublicKeyPoint`] unless both coordinates are below the field prime p and the point is on the curve.
    pub fn from_bytes(bytes: &[u8; 64]) -> Result<Self, Sm2Error> {
        Affine::from_bytes(bytes).map(Self).ok_or(Sm2Error::PublicKeyPoint)
    }

    /// Returns the big-endian coordinates x ‖ y.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; 64] {
        self.0.to_bytes()
    }

    /// Verifies a signature of a digest e.
    ///
    /// # Errors
    /// [`Sm2Error::SignatureRange`] if r or s is not from 1 to n − 1 (n: the order of the group);
    /// [`Sm2Error::SignatureWrong`] if the signature does not match the digest and key.
    pub fn verify_digest(&self, digest: &Digest, signature: &Signature) -> Result<(), Sm2Error> {
        item::verify(&self.0, digest, &signature.0)
    }
}

impl Signature {
    /// Creates a signature from its bytes r ‖ s, without any check.
    #[must_use]
    pub const fn from_bytes(bytes: &[u8; 64]) -> Self {
        Self(*bytes)
    }

    /// Returns the bytes r ‖ s.
    #[must_use]
    pub const fn to_bytes(&self) -> [u8; 64] {
        self.0
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrivateKey(..)")
    }
}
