//! The plans of all parameter sets with samples of their inputs, for the engine's tests.

use ringforge::kernels::Role;
use ringforge::{Device, Limits, Plan, Planner, Result};
use ringforge_batch::{Operation, Randomness};
use ringforge_e8::Seed;
use ringforge_e8::oracle::{self, Oracle};
use ringforge_testkit::{Compiled, Named, NamedPlan, Random, Scheme, bytes};

use crate::kem::kem;
use crate::kernels::{Keys, PrimeSteps};
use crate::naive::Naive;
use crate::params::{Parameters, SEED_BYTES, SETS};
use crate::plans::Prepared;
use crate::product::Way;

use Operation::{CheckSecretKeys, Decapsulate, Encapsulate, Generate};
use Randomness::{RandomKey, Seeds};

/// CTRU-Prime as a scheme for the engine's tests.
#[derive(Debug)]
pub struct CtruPrime;

impl Scheme for CtruPrime {
    const NAME: &'static str = "CTRU-Prime";

    fn plans(limits: &Limits) -> Result<Vec<NamedPlan>> {
        SETS.iter().map(|set| named_plans(set, limits)).collect::<Result<Vec<_>>>().map(|plans| plans.concat())
    }
}

/// The plans of one parameter set, with samples of valid and invalid keys and ciphertexts.
///
/// # Errors
/// If a plan of the set cannot be made for devices with these limits.
pub fn named_plans(set: &Parameters, limits: &Limits) -> Result<Vec<NamedPlan>> {
    Way::on(limits).map(|way| plans_in(set, way, limits)).collect::<Result<Vec<_>>>().map(|plans| plans.concat())
}

/// The plans of one parameter set whose products use this algorithm.
fn plans_in(set: &Parameters, way: Way, limits: &Limits) -> Result<Vec<NamedPlan>> {
    let (steps, planner) = (PrimeSteps { way, ..PrimeSteps::new(set, limits)? }, Planner::new(limits.clone()));
    let (set, naive) = (*set, Naive(*set));
    // emulating a tensor-core product on the CPU takes thousands of shuffles; the larger sets differ in sizes only
    let few = way == Way::Tensor || set.name != SETS[0].name;
    let named = |what: &str, plan: &Plan| {
        let cores = if way == Way::Tensor { ", tensor cores" } else { "" };
        // five items cover every kind of sample
        let named = NamedPlan::new(format!("{} {what}{cores}", set.name), plan.clone()).batches(&[5]);
        if few { named.few_emulated() } else { named }
    };
    let mut plans = vec![
        named("multiply", &steps.multiply(&planner)?)
            .sampled(move |seed, batch| factors(&set, seed, batch).into())
            .expecting(move |_, inputs| naive.multiply(inputs)),
        named("prepare public keys", &steps.with_prepared(Prepared::PreparePublic, &planner)?),
        named("prepare secret keys", &steps.with_prepared(Prepared::PrepareSecret, &planner)?),
    ];
    // plans in which all items share one key must give the results of plans with a copy of the key per item
    for (what, operation, prepared) in [
        ("decapsulate", Decapsulate, None),
        ("check secret keys", CheckSecretKeys, None),
        ("decapsulate with one key", Decapsulate, Some(Prepared::DecapsulateWithOne)),
        ("generate from seeds", Generate(Seeds), None),
        ("generate", Generate(RandomKey), None),
        ("encapsulate from seeds", Encapsulate(Seeds), None),
        ("encapsulate", Encapsulate(RandomKey), None),
        ("encapsulate to one key from seeds", Encapsulate(Seeds), Some(Prepared::EncapsulateToOne(Seeds))),
        ("encapsulate to one key", Encapsulate(RandomKey), Some(Prepared::EncapsulateToOne(RandomKey))),
    ] {
        let plan = match prepared {
            Some(prepared) => steps.with_prepared(prepared, &planner)?,
            None => operation.plan(set.name, &steps, false, &planner)?.expect("every operation here has steps"),
        };
        let named = named(what, &plan);
        let named = if prepared.is_none() { named.with_secrets(operation.secrets()) } else { named };
        // on a GPU, intermediate results of the steps depend on the whole group of keys, unlike on the CPU
        let named = if matches!(operation, Generate(_)) { named.compared_whole() } else { named };
        let with = plan.clone();
        let sampled = named.sampled(move |seed, batch| {
            let mut samples =
                if prepared.is_some() { one_key(&set, way, seed, batch) } else { items(&set, seed, batch) };
            samples.retain(|(name, _)| with.arg(name).is_some_and(|arg| arg.role != Role::Out));
            samples
        });
        plans.push(sampled.expecting(move |batch, inputs| {
            naive.outputs(&plan, operation, batch, &with_own_keys(&set, way, batch, inputs))
        }));
    }
    Ok(plans)
}

