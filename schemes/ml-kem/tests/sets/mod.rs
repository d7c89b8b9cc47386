//! Plans of all parameter sets, with sample inputs and oracles, for the engine's test kit.

use ringforge::{Limits, Planner, Result};
use ringforge_batch::{Operation, Randomness, status};
use ringforge_ml_kem::KeyError;
use ringforge_testkit::{Named, NamedPlan, Scheme};

use crate::support::{Items, ORACLES, Oracle};

use Operation::{CheckPublicKeys, CheckSecretKeys, Decapsulate, Encapsulate, Generate};
use Randomness::{RandomKey, Seeds};

/// Contents of plan arguments, by name.
type Held = Vec<(&'static str, Vec<u8>)>;

/// ML-KEM as a scheme for the engine's test kit.
#[derive(Debug)]
pub(crate) struct Sets;

impl Scheme for Sets {
    const NAME: &'static str = "ML-KEM";

    fn plans(limits: &Limits) -> Result<Vec<NamedPlan>> {
        let plans = ORACLES.iter().map(|oracle| oracle.plans(limits)).collect::<Result<Vec<_>>>()?;
        Ok(plans.concat())
    }
}

impl Oracle {
    fn plans(self, limits: &Limits) -> Result<Vec<NamedPlan>> {
        let planner = Planner::new(limits.clone());
        let all = [
            Generate(Seeds),
            Generate(RandomKey),
            Encapsulate(Seeds),
            Encapsulate(RandomKey),
            Decapsulate,
            CheckPublicKeys,
            CheckSecretKeys,
        ];
        let plans = all.map(|operation| {
            let plan = operation
                .plan(self.parameters.name, &self.parameters, false, &planner)?
                .expect("every operation has steps");
            let named = NamedPlan::new(plan.title().to_owned(), plan)
                .with_secrets(operation.secrets())
                .sampled(move |seed, batch| self.inputs(operation, seed, batch))
                .expecting(move |batch, inputs| self.outputs(operation, batch, inputs));
            Ok(named)
        });
        plans.into_iter().collect()
    }

    /// Returns sample inputs for a plan. The test kit fills all other inputs with random bytes.
    fn inputs(&self, operation: Operation, seed: u64, batch: usize) -> Held {
        let sizes = self.parameters.sizes();
        let Items { public_keys, secret_keys, ciphertexts, .. } = Items::new(self, seed, batch);
        match operation {
            Generate(_) => vec![],
            Encapsulate(_) => vec![("public keys", public_keys)],
            Decapsulate => vec![("secret keys", secret_keys), ("ciphertexts", ciphertexts)],
            CheckPublicKeys => vec![("public keys", spoilt(public_keys, batch, sizes.public_key, 32))],
            CheckSecretKeys => vec![("secret keys", spoilt(secret_keys, batch, sizes.secret_key, 96))],
        }
    }

    /// Computes the expected outputs of a plan with the crate `ml-kem`.
    fn outputs(&self, operation: Operation, batch: usize, inputs: &Named) -> Held {
        let sizes = self.parameters.sizes();
        let items = |name: &str, size| inputs[name].chunks_exact(size);
        let public_keys = || items("public keys", sizes.public_key);
        let secret_keys = || items("secret keys", sizes.secret_key);
        let status = |error| [status(error).to_le_bytes().to_vec()];
        match operation {
            Generate(_) => {
                let seeds = seeds(inputs, batch, 64);
                columns(["public keys", "secret keys"], seeds.chunks(64).map(self.generate))
            }
            Encapsulate(_) => {
                let seeds = seeds(inputs, batch, 32);
                let made = public_keys().zip(seeds.chunks(32)).map(|(key, message)| (self.encapsulate)(key, message));
                columns(["ciphertexts", "shared keys"], made.map(|made| made.expect("valid keys")))
            }
            Decapsulate => {
                let items = secret_keys().zip(items("ciphertexts", sizes.ciphertext));
                let made = items.map(|(key, ciphertext)| [(self.decapsulate)(key, ciphertext).expect("valid keys")]);
                columns(["shared keys"], made)
            }
            // The crate `ml-kem` rejects a key if a coefficient is not below the modulus. In the sample keys, only the
            // last coefficient can be bad.
            CheckPublicKeys => columns(
                ["statuses"],
                public_keys().map(|key| {
                    let error = KeyError::InvalidPublicKey { coefficient: 256 * self.parameters.k - 1 };
                    status((self.encapsulate)(key, &[0; 32]).is_none().then_some(error))
                }),
            ),
            CheckSecretKeys => columns(
                ["statuses"],
                secret_keys().map(|key| {
                    let taken = (self.decapsulate)(key, &vec![0; sizes.ciphertext]).is_some();
                    status((!taken).then_some(KeyError::WrongHash))
                }),
            ),
        }
    }
}

/// Concatenates the outputs of all items, by name.
fn columns<const N: usize>(names: [&'static str; N], made: impl Iterator<Item = [Vec<u8>; N]>) -> Held {
    let mut columns = names.map(|name| (name, Vec::new()));
    made.for_each(|made| columns.iter_mut().zip(made).for_each(|((_, all), one)| all.extend(one)));
    columns.into()
}

/// Sets the last coefficient of the public key to 4095 in every second of `keys`: public keys, or secret keys, which
/// contain public keys. The coefficient ends `behind` bytes before the end of each of `keys`.
fn spoilt(mut keys: Vec<u8>, batch: usize, size: usize, behind: usize) -> Vec<u8> {
    for key in keys.chunks_exact_mut(size).skip(batch % 2).step_by(2) {
        key[size - behind - 2] |= 0xf0;
        key[size - behind - 1] = 0xff;
    }
    keys
}

/// Returns the seeds of all items, `size` bytes each: those in the inputs or, if there are none, the first bytes of the
/// block that the input `random_key` yields for each item.
fn seeds(inputs: &Named, batch: usize, size: usize) -> Vec<u8> {
    inputs.get("seeds").cloned().unwrap_or_else(|| {
        let random_key = ringforge::RandomKey::from_bytes(&inputs["random_key"]).expect("as many bytes as draws have");
        (0..batch).flat_map(|item| random_key.block(item as u64, 0)[..size].to_vec()).collect()
    })
}
