//! What the kernels mean on the CPU: the functions of the scheme, item by item.

use core::ops::RangeInclusive;

use ringforge::{Args, Result};
use ringforge_batch::Reason;
use ringforge_e8::select;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::tensor::TensorRows;
use super::{Keys, Stage};
use crate::kem::{Kem, Memory, Seed, expand, hash_message, hash_seed};
use crate::params::{ID_BYTES, SEED_BYTES};
use crate::pke::Polynomials;
use crate::product::Way;

/// Runs a stage on the items of these arguments.
pub(super) fn run(stage: Stage, keys: Keys, way: Way, kem: &Kem, args: &mut Args<'_>) -> Result<()> {
    match stage {
        Stage::Expand => expand_all(kem, args),
        // on the CPU keys are made one by one
        Stage::Gather => leave_empty(args, 1..=2),
        Stage::Invert => leave_empty(args, 1..=1),
        Stage::Generate => generate(kem, args),
        Stage::PreparePublic => prepare_public(way, kem, args),
        Stage::PrepareSecret => prepare_secret(way, kem, args),
        Stage::CheckSecret => check_secret(kem, args),
        Stage::Encapsulate => encapsulate(keys, way, kem, args),
        Stage::Encrypt => encrypt(keys, way, kem, args),
        Stage::Decrypt => decrypt(keys, way, kem, args),
        Stage::Decapsulate => decapsulate(kem, args),
        Stage::Compare => compare(keys, way, kem, args),
        #[cfg(feature = "testkit")]
        Stage::Multiply => multiply(kem, args),
    }
}

/// The key of each item: its bytes, or those of the one key for all.
fn each<'a>(keys: Keys, bytes: &'a [u8], size: usize) -> Box<dyn Iterator<Item = &'a [u8]> + 'a> {
    match keys {
        Keys::One => Box::new(core::iter::repeat(bytes)),
        _ => Box::new(bytes.chunks_exact(size)),
    }
}

/// Takes the factor of a prepared public key; returns the key.
fn take_public<'a>(way: Way, kem: &Kem, prepared: &'a [u8], memory: &mut Polynomials) -> Result<&'a [u8]> {
    let p = kem.parameters();
    let (factor, key) = prepared.split_at(way.large_bytes(p));
    match way {
        Way::Transform => take_values(factor, &mut memory.factors.left),
        Way::Tensor => {
            TensorRows::of_degree(p.n).take_large(factor, &mut memory.large);
            kem.pke.transform_large(memory)?;
        }
    }
    Ok(key)
}

/// The same for a secret key.
fn take_secret<'a>(way: Way, kem: &Kem, prepared: &'a [u8], memory: &mut Polynomials) -> Result<&'a [u8]> {
    let p = kem.parameters();
    let (factor, key) = prepared.split_at(way.small_bytes(p));
    match way {
        Way::Transform => take_values(factor, &mut memory.factors.left),
        Way::Tensor => {
            memory.small.iter_mut().zip(factor).for_each(|(to, &byte)| *to = i16::from(byte as i8));
            kem.pke.transform_small(memory)?;
        }
    }
    Ok(&key[..p.secret_key_bytes()])
}

fn take_values(factor: &[u8], values: &mut Vec<u32>) {
    values.clear();
    values.extend(factor.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)));
}

fn put_values(values: &[u32], factor: &mut [u8]) {
    factor.as_chunks_mut().0.iter_mut().zip(values).for_each(|(to, x)| *to = x.to_le_bytes());
}

/// A key behind what is prepared of it, and zeros up to a whole vector.
fn put_key(key: &[u8], rest: &mut [u8]) {
    rest.fill(0);
    rest[..key.len()].copy_from_slice(key);
}

/// The status of an item with this secret key.
fn status(kem: &Kem, pke_key: &[u8], memory: &mut Polynomials) -> Result<u32> {
    let place = kem.pke.bad_field(pke_key, memory)?;
    Ok(Reason::status(place.map(|coefficient| Reason::InvalidSecretKey { coefficient })))
}

