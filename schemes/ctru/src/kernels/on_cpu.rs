//! What the stages mean on the CPU: the functions of the scheme, item by item.

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

/// Runs a stage on these items: a tuple has what the ports do, in their order.
pub(super) fn run(stage: Stage, kem: &Kem, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
    let p = kem.parameters();
    let Memory { polynomials, coins: new_coins, ciphertext: again, .. } = &mut Memory::new(p);
    match stage {
        Stage::Expand => args.each(items, |_, (seeds, coins, status)| {
            let [d, _]: &[Seed; 2] = seeds;
            kem.expand(d, coins);
            set(status, Reason::PENDING)
        }),
        Stage::Generate => args.each(items, |_, (seeds, coins, public_key, secret_key, status)| {
            let found = key_pair(kem, coins, seeds, public_key, secret_key, polynomials)?;
            go_on(status, Reason::PENDING, found)
        }),
        Stage::Retry => args.each(items, |item, (draws, seeds, public_key, secret_key, status)| {
            let (public_key, secret_key, status): (&mut [u8], &mut [u8], &mut u32) = (public_key, secret_key, status);
            for attempt in 1..ATTEMPTS {
                if *status != NOT_INVERTIBLE {
                    break;
                }
                let block = Zeroizing::new(Draws::from_bytes(draws)?.block(item as u64, attempt));
                kem.expand(&block.as_chunks().0[0], new_coins);
                *status = key_pair(kem, new_coins, seeds, public_key, secret_key, polynomials)?;
            }
            Ok(())
        }),
        Stage::Encapsulate => args.each(items, |_, (public_key, seed, message, coins, shared_key, status)| {
            kem.hash_seed(public_key, seed, message, shared_key, coins);
            set(status, Reason::PENDING)
        }),
        Stage::Encrypt => args.each(items, |_, (public_key, message, coins, ciphertext, shared_key, status)| {
            let found = public_key_status(kem, public_key, polynomials)?;
            go_on(status, Reason::PENDING, found)?;
            if found == FINE {
                return kem.pke.encrypt(public_key, message, coins, ciphertext, polynomials);
            }
            clear([ciphertext, shared_key]);
            Ok(())
        }),
        Stage::Decrypt => args.each(items, |_, (secret_key, ciphertext, message, status)| {
            let [pke_key, ..] = p.parts(secret_key);
            let found = pke_key_status(kem, pke_key, polynomials)?;
            // the public key is looked at later
            set(status, if found == FINE { Reason::PENDING } else { found })?;
            kem.pke.decrypt(pke_key, ciphertext, message, polynomials)
        }),
        Stage::Decapsulate => args.each(items, |_, (secret_key, ciphertext, message, keys, coins, status)| {
            kem.hash_message(secret_key, ciphertext, message, keys, coins);
            go_on(status, Reason::PENDING, Reason::HALFWAY)
        }),
        Stage::Compare => args.each(items, |_, (secret_key, ciphertext, message, coins, keys, shared_key, status)| {
            let ([agreed, rejected], shared_key, status): (&[Seed; 2], &mut Seed, &mut u32) =
                (keys, shared_key, status);
            let [_, public_key, _] = p.parts(secret_key);
            if *status == Reason::HALFWAY {
                *status = public_key_status(kem, public_key, polynomials)?;
            }
            *shared_key = Seed::default();
            if *status == FINE {
                kem.pke.encrypt(public_key, message, coins, again, polynomials)?;
                *shared_key = select(again.ct_eq(ciphertext), agreed, rejected);
            }
            Ok(())
        }),
        Stage::CheckPublic => args.each(items, |_, (public_key, status)| {
            let found = public_key_status(kem, public_key, polynomials)?;
            set(status, found)
        }),
        Stage::CheckSecret => args.each(items, |_, (secret_key, status)| {
            let [pke_key, public_key, _] = p.parts(secret_key);
            let found = match pke_key_status(kem, pke_key, polynomials)? {
                FINE => public_key_status(kem, public_key, polynomials)?,
                found => found,
            };
            set(status, found)
        }),
    }
}

/// A whole key pair from coins and z, or zeros; returns the status.
fn key_pair(
    kem: &Kem,
    coins: &[u8],
    [_, z]: &[Seed; 2],
    public_key: &mut [u8],
    secret_key: &mut [u8],
    memory: &mut Polynomials,
) -> Result<u32> {
    if kem.key_pair_from(coins, public_key, secret_key, memory)? {
        let place = secret_key.len() - SEED_BYTES;
        secret_key[place..].copy_from_slice(z);
        return Ok(FINE);
    }
    clear([public_key, secret_key]);
    Ok(NOT_INVERTIBLE)
}

fn clear(parts: [&mut [u8]; 2]) {
    parts.into_iter().for_each(|part| part.fill(0));
}

fn set(status: &mut u32, word: u32) -> Result<()> {
    *status = word;
    Ok(())
}

/// The next word of an item's status, where the step before this one has left its own.
fn go_on(status: &mut u32, before: u32, next: u32) -> Result<()> {
    set(status, if *status == before { next } else { *status })
}

fn public_key_status(kem: &Kem, public_key: &[u8], memory: &mut Polynomials) -> Result<u32> {
    let place = kem.pke.bad_value(public_key, memory)?;
    Ok(Reason::status(place.map(|coefficient| Reason::InvalidPublicKey { coefficient })))
}

fn pke_key_status(kem: &Kem, pke_key: &[u8], memory: &mut Polynomials) -> Result<u32> {
    let place = kem.pke.bad_field(pke_key, memory)?;
    Ok(Reason::status(place.map(|coefficient| Reason::InvalidSecretKey { coefficient })))
}
