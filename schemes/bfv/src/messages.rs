//! Encoding, encryption and decryption.

use ringforge::Buffer;
use ringforge::words::product;
use ringforge_rlwe::{Header, ObjectKind, PublicKey, Randomness, SecretKey, bytes_of};
use zeroize::Zeroizing;

use crate::error::{Error, Result};
use crate::programs::Operation;
use crate::scheme::Bfv;
use crate::types::{Ciphertext, Plaintext};

/// Decryption fails if fewer bits of noise budget are left. Noise that wraps around is uniform, so that of some
/// coefficient is almost always within a bit of the largest.
const LEAST_BUDGET: f64 = 1.0;

impl Bfv {
    /// Encodes each item, the integers in its slots, as one plaintext. Missing slots are 0.
    ///
    /// # Errors
    /// [`Error::Slots`] if an item has more integers than there are slots; [`Error::Number`] unless they are below t;
    /// [`Error::Engine`] if the engine fails.
    pub fn encode<T: AsRef<[u64]>>(&self, items: &[T]) -> Result<Plaintext> {
        let modulus = self.parameters().t();
        let residue = |&x: &u64| if x < modulus { Ok(x) } else { Err(Error::Number { modulus, signed: false }) };
        self.encode_residues(items, residue)
    }

    /// Encodes like [`Bfv::encode`], but integers from −(t − 1)/2 to (t − 1)/2. [`Bfv::decrypt_signed`] returns such integers.
    ///
    /// # Errors
    /// The errors of [`Bfv::encode`].
    pub fn encode_signed<T: AsRef<[i64]>>(&self, items: &[T]) -> Result<Plaintext> {
        let modulus = self.parameters().t();
        let residue = |&x: &i64| match x.unsigned_abs() <= modulus / 2 {
            // without a branch or a division: t is added to negative integers
            true => Ok((x + (modulus as i64 & x >> 63)) as u64),
            false => Err(Error::Number { modulus, signed: true }),
        };
        self.encode_residues(items, residue)
    }

    fn encode_residues<X, T: AsRef<[X]>>(&self, items: &[T], residue: impl Fn(&X) -> Result<u64>) -> Result<Plaintext> {
        let (slots, batch) = (self.parameters().slots(), items.len());
        let mut evaluations = Zeroizing::new(vec![0; batch * slots]);
        for (to, item) in evaluations.chunks_exact_mut(slots).zip(items) {
            let item = item.as_ref();
            if item.len() > slots {
                return Err(Error::Slots { slots, got: item.len() });
            }
            for (x, &place) in item.iter().zip(self.places()) {
                to[place as usize] = residue(x)?;
            }
        }
        let (program, evaluations) =
            (self.program(Operation::Encode, batch)?, self.keys().upload_residues(&evaluations)?);
        let mut to = self.stream()?.secret_buffer(batch * bytes_of(&program, "plaintext"))?;
        program.on(self.stream()?, batch).input("slots", &evaluations).output("plaintext", &mut to).run()?;
        Ok(Plaintext(self.items(to, batch)))
    }

    /// Elements modulo Q from plaintexts: as factors or as terms of ciphertexts.
    pub(crate) fn prepared(&self, plaintext: &Plaintext, operation: Operation) -> Result<Buffer> {
        self.own(&plaintext.0, "the plaintext")?;
        let (program, batch) = (self.program(operation, plaintext.batch())?, plaintext.batch());
        let mut to = self.stream()?.secret_buffer(batch * bytes_of(&program, "to"))?;
        program.on(self.stream()?, batch).input("plaintext", plaintext.buffer()).output("to", &mut to).run()?;
        Ok(to)
    }

    /// Encrypts a batch of plaintexts.
    ///
    /// # Errors
    /// [`Foreign`](ringforge_rlwe::Error::Foreign) if an argument was made for parameters other than this scheme's;
    /// [`Error::Engine`] if the engine fails.
    pub fn encrypt(&self, plaintext: &Plaintext, key: &PublicKey, randomness: &mut Randomness) -> Result<Ciphertext> {
        let (message, batch) = (self.prepared(plaintext, Operation::Scale)?, plaintext.batch());
        let limbs = self.parameters().q().len();
        self.ciphertext(batch, |to| Ok(self.keys().encrypt(&message, (limbs, batch), key, randomness, to)?))
    }