fn check_secret(kem: &Kem, args: &mut Args<'_>) -> Result<()> {
    let p = kem.parameters();
    let mut memory = Memory::new(p);
    let secret_keys = args.input::<u8>(0)?.chunks_exact(p.secret_key_bytes());
    for (secret_key, found) in secret_keys.zip(args.output::<u32>(1)?) {
        *found = status(kem, p.parts(secret_key)[0], &mut memory.polynomials)?;
    }
    Ok(())
}

fn prepare_public(way: Way, kem: &Kem, args: &mut Args<'_>) -> Result<()> {
    let p = kem.parameters();
    let mut memory = Memory::new(p);
    let prepared = args.output::<u8>(1)?.chunks_exact_mut(way.prepared_public_bytes(p));
    for (key, prepared) in args.input::<u8>(0)?.chunks_exact(p.public_key_bytes()).zip(prepared) {
        let polynomials = &mut memory.polynomials;
        kem.pke.transform_public(key, polynomials)?;
        let (factor, rest) = prepared.split_at_mut(way.large_bytes(p));
        match way {
            Way::Transform => put_values(&polynomials.factors.left, factor),
            Way::Tensor => TensorRows::of_degree(p.n).prepare_large(&polynomials.large, factor),
        }
        put_key(key, rest);
    }
    Ok(())
}

fn prepare_secret(way: Way, kem: &Kem, args: &mut Args<'_>) -> Result<()> {
    let p = kem.parameters();
    let mut memory = Memory::new(p);
    let prepared = args.output::<u8>(1)?.chunks_exact_mut(way.prepared_secret_bytes(p));
    for (key, prepared) in args.input::<u8>(0)?.chunks_exact(p.secret_key_bytes()).zip(prepared) {
        let polynomials = &mut memory.polynomials;
        kem.pke.transform_secret(p.parts(key)[0], polynomials)?;
        let (factor, rest) = prepared.split_at_mut(way.small_bytes(p));
        match way {
            Way::Transform => put_values(&polynomials.factors.left, factor),
            Way::Tensor => {
                factor.fill(0);
                factor.iter_mut().zip(&polynomials.small).for_each(|(to, &x)| *to = x as u8);
            }
        }
        put_key(key, rest);
    }
    Ok(())
}

fn expand_all(kem: &Kem, args: &mut Args<'_>) -> Result<()> {
    let p = kem.parameters();
    let coins = args.output::<u8>(1)?.chunks_exact_mut(2 * p.coins_pitch());
    for (seeds, coins) in args.input::<[Seed; 2]>(0)?.iter().zip(coins) {
        coins.fill(0);
        let (f, g) = coins.split_at_mut(p.coins_pitch());
        expand(&seeds[0], [f, g].map(|coins| &mut coins[..p.polynomial_coins_bytes()]));
    }
    Ok(())
}

fn leave_empty(args: &mut Args<'_>, mut ports: RangeInclusive<usize>) -> Result<()> {
    ports.try_for_each(|port| args.output::<u8>(port).map(|bytes| bytes.fill(0)))
}

fn generate(kem: &Kem, args: &mut Args<'_>) -> Result<()> {
    let p = kem.parameters();
    let mut memory = Memory::new(p);
    let seeds = args.input::<[Seed; 2]>(0)?.iter();
    let coins = args.input::<u8>(1)?.chunks_exact(2 * p.coins_pitch());
    let public_keys = args.output::<u8>(4)?.chunks_exact_mut(p.public_key_bytes());
    let secret_keys = args.output::<u8>(5)?.chunks_exact_mut(p.secret_key_bytes());
    for (((seeds, coins), public_key), secret_key) in seeds.zip(coins).zip(public_keys).zip(secret_keys) {
        let (f, g) = coins.split_at(p.coins_pitch());
        let coins = [f, g].map(|coins| &coins[..p.polynomial_coins_bytes()]);
        let (pke_key, rest) = secret_key.split_at_mut(p.pke_key_bytes());
        let (copy, z) = rest.split_at_mut(public_key.len());
        kem.pke.key_pair(coins, public_key, pke_key, &mut memory.polynomials)?;
        copy.copy_from_slice(public_key);
        z.copy_from_slice(&seeds[1]);
    }
    Ok(())
}

