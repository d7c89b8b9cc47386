//! The plans of all parameter sets with samples, for the engine's tests.

use ringforge::testkit::{Compiled, NamedPlan, Random, Scheme, bytes};
use ringforge::{Device, Draws, Limits, Plan, Result};

use crate::kem::{Kem, Memory, Seed};
use crate::naive::Naive;
use crate::params::{Parameters, SEED_BYTES, SETS};
use crate::plans::Plans;
use crate::product::Way;

/// CTRU-Prime as the engine's tests see it.
#[derive(Debug)]
pub struct CtruPrime;

impl Scheme for CtruPrime {
    const NAME: &'static str = "CTRU-Prime";

    fn plans(limits: &Limits) -> Result<Vec<NamedPlan>> {
        SETS.iter().map(|set| plans(set, limits)).collect::<Result<Vec<_>>>().map(|plans| plans.concat())
    }
}

/// The plans of one parameter set, with samples: keys and ciphertexts that are what they should be, and others.
///
/// # Errors
/// What makes planning fail.
pub fn plans(set: &Parameters, limits: &Limits) -> Result<Vec<NamedPlan>> {
    Way::on(limits).map(|way| plans_in(set, way, limits)).collect::<Result<Vec<_>>>().map(|plans| plans.concat())
}

fn named(plan: Plan) -> NamedPlan {
    NamedPlan::new(plan.title().to_owned(), plan)
}

/// The plans with products made in one of the ways.
fn plans_in(set: &Parameters, way: Way, limits: &Limits) -> Result<Vec<NamedPlan>> {
    let plans = Plans::new(set, limits).multiplying(way);
    let (set, naive) = (*set, Naive(*set));
    // as text, a product on tensor cores is thousands of shuffles
    let named = |plan| if way == Way::Tensor { named(plan).few_as_text() } else { named(plan) };
    // the key at the end of what is prepared of it
    let public_key = move |prepared: &[u8]| prepared[way.large_bytes(&set)..][..set.public_key_bytes()].to_vec();
    let secret_key = move |prepared: &[u8]| prepared[way.small_bytes(&set)..][..set.secret_key_bytes()].to_vec();
    Ok(vec![
        named(plans.multiply()?)
            .sampled(move |seed, batch| factors(&set, seed, batch).into())
            .expecting(move |_, inputs| naive.multiply(&inputs[0], &inputs[1])),
        named(plans.generate_from()?).expecting(move |_, inputs| naive.generate_from(&inputs[0])),
        named(plans.generate()?).expecting(move |batch, inputs| naive.generate(batch, &inputs[0])),
        // any bytes are a public key
        named(plans.encapsulate_from()?).expecting(move |_, inputs| naive.encapsulate_from(&inputs[0], &inputs[1])),
        named(plans.encapsulate()?).expecting(move |batch, inputs| naive.encapsulate(batch, &inputs[0], &inputs[1])),
        named(plans.decapsulate()?)
            .sampled(move |seed, batch| received(&set, seed, batch).into())
            .expecting(move |_, inputs| naive.decapsulate(&inputs[0], &inputs[1])),
        named(plans.check_secret()?)
            .sampled(move |seed, batch| vec![received(&set, seed, batch)[0].clone()])
            .expecting(move |_, inputs| naive.check_secret(&inputs[0])),
        named(plans.prepare_public()?),
        named(plans.prepare_secret()?),
        named(plans.encapsulate_to_one_from()?)
            .sampled(move |seed, batch| vec![prepared(&set, way, seed)[0].clone(), bytes(seed, batch * SEED_BYTES)])
            .expecting(move |batch, inputs| naive.encapsulate_from(&public_key(&inputs[0]).repeat(batch), &inputs[1])),
        named(plans.encapsulate_to_one()?)
            .sampled(move |seed, _| vec![prepared(&set, way, seed)[0].clone(), bytes(!seed, Draws::BYTES)])
            .expecting(move |batch, inputs| {
                naive.encapsulate(batch, &public_key(&inputs[0]).repeat(batch), &inputs[1])
            }),
        named(plans.decapsulate_with_one()?)
            .sampled(move |seed, batch| received_by_one(&set, way, seed, batch))
            .expecting(move |batch, inputs| {
                let keys = secret_key(&inputs[0]).repeat(batch);
                naive.decapsulate(&keys, &inputs[2]).into_iter().take(1).collect()
            }),
    ])
}

