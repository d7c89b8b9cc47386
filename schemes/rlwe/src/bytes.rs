//! Serialisation of keys, and the header of keys and ciphertexts.
//!
//! The header of 40 bytes begins with `RFRL` (4 bytes), version (2), kind (2), log₂ of the degree (4) and the number of primes
//! of Q (4). The number of items (8), a number that depends on the scheme (8), and the fingerprint of the parameters (8)
//! follow. All numbers are little-endian. The body depends on the kind of object:
//!
//! | kind | primes, items, number | body |
//! | --- | --- | --- |
//! | ciphertexts of CKKS | Primes of the level, batch, scale as a double. | Residues, 4 or 8 bytes each. |
//! | ciphertexts of BFV | All primes, batch, plaintext modulus. | Residues, 4 or 8 bytes each. |
//! | public key, relinearisation key | All primes, 1, 0. | Seed (32 bytes), half that is not expanded from the seed. |
//! | rotation keys | All primes, number of keys, 0. | By ascending k, for x → x^k: k (8 bytes), seed, half. |
//! | secret key | All primes, 1, 0. | Coefficients, 2 bits each, lowest bits first: 0, 1, and 2 for −1. |

use std::collections::BTreeMap;

use bytemuck::Pod;
use ringforge::{Buffer, PolyType};
use shake::{ExtendableOutput, Shake256, Update, XofReader};
use subtle::{ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroizing;

use crate::error::{Error, Result};
use crate::generator::{KeyGenerator, KeyOperation, bytes_of};
use crate::keys::{GaloisKeys, PublicKey, RelinearisationKey, SecretKey, SwitchingKey, is_automorphism};
use crate::params::Parameters;

const MAGIC: [u8; 4] = *b"RFRL";
const VERSION: u16 = 4;
const HEADER: usize = 40;
const SEED: usize = 32;
/// Number of secret-key coefficients per serialised byte.
const IN_A_BYTE: usize = 4;

/// Kind of a serialised object, as the number in the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ObjectKind {
    /// A batch of ciphertexts of CKKS.
    CkksCiphertext = 1,
    /// A public key.
    PublicKey = 2,
    /// A relinearisation key.
    RelinearisationKey = 3,
    /// Keys for rotations.
    GaloisKeys = 4,
    /// A secret key.
    SecretKey = 5,
    /// A batch of ciphertexts of BFV.
    BfvCiphertext = 6,
}

/// The fields of a header that depend on the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Kind of the object.
    pub kind: ObjectKind,
    /// Number of primes of Q.
    pub limbs: usize,
    /// Number of items.
    pub items: usize,
    /// The scale of CKKS as a double, the plaintext modulus of BFV, or 0.
    pub number: u64,
}

impl ObjectKind {
    const fn name(self) -> &'static str {
        match self {
            Self::CkksCiphertext | Self::BfvCiphertext => "ciphertext",
            Self::PublicKey => "public key",
            Self::RelinearisationKey => "relinearisation key",
            Self::GaloisKeys => "rotation keys",
            Self::SecretKey => "secret key",
        }
    }

    /// The error of bytes that are not such an object.
    #[must_use]
    pub fn malformed(self, why: &'static str) -> Error {
        Error::Malformed { what: self.name(), why }
    }
}

impl KeyGenerator {
    /// Serialises a public key. The bytes take half as much memory as the key on the device, because a 32-byte seed
    /// replaces the uniform half.
    ///
    /// # Errors
    /// [`Error::Foreign`] if the key was made for parameters other than this scheme's; [`Error::Engine`] if the engine
    /// fails.
    pub fn public_key_to_bytes(&self, key: &PublicKey) -> Result<Vec<u8>> {
        self.own(&key.parameters, "the public key")?;
        let mut bytes = self.key_header(ObjectKind::PublicKey, 1);
        self.append_key(&mut bytes, &key.seed, &key.buffer)?;
        Ok(bytes)
    }