/// Returns samples of secret keys and ciphertexts. Batches of 1, 2 and 3 items together cover all faults. Of every five
/// items,
///
/// - one has a random ciphertext;
/// - one has a random secret key and a random ciphertext;
/// - one has a nonzero padding field after the coefficients of its secret key;
/// - one has a ciphertext with its last bit flipped.
fn items(set: &Parameters, seed: u64, batch: usize) -> Vec<(&'static str, Vec<u8>)> {
    let kem = kem(set).expect("the products of a parameter set are exact");
    let items = oracle::samples(kem, seed, batch, |kind, [_, secret_key, ciphertext]| match kind {
        3 => secret_key[set.sizes().pke_key - 1] |= 0x10,
        4 => ciphertext[set.sizes().ciphertext - 1] ^= 0x80,
        _ => {}
    });
    // public keys need no samples, because any bytes are a valid public key
    items.into_iter().skip(1).collect()
}

/// Returns ciphertexts and a single key pair. The CPU converts the polynomials of the keys to operands of products.
/// Every second ciphertext is valid for the key pair.
fn one_key(set: &Parameters, way: Way, seed: u64, batch: usize) -> Vec<(&'static str, Vec<u8>)> {
    let (sizes, kem) = (set.sizes().kem(), kem(set).expect("the products of a parameter set are exact"));
    let mut memory = kem.memory();
    let (mut public_key, mut secret_key) = (vec![0; sizes.public_key], bytes(seed, sizes.secret_key));
    let d = secret_key[..SEED_BYTES].try_into().expect("a seed has 32 bytes");
    kem.key_pair(&d, &mut public_key, &mut secret_key, &mut memory).expect("lengths match the parameter set");
    let mut ciphertexts = bytes(seed ^ 1, batch * sizes.ciphertext);
    for (i, ciphertext) in ciphertexts.chunks_exact_mut(sizes.ciphertext).enumerate().skip((batch + 1) % 2).step_by(2) {
        let item_seed = [i as u8; SEED_BYTES];
        kem.encapsulate(&public_key, &item_seed, ciphertext, &mut Seed::default(), &mut memory)
            .expect("lengths match the parameter set");
    }
    let (steps, planner) = (PrimeSteps { kem, keys: Keys::Plain, way }, Planner::default());
    let prepare = |task, key: &str, bytes: Vec<u8>| -> Result<Vec<u8>> {
        let plan = NamedPlan::new("prepare", steps.with_prepared(task, &planner)?);
        let prepared = Compiled::new(&plan, &Device::cpu())?.run(1, &[(key.into(), bytes)].into())?;
        Ok(prepared.into_values().flatten().collect())
    };
    let public_key = prepare(Prepared::PreparePublic, "public keys", public_key).expect("a public key");
    let secret_key = prepare(Prepared::PrepareSecret, "secret keys", secret_key).expect("a secret key");
    vec![("prepared public key", public_key), ("prepared secret key", secret_key), ("ciphertexts", ciphertexts)]
}

/// Adds one copy of the encoded keys per item to the inputs. The encoded keys are taken from the prepared keys that all
/// items share, in which they follow the operands of products.
fn with_own_keys(set: &Parameters, way: Way, batch: usize, inputs: &Named) -> Named {
    let (mut inputs, sizes) = (inputs.clone(), set.sizes().kem());
    for (prepared, factor, own, size) in [
        ("prepared public key", way.large_bytes(set), "public keys", sizes.public_key),
        ("prepared secret key", way.small_bytes(set), "secret keys", sizes.secret_key),
    ] {
        if let Some(key) = inputs.get(prepared) {
            let keys = key[factor..][..size].repeat(batch);
            inputs.insert(own.into(), keys);
        }
    }
    inputs
}

/// Returns operands as 16-bit words. Of every three items, two have the largest possible sums: one with operands of
/// constant sign, one with alternating signs.
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
