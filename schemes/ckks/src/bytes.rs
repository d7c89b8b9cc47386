//! Serialisation of ciphertexts and keys.
//!
//! A header of 40 bytes comes first. Its fields are `RFCK` (4 bytes), version (2), kind (2), log₂ of the degree (4),
//! level (4), batch (8), scale as a double (8), and parameter fingerprint (8). All numbers are little-endian. The body
//! depends on the kind of object:
//!
//! | kind | level, batch, scale | body |
//! | --- | --- | --- |
//! | ciphertexts | Those of the ciphertexts. | Residues, 4 or 8 bytes each. |
//! | public key, relinearisation key | Top level, 1, 1. | Seed (32 bytes), half that is not expanded from the seed. |
//! | rotation keys | Top level, number of keys, 1. | By ascending k, for x → x^k: k (8 bytes), seed, half. |
//! | secret key | Top level, 1, 1. | Coefficients, 2 bits each, lowest bits first: 0, 1, and 2 for −1. |

use std::collections::BTreeMap;

use bytemuck::Pod;
use ringforge::{Buffer, PolyType};
use shake::{ExtendableOutput, Shake256, Update, XofReader};
use subtle::{ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroizing;

use crate::error::{Error, Result};
use crate::params::Parameters;
use crate::programs::{Operation, bytes_of};
use crate::scheme::Ckks;
use crate::types::{Ciphertext, GaloisKeys, PublicKey, RelinearisationKey, SecretKey, SwitchingKey, is_automorphism};

const MAGIC: [u8; 4] = *b"RFCK";
const VERSION: u16 = 3;
const HEADER: usize = 40;
const SEED: usize = 32;
/// Number of secret-key coefficients per serialised byte.
const IN_A_BYTE: usize = 4;

/// Kind of the serialised object, as the number in the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ObjectKind {
    Ciphertext = 1,
    PublicKey = 2,
    RelinearisationKey = 3,
    GaloisKeys = 4,
    SecretKey = 5,
}

impl ObjectKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Ciphertext => "ciphertext",
            Self::PublicKey => "public key",
            Self::RelinearisationKey => "relinearisation key",
            Self::GaloisKeys => "rotation keys",
            Self::SecretKey => "secret key",
        }
    }

    fn malformed(self, why: &'static str) -> Error {
        Error::Malformed { what: self.name(), why }
    }
}

impl Ckks {
    /// Serialises a batch of ciphertexts. The bytes can be read on any device.
    ///
    /// # Errors
    /// [`Error::Foreign`] if an argument was made for parameters other than this scheme's; [`Error::Engine`] if the
    /// engine fails.
    pub fn ciphertext_to_bytes(&self, ciphertext: &Ciphertext) -> Result<Vec<u8>> {
        self.own(&ciphertext.0.parameters, "the ciphertext")?;
        let (level, batch, scale) = (ciphertext.level(), ciphertext.batch(), ciphertext.scale());
        let mut bytes = self.header(ObjectKind::Ciphertext, level, batch, scale);
        bytes.extend(self.stream()?.download::<u8>(&ciphertext.0.buffer)?);
        Ok(bytes)
    }

    /// Returns true for each ciphertext that is transparent: c_1 = 0, so it can be decrypted without a key.
    ///
    /// For example, a ciphertext minus itself is transparent, and so is a product with 0. All functions accept
    /// transparent ciphertexts, because they expose no other party's secret. A protocol that publishes ciphertexts may
    /// want to reject them. This function copies the ciphertexts to the host.
    ///
    /// # Errors
    /// [`Error::Foreign`] if an argument was made for parameters other than this scheme's; [`Error::Engine`] if the
    /// engine fails.
    pub fn are_transparent(&self, ciphertexts: &Ciphertext) -> Result<Vec<bool>> {
        self.own(&ciphertexts.0.parameters, "the ciphertext")?;
        let bytes = self.stream()?.download::<u8>(&ciphertexts.0.buffer)?;
        let item = self.parameters().ciphertext_bytes(ciphertexts.level());
        Ok(bytes.chunks_exact(item).map(|item| item[item.len() / 2..].iter().all(|byte| *byte == 0)).collect())
    }

