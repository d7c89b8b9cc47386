//! The plans with samples, for the engine's tests: small blocks and windows, for a CPU runs the text.

use ringforge::testkit::{NamedPlan, Random, Scheme, bytes};
use ringforge::{Draws, Limits, Plan, Result};
use ringforge_batch::Reason;

use crate::kernels::{RETRY, Tuning};
use crate::key::PrivateKey;
use crate::plans::Plans;
use crate::windows::Mode;

/// SM2 as the engine's tests see it.
#[derive(Debug)]
pub struct Sm2;

/// Private keys, public keys, digests and signatures, faults of every kind among them.
struct Items {
    private: Vec<u8>,
    public: Vec<u8>,
    digests: Vec<u8>,
    signatures: Vec<u8>,
}

impl Items {
    fn new(seed: u64, batch: usize) -> Self {
        let mut random = Random::new(seed);
        let mut items = Self { private: vec![], public: vec![], digests: vec![], signatures: vec![] };
        for i in 0..batch {
            let mut word = || -> [u8; 32] { bytes(random.bits(), 32).try_into().unwrap_or_default() };
            let (mut d, e) = (word(), word());
            d[0] >>= 1; // always in range
            let key = PrivateKey::from_bytes(&d).expect("d is below n");
            let (mut public, mut signature) = (key.public_key().to_bytes(), key.sign_digest(&e).to_bytes());
            match (i + batch) % 8 {
                1 => signature[40] ^= 1,
                2 => signature[..32].fill(0xff),
                3 => public[63] ^= 1,
                4 => d.fill(0xff),
                5 => signature[32..].fill(0),
                _ => {}
            }
            items.private.extend(d);
            items.public.extend(public);
            items.digests.extend(e);
            items.signatures.extend(signature);
        }
        items
    }
}

/// A plan with these samples of what it reads.
fn named(
    what: &str,
    plan: Plan,
    sample: impl Fn(u64, usize, Items) -> Vec<Vec<u8>> + Send + Sync + 'static,
) -> NamedPlan {
    let name = format!("{}{what}", plan.title());
    NamedPlan::new(name, plan).sampled(move |seed, batch| sample(!seed, batch, Items::new(seed, batch)))
}

fn draws(seed: u64) -> Vec<u8> {
    bytes(seed, Draws::BYTES)
}

/// Keys as [`Plans::prepare`] leaves them are below n; one of five is missing.
fn prepared(seed: u64, batch: usize) -> Vec<u8> {
    let mut keys = bytes(seed, 32 * batch);
    keys.chunks_exact_mut(32).enumerate().for_each(|(i, key)| match (i + batch) % 5 {
        4 => key.fill(0),
        _ => key[31] >>= 1,
    });
    keys
}

fn words(values: impl Iterator<Item = u32>) -> Vec<u8> {
    values.flat_map(u32::to_le_bytes).collect()
}

impl Scheme for Sm2 {
    const NAME: &'static str = "SM2";

