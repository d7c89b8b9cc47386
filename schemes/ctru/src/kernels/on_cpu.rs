//! What the kernels mean on the CPU: the functions of the scheme, item by item.

use core::ops::Range;

use ringforge::{Args, Draws, Result};
use ringforge_batch::Reason;
use ringforge_e8::select;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::{ATTEMPTS, Stage};
use crate::kem::{Kem, Memory, Seed};
use crate::params::SEED_BYTES;
use crate::pke::Polynomials;

/// The status of an item that is fine.
const FINE: u32 = Reason::FINE;
/// The status of a seed that gives no key.
const NOT_INVERTIBLE: u32 = Reason::status(Some(Reason::NotInvertible));

/// Runs a stage on these items.
pub(super) fn run(stage: Stage, kem: &Kem, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
    match stage {
        Stage::Expand => expand(kem, args),
        Stage::Generate => generate(kem, args),
        Stage::Retry => retry(kem, items, args),
        Stage::Encapsulate => encapsulate(kem, args),
        Stage::Encrypt => encrypt(kem, args),
        Stage::Decrypt => decrypt(kem, args),
        Stage::Decapsulate => decapsulate(kem, args),
        Stage::Compare => compare(kem, args),
        Stage::CheckPublic => check_public(kem, args),
        Stage::CheckSecret => check_secret(kem, args),
    }
}

fn expand(kem: &Kem, args: &mut Args<'_>) -> Result<()> {
    let coins_bytes = kem.parameters().key_pair_coins_bytes();
    let items = seeds(args, 0)?.iter().zip(args.output::<u8>(1)?.chunks_exact_mut(coins_bytes));
    for ((seeds, coins), status) in items.zip(args.output::<u32>(2)?) {
        kem.expand(&seeds[0], coins);
        *status = Reason::PENDING;
    }
    Ok(())
}

fn generate(kem: &Kem, args: &mut Args<'_>) -> Result<()> {
    let p = kem.parameters();
    let mut memory = Memory::new(p);
    let items = seeds(args, 0)?.iter().zip(args.input::<u8>(1)?.chunks_exact(p.key_pair_coins_bytes()));
    let public_keys = args.output::<u8>(2)?.chunks_exact_mut(p.public_key_bytes());
    let secret_keys = args.output::<u8>(3)?.chunks_exact_mut(p.secret_key_bytes());
    let statuses = args.output::<u32>(4)?;
    for ((((seeds, coins), public_key), secret_key), status) in items.zip(public_keys).zip(secret_keys).zip(statuses) {
        let found = key_pair(kem, coins, &seeds[1], public_key, secret_key, &mut memory)?;
        go_on(status, Reason::PENDING, found);
    }
    Ok(())
}

/// The next word of an item's status, where the step before this one has left its own.
fn go_on(status: &mut u32, before: u32, next: u32) {
    if *status == before {
        *status = next;
    }
}

fn retry(kem: &Kem, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
    let p = kem.parameters();
    let mut memory = Memory::new(p);
    let mut coins = Zeroizing::new(vec![0; p.key_pair_coins_bytes()]);
    let draws = Draws::from_bytes(args.input::<u8>(0)?)?;
    let seeds = seeds(args, 1)?;
    let public_keys = args.output::<u8>(2)?.chunks_exact_mut(p.public_key_bytes());
    let secret_keys = args.output::<u8>(3)?.chunks_exact_mut(p.secret_key_bytes());
    let statuses = args.output::<u32>(4)?;
    for ((((item, seeds), public_key), secret_key), status) in
        items.zip(seeds).zip(public_keys).zip(secret_keys).zip(statuses)
    {
        for attempt in 1..ATTEMPTS {
            if *status != NOT_INVERTIBLE {
                break;
            }
            let block = Zeroizing::new(draws.block(item as u64, attempt));
            let (blocks, _) = block.as_chunks::<SEED_BYTES>();
            kem.expand(&blocks[0], &mut coins);
            *status = key_pair(kem, &coins, &seeds[1], public_key, secret_key, &mut memory)?;
        }
    }
    Ok(())
}

