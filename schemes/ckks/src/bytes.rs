//! Serialisation of ciphertexts. The header is that of `ringforge-rlwe`, with the primes of the level and the scale.

use ringforge_rlwe::{Header, ObjectKind};

use crate::error::Result;
use crate::scheme::Ckks;
use crate::types::Ciphertext;

impl Ckks {
    /// Serialises a batch of ciphertexts. The bytes can be read on any device.
    ///
    /// # Errors
    /// [`Foreign`](crate::rlwe::Error::Foreign) if an argument was made for parameters other than this scheme's;
    /// [`Error::Engine`](crate::Error::Engine) if the engine fails.
    pub fn ciphertext_to_bytes(&self, ciphertext: &Ciphertext) -> Result<Vec<u8>> {
        self.own(&ciphertext.0.parameters, "the ciphertext")?;
        let (kind, limbs) = (ObjectKind::CkksCiphertext, self.parameters().limbs(ciphertext.level()));
        let header = Header { kind, limbs, items: ciphertext.batch(), number: ciphertext.scale().to_bits() };
        Ok(self.keys().ciphertext_to_bytes(&header, &ciphertext.0.buffer)?)
    }

    /// Returns true for each ciphertext that is transparent: c_1 = 0, so it can be decrypted without a key.
    ///
    /// For example, a ciphertext minus itself is transparent, and so is a product with 0. All functions accept
    /// transparent ciphertexts, because they expose no other party's secret. A protocol that publishes ciphertexts may
    /// want to reject them. This function copies the ciphertexts to the host.
    ///
    /// # Errors
    /// [`Foreign`](crate::rlwe::Error::Foreign) if an argument was made for parameters other than this scheme's;
    /// [`Error::Engine`](crate::Error::Engine) if the engine fails.
    pub fn are_transparent(&self, ciphertexts: &Ciphertext) -> Result<Vec<bool>> {
        self.own(&ciphertexts.0.parameters, "the ciphertext")?;
        let bytes = self.stream()?.download::<u8>(&ciphertexts.0.buffer)?;
        let item = self.parameters().ciphertext_bytes(ciphertexts.level());
        Ok(bytes.chunks_exact(item).map(|item| item[item.len() / 2..].iter().all(|byte| *byte == 0)).collect())
    }

    /// Deserialises a batch of ciphertexts.
    ///
    /// # Errors
    /// [`Malformed`](crate::rlwe::Error::Malformed) for bytes that [`Ckks::ciphertext_to_bytes`] does not produce with
    /// these parameters; sizes are checked before anything is allocated. [`Error::Engine`](crate::Error::Engine) if the
    /// engine fails.
    pub fn ciphertext_from_bytes(&self, bytes: &[u8]) -> Result<Ciphertext> {
        let (kind, parameters) = (ObjectKind::CkksCiphertext, self.parameters());
        let level = |header: &Header| {
            let found = (0..=parameters.top_level()).find(|level| parameters.limbs(*level) == header.limbs);
            found.ok_or(kind.malformed("no level has the number of primes in the header"))
        };
        let fits = |header: &Header| match parameters.check_scale(f64::from_bits(header.number), level(header)?) {
            Ok(()) => Ok(()),
            Err(_) => Err(kind.malformed("the scale in the header does not fit the level")),
        };
        let (header, buffer) = self.keys().ciphertext_from_bytes(kind, bytes, fits)?;
        Ok(Ciphertext(self.items(buffer, level(&header)?, f64::from_bits(header.number), header.items)))
    }
}
