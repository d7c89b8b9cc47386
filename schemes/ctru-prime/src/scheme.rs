//! The plans of all parameter sets with samples, for the engine's tests.

use ringforge::testkit::{Compiled, Named, NamedPlan, Random, Scheme, bytes};
use ringforge::{Device, Limits, Plan, Planner, Result};
use ringforge_batch::{Operation, Randomness};
use ringforge_e8::Seed;

use crate::kem::kem;
use crate::naive::Naive;
use crate::params::{Parameters, SEED_BYTES, SETS};
use crate::plans::PrimeSteps;
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

/// The plans with products made in one of the ways.
fn plans_in(set: &Parameters, way: Way, limits: &Limits) -> Result<Vec<NamedPlan>> {
    let (steps, planner) = (PrimeSteps::new(*set).multiplying(way), Planner::new(limits.clone()));
    let (set, naive) = (*set, Naive(*set));
    let named = |what: &str, plan: Plan| {
        let name = format!("{} {what}", set.name);
        match way {
            Way::Transform => NamedPlan::new(name, plan),
            // as text, a product on tensor cores is thousands of shuffles
            Way::Tensor => NamedPlan::new(name + ", tensor cores", plan).few_as_text(),
        }
    };
    let each = |what: &str, operation: Operation| {
        let plan = operation.plan(set.name, &steps, false, &planner)?;
        Ok::<_, ringforge::Error>(named(what, plan.expect("steps")))
    };
    // the key at the end of what is prepared of it
    let public_key =
        move |inputs: &Named| inputs["prepared public key"][way.large_bytes(&set)..][..set.public_key_bytes()].to_vec();
    let secret_key =
        move |inputs: &Named| inputs["prepared secret key"][way.small_bytes(&set)..][..set.secret_key_bytes()].to_vec();
    let mut plans = vec![
        named("multiply", steps.multiply(&planner)?)
            .sampled(move |seed, batch| factors(&set, seed, batch).into())
            .expecting(move |_, inputs| naive.multiply(inputs)),
        each("decapsulate", Operation::Decapsulate)?
            .sampled(move |seed, batch| received(&set, seed, batch).into())
            .expecting(move |_, inputs| naive.decapsulate(&inputs["secret keys"], inputs)),
        each("check secret keys", Operation::CheckSecretKeys)?
            .sampled(move |seed, batch| received(&set, seed, batch).into_iter().take(1).collect())
            .expecting(move |_, inputs| naive.check_secret(inputs)),
        named("prepare public keys", steps.prepare_public(&planner)?),
        named("prepare secret keys", steps.prepare_secret(&planner)?),
        named("decapsulate with one key", steps.decapsulate_with_one(&planner)?)
            .sampled(move |seed, batch| received_by_one(&set, way, seed, batch).into())
            .expecting(move |batch, inputs| {
                naive.decapsulate(&secret_key(inputs).repeat(batch), inputs).into_iter().take(1).collect()
            }),
    ];
    for (from, suffix) in [(Randomness::Seeds, " from seeds"), (Randomness::Draws, "")] {
        let to_one = steps.encapsulate_to_one(from, &planner)?;
        plans.extend([
            each(&format!("generate{suffix}"), Operation::Generate(from))?
                .expecting(move |batch, inputs| naive.generate(batch, inputs)),
            // any bytes are a public key
            each(&format!("encapsulate{suffix}"), Operation::Encapsulate(from))?
                .expecting(move |batch, inputs| naive.encapsulate(batch, &inputs["public keys"], inputs)),
            named(&format!("encapsulate to one key{suffix}"), to_one)
                .sampled(move |seed, _| prepared(&set, way, seed).into_iter().take(1).collect())
                .expecting(move |batch, inputs| naive.encapsulate(batch, &public_key(inputs).repeat(batch), inputs)),
        ]);
    }
    Ok(plans)
}

/// What the CPU prepares of a key pair: of the public key, and of the secret one.
fn prepared(set: &Parameters, way: Way, seed: u64) -> [(&'static str, Vec<u8>); 2] {
    let (mut public_key, mut secret_key) = (vec![0; set.public_key_bytes()], bytes(seed, set.secret_key_bytes()));
    let kem = kem(set).expect("the products of a parameter set");
    let mut memory = kem.memory();
    let d = secret_key[..SEED_BYTES].try_into().expect("as many bytes");
    kem.key_pair(&d, &mut public_key, &mut secret_key, &mut memory).expect("lengths are right");
    let (steps, planner) = (PrimeSteps::new(*set).multiplying(way), Planner::default());
    let prepare = |plan: Result<Plan>, key: &'static str, bytes: Vec<u8>| {
        let compiled = Compiled::new(&NamedPlan::new("prepare", plan?), &Device::cpu())?;
        compiled.run(1, &[(key.into(), bytes)].into()).map(|prepared| prepared.into_values().flatten().collect())
    };
    let prepare = |plan, key, bytes| prepare(plan, key, bytes).expect("a key of the right length");
    [
        ("prepared public key", prepare(steps.prepare_public(&planner), "public keys", public_key)),
        ("prepared secret key", prepare(steps.prepare_secret(&planner), "secret keys", secret_key)),
    ]
}

/// A key pair as it is prepared, and ciphertexts, of which every other one is sound.
fn received_by_one(set: &Parameters, way: Way, seed: u64, batch: usize) -> [(&'static str, Vec<u8>); 3] {
    let [public, secret] = prepared(set, way, seed);
    let public_key = &public.1[way.large_bytes(set)..][..set.public_key_bytes()];
    let kem = kem(set).expect("the products of a parameter set");
    let mut memory = kem.memory();
    let mut ciphertexts = bytes(seed ^ 1, batch * set.ciphertext_bytes());
    for (i, ciphertext) in ciphertexts.chunks_exact_mut(set.ciphertext_bytes()).enumerate() {
        if (batch + i) % 2 == 1 {
            let (item_seed, mut shared_key) = ([i as u8; SEED_BYTES], Seed::default());
            kem.encapsulate(public_key, &item_seed, ciphertext, &mut shared_key, &mut memory)
                .expect("lengths are right");
        }
    }
    [secret, public, ("ciphertexts", ciphertexts)]
}

/// Factors as words: of every three items, two have the largest sums that there can be, of one sign or alternating.
fn factors(set: &Parameters, seed: u64, batch: usize) -> [(&'static str, Vec<u8>); 2] {
    let mut random = Random::new(seed);
    let (q, eta) = (set.q as usize, set.eta as i16);
    let mut factors = [("large", Vec::new()), ("small", Vec::new())];
    for i in 0..batch * set.n {
        let odd = i % 2 == 1;
        let (large, small) = match (batch + i / set.n) % 3 {
            0 => (q / 2, -eta),
            1 => (if odd { q / 2 } else { q / 2 + 1 }, if odd { eta } else { -eta }),
            _ => (random.below(q), random.below(2 * eta as usize + 1) as i16 - eta),
        };
        factors[0].1.extend((large as u16).to_le_bytes());
        factors[1].1.extend(small.to_le_bytes());
    }
    factors
}

/// Secret keys and ciphertexts. Of five items, one has a ciphertext of random bytes, one a secret key of random bytes, one
/// a bad field behind all coefficients, one a ciphertext with its last bit flipped; batches of 1, 2, and 3 hold one of each.
fn received(set: &Parameters, seed: u64, batch: usize) -> [(&'static str, Vec<u8>); 2] {
    let kem = kem(set).expect("the products of a parameter set");
    let mut memory = kem.memory();
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
    [("secret keys", secret_keys), ("ciphertexts", ciphertexts)]
}
