//! The plans of all sets with samples and oracles, for the engine's tests.

use ringforge::testkit::{NamedPlan, Scheme, bytes};
use ringforge::{Draws, Limits, Result};
use ringforge_example_ml_kem::{Operation, plan};

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
        Ok(vec![
            named(Operation::Generate { drawn: false })?.expecting(move |_, read| self.generate_all(&read[0])),
            named(Operation::Generate { drawn: true })?
                .expecting(move |batch, read| self.generate_all(&drawn(&read[0], batch, 64))),
            named(Operation::Encapsulate { drawn: false, checked: true })?
                .sampled(move |seed, batch| vec![Items::new(&self, seed, batch).public_keys, bytes(!seed, 32 * batch)])
                .expecting(move |_, read| self.encapsulate_all(&read[0], &read[1])),
            named(Operation::Encapsulate { drawn: true, checked: true })?
                .sampled(move |seed, batch| vec![Items::new(&self, seed, batch).public_keys, bytes(!seed, 48)])
                .expecting(move |batch, read| self.encapsulate_all(&read[0], &drawn(&read[1], batch, 32))),
            named(Operation::Decapsulate { checked: true })?
                .sampled(move |seed, batch| {
                    let items = Items::new(&self, seed, batch);
                    vec![items.secret_keys, items.ciphertexts]
                })
                .expecting(move |_, read| self.decapsulate_all(&read[0], &read[1])),
        ])
    }

    fn generate_all(&self, seeds: &[u8]) -> Vec<Vec<u8>> {
        let keys: Vec<[Vec<u8>; 2]> = seeds.chunks_exact(64).map(self.generate).collect();
        let [public, secret] = [0, 1].map(|i| keys.iter().flat_map(|key| key[i].clone()).collect());
        vec![public, secret]
    }

    /// Ciphertexts, shared keys, statuses. What plans make of a key that is not valid is not said: nobody is given it.
    fn encapsulate_all(&self, public_keys: &[u8], messages: &[u8]) -> Vec<Vec<u8>> {
        let (mut ciphertexts, mut shared_keys, mut statuses) = (Vec::new(), Vec::new(), Vec::new());
        for (key, message) in public_keys.chunks_exact(self.parameters.sizes().public_key).zip(messages.chunks(32)) {
            let [ciphertext, shared_key] = (self.encapsulate)(key, message).expect("valid keys");
            ciphertexts.extend(ciphertext);
            shared_keys.extend(shared_key);
            statuses.extend([0; 4]);
        }
        vec![ciphertexts, shared_keys, statuses]
    }

    /// Shared keys, statuses. A secret key with a wrong hash gets what that hash leads to.
    fn decapsulate_all(&self, secret_keys: &[u8], ciphertexts: &[u8]) -> Vec<Vec<u8>> {
        let sizes = self.parameters.sizes();
        let (mut shared_keys, mut statuses) = (Vec::new(), Vec::new());
        for (key, ciphertext) in
            secret_keys.chunks_exact(sizes.secret_key).zip(ciphertexts.chunks_exact(sizes.ciphertext))
        {
            shared_keys.extend((self.decapsulate)(key, ciphertext).expect("valid keys"));
            statuses.extend([0; 4]);
        }
        vec![shared_keys, statuses]
    }
}

/// The first bytes of each item's draw.
fn drawn(draws: &[u8], batch: usize, size: usize) -> Vec<u8> {
    let draws = Draws::from_bytes(draws).expect("as many bytes as draws have");
    (0..batch).flat_map(|item| draws.block(item as u64, 0)[..size].to_vec()).collect()
}