    /// Deserialises a public key and expands its uniform half from the seed.
    ///
    /// # Errors
    /// [`Error::Malformed`] for bytes that [`KeyGenerator::public_key_to_bytes`] does not produce with these parameters;
    /// [`Error::Engine`] if the engine fails.
    pub fn public_key_from_bytes(&self, bytes: &[u8]) -> Result<PublicKey> {
        let kind = ObjectKind::PublicKey;
        let body = self.read_key_header(kind, bytes)?;
        let half = self.basis(self.top())?.plaintext_type().clone();
        let (seed, buffer) = self.expanded(kind, KeyOperation::ExpandPublicKey, &half, body)?;
        Ok(PublicKey { parameters: self.parameters().clone(), seed, buffer })
    }

    /// Serialises a relinearisation key. The bytes take half as much memory as the key on the device, because a 32-byte
    /// seed replaces the uniform half.
    ///
    /// # Errors
    /// The errors of [`KeyGenerator::public_key_to_bytes`].
    pub fn relinearisation_key_to_bytes(&self, key: &RelinearisationKey) -> Result<Vec<u8>> {
        self.own(key.parameters(), "the relinearisation key")?;
        let mut bytes = self.key_header(ObjectKind::RelinearisationKey, 1);
        self.append_key(&mut bytes, &key.0.seed, &key.0.buffer)?;
        Ok(bytes)
    }

    /// Deserialises a relinearisation key and expands its uniform half from the seed.
    ///
    /// # Errors
    /// [`Error::Malformed`] for bytes that [`KeyGenerator::relinearisation_key_to_bytes`] does not produce with these
    /// parameters; [`Error::Engine`] if the engine fails.
    pub fn relinearisation_key_from_bytes(&self, bytes: &[u8]) -> Result<RelinearisationKey> {
        let kind = ObjectKind::RelinearisationKey;
        let body = self.read_key_header(kind, bytes)?;
        self.switching_key_from(kind, body).map(RelinearisationKey)
    }

    /// Serialises rotation and conjugation keys. The bytes take half as much memory as the keys on the device, because
    /// a 32-byte seed replaces the uniform half of each key.
    ///
    /// # Errors
    /// The errors of [`KeyGenerator::public_key_to_bytes`]; [`Error::Trimmed`] if a key is for fewer primes of Q.
    pub fn galois_keys_to_bytes(&self, keys: &GaloisKeys) -> Result<Vec<u8>> {
        self.own(&keys.parameters, "the rotation keys")?;
        let mut bytes = self.key_header(ObjectKind::GaloisKeys, keys.keys.len());
        for (k, key) in &keys.keys {
            key.serves(self.top())?;
            bytes.extend(k.to_le_bytes());
            self.append_key(&mut bytes, &key.seed, &key.buffer)?;
        }
        Ok(bytes)
    }

    /// Deserialises rotation and conjugation keys and expands their uniform halves from the seeds.
    ///
    /// # Errors
    /// [`Error::Malformed`] for bytes that [`KeyGenerator::galois_keys_to_bytes`] does not produce with these parameters;
    /// [`Error::Engine`] if the engine fails.
    pub fn galois_keys_from_bytes(&self, bytes: &[u8]) -> Result<GaloisKeys> {
        let kind = ObjectKind::GaloisKeys;
        let (items, body) = self.read_keys(kind, bytes)?;
        let size = size_of::<u64>() + SEED + self.parameters().switching_key_bytes() / 2;
        let mut keys = BTreeMap::new();
        for piece in pieces(kind, body, items, size)? {
            let (k, key) = piece.split_first_chunk().ok_or(kind.malformed("the bytes of a key are too short"))?;
            let k = u64::from_le_bytes(*k);
            if !is_automorphism(self.parameters(), k) || keys.last_key_value().is_some_and(|(last, _)| *last >= k) {
                return Err(kind.malformed("a key is for an invalid automorphism, or keys are not in ascending order"));
            }
            keys.insert(k, self.switching_key_from(kind, key)?);
        }
        Ok(GaloisKeys { parameters: self.parameters().clone(), keys })
    }

