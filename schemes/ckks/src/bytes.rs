//! Ciphertexts and public keys as bytes.
//!
//! A header of 40 bytes: `RFCK`, the version and what it is (two bytes each), log₂ N and the level (four bytes each), the
//! batch (eight), the scale as the bits of a double (eight), and the first eight bytes of a hash of the parameters; then
//! residues as little-endian words. All numbers are little-endian.

use bytemuck::Pod;
use ringforge::Buffer;
use shake::{ExtendableOutput, Shake256, Update, XofReader};

use crate::error::{Error, Result};
use crate::params::Parameters;
use crate::scheme::Ckks;
use crate::types::{Ciphertext, PublicKey};

const MAGIC: [u8; 4] = *b"RFCK";
const VERSION: u16 = 1;
const HEADER: usize = 40;

/// What bytes stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Ciphertext = 1,
    PublicKey = 2,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Ciphertext => "ciphertext",
            Self::PublicKey => "public key",
        }
    }
}

impl Ckks {
    /// A batch of ciphertexts as bytes, which every device reads.
    ///
    /// # Errors
    /// [`Error::Foreign`]; [`Error::Engine`].
    pub fn ciphertext_to_bytes(&self, ciphertext: &Ciphertext) -> Result<Vec<u8>> {
        self.own(&ciphertext.0.parameters, "the ciphertext")?;
        let (level, batch, scale) = (ciphertext.level(), ciphertext.batch(), ciphertext.scale());
        self.to_bytes(Kind::Ciphertext, level, batch, scale, &ciphertext.0.buffer)
    }

    /// A batch of ciphertexts from bytes.
    ///
    /// # Errors
    /// [`Error::Malformed`] for other bytes than [`Ckks::ciphertext_to_bytes`] gives with these parameters; nothing is allocated
    /// before their number is known to be right. [`Error::Engine`].
    pub fn ciphertext_from_bytes(&self, bytes: &[u8]) -> Result<Ciphertext> {
        let (level, batch, scale, buffer) = self.read_bytes(Kind::Ciphertext, bytes)?;
        Ok(Ciphertext(self.items(buffer, level, scale, batch)))
    }

    /// A public key as bytes.
    ///
    /// # Errors
    /// As [`Ckks::ciphertext_to_bytes`].
    pub fn public_key_to_bytes(&self, key: &PublicKey) -> Result<Vec<u8>> {
        self.own(&key.parameters, "the public key")?;
        self.to_bytes(Kind::PublicKey, self.parameters().top_level(), 1, 1.0, &key.buffer)
    }

    /// A public key from bytes.
    ///
    /// # Errors
    /// As [`Ckks::ciphertext_from_bytes`].
    pub fn public_key_from_bytes(&self, bytes: &[u8]) -> Result<PublicKey> {
        let (level, batch, _, buffer) = self.read_bytes(Kind::PublicKey, bytes)?;
        if (level, batch) != (self.parameters().top_level(), 1) {
            return Err(malformed(Kind::PublicKey, "a key is one, of the top level"));
        }
        Ok(PublicKey { parameters: self.shared_parameters().clone(), buffer })
    }

    fn to_bytes(&self, kind: Kind, level: usize, batch: usize, scale: f64, buffer: &Buffer) -> Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(HEADER + buffer.len());
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((kind as u16).to_le_bytes());
        bytes.extend(self.parameters().degree().ilog2().to_le_bytes());
        bytes.extend((level as u32).to_le_bytes());
        bytes.extend((batch as u64).to_le_bytes());
        bytes.extend(scale.to_bits().to_le_bytes());
        bytes.extend(fingerprint(self.parameters()));
        bytes.extend(self.stream()?.download::<u8>(buffer)?);
        Ok(bytes)
    }

    fn read_bytes(&self, kind: Kind, bytes: &[u8]) -> Result<(usize, usize, f64, Buffer)> {
        let refuse = |why| Err(malformed(kind, why));
        let Some((header, body)) = bytes.split_first_chunk::<HEADER>() else { return refuse("they have no header") };
        let number = |at: usize, size: usize| {
            header[at..at + size].iter().rev().fold(0u64, |number, &byte| number << 8 | u64::from(byte))
        };
        let parameters = self.parameters();
        if header[..4] != MAGIC || number(4, 2) != u64::from(VERSION) || number(6, 2) != kind as u64 {
            return refuse("they begin otherwise, or are of another version");
        }
        if number(8, 4) != u64::from(parameters.degree().ilog2()) || header[32..] != fingerprint(parameters) {
            return refuse("they are of other parameters");
        }
        let (level, scale) = (number(12, 4) as usize, f64::from_bits(number(24, 8)));
        if level > parameters.top_level() || !scale.is_finite() || scale < 1.0 {
            return refuse("there is no such level or scale");
        }
        let size = parameters.ciphertext_bytes(level);
        let batch = body.len() / size;
        if batch as u64 != number(16, 8) || batch == 0 || body.len() != batch * size {
            return refuse("they are more or fewer than their header says");
        }
        let buffer = match parameters.word() {
            4 => self.upload::<u32>(kind, level, body)?,
            _ => self.upload::<u64>(kind, level, body)?,
        };
        Ok((level, batch, scale, buffer))
    }

    /// Residues, which must be below their moduli.
    fn upload<T: Pod>(&self, kind: Kind, level: usize, body: &[u8]) -> Result<Buffer> {
        let words: Vec<T> = body.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect();
        let content = self.level(level)?.content();
        content.ring().check(&words).map_err(|_| malformed(kind, "a residue is not below its modulus"))?;
        Ok(self.stream()?.upload_values(&content, &words)?)
    }
}

fn malformed(kind: Kind, why: &'static str) -> Error {
    Error::Malformed { what: kind.name(), why }
}

/// Eight bytes that other parameters do not have: of the degree and all primes.
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
