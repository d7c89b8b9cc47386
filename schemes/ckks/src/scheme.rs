//! The scheme on an engine: keys, encodings, encryption.

use std::sync::Arc;

use ringforge::{Buffer, Draws, Engine, Program, Stream};
use rustfft::num_complex::Complex64;
use zeroize::Zeroizing;

use crate::encoding::{Encoding, integer, integers, residues};
use crate::error::{Error, Result};
use crate::flooding::Flooding;
use crate::params::Parameters;
use crate::programs::{Operation, bytes_of};
use crate::randomness::Randomness;
use crate::steps::{Level, Switch};
use crate::types::{
    Ciphertext, GaloisKeys, Items, Plaintext, PublicKey, RelinearisationKey, SecretKey, SwitchingKey, automorphisms,
};

/// RNS-CKKS with some parameters on an engine's device. Cloning is cheap and gives the same scheme; threads may share it.
///
/// Operations start work and return, in the order of [`Engine::stream`]; [`Ckks::decrypt`] waits. Ciphertexts, plaintexts and
/// keys stay on the device. All of them but the encoding is exact arithmetic on integers, so that from the same
/// [seed](Randomness::from_seed) every device leaves the same bits.
#[derive(Clone)]
pub struct Ckks(Arc<Parts>);

struct Parts {
    engine: Engine,
    parameters: Arc<Parameters>,
    levels: Vec<Level>,
    encoding: Encoding,
}

impl Ckks {
    /// The scheme with these parameters.
    ///
    /// # Errors
    /// [`Error::Parameters`], [`Error::Engine`] where no rings have these primes.
    pub fn new(engine: &Engine, parameters: Parameters) -> Result<Self> {
        let key = Level::key_type(&parameters)?;
        let level = |level| Level::of_key(&key, &parameters, level);
        let levels = (0..=parameters.top_level()).map(level).collect::<Result<_>>()?;
        let encoding = Encoding::new(parameters.degree());
        Ok(Self(Arc::new(Parts { engine: engine.clone(), parameters: Arc::new(parameters), levels, encoding })))
    }