    /// Decrypts ciphertexts. Returns the integers in all slots, below t, one vector per ciphertext.
    ///
    /// BFV is not secure against chosen ciphertexts: their decryptions, or whether decryption failed, reveal the key.
    ///
    /// # Errors
    /// [`Error::Noise`] if less than one bit of noise budget is left, so that integers may be wrong;
    /// [`Foreign`](ringforge_rlwe::Error::Foreign) if an argument was made for parameters other than this scheme's;
    /// [`Error::Engine`] if the engine fails.
    pub fn decrypt(&self, ciphertext: &Ciphertext, key: &SecretKey) -> Result<Vec<Vec<u64>>> {
        self.decrypt_to(ciphertext, key, |x| x)
    }

    /// Decrypts like [`Bfv::decrypt`], to integers from −(t − 1)/2 to (t − 1)/2.
    ///
    /// # Errors
    /// The errors of [`Bfv::decrypt`].
    pub fn decrypt_signed(&self, ciphertext: &Ciphertext, key: &SecretKey) -> Result<Vec<Vec<i64>>> {
        let modulus = self.parameters().t() as i64;
        self.decrypt_to(ciphertext, key, |x| {
            let x = x as i64;
            // without a branch: t is subtracted from integers above t/2
            x - (modulus & (modulus / 2 - x) >> 63)
        })
    }

    /// Decrypts, and converts the residue in each slot.
    fn decrypt_to<X>(&self, ciphertext: &Ciphertext, key: &SecretKey, to: impl Fn(u64) -> X) -> Result<Vec<Vec<X>>> {
        let (slots, budgets) = self.decrypted(ciphertext, key)?;
        if let Some((item, &budget)) = budgets.iter().enumerate().find(|(_, budget)| **budget < LEAST_BUDGET) {
            return Err(Error::Noise { item, budget });
        }
        let item = |item: &[u64]| self.places().iter().map(|&place| to(item[place as usize])).collect();
        Ok(slots.chunks_exact(self.parameters().slots()).map(item).collect())
    }

    /// Noise budget of each ciphertext, in bits: log2 of the ratio of the largest noise that decrypts correctly to the
    /// largest noise of a coefficient. Sums take about one bit of it and products about log2(t) + log2(N).
    ///
    /// # Errors
    /// The errors of [`Bfv::decrypt`], except [`Error::Noise`].
    pub fn noise_budget(&self, ciphertext: &Ciphertext, key: &SecretKey) -> Result<Vec<f64>> {
        Ok(self.decrypted(ciphertext, key)?.1)
    }

    /// The residues in all slots, in the order of evaluations, and the noise budgets.
    fn decrypted(&self, ciphertext: &Ciphertext, key: &SecretKey) -> Result<(Zeroizing<Vec<u64>>, Vec<f64>)> {
        self.own(&ciphertext.0, "the ciphertext")?;
        self.keys().own(key.parameters(), "the secret key")?;
        let (stream, batch) = (self.stream()?, ciphertext.batch());
        let program = self.program(Operation::Decrypt, batch)?;
        let buffer = |name| stream.secret_buffer(batch * bytes_of(&program, name));
        let (mut slots, mut noise) = (buffer("slots")?, buffer("noise")?);
        let call = program.on(stream, batch).input("ciphertext", ciphertext.buffer()).input("s", key.buffer());
        call.output("slots", &mut slots).output("noise", &mut noise).run()?;
        let noise = Zeroizing::new(stream.download::<u64>(&noise)?);
        let q = product(self.parameters().q().iter().filter_map(|q| q.value_u64()));
        let budgets = noise.chunks_exact(q.len() * self.parameters().degree()).map(|noise| budget(noise, &q));
        Ok((self.keys().download_residues(&slots)?, budgets.collect()))
    }

