//! Key encapsulation in batches: both ends agree, spoilt ciphertexts are rejected, all devices give the same bytes.

use anyhow::Result;
use rayon::prelude::*;
use ringforge::Device;
use ringforge::testkit::{Random, bytes};
use ringforge_batch::{ENCAPSULATION_SEED, KEY_SEED};
use sha3::{Digest, Sha3_512};

use super::{Found, Means};
use crate::kems::{Kem, Parameters, Set};

/// What is to be found about a parameter set.
pub(super) fn check(set: &Set, means: &Means) -> Result<Found> {
    let (batch, compared, seed) = (means.items(), means.compared(), means.seed);
    let kem = &*(set.on)(&means.device)?;
    let mut wrong = Vec::new();
    let mut trip = Trip::new(kem, batch);
    if !trip.make(kem)? {
        wrong.push("round trip");
    }
    if !trip.is_rejected_when_spoilt(kem, &set.parameters, seed)? {
        wrong.push("rejection");
    }
    if compared > 0
        && Trip::from_seeds(kem, seed, compared)? != Trip::from_seeds(&*(set.on)(&Device::cpu())?, seed, compared)?
    {
        wrong.push("bytes from seeds");
    }
    Ok(Found { note: None, batch, compared, wrong })
}

/// A batch at both ends.
#[derive(PartialEq)]
struct Trip {
    public_keys: Vec<u8>,
    secret_keys: Vec<u8>,
    ciphertexts: Vec<u8>,
    sent: Vec<u8>,
    received: Vec<u8>,
    /// What is wrong with keys.
    errors: Vec<String>,
}

impl Trip {
    fn new(kem: &dyn Kem, batch: usize) -> Self {
        let sizes = kem.sizes();
        let [public_keys, secret_keys, ciphertexts, sent, received] =
            [sizes.public_key, sizes.secret_key, sizes.ciphertext, sizes.shared_key, sizes.shared_key]
                .map(|size| vec![0; batch * size]);
        Self { public_keys, secret_keys, ciphertexts, sent, received, errors: Vec::new() }
    }

    /// A trip with new randomness: whether both ends get the same keys.
    fn make(&mut self, kem: &dyn Kem) -> Result<bool> {
        kem.generate(&mut self.public_keys, &mut self.secret_keys)?;
        kem.encapsulate(&self.public_keys, &mut self.ciphertexts, &mut self.sent)?;
        kem.decapsulate(&self.secret_keys, &self.ciphertexts, &mut self.received)?;
        Ok(self.sent == self.received)
    }

    /// A trip that a seed decides; keys that do not come about stay zero, among the errors.
    fn from_seeds(kem: &dyn Kem, seed: u64, batch: usize) -> Result<Self> {
        let mut trip = Self::new(kem, batch);
        let (key_seeds, seeds) = (bytes(seed, batch * KEY_SEED), bytes(!seed, batch * ENCAPSULATION_SEED));
        trip.errors = kem.generate_from(&key_seeds, &mut trip.public_keys, &mut trip.secret_keys)?;
        kem.encapsulate_from(&seeds, &trip.public_keys, &mut trip.ciphertexts, &mut trip.sent)?;
        kem.decapsulate(&trip.secret_keys, &trip.ciphertexts, &mut trip.received)?;
        Ok(trip)
    }

    /// Whether each ciphertext with one bit flipped gives another key: the hash of identity, z and ciphertext.
    fn is_rejected_when_spoilt(&self, kem: &dyn Kem, parameters: &Parameters, seed: u64) -> Result<bool> {
        let sizes = kem.sizes();
        let (mut spoilt, mut random) = (self.ciphertexts.clone(), Random::new(seed));
        for ciphertext in spoilt.chunks_exact_mut(sizes.ciphertext) {
            let bit = random.below(8 * ciphertext.len());
            ciphertext[bit / 8] ^= 1 << (bit % 8);
        }
        let mut keys = vec![0; self.sent.len()];
        kem.decapsulate(&self.secret_keys, &spoilt, &mut keys)?;
        let is_right = |item: usize| {
            let part = |bytes, size| part(bytes, item, size);
            let (_, rest) = part(&self.secret_keys, sizes.secret_key).split_at(parameters.pke_key_bytes());
            let (public_key, z) = rest.split_at(sizes.public_key);
            let ciphertext = part(&spoilt, sizes.ciphertext);
            let hash =
                Sha3_512::new().chain_update(&public_key[..33]).chain_update(z).chain_update(ciphertext).finalize();
            let key = part(&keys, sizes.shared_key);
            key == &hash[..sizes.shared_key] && key != part(&self.sent, sizes.shared_key)
        };
        Ok((0..self.sent.len() / sizes.shared_key).into_par_iter().all(is_right))
    }
}

fn part(bytes: &[u8], item: usize, size: usize) -> &[u8] {
    &bytes[item * size..][..size]
}
