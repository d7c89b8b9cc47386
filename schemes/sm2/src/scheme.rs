//! The plans of SM2 with samples of their inputs, for the engine's tests. Blocks and windows are small, because these
//! tests also use an emulator.

use ringforge::kernels::{Role, Sharing};
use ringforge::{Limits, Plan, Planner, Result};
use ringforge_batch::OK;
use ringforge_testkit::{NamedPlan, Random, Scheme, bytes};

use crate::kernels::{RETRY, Tuning};
use crate::key::PrivateKey;
use crate::plans::{Operation, Plans};
use crate::point::Affine;
use crate::windows::Mode;

use Operation::{
    Digest, Generate, Identity, KeyTables, Prepare, PublicKeys, Sign, SignAgain, SignWithNonces, Verify, VerifyCached,
};

/// SM2 as a scheme for the engine's tests.
#[derive(Debug)]
pub struct Sm2;

/// Returns private keys, public keys, digests and signatures. Of every eight items, five have a fault, each of a
/// different kind.
fn items(seed: u64, batch: usize) -> [Vec<u8>; 4] {
    let mut random = Random::new(seed);
    let mut items = [const { Vec::new() }; 4];
    for i in 0..batch {
        let mut word = || -> [u8; 32] { bytes(random.bits(), 32).try_into().unwrap_or_default() };
        let (mut d, e) = (word(), word());
        d[0] >>= 1; // d is now from 1 to n − 2
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
        items.iter_mut().zip([&d[..], &public, &e, &signature]).for_each(|(all, one)| all.extend(one));
    }
    items
}

/// Adds samples of the inputs to a plan. The inputs' names determine the samples.
fn named(what: &str, plan: Plan) -> NamedPlan {
    let secrets = ["random_key", "private keys", "prepared keys", "nonces"];
    let own: Vec<&str> = secrets.into_iter().filter(|name| plan.arg(name).is_some()).collect();
    let named = NamedPlan::new(format!("{}{what}", plan.title()), plan.clone()).with_secrets(&own).batches(&[8]);
    named.sampled(move |seed, batch| {
        let input = |name: &str| plan.arg(name).filter(|arg| arg.role != Role::Out);
        let [private, public, digests, signatures] = items(seed, batch);
        let count = |name| if input(name).is_some_and(|arg| arg.sharing == Sharing::Shared) { 1 } else { batch };
        // lengths from 0 to one more than the slot size
        let slot = input("identifiers").or_else(|| input("messages")).map_or(0, |arg| arg.bytes);
        let lengths = (0..count("lengths")).map(|i| ((seed as usize + i) % (slot + 2)) as u32);
        // every second item needs another nonce
        let statuses = (0..batch).map(|i| if i % 2 == 0 { RETRY } else { OK });
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

/// Returns the plan of verification with two cached keys. Half of the key numbers are past the last key.
fn cached(plans: &Plans, planner: &Planner) -> Result<NamedPlan> {
    let plan = plans.plan(VerifyCached(2), planner)?;
    // the first two of these six items are valid
    let [_, public, own_digests, own_signatures] = items(1, 6);
    let points = public.as_chunks().0.iter().take(2).filter_map(Affine::from_bytes);
    let tables: Vec<Affine> = points.flat_map(|point| plans.cached.table(point)).collect();
    let tables: Vec<u8> = bytemuck::cast_slice(&tables).to_vec();
    Ok(NamedPlan::new(plan.title(), plan.clone()).sampled(move |seed, batch| {
        let [_, _, mut digests, mut signatures] = items(seed, batch);
        signatures.iter_mut().zip(&own_signatures[..2 * 64]).for_each(|(to, from)| *to = *from);
        digests.iter_mut().zip(&own_digests[..2 * 32]).for_each(|(to, from)| *to = *from);
        let numbers = words((0..batch).map(|i| i as u32 % 4));
        vec![("numbers", numbers), ("digests", digests), ("signatures", signatures), ("tables", tables.clone())]
    }))
}

/// Returns keys as converted for signing, (1 + d)^-1 mod n. One in five is 0, as for a private key out of range.
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
        let planner = Planner::new(limits.clone());
        let [scan, fast] = [Mode::Scan, Mode::Throughput].map(Plans::small);
        let mut plans = vec![cached(&fast, &planner)?];
        for (of_mode, operation, what) in [
            (&scan, Prepare, ""),
            (&scan, Generate, ""),
            (&fast, PublicKeys, ""),
            (&fast, Sign { one_key: true }, ", one key"),
            (&scan, SignWithNonces, ""),
            (&fast, Verify, ""),
            (&fast, KeyTables, ""),
            (&scan, Sign { one_key: false }, ", Scan"),
            (&fast, Sign { one_key: false }, ", Throughput"),
            (&scan, SignAgain, ", Scan"),
            (&fast, SignAgain, ", Throughput"),
            (&scan, Identity { words: 1, one_id: true }, ", 1 words"),
            (&scan, Identity { words: 4, one_id: true }, ", 4 words"),
            (&scan, Identity { words: 15, one_id: false }, ", 15 words"),
            (&scan, Identity { words: 40, one_id: false }, ", 40 words"),
            (&scan, Digest { words: 1, one_identity: true }, ", 1 words"),
            (&scan, Digest { words: 17, one_identity: false }, ", 17 words"),
            (&scan, Digest { words: 40, one_identity: false }, ", 40 words"),
        ] {
            plans.push(named(what, of_mode.plan(operation, &planner)?));
        }
        Ok(plans)
    }
}

/// Plans of [`Mode::Throughput`] with blocks of `threads` threads, for measurements: preparing keys, signing with one
/// key, and verifying.
///
/// # Errors
/// If a plan cannot be made for devices with these limits.
pub fn plans_in_blocks(limits: &Limits, threads: u32) -> Result<[Plan; 3]> {
    let (mut plans, planner) = (Plans::new(limits, Mode::Throughput), Planner::new(limits.clone()));
    plans.tuning = Tuning::in_blocks(threads);
    let plan = |operation| plans.plan(operation, &planner);
    Ok([plan(Prepare)?, plan(Sign { one_key: true })?, plan(Verify)?])
}

/// Returns plans with full-size tables for devices with these limits: all public operations with [`Mode::Throughput`],
/// and key generation and signing with [`Mode::Scan`]. Tests only compile these plans, because they have no suitable
/// samples.
///
/// # Errors
/// If a plan cannot be made for devices with these limits.
pub fn full_plans(limits: &Limits) -> Result<Vec<NamedPlan>> {
    let planner = Planner::new(limits.clone());
    let of_fast = [
        Prepare,
        Generate,
        PublicKeys,
        Sign { one_key: true },
        Sign { one_key: false },
        SignWithNonces,
        Verify,
        KeyTables,
        VerifyCached(256),
        Identity { words: 4, one_id: true },
        Digest { words: 16, one_identity: true },
    ];
    let of_scan = [Generate, Sign { one_key: true }, SignWithNonces];
    let named = |(mode, operation)| {
        let plan = Plans::new(limits, mode).plan(operation, &planner)?;
        let keys = if operation == (Sign { one_key: true }) { ", one key" } else { "" };
        Ok(NamedPlan::new(format!("{}{keys}, full size, {mode:?}", plan.title()), plan))
    };
    let of_fast = of_fast.map(|operation| (Mode::Throughput, operation)).into_iter();
    of_fast.chain(of_scan.map(|operation| (Mode::Scan, operation))).map(named).collect()
}