    fn plans(_: &Limits) -> Result<Vec<NamedPlan>> {
        let (scan, fast) = (Plans::small(Mode::Scan), Plans::small(Mode::Throughput));
        let mut plans = vec![
            named("", scan.prepare()?, |_, _, items| vec![items.private]),
            named("", scan.generate()?, |seed, _, _| vec![draws(seed)]),
            named("", fast.public_keys()?, |_, _, items| vec![items.private]),
            named(", one key", fast.sign(true)?, |seed, _, items| vec![prepared(seed, 1), items.digests, draws(seed)]),
            named("", scan.sign_with_nonces(false)?, |seed, batch, items| {
                vec![prepared(seed, batch), items.digests, items.private]
            }),
            named("", fast.verify()?, |_, _, items| vec![items.public, items.digests, items.signatures]),
            named("", fast.cache()?, |_, _, items| vec![items.public]),
        ];
        for plans_of in [scan, fast] {
            let what = format!(", {:?}", plans_of.mode);
            plans.push(named(&what, plans_of.sign(false)?, |seed, batch, items| {
                vec![prepared(seed, batch), items.digests, draws(seed)]
            }));
            // every second item waits
            plans.push(named(&what, plans_of.sign_again(false)?, |seed, batch, items| {
                let statuses = words((0..batch).map(|i| if i % 2 == 0 { RETRY } else { Reason::FINE }));
                vec![prepared(seed, batch), items.digests, draws(seed), items.signatures, statuses]
            }));
        }
        // numbers of keys beyond the last among them; the tables are of the first items' keys
        let cached = named("", fast.verify_cached(2)?, move |_, batch, items| {
            // the first two of six are valid
            let own = Items::new(1, 6);
            let tables = own.public.chunks_exact(64).take(2).flat_map(|key| fast.key_table(key)).collect();
            let numbers = words((0..batch).map(|i| i as u32 % 4));
            let (mut signatures, mut digests) = (items.signatures, items.digests);
            signatures.iter_mut().zip(&own.signatures[..2 * 64]).for_each(|(to, from)| *to = *from);
            digests.iter_mut().zip(&own.digests[..2 * 32]).for_each(|(to, from)| *to = *from);
            vec![numbers, digests, signatures, tables]
        });
        plans.push(cached);
        for (slot, one) in [(1, true), (4, true), (15, false), (40, false)] {
            plans.push(named(&format!(", {slot} words"), scan.identity(slot, one)?, move |seed, batch, items| {
                // none, all and more than the slot has, among others
                let count = if one { 1 } else { batch };
                let lengths = words((0..count).map(|i| ((seed as usize + i) % (4 * slot + 2)) as u32));
                vec![bytes(seed, 4 * slot * count), lengths, items.public]
            }));
        }
        for (slot, one) in [(1, true), (17, false), (40, false)] {
            plans.push(named(&format!(", {slot} words"), scan.digest(slot, one)?, move |seed, batch, _| {
                let lengths = words((0..batch).map(|i| ((seed as usize + i) % (4 * slot + 1)) as u32));
                vec![bytes(seed, 32 * if one { 1 } else { batch }), bytes(!seed, 4 * slot * batch), lengths]
            }));
        }
        Ok(plans)
    }
}

/// The plans of throughput mode with blocks of so many threads, for measurements: private keys → prepared keys; one
/// prepared key, digests, draws → signatures, statuses; public keys, digests, signatures → statuses.
///
/// # Errors
/// What makes planning fail.
pub fn plans_in_blocks(limits: &Limits, threads: u32) -> Result<[Plan; 3]> {
    let plans = Plans { tuning: Tuning::in_blocks(threads), ..Plans::new(limits, Mode::Throughput) };
    Ok([plans.prepare()?, plans.sign(true)?, plans.verify()?])
}

/// Every plan at full size for a device with these limits: for compilers, not for runs, whose samples would be other ones.
///
/// # Errors
/// What makes planning fail.
pub fn full_plans(limits: &Limits) -> Result<Vec<NamedPlan>> {
    let [fast, scan] = [Mode::Throughput, Mode::Scan].map(|mode| Plans::new(limits, mode));
    let of_fast = vec![
        fast.prepare()?,
        fast.generate()?,
        fast.public_keys()?,
        fast.sign(true)?,
        fast.sign(false)?,
        fast.sign_with_nonces(false)?,
        fast.verify()?,
        fast.cache()?,
        fast.verify_cached(256)?,
        fast.identity(4, true)?,
        fast.digest(16, true)?,
    ];
    let of_scan = vec![scan.generate()?, scan.sign(true)?, scan.sign_with_nonces(false)?];
    let named = |mode: Mode, plans: Vec<Plan>| {
        plans.into_iter().map(move |plan| NamedPlan::new(format!("{}, full size, {mode:?}", plan.title()), plan))
    };
    Ok(named(Mode::Throughput, of_fast).chain(named(Mode::Scan, of_scan)).collect())
}
