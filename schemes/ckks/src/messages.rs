//! Encoding, encryption and decryption.

use num_complex::Complex64;
use ringforge::Buffer;
use zeroize::Zeroizing;

use crate::encoding::{integer, integers, residues};
use crate::error::{Error, Result};
use crate::flooding::Flooding;
use crate::programs::Operation;
use crate::randomness::Randomness;
use crate::scheme::Ckks;
use crate::types::{Ciphertext, Items, Plaintext, PublicKey, SecretKey};

impl Ckks {
    /// Encodes each item, the numbers in its slots, as one plaintext, at the scale of the parameters. Missing slots are
    /// 0.
    ///
    /// # Errors
    /// The errors of [`Ckks::encode_at`].
    pub fn encode<T: AsRef<[Complex64]>>(&self, items: &[T], level: usize) -> Result<Plaintext> {
        self.encode_at(items, level, self.parameters().scale())
    }

    /// Encodes like [`Ckks::encode`], but at the given scale. Encoding uses doubles: its error is the rounding of a
    /// coefficient, plus about 2^-50 of the largest number. Its timing depends on the numbers.
    ///
    /// # Errors
    /// [`Error::Slots`] if an item has more numbers than there are slots. [`Error::Number`] if a number is not finite,
    /// or if a coefficient is not below 2^120 and below half of the modulus at this level. [`Error::Scale`] if the
    /// scale does not fit the level; [`Error::NoLevel`] if the level does not exist; [`Error::Engine`] if the engine
    /// fails.
    pub fn encode_at<T: AsRef<[Complex64]>>(&self, items: &[T], level: usize, scale: f64) -> Result<Plaintext> {
        let encoded = items.iter().map(|item| self.encoding().encode(item.as_ref(), scale));
        self.plaintext(&encoded.collect::<Result<Vec<_>>>()?, level, scale)
    }

    /// Encodes a plaintext with this number in every slot.
    ///
    /// # Errors
    /// The errors of [`Ckks::encode_at`].
    pub fn constant(&self, number: f64, level: usize, scale: f64) -> Result<Plaintext> {
        let ring = self.level(level)?.plaintext_type();
        let item = [Zeroizing::new(vec![integer(number * scale)?])];
        self.check_plaintext(&item, level, scale)?;
        // a constant polynomial has the same value everywhere
        let words = residues(&item, ring.basis());
        let mut values = Zeroizing::new(Vec::with_capacity(words.len() * ring.degree()));
        words.iter().for_each(|&word| values.extend(core::iter::repeat_n(word, ring.degree())));
        Ok(Plaintext(self.items(self.upload_words(&values)?, level, scale, 1)))
    }

    /// Returns an error if the scale does not fit the level, or if a coefficient is not below half of the modulus.
    fn check_plaintext(&self, items: &[Zeroizing<Vec<i128>>], level: usize, scale: f64) -> Result<()> {
        self.parameters().check_scale(scale, level)?;
        let most = (self.parameters().bits_left(level) - 1.0).exp2();
        match items.iter().flat_map(|item| item.iter()).any(|&x| x.unsigned_abs() as f64 >= most) {
            true => Err(Error::Number),
            false => Ok(()),
        }
    }

    fn plaintext(&self, items: &[Zeroizing<Vec<i128>>], level: usize, scale: f64) -> Result<Plaintext> {
        let ring = self.level(level)?.plaintext_type();
        self.check_plaintext(items, level, scale)?;
        let words = residues(items, ring.basis());
        let program = self.program(Operation::Encode, level, items.len())?;
        let stream = self.stream()?;
        let coefficients = self.upload_words(&words)?;
        let mut buffer = stream.secret_buffer(items.len() * ring.bytes())?;
        let call = program.on(stream, items.len()).input("coefficients", &coefficients);
        call.output("plaintext", &mut buffer).run()?;
        Ok(Plaintext(self.items(buffer, level, scale, items.len())))
    }