fn encapsulate(keys: Keys, way: Way, kem: &Kem, args: &mut Args<'_>) -> Result<()> {
    let p = kem.parameters();
    let public_keys = each(keys, args.input::<u8>(0)?, p.public_key_bytes());
    let seeds = args.input::<Seed>(1)?;
    let messages = args.output::<u8>(2)?.chunks_exact_mut(p.message_pitch());
    let coins = args.output::<u8>(3)?.chunks_exact_mut(p.coins_pitch());
    let shared_keys = args.output::<Seed>(4)?;
    for ((((public_key, seed), message), coins), shared_key) in
        public_keys.zip(seeds).zip(messages).zip(coins).zip(shared_keys)
    {
        message.fill(0);
        coins.fill(0);
        let message = &mut message[..p.message_bytes()];
        let id = if keys == Keys::One { &public_key[way.large_bytes(p)..] } else { public_key };
        hash_seed(id, seed, message, shared_key, &mut coins[..p.polynomial_coins_bytes()]);
    }
    Ok(())
}

fn encrypt(keys: Keys, way: Way, kem: &Kem, args: &mut Args<'_>) -> Result<()> {
    let p = kem.parameters();
    let mut memory = Memory::new(p);
    let public_keys = each(keys, args.input::<u8>(0)?, p.public_key_bytes());
    let messages = args.input::<u8>(1)?.chunks_exact(p.message_pitch());
    let coins = args.input::<u8>(2)?.chunks_exact(p.coins_pitch());
    let ciphertexts = args.output::<u8>(3)?.chunks_exact_mut(p.ciphertext_bytes());
    for (((public_key, message), coins), ciphertext) in public_keys.zip(messages).zip(coins).zip(ciphertexts) {
        let (message, coins) = (&message[..p.message_bytes()], &coins[..p.polynomial_coins_bytes()]);
        encrypt_one(keys, way, kem, public_key, [message, coins], ciphertext, &mut memory.polynomials)?;
    }
    Ok(())
}

/// Encrypts to a public key, or to what is prepared of one.
fn encrypt_one(
    keys: Keys,
    way: Way,
    kem: &Kem,
    public_key: &[u8],
    [message, coins]: [&[u8]; 2],
    ciphertext: &mut [u8],
    memory: &mut Polynomials,
) -> Result<()> {
    if keys == Keys::One {
        take_public(way, kem, public_key, memory)?;
        kem.pke.encrypt_to_values(message, coins, ciphertext, memory)
    } else {
        kem.pke.encrypt(public_key, message, coins, ciphertext, memory)
    }
}

fn decrypt(keys: Keys, way: Way, kem: &Kem, args: &mut Args<'_>) -> Result<()> {
    let p = kem.parameters();
    let mut memory = Memory::new(p);
    let secret_keys = each(keys, args.input::<u8>(0)?, p.secret_key_bytes());
    let ciphertexts = args.input::<u8>(1)?.chunks_exact(p.ciphertext_bytes());
    let messages = args.output::<u8>(2)?.chunks_exact_mut(p.message_pitch());
    let rejections = args.output::<u8>(3)?.chunks_exact_mut(p.rejection_pitch());
    let found = args.output::<u32>(4)?;
    for ((((secret_key, ciphertext), message), rejection), found) in
        secret_keys.zip(ciphertexts).zip(messages).zip(rejections).zip(found)
    {
        let polynomials = &mut memory.polynomials;
        message.fill(0);
        let message = &mut message[..p.message_bytes()];
        let secret_key = if keys == Keys::One {
            *found = Reason::PENDING;
            let secret_key = take_secret(way, kem, secret_key, polynomials)?;
            kem.pke.decrypt_with_values(ciphertext, message, polynomials)?;
            secret_key
        } else {
            let [pke_key, ..] = p.parts(secret_key);
            *found = match status(kem, pke_key, polynomials)? {
                Reason::FINE => Reason::PENDING,
                found => found,
            };
            kem.pke.decrypt(pke_key, ciphertext, message, polynomials)?;
            secret_key
        };
        let [_, public_key, z] = p.parts(secret_key);
        rejection.fill(0);
        let (id, rest) = rejection.split_at_mut(ID_BYTES);
        id.copy_from_slice(&public_key[..ID_BYTES]);
        rest[..SEED_BYTES].copy_from_slice(z);
        rest[SEED_BYTES..][..ciphertext.len()].copy_from_slice(ciphertext);
    }
    Ok(())
}