/// What the CPU prepares of a key pair: of the public key, and of the secret one.
fn prepared(set: &Parameters, way: Way, seed: u64) -> [Vec<u8>; 2] {
    let mut memory = Memory::new(set);
    let (mut public_key, mut secret_key) = (vec![0; set.public_key_bytes()], bytes(seed, set.secret_key_bytes()));
    let kem = Kem::of(set).expect("the products of a parameter set");
    let d = secret_key[..SEED_BYTES].try_into().expect("as many bytes");
    kem.key_pair(&d, &mut public_key, &mut secret_key, &mut memory).expect("lengths are right");
    let plans = Plans::new(set, &Limits::cpu()).multiplying(way);
    let prepare = |plan: Result<Plan>, key: Vec<u8>| {
        let compiled = Compiled::new(&NamedPlan::new("prepare", plan?), &Device::cpu())?;
        Ok::<_, ringforge::Error>(compiled.run(1, &[key])?.concat())
    };
    [(plans.prepare_public(), public_key), (plans.prepare_secret(), secret_key)]
        .map(|(plan, key)| prepare(plan, key).expect("keys of the right length"))
}

/// A key pair as it is prepared, secret key first, and ciphertexts, of which every other one is sound.
fn received_by_one(set: &Parameters, way: Way, seed: u64, batch: usize) -> Vec<Vec<u8>> {
    let [public, secret] = prepared(set, way, seed);
    let public_key = &public[way.large_bytes(set)..][..set.public_key_bytes()];
    let kem = Kem::of(set).expect("the products of a parameter set");
    let mut memory = Memory::new(set);
    let mut ciphertexts = bytes(seed ^ 1, batch * set.ciphertext_bytes());
    for (i, ciphertext) in ciphertexts.chunks_exact_mut(set.ciphertext_bytes()).enumerate() {
        if (batch + i) % 2 == 1 {
            let (item_seed, mut shared_key) = ([i as u8; SEED_BYTES], Seed::default());
            kem.encapsulate(public_key, &item_seed, ciphertext, &mut shared_key, &mut memory)
                .expect("lengths are right");
        }
    }
    vec![secret, public, ciphertexts]
}

/// Factors as words: of every three items, two have the largest sums that there can be, of one sign or alternating.
fn factors(set: &Parameters, seed: u64, batch: usize) -> [Vec<u8>; 2] {
    let mut random = Random::new(seed);
    let (q, eta) = (set.q as usize, set.eta as i16);
    let mut factors = [Vec::new(), Vec::new()];
    for i in 0..batch * set.n {
        let odd = i % 2 == 1;
        let (large, small) = match (batch + i / set.n) % 3 {
            0 => (q / 2, -eta),
            1 => (if odd { q / 2 } else { q / 2 + 1 }, if odd { eta } else { -eta }),
            _ => (random.below(q), random.below(2 * eta as usize + 1) as i16 - eta),
        };
        factors[0].extend((large as u16).to_le_bytes());
        factors[1].extend(small.to_le_bytes());
    }
    factors
}

/// Secret keys and ciphertexts. Of five items, one has a ciphertext of random bytes, one a secret key of random bytes, one
/// a bad field behind all coefficients, one a ciphertext with its last bit flipped; batches of 1, 2, and 3 hold one of each.
fn received(set: &Parameters, seed: u64, batch: usize) -> [Vec<u8>; 2] {
    let kem = Kem::of(set).expect("the products of a parameter set");
    let mut memory = Memory::new(set);
    let mut public_key = vec![0; set.public_key_bytes()];
    let mut secret_keys = bytes(seed, batch * set.secret_key_bytes());
    let mut ciphertexts = bytes(seed ^ 1, batch * set.ciphertext_bytes());
    let seeds = bytes(seed ^ 2, batch * SEED_BYTES);
    let items = secret_keys.chunks_exact_mut(set.secret_key_bytes());
    let items = items.zip(ciphertexts.chunks_exact_mut(set.ciphertext_bytes()));
    for (i, ((secret_key, ciphertext), seed)) in items.zip(seeds.as_chunks::<SEED_BYTES>().0).enumerate() {
        let kind = (batch + i) % 5;
        if kind != 1 {
            kem.key_pair(seed, &mut public_key, secret_key, &mut memory).expect("lengths are right");
        }
        if kind != 2 {
            let mut shared_key = Seed::default();
            kem.encapsulate(&public_key, seed, ciphertext, &mut shared_key, &mut memory).expect("lengths are right");
        }
        match kind {
            3 => secret_key[set.pke_key_bytes() - 1] |= 0x10,
            4 => ciphertext[set.ciphertext_bytes() - 1] ^= 0x80,
            _ => {}
        }
    }
    [secret_keys, ciphertexts]
}