    /// The engine.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.0.engine
    }

    /// The parameters.
    #[must_use]
    pub fn parameters(&self) -> &Parameters {
        &self.0.parameters
    }

    pub(crate) fn shared_parameters(&self) -> &Arc<Parameters> {
        &self.0.parameters
    }

    /// A level's rings and steps, for pipelines of one's own.
    ///
    /// # Errors
    /// [`Error::NoLevel`].
    pub fn level(&self, level: usize) -> Result<&Level> {
        let from = self.parameters().top_level();
        self.0.levels.get(level).ok_or(Error::NoLevel { from, wanted: level as i64 })
    }

    /// A new secret key: uniform ternary.
    ///
    /// # Errors
    /// [`Error::Engine`].
    pub fn secret_key(&self, randomness: &mut Randomness) -> Result<SecretKey> {
        let program = self.program(Operation::SecretKey, self.top_level(), 1)?;
        let draws = self.draws(randomness)?;
        let mut buffer = self.stream()?.secret_buffer(bytes_of(&program, "s"))?;
        program.on(self.stream()?, 1).input("draws", &draws).output("s", &mut buffer).run()?;
        Ok(SecretKey { parameters: self.0.parameters.clone(), buffer })
    }

    /// A public key for a secret one.
    ///
    /// # Errors
    /// [`Error::Foreign`]; [`Error::Engine`].
    pub fn public_key(&self, secret: &SecretKey, randomness: &mut Randomness) -> Result<PublicKey> {
        let program = self.program(Operation::PublicKey, self.top_level(), 1)?;
        let (seed, buffer) = self.key_from(&program, secret, randomness)?;
        Ok(PublicKey { parameters: self.0.parameters.clone(), seed, buffer })
    }

    /// A key for products of ciphertexts.
    ///
    /// # Errors
    /// As [`Ckks::public_key`].
    pub fn relinearisation_key(&self, secret: &SecretKey, randomness: &mut Randomness) -> Result<RelinearisationKey> {
        self.switching_key(secret, Switch::Square, randomness).map(RelinearisationKey)
    }

    /// Keys for rotations by these steps, to the left (to the right where negative), and for conjugation if that is wanted.
    ///
    /// # Errors
    /// As [`Ckks::public_key`].
    pub fn galois_keys(
        &self,
        secret: &SecretKey,
        steps: &[i64],
        conjugates: bool,
        randomness: &mut Randomness,
    ) -> Result<GaloisKeys> {
        let parameters = &self.0.parameters;
        let key = |k| Ok((k, self.switching_key(secret, Switch::Automorphism(k), randomness)?));
        let keys = automorphisms(parameters, steps, conjugates).into_iter().map(key).collect::<Result<_>>()?;
        Ok(GaloisKeys { parameters: parameters.clone(), keys })
    }

    pub(crate) fn switching_key(
        &self,
        secret: &SecretKey,
        switch: Switch,
        randomness: &mut Randomness,
    ) -> Result<SwitchingKey> {
        let program = self.program(Operation::SwitchingKey(switch), self.top_level(), 1)?;
        let (seed, buffer) = self.key_from(&program, secret, randomness)?;
        Ok(SwitchingKey { parameters: self.0.parameters.clone(), seed, buffer })
    }

    /// What a program makes of a secret key, a seed for what is public, and draws; with that seed.
    fn key_from(
        &self,
        program: &Program,
        secret: &SecretKey,
        randomness: &mut Randomness,
    ) -> Result<([u8; 32], Buffer)> {
        self.own(&secret.parameters, "the secret key")?;
        let mut seed = [0; Draws::BYTES];
        seed.copy_from_slice(randomness.draws()?.as_bytes());
        let uploaded = self.stream()?.upload(&seed)?;
        let draws = self.draws(randomness)?;
        let mut key = self.engine().device().buffer(bytes_of(program, "key"))?;
        let call = program.on(self.stream()?, 1).input("s", &secret.buffer).input("seed", &uploaded);
        call.input("draws", &draws).output("key", &mut key).run()?;
        Ok((seed, key))
    }

    /// Plaintexts of these numbers at the parameters' scale, one for each item of the batch; slots that an item leaves out are 0.
    ///
    /// # Errors
    /// As [`Ckks::encode_at`].
    pub fn encode<T: AsRef<[Complex64]>>(&self, items: &[T], level: usize) -> Result<Plaintext> {
        self.encode_at(items, level, self.parameters().scale())
    }

    /// The same at another scale. Encoding takes doubles: its error is a rounded coefficient's, and some 2^-50 of the largest
    /// number. Its time is not independent of the numbers.
    ///
    /// # Errors
    /// [`Error::Slots`]; [`Error::Number`] for what is not finite, and where a coefficient is beyond 2^120 or half of the modulus
    /// that is left; [`Error::Scale`]; [`Error::NoLevel`]; [`Error::Engine`].
    pub fn encode_at<T: AsRef<[Complex64]>>(&self, items: &[T], level: usize, scale: f64) -> Result<Plaintext> {
        let encoded = items.iter().map(|item| self.0.encoding.encode(item.as_ref(), scale));
        self.plaintext(&encoded.collect::<Result<Vec<_>>>()?, level, scale)
    }

    /// A plaintext with this number in every slot.
    ///
    /// # Errors
    /// As [`Ckks::encode_at`].
    pub fn constant(&self, number: f64, level: usize, scale: f64) -> Result<Plaintext> {
        let mut coefficients = vec![0; self.parameters().degree()];
        coefficients[0] = integer(number * scale)?;
        self.plaintext(&[Zeroizing::new(coefficients)], level, scale)
    }

    fn plaintext(&self, items: &[Zeroizing<Vec<i128>>], level: usize, scale: f64) -> Result<Plaintext> {
        let ring = self.level(level)?.plaintext_type();
        self.parameters().check_scale(scale, level)?;
        let most = (self.parameters().bits_left(level) - 1.0).exp2();
        if items.iter().flat_map(|item| item.iter()).any(|&x| x.unsigned_abs() as f64 >= most) {
            return Err(Error::Number);
        }
        let words = residues(items, ring.basis());
        let program = self.program(Operation::Encode, level, items.len())?;
        let stream = self.stream()?;
        let coefficients = self.upload_words(&words)?;
        let mut buffer = stream.secret_buffer(items.len() * ring.bytes())?;
        let call = program.on(stream, items.len()).input("coefficients", &coefficients);
        call.output("plaintext", &mut buffer).run()?;
        Ok(Plaintext(self.items(buffer, level, scale, items.len())))
    }

    /// Encryptions of plaintexts, at their level and scale.
    ///
    /// # Errors
    /// [`Error::Foreign`]; [`Error::Engine`].
    pub fn encrypt(&self, plaintext: &Plaintext, key: &PublicKey, randomness: &mut Randomness) -> Result<Ciphertext> {
        self.own(&plaintext.0.parameters, "the plaintext")?;
        self.own(&key.parameters, "the public key")?;
        let Items { level, scale, batch, .. } = plaintext.0;
        let program = self.program(Operation::Encrypt, level, batch)?;
        let draws = self.draws(randomness)?;
        self.ciphertext(level, scale, batch, |buffer| {
            let call = program.on(self.stream()?, batch).input("key", &key.buffer).input("draws", &draws);
            Ok(call.input("message", &plaintext.0.buffer).output("ciphertext", buffer).run()?)
        })
    }

    /// The numbers in all slots of each ciphertext. Who sees results learns about their noise, and so about the key: CKKS promises
    /// nothing of the key once decrypted numbers are shown to others (IND-CPA^D; see the crate's page), but for
    /// [`Ckks::decrypt_flooded`].
    ///
    /// # Errors
    /// [`Error::Foreign`]; [`Error::Engine`].
    pub fn decrypt(&self, ciphertext: &Ciphertext, key: &SecretKey) -> Result<Vec<Vec<Complex64>>> {
        self.decrypt_with(ciphertext, key, None)
    }

    /// The same with noise, for results that others will see. The randomness must never have served before: of two decryptions
    /// with the same noise the difference has none.
    ///
    /// # Errors
    /// [`Error::Flooding`] where the noise would fill what is left of the modulus; as [`Ckks::decrypt`].
    pub fn decrypt_flooded(
        &self,
        ciphertext: &Ciphertext,
        key: &SecretKey,
        flooding: &Flooding,
        randomness: &mut Randomness,
    ) -> Result<Vec<Vec<Complex64>>> {
        let layers = flooding.multipliers(self.parameters(), ciphertext.scale(), ciphertext.level())?;
        self.decrypt_with(ciphertext, key, Some((layers, self.draws(randomness)?)))
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
        let (layers, draws) = noise.unzip();
        let program = self.program(Operation::Decrypt(layers.unwrap_or_default()), level, batch)?;
        let stream = self.stream()?;
        let mut message = stream.secret_buffer(batch * steps.plaintext_type().bytes())?;
        let call = program.on(stream, batch).input("ciphertext", &ciphertext.0.buffer).input("s", &key.buffer);
        let call = match &draws {
            Some(draws) => call.input("draws", draws),
            None => call,
        };
        call.output("message", &mut message).run()?;
        let words = self.download_words(&message)?;
        let item = words.len().checked_div(batch).unwrap_or(1).max(1);
        let decoded = words.chunks(item).map(|item| {
            let coefficients = Zeroizing::new(integers(item, steps.plaintext_type().basis()));
            self.0.encoding.decode(&coefficients, scale)
        });
        Ok(decoded.collect())
    }

    /// Secret residues, in memory of the device that is wiped.
    pub(crate) fn upload_words(&self, words: &[u64]) -> Result<Buffer> {
        let stream = self.stream()?;
        Ok(match self.parameters().word() {
            4 => {
                let narrow = Zeroizing::new(words.iter().map(|&word| word as u32).collect::<Vec<u32>>());
                stream.upload_secret::<u32>(&narrow)?
            }
            _ => stream.upload_secret(words)?,
        })
    }

    /// And back.
    pub(crate) fn download_words(&self, from: &Buffer) -> Result<Zeroizing<Vec<u64>>> {
        let stream = self.stream()?;
        Ok(Zeroizing::new(match self.parameters().word() {
            4 => Zeroizing::new(stream.download::<u32>(from)?).iter().map(|&word| word.into()).collect(),
            _ => stream.download(from)?,
        }))
    }

    pub(crate) fn stream(&self) -> Result<&Stream> {
        Ok(self.engine().stream()?)
    }

    /// Ciphertexts in new memory, which `run` writes.
    pub(crate) fn ciphertext(
        &self,
        level: usize,
        scale: f64,
        batch: usize,
        run: impl FnOnce(&mut Buffer) -> Result<()>,
    ) -> Result<Ciphertext> {
        let mut buffer = self.engine().device().buffer(batch * self.parameters().ciphertext_bytes(level))?;
        run(&mut buffer)?;
        Ok(Ciphertext(self.items(buffer, level, scale, batch)))
    }

    pub(crate) fn items(&self, buffer: Buffer, level: usize, scale: f64, batch: usize) -> Items {
        Items { parameters: self.0.parameters.clone(), buffer, level, scale, batch }
    }

    /// Refuses what was made for other parameters.
    pub(crate) fn own(&self, parameters: &Arc<Parameters>, what: &'static str) -> Result<()> {
        let same = Arc::ptr_eq(parameters, &self.0.parameters) || **parameters == *self.0.parameters;
        if same { Ok(()) } else { Err(Error::Foreign { what }) }
    }

    fn draws(&self, randomness: &mut Randomness) -> Result<Buffer> {
        Ok(self.stream()?.upload_secret(randomness.draws()?.as_bytes())?)
    }

    fn top_level(&self) -> usize {
        self.parameters().top_level()
    }
}

impl core::fmt::Debug for Ckks {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Ckks").field("engine", self.engine()).field("parameters", self.parameters()).finish()
    }
}