fn decapsulate(kem: &Kem, args: &mut Args<'_>) -> Result<()> {
    let p = kem.parameters();
    let messages = args.input::<u8>(0)?.chunks_exact(p.message_pitch());
    let rejections = args.input::<u8>(1)?.chunks_exact(p.rejection_pitch());
    let both_keys = args.output::<[Seed; 2]>(2)?;
    let coins = args.output::<u8>(3)?.chunks_exact_mut(p.coins_pitch());
    let statuses = args.output::<u32>(4)?;
    for ((((message, rejection), keys), coins), status) in
        messages.zip(rejections).zip(both_keys).zip(coins).zip(statuses)
    {
        coins.fill(0);
        let rest = &rejection[ID_BYTES..][..SEED_BYTES + p.ciphertext_bytes()];
        let (message, coins) = (&message[..p.message_bytes()], &mut coins[..p.polynomial_coins_bytes()]);
        let candidates = hash_message(rejection, &[rest], message, coins);
        *keys = [*candidates.agreed, *candidates.rejected];
        if *status == Reason::PENDING {
            *status = Reason::HALFWAY;
        }
    }
    Ok(())
}

fn compare(keys: Keys, way: Way, kem: &Kem, args: &mut Args<'_>) -> Result<()> {
    let p = kem.parameters();
    let mut memory = Memory::new(p);
    let mut again = Zeroizing::new(vec![0; p.ciphertext_bytes()]);
    let secret_keys = each(keys, args.input::<u8>(0)?, p.secret_key_bytes());
    let ciphertexts = args.input::<u8>(1)?.chunks_exact(p.ciphertext_bytes());
    let messages = args.input::<u8>(2)?.chunks_exact(p.message_pitch());
    let coins = args.input::<u8>(3)?.chunks_exact(p.coins_pitch());
    let both_keys = args.input::<[Seed; 2]>(4)?;
    let statuses = args.output::<u32>(5)?;
    let shared_keys = args.output::<Seed>(6)?;
    let items = secret_keys.zip(ciphertexts).zip(messages).zip(coins).zip(both_keys).zip(statuses).zip(shared_keys);
    for ((((((secret_key, ciphertext), message), coins), [agreed, rejected]), status), shared_key) in items {
        let public_key = if keys == Keys::One { secret_key } else { p.parts(secret_key)[1] };
        let (message, coins) = (&message[..p.message_bytes()], &coins[..p.polynomial_coins_bytes()]);
        encrypt_one(keys, way, kem, public_key, [message, coins], &mut again, &mut memory.polynomials)?;
        // the public key may be any bytes
        *status = if *status == Reason::HALFWAY { Reason::FINE } else { *status };
        let is_fine = *status == Reason::FINE;
        *shared_key = if is_fine { select(ciphertext.ct_eq(&again), agreed, rejected) } else { Seed::default() };
    }
    Ok(())
}

#[cfg(feature = "testkit")]
fn multiply(kem: &Kem, args: &mut Args<'_>) -> Result<()> {
    let n = kem.parameters().n;
    let mut memory = Memory::new(kem.parameters());
    let factors = args.input::<u16>(0)?.chunks_exact(n).zip(args.input::<i16>(1)?.chunks_exact(n));
    for ((large, small), out) in factors.zip(args.output::<u16>(2)?.chunks_exact_mut(n)) {
        kem.pke.multiply(large, small, out, &mut memory.polynomials)?;
    }
    Ok(())
}
