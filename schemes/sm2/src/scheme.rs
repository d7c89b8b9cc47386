//! The plans with samples, for the engine's tests: small blocks and windows, for a CPU runs the text.

use ringforge::kernels::{Role, Sharing};
use ringforge::testkit::{NamedPlan, Random, Scheme, bytes};
use ringforge::{Limits, Plan, Result};
use ringforge_batch::FINE;

use crate::kernels::{RETRY, Tuning};
use crate::key::PrivateKey;
use crate::plans::Plans;
use crate::point::Affine;
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

/// A plan with samples of what it reads, by their names.
fn named(what: &str, plan: Plan) -> NamedPlan {
    NamedPlan::new(format!("{}{what}", plan.title()), plan.clone()).sampled(move |seed, batch| {
        let input = |name: &str| plan.arg(name).filter(|arg| arg.role != Role::Out);
        let Items { private, public, digests, signatures } = Items::new(seed, batch);
        let count = |name| if input(name).is_some_and(|arg| arg.sharing == Sharing::Shared) { 1 } else { batch };
        // none, all and more than the slot has, among others
        let slot = input("identifiers").or_else(|| input("messages")).map_or(0, |arg| arg.bytes);
        let lengths = (0..count("lengths")).map(|i| ((seed as usize + i) % (slot + 2)) as u32);
        // every second item waits
        let statuses = (0..batch).map(|i| if i % 2 == 0 { RETRY } else { FINE });
        let mut samples = vec![
            ("nonces", private.clone()),
            ("private keys", private),
            ("prepared keys", prepared(!seed, count("prepared keys"))),
            ("public keys", public),
            ("digests", digests),
            ("signatures", signatures),
            ("lengths", words(lengths)),
            ("statuses", words(statuses)),
        ];
        samples.retain(|(name, _)| input(name).is_some());
        samples
    })
}

/// Verification by two cached keys. The tables are of the first items' keys; numbers beyond the last are among those given.
fn cached(plans: &Plans) -> Result<NamedPlan> {
    let plan = plans.verify_cached(2)?;
    // the first two of six are valid
    let own = Items::new(1, 6);
    let points = own.public.as_chunks().0.iter().take(2).filter_map(Affine::from_bytes);
    let tables: Vec<Affine> = points.flat_map(|point| plans.cached.table(point)).collect();
    let tables: Vec<u8> = bytemuck::cast_slice(&tables).to_vec();
    Ok(NamedPlan::new(plan.title(), plan.clone()).sampled(move |seed, batch| {
        let Items { mut digests, mut signatures, .. } = Items::new(seed, batch);
        signatures.iter_mut().zip(&own.signatures[..2 * 64]).for_each(|(to, from)| *to = *from);
        digests.iter_mut().zip(&own.digests[..2 * 32]).for_each(|(to, from)| *to = *from);
        let numbers = words((0..batch).map(|i| i as u32 % 4));
        vec![("numbers", numbers), ("digests", digests), ("signatures", signatures), ("tables", tables.clone())]
    }))
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

    fn plans(limits: &Limits) -> Result<Vec<NamedPlan>> {
        let [scan, fast] = [Mode::Scan, Mode::Throughput].map(|mode| Plans::small(limits, mode));
        let mut plans = vec![
            named("", scan.prepare()?),
            named("", scan.generate()?),
            named("", fast.public_keys()?),
            named(", one key", fast.sign(true)?),
            named("", scan.sign_with_nonces()?),
            named("", fast.verify()?),
            named("", fast.cache()?),
            cached(&fast)?,
        ];
        for of_mode in [&scan, &fast] {
            let what = format!(", {:?}", of_mode.secret.mode);
            plans.extend([named(&what, of_mode.sign(false)?), named(&what, of_mode.sign_again()?)]);
        }
        for (words, one) in [(1, true), (4, true), (15, false), (40, false)] {
            plans.push(named(&format!(", {words} words"), scan.identity(words, one)?));
        }
        for (words, one) in [(1, true), (17, false), (40, false)] {
            plans.push(named(&format!(", {words} words"), scan.digest(words, one)?));
        }
        Ok(plans)
    }
}

/// The plans of throughput mode with blocks of so many threads, for measurements: to prepare keys, to sign by one, to verify.
///
/// # Errors
/// What makes planning fail.
pub fn plans_in_blocks(limits: &Limits, threads: u32) -> Result<[Plan; 3]> {
    let mut plans = Plans::new(limits, Mode::Throughput);
    plans.tuning = Tuning::in_blocks(threads);
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
        fast.sign_with_nonces()?,
        fast.verify()?,
        fast.cache()?,
        fast.verify_cached(256)?,
        fast.identity(4, true)?,
        fast.digest(16, true)?,
    ];
    let of_scan = vec![scan.generate()?, scan.sign(true)?, scan.sign_with_nonces()?];
    let named = |mode: Mode, plans: Vec<Plan>| {
        plans.into_iter().map(move |plan| NamedPlan::new(format!("{}, full size, {mode:?}", plan.title()), plan))
    };
    Ok(named(Mode::Throughput, of_fast).chain(named(Mode::Scan, of_scan)).collect())
}
