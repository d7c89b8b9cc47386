//! Encodings of keys and signatures: SEC 1, PKCS#8, SPKI and strict DER.

use der::asn1::{AnyRef, BitString, BitStringRef, OctetStringRef, UintRef};
use der::{Decode, Encode, SecretDocument, Tag};
use pkcs8::{EncodePrivateKey, PrivateKeyInfoRef};
use sec1::consts::U32;
use sec1::point::Coordinates;
use sec1::{EcParameters, EcPrivateKey};
use spki::{AlgorithmIdentifierRef, EncodePublicKey, ObjectIdentifier, SubjectPublicKeyInfoRef};
use zeroize::Zeroizing;

use crate::error::Sm2Error;
use crate::field::Fp;
use crate::key::{PrivateKey, PublicKey, Signature};
use crate::point::Affine;

/// OID of elliptic-curve keys (RFC 5480).
const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
/// OID of the curve sm2p256v1.
const CURVE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.156.10197.1.301");
/// OID of signatures by SM2 with SM3.
pub(crate) const SIGNATURE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.156.10197.1.501");

fn algorithm() -> AlgorithmIdentifierRef<'static> {
    AlgorithmIdentifierRef { oid: EC, parameters: Some(AnyRef::from(&CURVE)) }
}

type Point = sec1::EncodedPoint<U32>;

impl PublicKey {
    /// Decodes a point in SEC 1 encoding, compressed or not. Hybrid forms and infinity are rejected.
    ///
    /// # Errors
    /// [`Sm2Error::PublicKeyPoint`] if the encoding is invalid or the point is not on the curve.
    pub fn from_sec1_bytes(bytes: &[u8]) -> Result<Self, Sm2Error> {
        let point = Point::from_bytes(bytes).map_err(|_| Sm2Error::PublicKeyPoint)?;
        let key = match point.coordinates() {
            Coordinates::Uncompressed { .. } => bytes[1..].try_into().ok().and_then(Affine::from_bytes),
            Coordinates::Compressed { x, y_is_odd } => {
                Fp::from_bytes(x.as_ref()).and_then(|x| Affine::with_x(x, y_is_odd))
            }
            _ => None,
        };
        key.map(Self).ok_or(Sm2Error::PublicKeyPoint)
    }

    /// The point in SEC 1 encoding: 33 bytes if compressed, else 65.
    #[must_use]
    pub fn to_sec1_bytes(&self, compressed: bool) -> Vec<u8> {
        let point = Point::from_untagged_bytes(&self.to_bytes().into());
        if compressed { point.compress().as_bytes().into() } else { point.as_bytes().into() }
    }
}

impl TryFrom<SubjectPublicKeyInfoRef<'_>> for PublicKey {
    type Error = spki::Error;

    fn try_from(info: SubjectPublicKeyInfoRef<'_>) -> spki::Result<Self> {
        info.algorithm.assert_oids(EC, CURVE)?;
        let point = info.subject_public_key.as_bytes().ok_or(spki::Error::KeyMalformed)?;
        Self::from_sec1_bytes(point).map_err(|_| spki::Error::KeyMalformed)
    }
}

impl EncodePublicKey for PublicKey {
    fn to_public_key_der(&self) -> spki::Result<der::Document> {
        let point = self.to_sec1_bytes(false);
        let info =
            SubjectPublicKeyInfoRef { algorithm: algorithm(), subject_public_key: BitStringRef::from_bytes(&point)? };
        Ok(der::Document::encode_msg(&info)?)
    }
}

impl PrivateKey {
    /// Decodes a DER-encoded `ECPrivateKey` (SEC 1, RFC 5915). The curve and the public key are optional in this
    /// format. If present, the curve must be sm2p256v1, and the public key must belong to the private key.
    ///
    /// # Errors
    /// Errors of the DER decoder. [`der::ErrorKind::Value`] if the curve is not sm2p256v1, or if the private key is out
    /// of range or not 32 bytes long. The same error if the public key does not belong to the private key.
    pub fn from_sec1_der(bytes: &[u8]) -> der::Result<Self> {
        let value = || der::Error::from(Tag::OctetString.value_error());
        let inner = EcPrivateKey::from_der(bytes)?;
        if inner.parameters.is_some_and(|curve| curve != EcParameters::NamedCurve(CURVE)) {
            return Err(Tag::ObjectIdentifier.value_error().into());
        }
        let key = Self::from_bytes(inner.private_key.try_into().map_err(|_| value())?).map_err(|_| value())?;
        let fits = |public| PublicKey::from_sec1_bytes(public) == Ok(*key.public_key());
        if inner.public_key.is_none_or(fits) { Ok(key) } else { Err(value()) }
    }

    /// The key as a DER-encoded `ECPrivateKey`.
    ///
    /// # Errors
    /// Errors of the DER encoder, none of which can occur for a valid key.
    pub fn to_sec1_der(&self) -> der::Result<Zeroizing<Vec<u8>>> {
        self.encode_sec1(Some(EcParameters::NamedCurve(CURVE)))
    }

    fn encode_sec1(&self, parameters: Option<EcParameters>) -> der::Result<Zeroizing<Vec<u8>>> {
        let (d, public_key) = (self.to_bytes(), self.public_key().to_sec1_bytes(false));
        let key = EcPrivateKey { private_key: &*d, parameters, public_key: Some(&public_key) };
        key.to_der().map(Zeroizing::new)
    }
}

impl TryFrom<PrivateKeyInfoRef<'_>> for PrivateKey {
    type Error = pkcs8::Error;

    fn try_from(info: PrivateKeyInfoRef<'_>) -> pkcs8::Result<Self> {
        info.algorithm.assert_oids(EC, CURVE)?;
        Ok(Self::from_sec1_der(info.private_key.as_bytes())?)
    }
}

impl EncodePrivateKey for PrivateKey {
    fn to_pkcs8_der(&self) -> pkcs8::Result<SecretDocument> {
        let inner = self.encode_sec1(None)?;
        Ok(SecretDocument::encode_msg(&PrivateKeyInfoRef::new(algorithm(), OctetStringRef::new(&inner)?))?)
    }
}

impl Signature {
    /// Decodes a DER sequence of the integers r and s. The encoding must be strict DER without trailing bytes, and both
    /// numbers must have at most 256 bits.
    ///
    /// # Errors
    /// Errors of the DER decoder. [`der::ErrorKind::Length`] if there are not two integers, or if one has over 256
    /// bits.
    pub fn from_der(bytes: &[u8]) -> der::Result<Self> {
        let [r, s] = Vec::from_der(bytes)?[..] else { return Err(Tag::Sequence.length_error().into()) };
        let mut signature = [0; 64];
        for (half, number) in signature.as_chunks_mut::<32>().0.iter_mut().zip([r, s]) {
            let number = UintRef::as_bytes(&number);
            let at = half.len().checked_sub(number.len()).ok_or_else(|| Tag::Integer.length_error())?;
            half[at..].copy_from_slice(number);
        }
        Ok(Self(signature))
    }

    /// The signature as DER: 8 to 72 bytes.
    ///
    /// # Errors
    /// Errors of the DER encoder, none of which can occur for 64 bytes.
    pub fn to_der(&self) -> der::Result<Vec<u8>> {
        let (halves, _) = self.0.as_chunks::<32>();
        [UintRef::new(&halves[0])?, UintRef::new(&halves[1])?].to_der()
    }
}

impl spki::SignatureBitStringEncoding for Signature {
    fn to_bitstring(&self) -> der::Result<BitString> {
        BitString::from_bytes(&self.to_der()?)
    }
}
