//! SM2 signatures of messages and digests, in batches.

use core::ops::Range;

use rayon::prelude::*;
use ringforge::{Engine, Error, Result};
use ringforge_batch::{BatchStatus, ErrorKind, ItemError, batch_of};
use ringforge_sm2::{Identity, MAX_ID_BYTES, Mode, PublicKey, Signer, Sm2Error, Verifier};

use crate::fault::Fault;
use crate::process::may_work;

/// SM2 signatures (GB/T 32918), compiled for an engine's device. Private keys and digests have 32 bytes; public keys (x
/// ‖ y) and signatures (r ‖ s) have 64. Item i of an argument begins at i times the item's size.
#[derive(Debug)]
pub struct Sm2 {
    signer: Signer,
    verifier: Verifier,
}

impl Sm2 {
    /// Bytes of a private key and of a digest.
    pub const WORD: usize = 32;
    /// Bytes of a public key and of a signature.
    pub const PAIR: usize = 64;

    /// Compiles signing and verification. With `lookups`, signing reads tables at secret-dependent addresses, which is
    /// faster, but safe only on a device that no attacker shares.
    ///
    /// # Errors
    /// [`Error::Unsupported`] in a forked process (see [`may_work`]); the errors of [`Signer::new`] and
    /// [`Verifier::new`].
    pub fn new(engine: &Engine, lookups: bool) -> Result<Self> {
        may_work()?;
        let mode = if lookups { Mode::Throughput } else { Mode::Scan };
        Ok(Self { signer: Signer::new(engine, mode)?, verifier: Verifier::new(engine)? })
    }

    /// Fills both slices with new key pairs, from the system's randomness.
    ///
    /// # Errors
    /// [`Error::Unsupported`] in a forked process (see [`may_work`]); the errors of [`Signer::generate`].
    pub fn generate(&self, private_keys: &mut [u8], public_keys: &mut [u8]) -> Result<Vec<Fault>> {
        may_work()?;
        self.signer.generate(private_keys, public_keys).map(|status| Fault::of(&status))
    }

    /// Signs each digest with its private key, or all digests with a single key.
    ///
    /// # Errors
    /// [`Error::Unsupported`] in a forked process (see [`may_work`]); the errors of [`Signer::sign`].
    pub fn sign(&self, private_keys: &[u8], digests: &[u8], signatures: &mut [u8]) -> Result<Vec<Fault>> {
        may_work()?;
        self.signer.sign(private_keys, digests, signatures).map(|status| Fault::of(&status))
    }

    /// Verifies signatures of digests. A signature that is not valid is a [`Fault`] of its item.
    ///
    /// # Errors
    /// [`Error::Unsupported`] in a forked process (see [`may_work`]); the errors of [`Verifier::verify`].
    pub fn verify(&self, public_keys: &[u8], digests: &[u8], signatures: &[u8]) -> Result<Vec<Fault>> {
        may_work()?;
        self.verifier.verify(public_keys, digests, signatures).map(|status| Fault::of(&status))
    }

