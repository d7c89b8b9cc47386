//! The plans of all parameter sets with samples of their inputs, for the engine's tests.

use ringforge::{Limits, Plan, Planner, Result};
use ringforge_batch::{OK, Operation, Randomness, SchemeError};
use ringforge_e8::oracle::{self, Oracle};
use ringforge_testkit::{NamedPlan, Scheme, bytes};
use shake::{ExtendableOutput, Shake256, Update};

use crate::kem;
use crate::kernels::Stage;
use crate::naive::Naive;
use crate::params::{Parameters, SEED_BYTES};
use crate::sets::{Cntr512, Cntr768, Ctru768, Ctru1024, ParameterSet};

use Operation::{CheckPublicKeys, CheckSecretKeys, Decapsulate, Encapsulate, Generate};
use Randomness::{RandomKey, Seeds};
use ringforge_e8::KeyError;

/// The first word of a random generator's key, whose other words are 0. The generator's block for item 0, attempt 1,
/// gives a secret polynomial f without an inverse in CTRU-768, so the retry kernel needs a second attempt. Found by
/// search.
const FAILS_TWICE: u32 = 1_002_158;

/// CTRU and CNTR as a scheme for the engine's tests.
#[derive(Debug)]
pub struct Ctru;

impl Scheme for Ctru {
    const NAME: &'static str = "CTRU";

    fn plans(limits: &Limits) -> Result<Vec<NamedPlan>> {
        // these sets cover every degree, η, packing width and kind of rounding; the test vectors cover all sets
        let sets = [Ctru768::PARAMETERS, Ctru1024::PARAMETERS, Cntr512::PARAMETERS, Cntr768::PARAMETERS];
        sets.iter().map(|set| named_plans(set, limits)).collect::<Result<Vec<_>>>().map(|plans| plans.concat())
    }
}

/// The plans of one parameter set, with samples of valid and invalid keys and ciphertexts.
///
/// # Errors
/// If a plan of the set cannot be made for devices with these limits.
pub fn named_plans(set: &Parameters, limits: &Limits) -> Result<Vec<NamedPlan>> {
    let (set, planner) = (*set, Planner::new(limits.clone()));
    // each operation with the names of the inputs for which random bytes do not suffice
    let operations: [(_, &[&str]); _] = [
        (Generate(Seeds), &["seeds"]),
        (Generate(RandomKey), &[]),
        (Encapsulate(Seeds), &["public keys"]),
        (Encapsulate(RandomKey), &["public keys"]),
        (Decapsulate, &["secret keys", "ciphertexts"]),
        (CheckPublicKeys, &["public keys"]),
        (CheckSecretKeys, &["secret keys"]),
    ];
    let retried: &[&str] = &["random_key", "public keys", "secret keys", "statuses"];
    let mut plans = vec![(retry(&set, &planner)?, Generate(RandomKey), retried)];
    for (operation, special) in operations {
        plans.extend(operation.plan(set.name, &set, false, &planner)?.map(|plan| (plan, operation, special)));
    }
    let named = |(plan, operation, special): (Plan, Operation, &'static [&'static str])| {
        let with = plan.clone();
        // the plan of the retry kernel alone has the secret argument `seeds` too
        let own = [operation.secrets(), if special == retried { &["seeds"] } else { &[] }].concat();
        NamedPlan::new(plan.title().to_owned(), plan)
            .with_secrets(&own)
            .batches(&[5])
            .sampled(move |seed, batch| {
                let mut samples = samples(&set, seed, batch);
                samples.retain(|(name, _)| special.contains(name));
                samples
            })
            .expecting(move |batch, inputs| Naive(set).outputs(&with, operation, batch, inputs))
    };
    Ok(plans.into_iter().map(named).collect())
}

/// Returns a plan that consists of the retry kernel of key generation only.
fn retry(set: &Parameters, planner: &Planner) -> Result<Plan> {
    let p = planner.pipeline(format!("{} retry", set.name));
    let names = ["random_key", "seeds", "public keys", "secret keys", "statuses"];
    let made: [_; 3] = set.step(Stage::Retry, &p, &names.map(|name| p.input(name)))?;
    names[2..].iter().zip(made).for_each(|(name, value)| p.output(name, value));
    p.build()
}

/// Returns seeds d ‖ z of key pairs. The second d gives a secret polynomial f without an inverse in CTRU-768, the third
/// d gives one in CNTR-768.
fn seeds(seed: u64, batch: usize) -> Vec<u8> {
    let mut seeds = bytes(seed, 64 * batch);
    let names = ["CTRU-KAT-v1|S|CTRU-768|6135", "CTRU-KAT-v1|S|CNTR-768|36413"];
    for (seed, name) in seeds.chunks_exact_mut(64).skip(1).zip(names) {
        Shake256::default().chain(name).finalize_xof_into(&mut seed[..SEED_BYTES]);
    }
    seeds
}

/// Returns samples of keys, ciphertexts and seeds. Also returns a random generator's key and statuses, for the plan of
/// the retry kernel; every second status asks for a retry.
///
/// Batches of 1, 2 and 3 items together cover all faults. Of every five items,
///
/// - one has a random ciphertext;
/// - one has random keys and a random ciphertext;
/// - one has an invalid last evaluation in the public key and in its copy within the secret key;
/// - one has an invalid last coefficient in the decryption key.
fn samples(set: &Parameters, seed: u64, batch: usize) -> Vec<(&'static str, Vec<u8>)> {
    let kem = kem::kem(set).expect("the rings of a parameter set have transforms");
    let sizes = set.sizes();
    let items = oracle::samples(kem, seed, batch, |kind, [public_key, secret_key, _]| match kind {
        3 => [public_key, &mut secret_key[..sizes.pke_key + sizes.public_key]].into_iter().for_each(spoil),
        4 => spoil(&mut secret_key[..sizes.pke_key]),
        _ => {}
    });
    let words = [KeyError::NotInvertible.word(), OK];
    let statuses = (0..batch).flat_map(|i| words[i % 2].to_le_bytes()).collect();
    let mut random_key = vec![0; ringforge::RandomKey::BYTES];
    random_key[..4].copy_from_slice(&FAILS_TWICE.to_le_bytes());
    items
        .into_iter()
        .chain([("seeds", seeds(seed, batch)), ("statuses", statuses), ("random_key", random_key)])
        .collect()
}

/// Sets the last two bytes to 0xff, which makes the last packed number too large.
fn spoil(bytes: &mut [u8]) {
    bytes.iter_mut().rev().take(2).for_each(|byte| *byte = 0xff);
}
