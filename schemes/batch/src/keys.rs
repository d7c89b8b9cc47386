//! Single keys in PKCS#8 and SPKI: the formats of RFC 9881 for ML-DSA, and of RFC 9935
//! (draft-ietf-lamps-kyber-certificates) for ML-KEM.

use core::fmt;
use core::marker::PhantomData;

use der::asn1::{AnyRef, BitStringRef, OctetStringRef};
use der::oid::AssociatedOid;
use der::{Decode, Document, Encode, SecretDocument, Tag, TagNumber, Tagged};
use pkcs8::{EncodePrivateKey, PrivateKeyInfoRef};
use spki::{AlgorithmIdentifierRef, EncodePublicKey, SubjectPublicKeyInfoRef};
use zeroize::Zeroizing;

pub use {pkcs8, spki};

/// A parameter set whose keys have an encoding. Its object identifier names the set, without parameters.
pub trait EncodedKeys: AssociatedOid + 'static {
    /// Bytes of a public key.
    const PUBLIC_KEY: usize;
    /// Bytes of the seed of a key pair.
    const SEED: usize;
    /// Bytes of an expanded secret key.
    const SECRET_KEY: usize;
}

/// A public key, as bytes. The traits of the crate `spki` encode and decode it, as DER and as PEM.
///
/// Only the length of the key is checked.
pub struct PublicKey<M> {
    bytes: Vec<u8>,
    set: PhantomData<fn(M)>,
}

impl<M: EncodedKeys> PublicKey<M> {
    /// The key with these bytes. Returns `None` for a wrong length.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        (bytes.len() == M::PUBLIC_KEY).then(|| Self { bytes: bytes.into(), set: PhantomData })
    }

    /// The bytes of the key.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl<M: EncodedKeys> EncodePublicKey for PublicKey<M> {
    fn to_public_key_der(&self) -> spki::Result<Document> {
        let subject_public_key = BitStringRef::from_bytes(&self.bytes)?;
        Ok(Document::encode_msg(&SubjectPublicKeyInfoRef { algorithm: algorithm::<M>(), subject_public_key })?)
    }
}

impl<M: EncodedKeys> TryFrom<SubjectPublicKeyInfoRef<'_>> for PublicKey<M> {
    type Error = spki::Error;

    fn try_from(info: SubjectPublicKeyInfoRef<'_>) -> spki::Result<Self> {
        check::<M>(&info.algorithm)?;
        info.subject_public_key.as_bytes().and_then(Self::new).ok_or(spki::Error::KeyMalformed)
    }
}

/// A secret key: the seed of the key pair, the expanded key, or both. The traits of the crate `pkcs8` encode and decode
/// it, as DER and as PEM. Its memory is wiped on drop.
///
/// Only lengths are checked. If both are given, whether they belong together is not: a key pair is computed from the
/// seed by `generate_from` of [`Signatures`](crate::Signatures) or [`Batch`](crate::Batch) (feature `hazmat`).
pub struct SecretKey<M> {
    seed: Option<Zeroizing<Vec<u8>>>,
    expanded: Option<Zeroizing<Vec<u8>>>,
    set: PhantomData<fn(M)>,
}

impl<M: EncodedKeys> SecretKey<M> {
    /// The key with this seed, this expanded key, or both. Returns `None` for a wrong length, and if both are missing.
    #[must_use]
    pub fn new(seed: Option<&[u8]>, expanded: Option<&[u8]>) -> Option<Self> {
        let fits = |bytes: Option<&[u8]>, size| bytes.is_none_or(|bytes| bytes.len() == size);
        let is_key = fits(seed, M::SEED) && fits(expanded, M::SECRET_KEY) && seed.or(expanded).is_some();
        let owned = |bytes: &[u8]| Zeroizing::new(bytes.to_vec());
        is_key.then(|| Self { seed: seed.map(owned), expanded: expanded.map(owned), set: PhantomData })
    }

    /// The seed, if the key has it.
    #[must_use]
    pub fn seed(&self) -> Option<&[u8]> {
        self.seed.as_ref().map(|seed| &seed[..])
    }

    /// The expanded key, if the key has it.
    #[must_use]
    pub fn expanded(&self) -> Option<&[u8]> {
        self.expanded.as_ref().map(|expanded| &expanded[..])
    }
}

impl<M: EncodedKeys> EncodePrivateKey for SecretKey<M> {
    fn to_pkcs8_der(&self) -> pkcs8::Result<SecretDocument> {
        let inner = match (self.seed(), self.expanded()) {
            (Some(seed), None) => AnyRef::new(SEED_TAG, seed)?.to_der()?,
            (Some(seed), Some(expanded)) => [OctetStringRef::new(seed)?, OctetStringRef::new(expanded)?].to_der()?,
            (None, expanded) => OctetStringRef::new(expanded.unwrap_or_default())?.to_der()?,
        };
        let inner = Zeroizing::new(inner);
        let info = PrivateKeyInfoRef::new(algorithm::<M>(), OctetStringRef::new(&inner)?);
        Ok(SecretDocument::encode_msg(&info)?)
    }
}

impl<M: EncodedKeys> TryFrom<PrivateKeyInfoRef<'_>> for SecretKey<M> {
    type Error = pkcs8::Error;

    fn try_from(info: PrivateKeyInfoRef<'_>) -> pkcs8::Result<Self> {
        check::<M>(&info.algorithm)?;
        let inner = AnyRef::from_der(info.private_key.as_bytes())?;
        let key = match inner.tag() {
            SEED_TAG => Self::new(Some(inner.value()), None),
            Tag::OctetString => Self::new(None, Some(inner.value())),
            _ => {
                let two = |reader: &mut _| Ok([<&OctetStringRef>::decode(reader)?, <&OctetStringRef>::decode(reader)?]);
                let [seed, expanded] = inner.sequence::<_, _, der::Error>(two)?;
                Self::new(Some(seed.as_bytes()), Some(expanded.as_bytes()))
            }
        };
        key.ok_or_else(|| spki::Error::KeyMalformed.into())
    }
}

/// The tag of a seed: `[0] IMPLICIT OCTET STRING`.
const SEED_TAG: Tag = Tag::ContextSpecific { constructed: false, number: TagNumber(0) };

fn algorithm<M: EncodedKeys>() -> AlgorithmIdentifierRef<'static> {
    AlgorithmIdentifierRef { oid: M::OID, parameters: None }
}

/// Fails unless the algorithm is that of `M`, without parameters.
fn check<M: EncodedKeys>(algorithm: &AlgorithmIdentifierRef<'_>) -> spki::Result<()> {
    algorithm.assert_algorithm_oid(M::OID)?;
    if algorithm.parameters.is_none() { Ok(()) } else { Err(spki::Error::KeyMalformed) }
}

impl<M: EncodedKeys> fmt::Debug for PublicKey<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({}, {} bytes)", M::OID, self.bytes.len())
    }
}

// prints no bytes, because they are secret
impl<M: EncodedKeys> fmt::Debug for SecretKey<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey({}, ..)", M::OID)
    }
}
