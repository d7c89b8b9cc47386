//! The plans of all parameter sets with samples, for the engine's tests.

use ringforge::testkit::{NamedPlan, Scheme, bytes};
use ringforge::{Limits, Result};

use crate::kem::{Kem, Memory, Seed};
use crate::params::{Parameters, SEED_BYTES, SETS};
use crate::plans::Plans;
use crate::symmetric::Profile;

/// CTRU and CNTR as the engine's tests see them.
#[derive(Debug)]
pub struct Ctru;

impl Scheme for Ctru {
    const NAME: &'static str = "CTRU";

    fn plans(limits: &Limits) -> Result<Vec<NamedPlan>> {
        let sets = SETS.iter().filter(|set| set.profile == Profile::S);
        sets.map(|set| plans(set, limits)).collect::<Result<Vec<_>>>().map(|plans| plans.concat())
    }
}

/// The plans of one parameter set, with samples: keys and ciphertexts that are what they should be, and others.
///
/// # Errors
/// What makes planning fail.
pub fn plans(set: &Parameters, limits: &Limits) -> Result<Vec<NamedPlan>> {
    let plans = Plans::new(set, limits);
    let set = *set;
    Ok(vec![
        named(plans.generate_from()?),
        named(plans.generate()?),
        named(plans.encapsulate_from()?)
            .sampled(move |seed, batch| vec![Items::new(&set, seed, batch).public_keys, bytes(!seed, 32 * batch)]),
        named(plans.encapsulate()?)
            .sampled(move |seed, batch| vec![Items::new(&set, seed, batch).public_keys, bytes(!seed, 48)]),
        named(plans.decapsulate()?).sampled(move |seed, batch| {
            let items = Items::new(&set, seed, batch);
            vec![items.secret_keys, items.ciphertexts]
        }),
        // every second item waits
        named(plans.retry()?).sampled(move |seed, batch| {
            let status = (0..batch).flat_map(|i| ((i + 1) as u32 % 2).to_le_bytes()).collect();
            let items = Items::new(&set, seed, batch);
            vec![bytes(seed, 48), bytes(!seed, 64 * batch), items.public_keys, items.secret_keys, status]
        }),
    ])
}

fn named(plan: ringforge::Plan) -> NamedPlan {
    NamedPlan::new(plan.title().to_owned(), plan)
}

/// Keys and ciphertexts. Of four items one has a key of random bytes, and one a ciphertext of random bytes.
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
            if i % 4 == 2 {
                continue;
            }
            kem.key_pair(seed, public_key, secret_key, &mut memory).expect("lengths are right");
            if i % 4 != 3 {
                let mut shared_key = Seed::default();
                kem.encapsulate(public_key, seed, ciphertext, &mut shared_key, &mut memory).expect("lengths are right");
            }
        }
        items
    }
}