    /// Computes the digest to sign, SM3(Z ‖ message), of each message. Z is the hash of the signer's identifier and
    /// public key. `messages` are concatenated, with these `lengths` in bytes. `public_keys` has the signer's key of
    /// each message, or a single key for all. All signers have the same identifier. Runs on the CPU, regardless of the
    /// device.
    ///
    /// # Errors
    /// [`Error::Length`] if sizes or numbers of items do not match; [`Error::TooLarge`] if the identifier is too long;
    /// [`Error::Unsupported`] in a forked process (see [`may_work`]).
    pub fn digest(
        public_keys: &[u8],
        id: &[u8],
        messages: &[u8],
        lengths: &[usize],
        digests: &mut [u8],
    ) -> Result<Vec<Fault>> {
        may_work()?;
        let keys = batch_of("bytes of public keys", public_keys.len(), Self::PAIR)?;
        let batch = batch_of("bytes of digests", digests.len(), Self::WORD)?;
        for (what, got) in
            [("lengths of messages", lengths.len()), ("public keys", if keys == 1 { batch } else { keys })]
        {
            if got != batch {
                return Err(Error::Length { what, expected: batch, got });
            }
        }
        if id.len() > MAX_ID_BYTES {
            return Err(Error::TooLarge { what: "the identifier's size in bytes", limit: MAX_ID_BYTES, got: id.len() });
        }
        let places = places(messages.len(), lengths)?;
        let identity = |key: &[u8]| {
            let key = key.first_chunk().and_then(|key| PublicKey::from_bytes(key).ok());
            key.and_then(|key| Identity::new(&key, id).ok()).ok_or(Sm2Error::PublicKeyPoint)
        };
        let shared = (keys == 1).then(|| identity(public_keys));
        let write = |(item, (digest, place)): (usize, (&mut [u8], Range<usize>))| {
            let own = || identity(&public_keys[item * Self::PAIR..][..Self::PAIR]);
            match shared.unwrap_or_else(own) {
                Ok(identity) => digest.copy_from_slice(&identity.digest(&messages[place])),
                Err(kind) => {
                    digest.fill(0);
                    return Some(ItemError { item, kind: ErrorKind::Scheme(kind) });
                }
            }
            None
        };
        ringforge_cpu::threads::start();
        let items = digests.par_chunks_mut(Self::WORD).zip(places).enumerate();
        Ok(Fault::of(&BatchStatus::new(items.filter_map(write).collect())))
    }
}

/// Returns the byte range of each concatenated message, or [`Error::Length`] unless the lengths add up to `bytes`.
fn places(bytes: usize, lengths: &[usize]) -> Result<Vec<Range<usize>>> {
    let mut end = 0usize;
    let places = lengths.iter().map(|length| {
        let start = end;
        end = end.saturating_add(*length);
        start..end
    });
    let places: Vec<_> = places.collect();
    if end != bytes {
        return Err(Error::Length { what: "bytes of messages", expected: end, got: bytes });
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use ringforge_sm2::DEFAULT_ID;

    use super::*;

    #[test]
    fn messages_are_signed() {
        let sm2 = Sm2::new(&Engine::cpu(), false).unwrap();
        let (mut private, mut public, mut digests, mut signatures) = ([0; 96], [0; 192], [0; 96], [0; 192]);
        assert_eq!(sm2.generate(&mut private, &mut public).unwrap(), []);
        let digest =
            |public: &[u8], digests: &mut [u8]| Sm2::digest(public, DEFAULT_ID, b"abcdef", &[1, 0, 5], digests);
        assert_eq!(digest(&public, &mut digests).unwrap(), []);
        assert_eq!(sm2.sign(&private, &digests, &mut signatures).unwrap(), []);
        assert_eq!(sm2.verify(&public, &digests, &signatures).unwrap(), []);
        let key = PublicKey::from_bytes(public[128..].try_into().unwrap()).unwrap();
        assert_eq!(digests[64..], Identity::new(&key, DEFAULT_ID).unwrap().digest(b"bcdef"));
        // a single key may sign all messages; an invalid key fails only its own item
        assert_eq!(digest(&public[..64], &mut digests).unwrap(), []);
        public[64] ^= 1;
        let faults = digest(&public, &mut digests).unwrap();
        assert_eq!((faults.len(), faults[0].item, faults[0].status), (1, 1, 6));
        assert_eq!(digests[32..64], [0; 32]);
    }

    #[test]
    fn sizes_are_checked() {
        let digest = |keys: usize, messages: usize, lengths: &[usize], digests: usize| {
            Sm2::digest(&vec![0; keys], b"", &vec![0; messages], lengths, &mut vec![0; digests])
        };
        assert!(digest(128, 3, &[1, 2], 64).is_ok());
        assert!(digest(0, 0, &[], 0).is_ok());
        assert!(digest(129, 3, &[1, 2], 64).is_err());
        assert!(digest(128, 4, &[1, 2], 64).is_err());
        assert!(digest(128, 3, &[1, usize::MAX], 64).is_err());
        assert!(digest(192, 3, &[1, 2], 64).is_err());
        assert!(digest(128, 3, &[3], 64).is_err());
    }
}