    /// Serialises a secret key to the header and one byte per four coefficients, in memory that is wiped on drop.
    /// Constant-time in the key.
    ///
    /// # Errors
    /// The errors of [`KeyGenerator::public_key_to_bytes`].
    pub fn secret_key_to_bytes(&self, key: &SecretKey) -> Result<Zeroizing<Vec<u8>>> {
        self.own(&key.parameters, "the secret key")?;
        let program = self.program(KeyOperation::SecretCoefficients, self.top(), 1)?;
        let stream = self.stream()?;
        let mut coefficients = stream.secret_buffer(bytes_of(&program, "coefficients"))?;
        program.on(stream, 1).input("s", &key.buffer).output("coefficients", &mut coefficients).run()?;
        let words = self.download_residues(&coefficients)?;
        // Reserved in full, because a growing vector would leave copies of the secret in freed memory.
        let mut bytes = Zeroizing::new(Vec::with_capacity(HEADER + words.len() / IN_A_BYTE));
        bytes.extend(self.key_header(ObjectKind::SecretKey, 1));
        let code = |word: &u64| (word & 1) as u8 | (!word.ct_eq(&0) & !word.ct_eq(&1)).unwrap_u8() << 1;
        bytes
            .extend(words.chunks(IN_A_BYTE).map(|four| four.iter().rev().fold(0, |byte, word| byte << 2 | code(word))));
        Ok(bytes)
    }

    /// Deserialises a secret key. Constant-time in the key.
    ///
    /// # Errors
    /// [`Error::Malformed`] for bytes that [`KeyGenerator::secret_key_to_bytes`] does not produce with these parameters;
    /// [`Error::Engine`] if the engine fails.
    pub fn secret_key_from_bytes(&self, bytes: &[u8]) -> Result<SecretKey> {
        let kind = ObjectKind::SecretKey;
        let body = self.read_key_header(kind, bytes)?;
        if body.len() != self.parameters().degree() / IN_A_BYTE {
            return Err(kind.malformed("the body must have one byte per four coefficients"));
        }
        // Codes have 2 bits, and the code 3 is invalid: no coefficient may have both bits set.
        let both = body.iter().fold(0, |both, byte| both | byte & byte >> 1 & 0x55);
        if !bool::from(both.ct_eq(&0)) {
            return Err(kind.malformed("a coefficient is not -1, 0 or 1"));
        }
        let codes = |q: u64| {
            body.iter().flat_map(move |byte| (0..IN_A_BYTE).map(move |i| byte >> (2 * i) & 3)).map(move |code| {
                let positive = u64::from(code & 1);
                u64::conditional_select(&positive, &(q - 1), (code >> 1).ct_eq(&1))
            })
        };
        let parameters = self.parameters();
        let moduli = parameters.q().iter().chain(parameters.p()).filter_map(|q| q.value_u64());
        let mut words =
            Zeroizing::new(Vec::with_capacity((parameters.q().len() + parameters.p().len()) * parameters.degree()));
        words.extend(moduli.flat_map(codes));
        let program = self.program(KeyOperation::SecretEvaluations, self.top(), 1)?;
        let (stream, coefficients) = (self.stream()?, self.upload_residues(&words)?);
        let mut buffer = stream.secret_buffer(bytes_of(&program, "s"))?;
        program.on(stream, 1).input("coefficients", &coefficients).output("s", &mut buffer).run()?;
        Ok(SecretKey { parameters: self.parameters().clone(), buffer })
    }