    /// Deserialises a batch of ciphertexts.
    ///
    /// # Errors
    /// [`Error::Malformed`] for bytes that [`Ckks::ciphertext_to_bytes`] does not produce with these parameters; sizes
    /// are checked before anything is allocated. [`Error::Engine`] if the engine fails.
    pub fn ciphertext_from_bytes(&self, bytes: &[u8]) -> Result<Ciphertext> {
        let kind = ObjectKind::Ciphertext;
        let (level, batch, scale, body) = self.read_header(kind, bytes)?;
        if level > self.parameters().top_level() {
            return Err(kind.malformed("the level in the header is above the top level"));
        }
        if self.parameters().check_scale(scale, level).is_err() {
            return Err(kind.malformed("the scale in the header does not fit the level"));
        }
        let items = pieces(kind, body, batch, self.parameters().ciphertext_bytes(level))?.len();
        let buffer = self.upload_residues(kind, self.level(level)?.ciphertext_type(), body)?;
        Ok(Ciphertext(self.items(buffer, level, scale, items)))
    }

    /// Serialises a public key. The bytes take half as much memory as the key on the device, because a 32-byte seed
    /// replaces the uniform half.
    ///
    /// # Errors
    /// The errors of [`Ckks::ciphertext_to_bytes`].
    pub fn public_key_to_bytes(&self, key: &PublicKey) -> Result<Vec<u8>> {
        self.own(&key.parameters, "the public key")?;
        let mut bytes = self.key_header(ObjectKind::PublicKey, 1);
        self.append_key(&mut bytes, &key.seed, &key.buffer)?;
        Ok(bytes)
    }

    /// Deserialises a public key and expands its uniform half from the seed.
    ///
    /// # Errors
    /// [`Error::Malformed`] for bytes that [`Ckks::public_key_to_bytes`] does not produce with these parameters;
    /// [`Error::Engine`] if the engine fails.
    pub fn public_key_from_bytes(&self, bytes: &[u8]) -> Result<PublicKey> {
        let kind = ObjectKind::PublicKey;
        let body = self.read_key_header(kind, bytes)?;
        let half = self.level(self.parameters().top_level())?.plaintext_type().clone();
        let (seed, buffer) = self.expanded(kind, Operation::ExpandPublicKey, &half, body)?;
        Ok(PublicKey { parameters: self.shared_parameters().clone(), seed, buffer })
    }

    /// Serialises a relinearisation key. The bytes take half as much memory as the key on the device, because a 32-byte
    /// seed replaces the uniform half.
    ///
    /// # Errors
    /// The errors of [`Ckks::ciphertext_to_bytes`].
    pub fn relinearisation_key_to_bytes(&self, key: &RelinearisationKey) -> Result<Vec<u8>> {
        self.own(&key.0.parameters, "the relinearisation key")?;
        let mut bytes = self.key_header(ObjectKind::RelinearisationKey, 1);
        self.append_key(&mut bytes, &key.0.seed, &key.0.buffer)?;
        Ok(bytes)
    }

    /// Deserialises a relinearisation key and expands its uniform half from the seed.
    ///
    /// # Errors
    /// [`Error::Malformed`] for bytes that [`Ckks::relinearisation_key_to_bytes`] does not produce with these
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
    /// The errors of [`Ckks::ciphertext_to_bytes`].
    pub fn galois_keys_to_bytes(&self, keys: &GaloisKeys) -> Result<Vec<u8>> {
        self.own(&keys.parameters, "the rotation keys")?;
        let mut bytes = self.key_header(ObjectKind::GaloisKeys, keys.keys.len());
        for (k, key) in &keys.keys {
            bytes.extend(k.to_le_bytes());
            self.append_key(&mut bytes, &key.seed, &key.buffer)?;
        }
        Ok(bytes)
    }