/// A whole key pair from coins and z, or zeros; returns the status.
fn key_pair(
    kem: &Kem,
    coins: &[u8],
    z: &Seed,
    public_key: &mut [u8],
    secret_key: &mut [u8],
    memory: &mut Memory,
) -> Result<u32> {
    let (pke_key, rest) = secret_key.split_at_mut(kem.parameters().pke_key_bytes());
    let (copy, z_copy) = rest.split_at_mut(public_key.len());
    if kem.pke.key_pair(coins, public_key, pke_key, &mut memory.polynomials)? {
        copy.copy_from_slice(public_key);
        z_copy.copy_from_slice(z);
        return Ok(FINE);
    }
    public_key.fill(0);
    secret_key.fill(0);
    Ok(NOT_INVERTIBLE)
}

fn encapsulate(kem: &Kem, args: &mut Args<'_>) -> Result<()> {
    let p = kem.parameters();
    let public_keys = args.input::<u8>(0)?.chunks_exact(p.public_key_bytes());
    let seeds = args.input::<Seed>(1)?;
    let messages = args.output::<u8>(2)?.chunks_exact_mut(p.message_bytes());
    let coins = args.output::<u8>(3)?.chunks_exact_mut(p.encryption_coins_bytes());
    let shared_keys = args.output::<Seed>(4)?;
    let statuses = args.output::<u32>(5)?;
    for (((((public_key, seed), message), coins), shared_key), status) in
        public_keys.zip(seeds).zip(messages).zip(coins).zip(shared_keys).zip(statuses)
    {
        kem.hash_seed(public_key, seed, message, shared_key, coins);
        *status = Reason::PENDING;
    }
    Ok(())
}

fn encrypt(kem: &Kem, args: &mut Args<'_>) -> Result<()> {
    let p = kem.parameters();
    let mut memory = Memory::new(p);
    let public_keys = args.input::<u8>(0)?.chunks_exact(p.public_key_bytes());
    let messages = args.input::<u8>(1)?.chunks_exact(p.message_bytes());
    let coins = args.input::<u8>(2)?.chunks_exact(p.encryption_coins_bytes());
    let ciphertexts = args.output::<u8>(3)?.chunks_exact_mut(p.ciphertext_bytes());
    let shared_keys = args.output::<Seed>(4)?;
    let statuses = args.output::<u32>(5)?;
    for (((((public_key, message), coins), ciphertext), shared_key), status) in
        public_keys.zip(messages).zip(coins).zip(ciphertexts).zip(shared_keys).zip(statuses)
    {
        let polynomials = &mut memory.polynomials;
        let found = public_key_status(kem, public_key, polynomials)?;
        go_on(status, Reason::PENDING, found);
        if found == FINE {
            kem.pke.encrypt(public_key, message, coins, ciphertext, polynomials)?;
        } else {
            ciphertext.fill(0);
            shared_key.fill(0);
        }
    }
    Ok(())
}

fn decrypt(kem: &Kem, args: &mut Args<'_>) -> Result<()> {
    let p = kem.parameters();
    let mut memory = Memory::new(p);
    let secret_keys = args.input::<u8>(0)?.chunks_exact(p.secret_key_bytes());
    let ciphertexts = args.input::<u8>(1)?.chunks_exact(p.ciphertext_bytes());
    let messages = args.output::<u8>(2)?.chunks_exact_mut(p.message_bytes());
    let statuses = args.output::<u32>(3)?;
    for (((secret_key, ciphertext), message), status) in secret_keys.zip(ciphertexts).zip(messages).zip(statuses) {
        let [pke_key, ..] = p.parts(secret_key);
        let polynomials = &mut memory.polynomials;
        // the public key is looked at later
        *status = match pke_key_status(kem, pke_key, polynomials)? {
            FINE => Reason::PENDING,
            found => found,
        };
        kem.pke.decrypt(pke_key, ciphertext, message, polynomials)?;
    }
    Ok(())
}

