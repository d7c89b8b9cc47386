//! The plans of all sets with samples and oracles, for the engine's tests.

use ringforge::testkit::{NamedPlan, Scheme, bytes};
use ringforge::{Draws, Limits, Result};
use ringforge_batch::{Operation, Randomness, Reason};
use ringforge_example_ml_kem::plan;

use crate::support::{Items, ORACLES, Oracle};

/// ML-KEM as the engine's tests see it.
#[derive(Debug)]
pub struct Sets;

impl Scheme for Sets {
    const NAME: &'static str = "ML-KEM";

    fn plans(limits: &Limits) -> Result<Vec<NamedPlan>> {
        let plans = ORACLES.iter().map(|oracle| oracle.plans(limits)).collect::<Result<Vec<_>>>()?;
        Ok(plans.concat())
    }
}

impl Oracle {
    fn plans(self, limits: &Limits) -> Result<Vec<NamedPlan>> {
        let named = |operation| {
            let plan = plan(&self.parameters, operation, limits)?;
            Result::Ok(NamedPlan::new(plan.title().to_owned(), plan))
        };
        let sizes = self.parameters.sizes();
        Ok(vec![
            named(Operation::Generate(Randomness::Seeds))?.expecting(move |_, read| self.generate_all(&read[0])),
            named(Operation::Generate(Randomness::Draws))?
                .expecting(move |batch, read| self.generate_all(&drawn(&read[0], batch, 64))),
            named(Operation::Encapsulate(Randomness::Seeds))?
                .sampled(move |seed, batch| vec![Items::new(&self, seed, batch).public_keys, bytes(!seed, 32 * batch)])
                .expecting(move |_, read| self.encapsulate_all(&read[0], &read[1])),
            named(Operation::Encapsulate(Randomness::Draws))?
                .sampled(move |seed, batch| {
                    vec![Items::new(&self, seed, batch).public_keys, bytes(!seed, Draws::BYTES)]
                })
                .expecting(move |batch, read| self.encapsulate_all(&read[0], &drawn(&read[1], batch, 32))),
            named(Operation::Decapsulate)?
                .sampled(move |seed, batch| {
                    let items = Items::new(&self, seed, batch);
                    vec![items.secret_keys, items.ciphertexts]
                })
                .expecting(move |_, read| self.decapsulate_all(&read[0], &read[1])),
            named(Operation::CheckPublicKeys)?
                .sampled(move |seed, batch| {
                    vec![spoilt(Items::new(&self, seed, batch).public_keys, batch, sizes.public_key, 32)]
                })
                .expecting(move |_, read| self.check_public_all(&read[0])),
            named(Operation::CheckSecretKeys)?
                .sampled(move |seed, batch| {
                    vec![spoilt(Items::new(&self, seed, batch).secret_keys, batch, sizes.secret_key, 96)]
                })
                .expecting(move |_, read| self.check_secret_all(&read[0])),
        ])
    }

    fn generate_all(&self, seeds: &[u8]) -> Vec<Vec<u8>> {
        let keys: Vec<[Vec<u8>; 2]> = seeds.chunks_exact(64).map(self.generate).collect();
        let [public, secret] = [0, 1].map(|i| keys.iter().flat_map(|key| key[i].clone()).collect());
        vec![public, secret]
    }

    /// Statuses. A key that the crate does not take has a coefficient that is not below the modulus.
    fn check_public_all(&self, public_keys: &[u8]) -> Vec<Vec<u8>> {
        let status = |key: &[u8]| {
            let bad = match (self.encapsulate)(key, &[0; 32]) {
                Some(_) => None,
                None => Some(Reason::InvalidPublicKey { coefficient: 256 * self.parameters.k - 1 }),
            };
            Reason::status(bad).to_le_bytes()
        };
        vec![public_keys.chunks_exact(self.parameters.sizes().public_key).flat_map(status).collect()]
    }

    fn check_secret_all(&self, secret_keys: &[u8]) -> Vec<Vec<u8>> {
        let sizes = self.parameters.sizes();
        let status = |key: &[u8]| {
            let taken = (self.decapsulate)(key, &vec![0; sizes.ciphertext]).is_some();
            Reason::status((!taken).then_some(Reason::WrongHash)).to_le_bytes()
        };
        vec![secret_keys.chunks_exact(sizes.secret_key).flat_map(status).collect()]
    }

    /// Ciphertexts and shared keys.
    fn encapsulate_all(&self, public_keys: &[u8], messages: &[u8]) -> Vec<Vec<u8>> {
        let (mut ciphertexts, mut shared_keys) = (Vec::new(), Vec::new());
        for (key, message) in public_keys.chunks_exact(self.parameters.sizes().public_key).zip(messages.chunks(32)) {
            let [ciphertext, shared_key] = (self.encapsulate)(key, message).expect("valid keys");
            ciphertexts.extend(ciphertext);
            shared_keys.extend(shared_key);
        }
        vec![ciphertexts, shared_keys]
    }

    /// Shared keys.
    fn decapsulate_all(&self, secret_keys: &[u8], ciphertexts: &[u8]) -> Vec<Vec<u8>> {
        let sizes = self.parameters.sizes();
        let mut shared_keys = Vec::new();
        for (key, ciphertext) in
            secret_keys.chunks_exact(sizes.secret_key).zip(ciphertexts.chunks_exact(sizes.ciphertext))
        {
            shared_keys.extend((self.decapsulate)(key, ciphertext).expect("valid keys"));
        }
        vec![shared_keys]
    }
}

/// Keys of `size` bytes, in every second one the public key's last coefficient, `behind` bytes before the end, all ones.
fn spoilt(mut keys: Vec<u8>, batch: usize, size: usize, behind: usize) -> Vec<u8> {
    for key in keys.chunks_exact_mut(size).skip(batch % 2).step_by(2) {
        key[size - behind - 2] |= 0xf0;
        key[size - behind - 1] = 0xff;
    }
    keys
}

/// The first bytes of each item's draw.
fn drawn(draws: &[u8], batch: usize, size: usize) -> Vec<u8> {
    let draws = Draws::from_bytes(draws).expect("as many bytes as draws have");
    (0..batch).flat_map(|item| draws.block(item as u64, 0)[..size].to_vec()).collect()
}