    /// The bytes of a batch of ciphertexts: a header, and the residues in `body`.
    ///
    /// # Errors
    /// [`Error::Engine`] if the engine fails.
    pub fn ciphertext_to_bytes(&self, header: &Header, body: &Buffer) -> Result<Vec<u8>> {
        let mut bytes = self.header(header);
        bytes.extend(self.stream()?.download::<u8>(body)?);
        Ok(bytes)
    }

    /// Reads a batch of ciphertexts of this kind. `fits` checks the header before anything is allocated.
    ///
    /// # Errors
    /// [`Error::Malformed`] for bytes that [`KeyGenerator::ciphertext_to_bytes`] does not produce with these parameters;
    /// the error of `fits`; [`Error::Engine`] if the engine fails.
    pub fn ciphertext_from_bytes(
        &self,
        kind: ObjectKind,
        bytes: &[u8],
        fits: impl FnOnce(&Header) -> Result<()>,
    ) -> Result<(Header, Buffer)> {
        let (header, body) = self.read_header(kind, bytes)?;
        if !(1..=self.top()).contains(&header.limbs) {
            return Err(kind.malformed("the header has more primes than the parameters, or none"));
        }
        fits(&header)?;
        let items = pieces(kind, body, header.items, self.parameters().ciphertext_bytes(header.limbs))?.len();
        let buffer = self.upload_checked(kind, self.basis(header.limbs)?.ciphertext_type(), body)?;
        Ok((Header { items, ..header }, buffer))
    }