    /// Encrypts a batch of plaintexts. The ciphertexts have the level and scale of the plaintexts.
    ///
    /// # Errors
    /// [`Error::Foreign`] if an argument was made for parameters other than this scheme's; [`Error::Engine`] if the
    /// engine fails.
    pub fn encrypt(&self, plaintext: &Plaintext, key: &PublicKey, randomness: &mut Randomness) -> Result<Ciphertext> {
        self.own(&plaintext.0.parameters, "the plaintext")?;
        self.own(&key.parameters, "the public key")?;
        let Items { level, scale, batch, .. } = plaintext.0;
        let program = self.program(Operation::Encrypt, level, batch)?;
        let random_key = self.random_key(randomness)?;
        self.ciphertext(level, scale, batch, |buffer| {
            let call = program.on(self.stream()?, batch).input("key", &key.buffer).input("random_key", &random_key);
            Ok(call.input("message", &plaintext.0.buffer).output("ciphertext", buffer).run()?)
        })
    }

    /// Decrypts and decodes ciphertexts. Returns the numbers in all slots, one vector per ciphertext.
    ///
    /// Decrypted numbers reveal the noise of their ciphertext, and thereby information about the key. Once they are
    /// shown to others, CKKS no longer protects the key (IND-CPA^D; see the README of the crate). Use
    /// [`Ckks::decrypt_flooded`] for results that others will see.
    ///
    /// # Errors
    /// [`Error::Foreign`] if an argument was made for parameters other than this scheme's; [`Error::Engine`] if the
    /// engine fails.
    pub fn decrypt(&self, ciphertext: &Ciphertext, key: &SecretKey) -> Result<Vec<Vec<Complex64>>> {
        self.decrypt_with(ciphertext, key, None)
    }

    /// Decrypts like [`Ckks::decrypt`], but adds flooding noise, for results that are shown to others. Never reuse the
    /// randomness: in the difference of two decryptions with the same noise, the noise cancels.
    ///
    /// # Errors
    /// [`Error::Flooding`] if the noise does not fit the modulus at this level; the errors of [`Ckks::decrypt`].
    pub fn decrypt_flooded(
        &self,
        ciphertext: &Ciphertext,
        key: &SecretKey,
        flooding: &Flooding,
        randomness: &mut Randomness,
    ) -> Result<Vec<Vec<Complex64>>> {
        let layers = flooding.multipliers(self.parameters(), ciphertext.scale(), ciphertext.level())?;
        self.decrypt_with(ciphertext, key, Some((layers, self.random_key(randomness)?)))
    }

    fn decrypt_with(
        &self,
        ciphertext: &Ciphertext,
        key: &SecretKey,
        noise: Option<(Vec<u128>, Buffer)>,
    ) -> Result<Vec<Vec<Complex64>>> {
        self.own(&ciphertext.0.parameters, "the ciphertext")?;
        self.own(&key.parameters, "the secret key")?;
        let Items { level, scale, batch, .. } = ciphertext.0;
        let steps = self.level(level)?;
        let (layers, random_key) = noise.unzip();
        let program = self.program(Operation::Decrypt(layers.unwrap_or_default()), level, batch)?;
        let stream = self.stream()?;
        let mut message = stream.secret_buffer(batch * steps.plaintext_type().bytes())?;
        let call = program.on(stream, batch).input("ciphertext", &ciphertext.0.buffer).input("s", &key.buffer);
        let call = match &random_key {
            Some(random_key) => call.input("random_key", random_key),
            None => call,
        };
        call.output("message", &mut message).run()?;
        let words = self.download_words(&message)?;
        let item = words.len().checked_div(batch).unwrap_or(1).max(1);
        let decoded = words.chunks(item).map(|item| {
            let coefficients = Zeroizing::new(integers(item, steps.plaintext_type().basis()));
            self.encoding().decode(&coefficients, scale)
        });
        Ok(decoded.collect())
    }
}