fn decapsulate(kem: &Kem, args: &mut Args<'_>) -> Result<()> {
    let p = kem.parameters();
    let secret_keys = args.input::<u8>(0)?.chunks_exact(p.secret_key_bytes());
    let ciphertexts = args.input::<u8>(1)?.chunks_exact(p.ciphertext_bytes());
    let messages = args.input::<u8>(2)?.chunks_exact(p.message_bytes());
    let both_keys = args.output::<[Seed; 2]>(3)?;
    let coins = args.output::<u8>(4)?.chunks_exact_mut(p.encryption_coins_bytes());
    let statuses = args.output::<u32>(5)?;
    for (((((secret_key, ciphertext), message), keys), coins), status) in
        secret_keys.zip(ciphertexts).zip(messages).zip(both_keys).zip(coins).zip(statuses)
    {
        let [_, public_key, z] = p.parts(secret_key);
        let candidates = kem.hash_message(public_key, z, ciphertext, message, coins);
        *keys = [*candidates.agreed, *candidates.rejected];
        go_on(status, Reason::PENDING, Reason::HALFWAY);
    }
    Ok(())
}

fn compare(kem: &Kem, args: &mut Args<'_>) -> Result<()> {
    let p = kem.parameters();
    let mut memory = Memory::new(p);
    let mut again = Zeroizing::new(vec![0; p.ciphertext_bytes()]);
    let secret_keys = args.input::<u8>(0)?.chunks_exact(p.secret_key_bytes());
    let ciphertexts = args.input::<u8>(1)?.chunks_exact(p.ciphertext_bytes());
    let messages = args.input::<u8>(2)?.chunks_exact(p.message_bytes());
    let coins = args.input::<u8>(3)?.chunks_exact(p.encryption_coins_bytes());
    let both_keys = args.input::<[Seed; 2]>(4)?;
    let shared_keys = args.output::<Seed>(5)?;
    let statuses = args.output::<u32>(6)?;
    let items = secret_keys.zip(ciphertexts).zip(messages).zip(coins).zip(both_keys).zip(shared_keys).zip(statuses);
    for ((((((secret_key, ciphertext), message), coins), [agreed, rejected]), shared_key), status) in items {
        let [_, public_key, _] = p.parts(secret_key);
        let polynomials = &mut memory.polynomials;
        if *status == Reason::HALFWAY {
            *status = public_key_status(kem, public_key, polynomials)?;
        }
        if *status == FINE {
            kem.pke.encrypt(public_key, message, coins, &mut again, polynomials)?;
            *shared_key = select(ciphertext.ct_eq(&again), agreed, rejected);
        } else {
            shared_key.fill(0);
        }
    }
    Ok(())
}

fn check_public(kem: &Kem, args: &mut Args<'_>) -> Result<()> {
    let p = kem.parameters();
    let mut memory = Polynomials::new(p.n);
    let public_keys = args.input::<u8>(0)?.chunks_exact(p.public_key_bytes());
    for (public_key, status) in public_keys.zip(args.output::<u32>(1)?) {
        *status = public_key_status(kem, public_key, &mut memory)?;
    }
    Ok(())
}

fn check_secret(kem: &Kem, args: &mut Args<'_>) -> Result<()> {
    let p = kem.parameters();
    let mut memory = Polynomials::new(p.n);
    let secret_keys = args.input::<u8>(0)?.chunks_exact(p.secret_key_bytes());
    for (secret_key, status) in secret_keys.zip(args.output::<u32>(1)?) {
        let [pke_key, public_key, _] = p.parts(secret_key);
        *status = match pke_key_status(kem, pke_key, &mut memory)? {
            FINE => public_key_status(kem, public_key, &mut memory)?,
            found => found,
        };
    }
    Ok(())
}

fn public_key_status(kem: &Kem, public_key: &[u8], memory: &mut Polynomials) -> Result<u32> {
    let place = kem.pke.bad_value(public_key, memory)?;
    Ok(Reason::status(place.map(|coefficient| Reason::InvalidPublicKey { coefficient })))
}

fn pke_key_status(kem: &Kem, pke_key: &[u8], memory: &mut Polynomials) -> Result<u32> {
    let place = kem.pke.bad_field(pke_key, memory)?;
    Ok(Reason::status(place.map(|coefficient| Reason::InvalidSecretKey { coefficient })))
}

/// Pairs of seeds: what keys come from, and z.
fn seeds<'a>(args: &Args<'a>, port: usize) -> Result<&'a [[Seed; 2]]> {
    args.input::<[Seed; 2]>(port)
}