    /// Deserialises rotation and conjugation keys and expands their uniform halves from the seeds.
    ///
    /// # Errors
    /// [`Error::Malformed`] for bytes that [`Ckks::galois_keys_to_bytes`] does not produce with these parameters;
    /// [`Error::Engine`] if the engine fails.
    pub fn galois_keys_from_bytes(&self, bytes: &[u8]) -> Result<GaloisKeys> {
        let kind = ObjectKind::GaloisKeys;
        let (level, batch, scale, body) = self.read_header(kind, bytes)?;
        self.check_key(kind, level, scale)?;
        let size = size_of::<u64>() + SEED + self.parameters().switching_key_bytes() / 2;
        let mut keys = BTreeMap::new();
        for piece in pieces(kind, body, batch, size)? {
            let (k, key) = piece.split_first_chunk().ok_or(kind.malformed("the bytes of a key are too short"))?;
            let k = u64::from_le_bytes(*k);
            if !is_automorphism(self.parameters(), k) || keys.last_key_value().is_some_and(|(last, _)| *last >= k) {
                return Err(kind.malformed("a key is for an invalid automorphism, or keys are not in ascending order"));
            }
            keys.insert(k, self.switching_key_from(kind, key)?);
        }
        Ok(GaloisKeys { parameters: self.shared_parameters().clone(), keys })
    }

    /// Serialises a secret key to the header and one byte per four coefficients, in memory that is wiped on drop.
    /// Constant-time in the key.
    ///
    /// # Errors
    /// The errors of [`Ckks::ciphertext_to_bytes`].
    pub fn secret_key_to_bytes(&self, key: &SecretKey) -> Result<Zeroizing<Vec<u8>>> {
        self.own(&key.parameters, "the secret key")?;
        let top = self.parameters().top_level();
        let program = self.program(Operation::SecretCoefficients, top, 1)?;
        let stream = self.stream()?;
        let mut coefficients = stream.secret_buffer(bytes_of(&program, "coefficients"))?;
        program.on(stream, 1).input("s", &key.buffer).output("coefficients", &mut coefficients).run()?;
        let words = self.download_words(&coefficients)?;
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
    /// [`Error::Malformed`] for bytes that [`Ckks::secret_key_to_bytes`] does not produce with these parameters;
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
        let program = self.program(Operation::SecretEvaluations, parameters.top_level(), 1)?;
        let (stream, coefficients) = (self.stream()?, self.upload_words(&words)?);
        let mut buffer = stream.secret_buffer(bytes_of(&program, "s"))?;
        program.on(stream, 1).input("coefficients", &coefficients).output("s", &mut buffer).run()?;
        Ok(SecretKey { parameters: self.shared_parameters().clone(), buffer })
    }

