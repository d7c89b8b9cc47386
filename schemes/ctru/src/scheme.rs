//! The plans of all parameter sets with samples, for the engine's tests.

use ringforge::testkit::{NamedPlan, Scheme, bytes};
use ringforge::{Limits, Plan, Result};
use ringforge_batch::{Operation, Randomness, Reason};
use shake::{ExtendableOutput, Shake256, Update};

use crate::kem::{Kem, Memory, Seed};
use crate::naive::Naive;
use crate::params::{Cntr512, Cntr768, Ctru768, Ctru1024, ParameterSet, Parameters, SEED_BYTES};
use crate::plans::{plan, retry};

use Operation::{CheckPublicKeys, CheckSecretKeys, Decapsulate, Encapsulate, Generate};
use Randomness::{Draws, Seeds};

/// A key whose draw for item 0, attempt 1, gives an f without an inverse in CTRU-768: found by trying.
const FAILS_TWICE: u32 = 1_002_158;

/// CTRU and CNTR as the engine's tests see them.
#[derive(Debug)]
pub struct Ctru;

impl Scheme for Ctru {
    const NAME: &'static str = "CTRU";

    fn plans(limits: &Limits) -> Result<Vec<NamedPlan>> {
        // every degree, η, width of a packing, and kind of rounding; the vectors run all sets
        let sets = [Ctru768::PARAMETERS, Ctru1024::PARAMETERS, Cntr512::PARAMETERS, Cntr768::PARAMETERS];
        sets.iter().map(|set| plans(set, limits)).collect::<Result<Vec<_>>>().map(|plans| plans.concat())
    }
}

/// The plans of one parameter set, with samples: keys and ciphertexts that are what they should be, and others.
///
/// # Errors
/// What makes planning fail.
pub fn plans(set: &Parameters, limits: &Limits) -> Result<Vec<NamedPlan>> {
    let planned = |operation| plan(set, operation, limits).map(named);
    let retry = retry(set, limits).map(named)?;
    let (set, naive) = (*set, Naive(*set));
    Ok(vec![
        planned(Generate(Seeds))?
            .sampled(move |seed, batch| vec![seeds(seed, batch)])
            .expecting(move |_, inputs| naive.generate_from(&inputs[0])),
        planned(Generate(Draws))?.expecting(move |batch, inputs| naive.generate(batch, &inputs[0])),
        planned(Encapsulate(Seeds))?
            .sampled(move |seed, batch| vec![Items::new(&set, seed, batch).public_keys, bytes(!seed, 32 * batch)])
            .expecting(move |_, inputs| naive.encapsulate_from(&inputs[0], &inputs[1])),
        planned(Encapsulate(Draws))?
            .sampled(move |seed, batch| {
                vec![Items::new(&set, seed, batch).public_keys, bytes(!seed, ringforge::Draws::BYTES)]
            })
            .expecting(move |batch, inputs| naive.encapsulate(batch, &inputs[0], &inputs[1])),
        planned(Decapsulate)?
            .sampled(move |seed, batch| {
                let items = Items::new(&set, seed, batch);
                vec![items.secret_keys, items.ciphertexts]
            })
            .expecting(move |_, inputs| naive.decapsulate(&inputs[0], &inputs[1])),
        // every second item waits
        retry
            .sampled(move |seed, batch| {
                let words = [Reason::status(Some(Reason::NotInvertible)), Reason::FINE];
                let status = (0..batch).flat_map(|i| words[i % 2].to_le_bytes()).collect();
                let items = Items::new(&set, seed, batch);
                let mut draws = vec![0; ringforge::Draws::BYTES];
                draws[..4].copy_from_slice(&FAILS_TWICE.to_le_bytes());
                vec![draws, bytes(!seed, 64 * batch), items.public_keys, items.secret_keys, status]
            })
            .expecting(move |_, inputs| naive.retry(inputs)),
        planned(CheckPublicKeys)?
            .sampled(move |seed, batch| vec![Items::new(&set, seed, batch).public_keys])
            .expecting(move |_, inputs| naive.check_public(&inputs[0])),
        planned(CheckSecretKeys)?
            .sampled(move |seed, batch| vec![Items::new(&set, seed, batch).secret_keys])
            .expecting(move |_, inputs| naive.check_secret(&inputs[0])),
    ])
}

fn named(plan: Plan) -> NamedPlan {
    NamedPlan::new(plan.title().to_owned(), plan)
}

/// Seeds of key pairs. The second gives an f without an inverse in CTRU-768, the third in CNTR-768.
fn seeds(seed: u64, batch: usize) -> Vec<u8> {
    let mut seeds = bytes(seed, 64 * batch);
    let names = ["CTRU-KAT-v1|S|CTRU-768|6135", "CTRU-KAT-v1|S|CNTR-768|36413"];
    for (seed, name) in seeds.chunks_exact_mut(64).skip(1).zip(names) {
        Shake256::default().chain(name).finalize_xof_into(&mut seed[..SEED_BYTES]);
    }
    seeds
}

/// Keys and ciphertexts.
///
/// Of five items, one has a ciphertext of random bytes, one keys of random bytes, one a bad value at the end of the public
/// key, and one a bad field at the end of the secret key; batches of 1, 2, and 3 hold one of each.
struct Items {
    public_keys: Vec<u8>,
    secret_keys: Vec<u8>,
    ciphertexts: Vec<u8>,
}

impl Items {
    fn new(set: &Parameters, seed: u64, batch: usize) -> Self {
        let kem = Kem::of(set).expect("the transforms of a parameter set");
        let mut memory = Memory::new(set);
        // random bytes, which most items overwrite
        let mut items = Self {
            public_keys: bytes(seed, batch * set.public_key_bytes()),
            secret_keys: bytes(seed ^ 1, batch * set.secret_key_bytes()),
            ciphertexts: bytes(seed ^ 2, batch * set.ciphertext_bytes()),
        };
        let seeds = bytes(seed ^ 3, batch * SEED_BYTES);
        let keys = items.public_keys.chunks_exact_mut(set.public_key_bytes());
        let keys = keys.zip(items.secret_keys.chunks_exact_mut(set.secret_key_bytes()));
        let ciphertexts = items.ciphertexts.chunks_exact_mut(set.ciphertext_bytes());
        for (i, (((public_key, secret_key), ciphertext), seed)) in
            keys.zip(ciphertexts).zip(seeds.as_chunks::<SEED_BYTES>().0).enumerate()
        {
            let kind = (batch + i) % 5;
            if kind == 2 {
                continue;
            }
            kem.key_pair(seed, public_key, secret_key, &mut memory).expect("lengths are right");
            if kind != 1 {
                let mut shared_key = Seed::default();
                kem.encapsulate(public_key, seed, ciphertext, &mut shared_key, &mut memory).expect("lengths are right");
            }
            let copied = set.pke_key_bytes() + public_key.len();
            match kind {
                3 => [public_key, &mut secret_key[..copied]].into_iter().for_each(spoil),
                4 => spoil(&mut secret_key[..set.pke_key_bytes()]),
                _ => {}
            }
        }
        items
    }
}

/// Makes the last number of these too large.
fn spoil(bytes: &mut [u8]) {
    bytes.iter_mut().rev().take(2).for_each(|byte| *byte = 0xff);
}
