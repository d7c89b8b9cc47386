//! What the kernels mean on the CPU: the functions of the scheme, item by item.

use ringforge::{Args, Result};
use ringforge_e8::select;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::{Stage, status};
use crate::kem::{Kem, Memory, Seed, expand, hash_message, hash_seed};
use crate::params::{ID_BYTES, SEED_BYTES};

/// Runs a stage on the items of these arguments.
pub(super) fn run(stage: Stage, kem: &Kem, args: &mut Args<'_>) -> Result<()> {
    match stage {
        Stage::Expand => expand_all(kem, args),
        Stage::Generate => generate(kem, args),
        Stage::Encapsulate => encapsulate(kem, args),
        Stage::Encrypt => encrypt(kem, args),
        Stage::Decrypt => decrypt(kem, args),
        Stage::Decapsulate => decapsulate(kem, args),
        Stage::Compare => compare(kem, args),
        #[cfg(feature = "testkit")]
        Stage::Multiply => multiply(kem, args),
    }
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

fn generate(kem: &Kem, args: &mut Args<'_>) -> Result<()> {
    let p = kem.parameters();
    let mut memory = Memory::new(p);
    let seeds = args.input::<[Seed; 2]>(0)?.iter();
    let coins = args.input::<u8>(1)?.chunks_exact(2 * p.coins_pitch());
    args.output::<u8>(2)?.fill(0);
    let public_keys = args.output::<u8>(3)?.chunks_exact_mut(p.public_key_bytes());
    let secret_keys = args.output::<u8>(4)?.chunks_exact_mut(p.secret_key_bytes());
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

fn encapsulate(kem: &Kem, args: &mut Args<'_>) -> Result<()> {
    let p = kem.parameters();
    let public_keys = args.input::<u8>(0)?.chunks_exact(p.public_key_bytes());
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
        hash_seed(public_key, seed, message, shared_key, &mut coins[..p.polynomial_coins_bytes()]);
    }
    Ok(())
}

fn encrypt(kem: &Kem, args: &mut Args<'_>) -> Result<()> {
    let p = kem.parameters();
    let mut memory = Memory::new(p);
    let public_keys = args.input::<u8>(0)?.chunks_exact(p.public_key_bytes());
    let messages = args.input::<u8>(1)?.chunks_exact(p.message_pitch());
    let coins = args.input::<u8>(2)?.chunks_exact(p.coins_pitch());
    let ciphertexts = args.output::<u8>(3)?.chunks_exact_mut(p.ciphertext_bytes());
    for (((public_key, message), coins), ciphertext) in public_keys.zip(messages).zip(coins).zip(ciphertexts) {
        let (message, coins) = (&message[..p.message_bytes()], &coins[..p.polynomial_coins_bytes()]);
        kem.pke.encrypt(public_key, message, coins, ciphertext, &mut memory.polynomials)?;
    }
    Ok(())
}

fn decrypt(kem: &Kem, args: &mut Args<'_>) -> Result<()> {
    let p = kem.parameters();
    let mut memory = Memory::new(p);
    let secret_keys = args.input::<u8>(0)?.chunks_exact(p.secret_key_bytes());
    let ciphertexts = args.input::<u8>(1)?.chunks_exact(p.ciphertext_bytes());
    let messages = args.output::<u8>(2)?.chunks_exact_mut(p.message_pitch());
    let rejections = args.output::<u8>(3)?.chunks_exact_mut(p.rejection_pitch());
    let statuses = args.output::<u32>(4)?;
    for ((((secret_key, ciphertext), message), rejection), status) in
        secret_keys.zip(ciphertexts).zip(messages).zip(rejections).zip(statuses)
    {
        let [pke_key, public_key, z] = p.parts(secret_key);
        *status = status::invalid_secret_key(kem.pke.bad_field(pke_key, &mut memory.polynomials)?);
        message.fill(0);
        kem.pke.decrypt(pke_key, ciphertext, &mut message[..p.message_bytes()], &mut memory.polynomials)?;
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
    for (((message, rejection), keys), coins) in messages.zip(rejections).zip(both_keys).zip(coins) {
        coins.fill(0);
        let rest = &rejection[ID_BYTES..][..SEED_BYTES + p.ciphertext_bytes()];
        let (message, coins) = (&message[..p.message_bytes()], &mut coins[..p.polynomial_coins_bytes()]);
        let candidates = hash_message(rejection, &[rest], message, coins);
        *keys = [*candidates.agreed, *candidates.rejected];
    }
    Ok(())
}

fn compare(kem: &Kem, args: &mut Args<'_>) -> Result<()> {
    let p = kem.parameters();
    let mut memory = Memory::new(p);
    let mut again = Zeroizing::new(vec![0; p.ciphertext_bytes()]);
    let secret_keys = args.input::<u8>(0)?.chunks_exact(p.secret_key_bytes());
    let ciphertexts = args.input::<u8>(1)?.chunks_exact(p.ciphertext_bytes());
    let messages = args.input::<u8>(2)?.chunks_exact(p.message_pitch());
    let coins = args.input::<u8>(3)?.chunks_exact(p.coins_pitch());
    let both_keys = args.input::<[Seed; 2]>(4)?;
    let statuses = args.input::<u32>(5)?;
    let shared_keys = args.output::<Seed>(6)?;
    let items = secret_keys.zip(ciphertexts).zip(messages).zip(coins).zip(both_keys).zip(statuses).zip(shared_keys);
    for ((((((secret_key, ciphertext), message), coins), [agreed, rejected]), status), shared_key) in items {
        let [_, public_key, _] = p.parts(secret_key);
        let (message, coins) = (&message[..p.message_bytes()], &coins[..p.polynomial_coins_bytes()]);
        kem.pke.encrypt(public_key, message, coins, &mut again, &mut memory.polynomials)?;
        *shared_key = if *status == 0 { select(ciphertext.ct_eq(&again), agreed, rejected) } else { Seed::default() };
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