    fn header(&self, kind: ObjectKind, level: usize, batch: usize, scale: f64) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER);
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((kind as u16).to_le_bytes());
        bytes.extend(self.parameters().degree().ilog2().to_le_bytes());
        bytes.extend((level as u32).to_le_bytes());
        bytes.extend((batch as u64).to_le_bytes());
        bytes.extend(scale.to_bits().to_le_bytes());
        bytes.extend(fingerprint(self.parameters()));
        bytes
    }

    /// Checks magic number, version, kind and parameters in the header. Returns the header's level, batch and scale,
    /// which the caller must check, and the body.
    fn read_header<'b>(&self, kind: ObjectKind, bytes: &'b [u8]) -> Result<(usize, u64, f64, &'b [u8])> {
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
        Ok((number(12, 4) as usize, number(16, 8), f64::from_bits(number(24, 8)), body))
    }

    fn key_header(&self, kind: ObjectKind, keys: usize) -> Vec<u8> {
        self.header(kind, self.parameters().top_level(), keys, 1.0)
    }

    fn check_key(&self, kind: ObjectKind, level: usize, scale: f64) -> Result<()> {
        if level == self.parameters().top_level() && scale.to_bits() == 1f64.to_bits() {
            return Ok(());
        }
        Err(kind.malformed("the header of keys must have the top level and scale 1"))
    }

    /// Checks the header of a single key and returns the body.
    fn read_key_header<'b>(&self, kind: ObjectKind, bytes: &'b [u8]) -> Result<&'b [u8]> {
        let (level, batch, scale, body) = self.read_header(kind, bytes)?;
        self.check_key(kind, level, scale)?;
        if batch == 1 { Ok(body) } else { Err(kind.malformed("the header must count exactly one key")) }
    }

    /// Appends the seed of a key and the first half of its buffer, which is the half not expanded from the seed.
    fn append_key(&self, bytes: &mut Vec<u8>, seed: &[u8; SEED], buffer: &Buffer) -> Result<()> {
        let half = buffer.slice(0..buffer.len() / 2)?;
        bytes.extend(seed);
        bytes.extend(self.stream()?.download::<u8>(half)?);
        Ok(())
    }

    fn switching_key_from(&self, kind: ObjectKind, body: &[u8]) -> Result<SwitchingKey> {
        let half = self.level(self.parameters().top_level())?.half_of_key()?;
        let (seed, buffer) = self.expanded(kind, Operation::ExpandSwitchingKey, &half, body)?;
        Ok(SwitchingKey { parameters: self.shared_parameters().clone(), level: self.top_level(), seed, buffer })
    }

    /// Reads a seed and the first half of a key from `body`, and expands the second half from the seed on the device.
    /// Returns the seed and the whole key.
    fn expanded(&self, kind: ObjectKind, how: Operation, half: &PolyType, body: &[u8]) -> Result<([u8; SEED], Buffer)> {
        let wrong = || kind.malformed("the body does not have the length of a key");
        let (seed, residues) = body.split_first_chunk::<SEED>().ok_or_else(wrong)?;
        if residues.len() != half.bytes() {
            return Err(wrong());
        }
        let (b, stream) = (self.upload_residues(kind, half, residues)?, self.stream()?);
        let (program, uploaded) = (self.program(how, self.parameters().top_level(), 1)?, stream.upload(seed)?);
        let mut key = self.engine().device().buffer(bytes_of(&program, "key"))?;
        program.on(stream, 1).input("b", &b).input("seed", &uploaded).output("key", &mut key).run()?;
        Ok((*seed, key))
    }

    /// Uploads residues. Returns [`Error::Malformed`] unless all are below their moduli.
    fn upload_residues(&self, kind: ObjectKind, content: &PolyType, body: &[u8]) -> Result<Buffer> {
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
fn pieces(kind: ObjectKind, body: &[u8], claimed: u64, size: usize) -> Result<core::slice::ChunksExact<'_, u8>> {
    let pieces = body.chunks_exact(size);
    if pieces.remainder().is_empty() && pieces.len() as u64 == claimed {
        return Ok(pieces);
    }
    Err(kind.malformed("the length of the body does not match the number of items in the header"))
}

/// Fingerprint of the parameters: 8 bytes of SHAKE-256. The hashed data are the degree, the number of primes that
/// rescaling drops, the number of primes of Q, and the primes of Q and P.
fn fingerprint(parameters: &Parameters) -> [u8; 8] {
    let mut hash = Shake256::default();
    hash.update(b"ringforge-ckks parameters");
    hash.update(&(parameters.degree() as u64).to_le_bytes());
    hash.update(&(parameters.dropped() as u64).to_le_bytes());
    hash.update(&(parameters.q().len() as u64).to_le_bytes());
    for q in parameters.q().iter().chain(parameters.p()) {
        hash.update(&q.value_u64().unwrap_or(0).to_le_bytes());
    }
    let mut bytes = [0; 8];
    hash.finalize_xof().read(&mut bytes);
    bytes
}