    /// Serialises a batch of ciphertexts. The bytes can be read on any device.
    ///
    /// # Errors
    /// [`Foreign`](ringforge_rlwe::Error::Foreign) if an argument was made for parameters other than this scheme's;
    /// [`Error::Engine`] if the engine fails.
    pub fn ciphertext_to_bytes(&self, ciphertext: &Ciphertext) -> Result<Vec<u8>> {
        self.own(&ciphertext.0, "the ciphertext")?;
        let (limbs, number) = (self.parameters().q().len(), self.parameters().t());
        let header = Header { kind: ObjectKind::BfvCiphertext, limbs, items: ciphertext.batch(), number };
        Ok(self.keys().ciphertext_to_bytes(&header, ciphertext.buffer())?)
    }

    /// Deserialises a batch of ciphertexts.
    ///
    /// # Errors
    /// [`Malformed`](ringforge_rlwe::Error::Malformed) for bytes that [`Bfv::ciphertext_to_bytes`] does not produce with
    /// these parameters; sizes are checked before anything is allocated. [`Error::Engine`] if the engine fails.
    pub fn ciphertext_from_bytes(&self, bytes: &[u8]) -> Result<Ciphertext> {
        let (kind, parameters) = (ObjectKind::BfvCiphertext, self.parameters());
        let fits = |header: &Header| match (header.limbs, header.number) == (parameters.q().len(), parameters.t()) {
            true => Ok(()),
            false => Err(kind.malformed("the header has another plaintext modulus or number of primes")),
        };
        let (header, buffer) = self.keys().ciphertext_from_bytes(kind, bytes, fits)?;
        Ok(Ciphertext(self.items(buffer, header.items)))
    }
}

/// The noise budget for these noises, integers in [0, Q) that stand for their centred representatives. `q` is Q in words.
fn budget(noises: &[u64], q: &[u64]) -> f64 {
    let mut negated = Zeroizing::new(vec![0; q.len()]);
    let size = |noise: &[u64]| {
        let mut borrow = false;
        for ((to, &q), &x) in negated.iter_mut().zip(q).zip(noise) {
            let (difference, first) = q.overflowing_sub(x);
            let (difference, second) = difference.overflowing_sub(u64::from(borrow));
            (*to, borrow) = (difference, first | second);
        }
        log2(noise).min(log2(&negated))
    };
    let largest = noises.chunks_exact(q.len()).map(size).fold(f64::NEG_INFINITY, f64::max);
    log2(q) - largest - 1.0
}

/// log2 of an integer in words, lowest first, from its two highest words that are not 0; −∞ for 0.
fn log2(words: &[u64]) -> f64 {
    let Some(top) = words.iter().rposition(|&word| word != 0) else { return f64::NEG_INFINITY };
    let below = top.checked_sub(1).map_or(0, |below| words[below]);
    (words[top] as f64 + below as f64 / 2f64.powi(64)).log2() + 64.0 * top as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests noises of both signs and all sizes, for a Q of more bits than doubles have room for.
    #[test]
    fn budgets_of_long_moduli_are_logarithms() {
        let q: Vec<u64> = [&[5][..], &[0; 22], &[1 << 36]].concat();
        let all = 23.0 * 64.0 + 36.0;
        for bits in [0, 3, 40, 63, 64, 130, 700, 1400, 1506] {
            let mut noise = vec![0u64; 24];
            noise[bits / 64] = 1 << (bits % 64);
            // Q minus the noise
            let mut negative = q.clone();
            let mut borrow = false;
            for (x, y) in negative.iter_mut().zip(&noise) {
                let (rest, first) = x.overflowing_sub(*y);
                let (rest, second) = rest.overflowing_sub(u64::from(borrow));
                (*x, borrow) = (rest, first | second);
            }
            for noise in [&noise, &negative] {
                let found = budget(&[&[0; 24], &noise[..], &[0; 24]].concat(), &q);
                assert!((found - (all - bits as f64 - 1.0)).abs() < 1e-9, "{found} for noise of {bits} bits");
            }
        }
        assert_eq!(budget(&[0; 24], &q), f64::INFINITY);
    }
}