    fn header(&self, header: &Header) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER);
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((header.kind as u16).to_le_bytes());
        bytes.extend(self.parameters().degree().ilog2().to_le_bytes());
        bytes.extend((header.limbs as u32).to_le_bytes());
        bytes.extend((header.items as u64).to_le_bytes());
        bytes.extend(header.number.to_le_bytes());
        bytes.extend(fingerprint(self.parameters()));
        bytes
    }

    /// Checks magic number, version, kind and parameters in the header. Returns the header, whose other fields the
    /// caller must check, and the body.
    fn read_header<'b>(&self, kind: ObjectKind, bytes: &'b [u8]) -> Result<(Header, &'b [u8])> {
        let Some((header, body)) = bytes.split_first_chunk::<HEADER>() else {
            return Err(kind.malformed("the bytes are shorter than the header, which has 40 bytes"));
        };
        let number = |at: usize, size: usize| {
            header[at..at + size].iter().rev().fold(0u64, |number, &byte| number << 8 | u64::from(byte))
        };
        let parameters = self.parameters();
        if header[..4] != MAGIC || number(4, 2) != u64::from(VERSION) || number(6, 2) != kind as u64 {
            return Err(kind.malformed("the header has another magic number, version or kind"));
        }
        if number(8, 4) != u64::from(parameters.degree().ilog2()) || header[32..] != fingerprint(parameters) {
            return Err(kind.malformed("the bytes are for other parameters than this scheme's"));
        }
        let items = usize::try_from(number(16, 8)).unwrap_or(usize::MAX);
        Ok((Header { kind, limbs: number(12, 4) as usize, items, number: number(24, 8) }, body))
    }

    fn key_header(&self, kind: ObjectKind, items: usize) -> Vec<u8> {
        self.header(&Header { kind, limbs: self.top(), items, number: 0 })
    }

    /// Checks the header of keys; returns their number and the body.
    fn read_keys<'b>(&self, kind: ObjectKind, bytes: &'b [u8]) -> Result<(usize, &'b [u8])> {
        let (header, body) = self.read_header(kind, bytes)?;
        if (header.limbs, header.number) != (self.top(), 0) {
            return Err(kind.malformed("the header of keys must have all primes and the number 0"));
        }
        Ok((header.items, body))
    }

    /// Checks the header of a single key and returns the body.
    fn read_key_header<'b>(&self, kind: ObjectKind, bytes: &'b [u8]) -> Result<&'b [u8]> {
        let (items, body) = self.read_keys(kind, bytes)?;
        if items == 1 { Ok(body) } else { Err(kind.malformed("the header must count exactly one key")) }
    }

    /// Appends the seed of a key and the first half of its buffer, which is the half not expanded from the seed.
    fn append_key(&self, bytes: &mut Vec<u8>, seed: &[u8; SEED], buffer: &Buffer) -> Result<()> {
        let half = buffer.slice(0..buffer.len() / 2)?;
        bytes.extend(seed);
        bytes.extend(self.stream()?.download::<u8>(half)?);
        Ok(())
    }

    fn switching_key_from(&self, kind: ObjectKind, body: &[u8]) -> Result<SwitchingKey> {
        let half = self.basis(self.top())?.half_of_key()?;
        let (seed, buffer) = self.expanded(kind, KeyOperation::ExpandSwitchingKey, &half, body)?;
        Ok(SwitchingKey { parameters: self.parameters().clone(), limbs: self.top(), seed, buffer })
    }

    /// Reads a seed and the first half of a key from `body`, and expands the second half from the seed on the device.
    /// Returns the seed and the whole key.
    fn expanded(
        &self,
        kind: ObjectKind,
        how: KeyOperation,
        half: &PolyType,
        body: &[u8],
    ) -> Result<([u8; SEED], Buffer)> {
        let wrong = || kind.malformed("the body does not have the length of a key");
        let (seed, residues) = body.split_first_chunk::<SEED>().ok_or_else(wrong)?;
        if residues.len() != half.bytes() {
            return Err(wrong());
        }
        let (b, stream) = (self.upload_checked(kind, half, residues)?, self.stream()?);
        let (program, uploaded) = (self.program(how, self.top(), 1)?, stream.upload(seed)?);
        let mut key = self.engine().device().buffer(bytes_of(&program, "key"))?;
        program.on(stream, 1).input("b", &b).input("seed", &uploaded).output("key", &mut key).run()?;
        Ok((*seed, key))
    }

    /// Uploads residues. Returns [`Error::Malformed`] unless all are below their moduli.
    fn upload_checked(&self, kind: ObjectKind, content: &PolyType, body: &[u8]) -> Result<Buffer> {
        match self.parameters().word() {
            4 => self.upload_as::<u32>(kind, content, body),
            _ => self.upload_as::<u64>(kind, content, body),
        }
    }

    fn upload_as<T: Pod>(&self, kind: ObjectKind, content: &PolyType, body: &[u8]) -> Result<Buffer> {
        let words: Vec<T> = body.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect();
        self.stream()?.upload_elements(content, &words).map_err(|error| match error {
            ringforge::Error::NotReduced { .. } => kind.malformed("a residue is not below its modulus"),
            error => error.into(),
        })
    }
}

/// Splits the body into pieces of `size` bytes. Returns [`Error::Malformed`] unless there are exactly `claimed` pieces
/// and no remaining bytes.
fn pieces(kind: ObjectKind, body: &[u8], claimed: usize, size: usize) -> Result<core::slice::ChunksExact<'_, u8>> {
    let pieces = body.chunks_exact(size);
    if pieces.remainder().is_empty() && pieces.len() == claimed {
        return Ok(pieces);
    }
    Err(kind.malformed("the length of the body does not match the number of items in the header"))
}

/// Fingerprint of the parameters: 8 bytes of SHAKE-256. The hashed data are the degree, the number of primes of Q,
/// and the primes of Q and P.
fn fingerprint(parameters: &Parameters) -> [u8; 8] {
    let mut hash = Shake256::default();
    hash.update(b"ringforge-rlwe parameters");
    hash.update(&(parameters.degree() as u64).to_le_bytes());
    hash.update(&(parameters.q().len() as u64).to_le_bytes());
    for q in parameters.q().iter().chain(parameters.p()) {
        hash.update(&q.value_u64().unwrap_or(0).to_le_bytes());
    }
    let mut bytes = [0; 8];
    hash.finalize_xof().read(&mut bytes);
    bytes
}
