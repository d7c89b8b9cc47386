//! Encoding, encryption and decryption.

use num_complex::Complex64;
use ringforge::Buffer;
use ringforge_rlwe::{PublicKey, Randomness, SecretKey};
use zeroize::Zeroizing;

use crate::embedding::{MOST, Reduction, scaled};
use crate::error::{Error, Result};
use crate::fixed;
use crate::flooding::Flooding;
use crate::kernels::OK;
use crate::programs::Operation;
use crate::scheme::Ckks;
use crate::types::{Ciphertext, Items, Plaintext};

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
        let batch = items.len();
        self.parameters().check_scale(scale, level)?;
        let mut plaintext = self.stream()?.secret_buffer(batch * self.level(level)?.plaintext_type().bytes())?;
        self.encode_into(items, level, scale, Operation::Encode { extended: false }, &mut plaintext)?;
        Ok(Plaintext(self.items(plaintext, level, scale, batch)))
    }

    /// Runs a program that encodes, and checks its statuses.
    pub(crate) fn encode_into<T: AsRef<[Complex64]>>(
        &self,
        items: &[T],
        level: usize,
        scale: f64,
        operation: Operation,
        to: &mut Buffer,
    ) -> Result<()> {
        self.check_lengths(items)?;
        let (slots, batch) = (self.parameters().slots(), items.len());
        let mut numbers = Zeroizing::new(vec![0.0; 2 * slots * batch]);
        for (to, item) in numbers.chunks_exact_mut(2 * slots).zip(items) {
            let item: &[f64] = bytemuck::cast_slice(item.as_ref());
            to[..item.len()].copy_from_slice(item);
        }
        let (program, stream) = (self.program(operation, level, batch)?, self.stream()?);
        let (numbers, scales) = (stream.upload_secret(&numbers)?, stream.upload(&[scale])?);
        let mut statuses = self.engine().device().buffer(batch * size_of::<u32>())?;
        let call = program.on(stream, batch).input("numbers", &numbers).input("scale", &scales);
        call.output("plaintext", to).output("statuses", &mut statuses).run()?;
        match stream.download::<u32>(&statuses)?.iter().all(|&status| status == OK) {
            true => Ok(()),
            false => Err(Error::Number),
        }
    }

    /// Encodes like [`Ckks::encode_at`], but on the host and in fixed point instead of doubles: the error is that of
    /// the rounding of a coefficient, plus about 2^-96 of the scale. Doubles reach this only for scales below 2^50. All
    /// numbers must be below 2^24 in absolute value.
    ///
    /// # Errors
    /// The errors of [`Ckks::encode_at`]; [`Error::Number`] also if a number is not below 2^24.
    pub fn encode_exact<T: AsRef<[Complex64]>>(&self, items: &[T], level: usize, scale: f64) -> Result<Plaintext> {
        self.check_lengths(items)?;
        self.parameters().check_scale(scale, level)?;
        let (steps, batch) = (self.level(level)?, items.len());
        let (moduli, most) = (Reduction::of(steps.plaintext_type().basis()), steps.most_coefficient());
        let words = batch * moduli.len() * self.parameters().degree();
        let mut residues = Zeroizing::new(Vec::with_capacity(words));
        for item in items {
            let coefficients = fixed::encode(steps.embedding(), item.as_ref(), scale)?;
            if coefficients.iter().any(|x| x.unsigned_abs() as f64 >= most) {
                return Err(Error::Number);
            }
            for modulus in &moduli {
                residues.extend(coefficients.iter().map(|x| modulus.residue(*x)));
            }
        }
        let (program, stream) = (self.program(Operation::Transform, level, batch)?, self.stream()?);
        let coefficients = self.keys().upload_residues(&residues)?;
        let mut plaintext = stream.secret_buffer(batch * steps.plaintext_type().bytes())?;
        let call = program.on(stream, batch).input("coefficients", &coefficients);
        call.output("plaintext", &mut plaintext).run()?;
        Ok(Plaintext(self.items(plaintext, level, scale, batch)))
    }

    /// Returns [`Error::Slots`] if an item has more numbers than there are slots.
    fn check_lengths<T: AsRef<[Complex64]>>(&self, items: &[T]) -> Result<()> {
        let slots = self.parameters().slots();
        let long = items.iter().map(|item| item.as_ref().len()).find(|got| *got > slots);
        long.map_or(Ok(()), |got| Err(Error::Slots { slots, got }))
    }

    /// Encodes a plaintext with this number in every slot.
    ///
    /// # Errors
    /// The errors of [`Ckks::encode_at`].
    pub fn constant(&self, number: f64, level: usize, scale: f64) -> Result<Plaintext> {
        let ring = self.level(level)?.plaintext_type();
        self.parameters().check_scale(scale, level)?;
        let integer = scaled(number, scale, self.level(level)?.most_coefficient().min(MOST))? as i128;
        // a constant polynomial has the same value everywhere
        let residues = Reduction::of(ring.basis()).into_iter().map(|modulus| modulus.residue(integer));
        let residues = Zeroizing::new(residues.collect::<Vec<u64>>());
        let (program, stream) = (self.program(Operation::Constant, level, 1)?, self.stream()?);
        let (residues, mut plaintext) = (stream.upload_secret(&residues)?, stream.secret_buffer(ring.bytes())?);
        program.on(stream, 1).input("residues", &residues).output("plaintext", &mut plaintext).run()?;
        Ok(Plaintext(self.items(plaintext, level, scale, 1)))
    }

    /// Encrypts a batch of plaintexts. The ciphertexts have the level and scale of the plaintexts.
    ///
    /// # Errors
    /// [`Foreign`](crate::rlwe::Error::Foreign) if an argument was made for parameters other than this scheme's;
    /// [`Error::Engine`] if the engine fails.
    pub fn encrypt(&self, plaintext: &Plaintext, key: &PublicKey, randomness: &mut Randomness) -> Result<Ciphertext> {
        self.own(&plaintext.0.parameters, "the plaintext")?;
        let Items { level, scale, batch, .. } = plaintext.0;
        let limbs = self.parameters().limbs(level);
        self.ciphertext(level, scale, batch, |to| {
            Ok(self.keys().encrypt(&plaintext.0.buffer, (limbs, batch), key, randomness, to)?)
        })
    }

    /// Decrypts and decodes ciphertexts. Returns the numbers in all slots, one vector per ciphertext.
    ///
    /// Decrypted numbers reveal the noise of their ciphertext, and thereby information about the key. Once they are
    /// shown to others, CKKS no longer protects the key (IND-CPA^D; see the README of the crate). Use
    /// [`Ckks::decrypt_flooded`] for results that others will see.
    ///
    /// # Errors
    /// [`Foreign`](crate::rlwe::Error::Foreign) if an argument was made for parameters other than this scheme's;
    /// [`Error::Engine`] if the engine fails.
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
        self.decrypt_with(ciphertext, key, Some((layers, self.keys().random_key(randomness)?)))
    }

    fn decrypt_with(
        &self,
        ciphertext: &Ciphertext,
        key: &SecretKey,
        noise: Option<(Vec<u128>, Buffer)>,
    ) -> Result<Vec<Vec<Complex64>>> {
        self.own(&ciphertext.0.parameters, "the ciphertext")?;
        self.keys().own(key.parameters(), "the secret key")?;
        let Items { level, scale, batch, .. } = ciphertext.0;
        let (layers, random_key) = noise.unzip();
        let program = self.program(Operation::Decrypt(layers.unwrap_or_default()), level, batch)?;
        let stream = self.stream()?;
        let (slots, scales) = (self.parameters().slots(), stream.upload(&[scale])?);
        let mut numbers = stream.secret_buffer(batch * slots * size_of::<Complex64>())?;
        let call = program.on(stream, batch).input("ciphertext", &ciphertext.0.buffer).input("s", key.buffer());
        let call = match &random_key {
            Some(random_key) => call.input("random_key", random_key),
            None => call,
        };
        call.input("scale", &scales).output("numbers", &mut numbers).run()?;
        let all = Zeroizing::new(stream.download::<f64>(&numbers)?);
        Ok(all.chunks_exact(2 * slots).map(|item| bytemuck::cast_slice(item).to_vec()).collect())
    }
}
