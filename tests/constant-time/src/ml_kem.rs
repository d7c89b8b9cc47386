//! An ML-KEM (FIPS 203) key exchange in a batch of one. The seed of a key pair is treated as public, because the public
//! matrix is derived from it by rejection sampling. The secret parts of the secret key, the message and the shared keys
//! are marked secret.

use std::error::Error;

use rand_core::TryRng;
use ringforge::{Engine, Limits, Planner};
use ringforge_batch::{KemScheme, Operation, Randomness};
use ringforge_ml_kem::MlKem768;

use crate::secrets::{Bytes, Told, opened, tell};

/// `SEED` is the size in bytes of a seed, `VECTOR` that of the secret vector in a secret key.
const SEED: usize = 32;
const VECTOR: usize = 3 * 384;

/// Runs an operation on these inputs and returns its outputs in the order of the plan's arguments.
fn run(operation: Operation, inputs: &[(&str, &[u8])]) -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
    let limits = Limits::cpu();
    let steps = MlKem768::steps(&limits)?;
    let plan = operation.plan(MlKem768::NAME, &steps, false, &Planner::new(limits.clone()))?.ok_or("no plan")?;
    let program = Engine::cpu().device().compile(&plan)?;
    let outputs = plan.args().iter().filter(|arg| inputs.iter().all(|(name, _)| *name != arg.name));
    let mut outputs: Vec<_> = outputs.map(|arg| (&arg.name, vec![0; arg.bytes])).collect();
    let call = inputs.iter().fold(program.on_host(1), |call, (name, bytes)| call.input(name, bytes));
    outputs.iter_mut().fold(call, |call, (name, bytes)| call.output(name, bytes)).run()?;
    Ok(outputs.into_iter().map(|(_, bytes)| bytes).collect())
}

pub(crate) fn exchange(rng: &mut Bytes) -> Result<(), Box<dyn Error>> {
    let [mut seeds, mut message] = [vec![0; 2 * SEED], vec![0; SEED]];
    rng.try_fill_bytes(&mut seeds)?;
    rng.try_fill_bytes(&mut message)?;
    let made = run(Operation::Generate(Randomness::Seeds), &[("seeds", &opened(seeds))])?;
    let [public, mut secret] = <[Vec<u8>; 2]>::try_from(made).map_err(|_| "two outputs")?;
    let rejection = secret.len() - SEED;
    tell(&mut secret[..VECTOR], Told::Secret);
    tell(&mut secret[rejection..], Told::Secret);
    let made = run(Operation::Encapsulate(Randomness::Seeds), &[("public keys", &public), ("seeds", &message)])?;
    let [ciphertext, sent] = <[Vec<u8>; 2]>::try_from(made).map_err(|_| "two outputs")?;
    let ciphertext = opened(ciphertext);
    let received = run(Operation::Decapsulate, &[("secret keys", &secret), ("ciphertexts", &ciphertext)])?;
    assert_eq!(received.into_iter().map(opened).collect::<Vec<_>>(), [opened(sent)]);
    Ok(())
}
