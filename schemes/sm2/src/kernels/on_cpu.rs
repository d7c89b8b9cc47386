//! CPU reference of the kernels.

use core::ops::Range;

use ringforge::kernels::Args;
use ringforge::words::Limbs;
use ringforge::{RandomKey, Result};
use ringforge_batch::{NOT_REACHED, OK, PENDING, SchemeError, status};
use subtle::ConditionallySelectable;
use zeroize::Zeroizing;

use super::{ATTEMPTS, Base, Keys, Stage};
use crate::error::Sm2Error;
use crate::field::{Fp, Scalar};
use crate::item;
use crate::message;
use crate::params::MAX_ID_BYTES;
use crate::point::{Affine, Jacobian};

/// The status of an item whose nonce was rejected. `Stage::SignAgain` replaces it, so no item keeps it.
pub(crate) const RETRY: u32 = 255;

/// Maximum number of items that share an inversion (Montgomery's trick).
const TOGETHER: usize = 32;

type Bytes32 = [u8; 32];
type Bytes64 = [u8; 64];

/// Returns a nonce for the digest e and the private key d, where `key` is (1 + d)^-1. Returns 0 if both halves of the
/// random block are out of range.
fn drawn_nonce(random_key: &RandomKey, item: usize, attempt: u32, key: &Limbs, e: &Bytes32) -> Scalar {
    let mut context = Zeroizing::new([0; 64]);
    context[..32].copy_from_slice(bytemuck::bytes_of(key));
    context[32..].copy_from_slice(e);
    first_scalar(Zeroizing::new(random_key.hedged_block(item as u64, attempt, &context)))
}

/// Returns the first of a block's two 256-bit halves that is from 1 to n − 1, or 0 if neither half is.
fn first_scalar(block: Zeroizing<[u8; 64]>) -> Scalar {
    let candidates = block.as_chunks::<32>().0.iter().map(|bytes| {
        let mut bytes = Zeroizing::new(*bytes);
        bytes.reverse();
        item::nonce(&bytes).unwrap_or(Scalar::ZERO)
    });
    candidates.fold(Scalar::ZERO, |k, next| Scalar::conditional_select(&k, &next, k.is_zero()))
}

/// Writes a scalar k and the point k G, or G if k is 0. Sets the status to `PENDING`.
fn multiple(base: Base, table: &[Affine], k: Scalar, out: &mut Limbs, point: &mut Jacobian, status: &mut u32) {
    let k = Zeroizing::new(k);
    *out = k.plain();
    let k = Zeroizing::new(Scalar::conditional_select(&k, &Scalar::ONE, k.is_zero()));
    *point = base.windows.multiply(table, &k, base.mode);
    *status = PENDING;
}

/// Computes a signature of the digest e. `key` is (1 + d)^-1 for the private key d, k is the nonce, `point` is k G, and
/// `inverse` is 1/Z of this point. The returned flag is true if the nonce must be rejected.
fn sign(key: &Scalar, e: &Bytes32, k: &Scalar, point: &Jacobian, inverse: Fp) -> (Bytes64, bool) {
    let x = point.to_affine_by(inverse).x.plain();
    let (signature, refused) = item::sign(key, e, k, x);
    (signature, bool::from(refused | k.is_zero() | point.z.is_zero()))
}

pub(super) fn run(stage: Stage, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
    let first = items.start;
    match stage {
        Stage::Table { windows, .. } => args.each(items, |_, (point, table): (&Bytes64, &mut [Affine])| {
            table.copy_from_slice(&windows.table(Affine::from_bytes(point).unwrap_or(Affine::G)));
            Ok(())
        }),
        Stage::Points { base, given } => args.each(items, |item, (source, table, out, point, status)| {
            let k = match given {
                true => item::nonce(source).unwrap_or(Scalar::ZERO),
                false => first_scalar(Zeroizing::new(RandomKey::from_bytes(source)?.block(item as u64, 0))),
            };
            multiple(base, table, k, out, point, status);
            Ok(())
        }),
        Stage::Nonces { base, .. } => args.each(items, |item, (random_key, table, key, e, out, point, status)| {
            let k = drawn_nonce(&RandomKey::from_bytes(random_key)?, item, 0, key, e);
            multiple(base, table, k, out, point, status);
            Ok(())
        }),
        Stage::Sign { given, .. } => {
            let inverses = inverses(args.input(3)?);
            args.each(items, |item, (key, e, k, point, signature, status): (&Limbs, _, &Limbs, _, &mut _, &mut u32)| {
                let (key, k) = (Scalar::new(*key), Zeroizing::new(Scalar::reduced(*k)));
                let (made, refused) = sign(&key, e, &k, point, inverses[item - first]);
                *status = match (bool::from(key.is_zero()), refused) {
                    // a status other than `PENDING` means that no nonce was written
                    _ if *status != PENDING => NOT_REACHED,
                    (true, _) => Sm2Error::PrivateKeyRange.word(),
                    (false, true) if given => Sm2Error::NonceRefused.word(),
                    (false, true) => RETRY,
                    (false, false) => OK,
                };
                *signature = if *status == OK { made } else { [0; 64] };
                Ok(())
            })
        }
        Stage::SignAgain { base, .. } => args.each(
            items,
            |item, (random_key, table, prepared, e, signature, status): (_, &[_], &Limbs, _, &mut _, &mut u32)| {
                if *status != RETRY {
                    return Ok(());
                }
                let (random_key, key) = (RandomKey::from_bytes(random_key)?, Scalar::new(*prepared));
                let made = (1..=ATTEMPTS).find_map(|attempt| {
                    let k = Zeroizing::new(drawn_nonce(&random_key, item, attempt, prepared, e));
                    if bool::from(k.is_zero()) {
                        return None;
                    }
                    let point = base.windows.multiply(table, &k, base.mode);
                    let (made, refused) = sign(&key, e, &k, &point, point.z.inverse());
                    (!refused).then_some(made)
                });
                *status = if made.is_some() { OK } else { Sm2Error::NonceRefused.word() };
                *signature = made.unwrap_or([0; 64]);
                Ok(())
            },
        ),
        Stage::Public => {
            let inverses = inverses(args.input(1)?);
            args.each(
                items,
                |item, (scalar, point, private, public, status): (&Limbs, &Jacobian, &mut _, &mut _, &mut u32)| {
                    let d = Zeroizing::new(Scalar::reduced(*scalar));
                    let bad = d.is_zero() | (*d + Scalar::ONE).is_zero() | point.z.is_zero();
                    *status = match (*status == PENDING, bool::from(bad)) {
                        // a status other than `PENDING` means that no scalar was written
                        (false, _) => NOT_REACHED,
                        (_, true) => Sm2Error::PrivateKeyRange.word(),
                        (_, false) => OK,
                    };
                    let bad = *status != OK;
                    *private = if bad { [0; 32] } else { d.to_bytes() };
                    *public = if bad { [0; 64] } else { point.to_affine_by(inverses[item - first]).to_bytes() };
                    Ok(())
                },
            )
        }
        Stage::Prepare => {
            let (keys, out) = (args.input::<Bytes32>(0)?, args.output::<Limbs>(1)?);
            for (keys, out) in keys.chunks(TOGETHER).zip(out.chunks_mut(TOGETHER)) {
                let prepared = keys.iter().map(|key| match item::nonce(key) {
                    Ok(d) => d + Scalar::ONE,
                    Err(_) => Scalar::ZERO,
                });
                let mut prepared = Zeroizing::new(prepared.collect::<Vec<_>>());
                Scalar::invert_all(&mut prepared);
                out.iter_mut().zip(prepared.iter()).for_each(|(out, key)| *out = key.0);
            }
            Ok(())
        }
        Stage::Verify { base, keys: Keys::Each(windows) } => {
            args.each(items, |_, (key, e, signature, of_base, table, status): (_, _, _, &[_], &[Affine], &mut u32)| {
                *status = match Affine::from_bytes(key) {
                    None => Sm2Error::PublicKeyPoint.word(),
                    // the table must be that of this key: the table of another key would verify that key's signatures
                    key if table.first() != key.as_ref() => NOT_REACHED,
                    _ => told(item::verify_by(e, signature, |s, t| {
                        base.add_public(windows.multiply_public(table, t), of_base, s)
                    })),
                };
                Ok(())
            })
        }
        Stage::Verify { base, keys: Keys::Cached(windows, _) } => args.each(
            items,
            |_, (number, e, signature, of_base, tables, status): (&u32, _, _, &[_], &[_], &mut u32)| {
                *status = told(match tables.chunks_exact(windows.points()).nth(*number as usize) {
                    None => Err(Sm2Error::PublicKeyPoint),
                    Some(table) => item::verify_by(e, signature, |s, t| {
                        base.add_public(windows.add_public(Jacobian::INFINITY, table, t), of_base, s)
                    }),
                });
                Ok(())
            },
        ),
        Stage::Identity { .. } => {
            args.each(items, |_, (id, length, key, identity): (&[u8], &u32, &Bytes64, &mut Bytes32)| {
                *identity = message::identity(key, &id[..id.len().min(MAX_ID_BYTES).min(*length as usize)]);
                Ok(())
            })
        }
        Stage::Digest { .. } => {
            args.each(items, |_, (identity, text, length, digest): (&Bytes32, &[u8], &u32, &mut Bytes32)| {
                *digest = message::digest(identity, &text[..text.len().min(*length as usize)]);
                Ok(())
            })
        }
    }
}

/// Returns the status word for the result of a verification.
fn told(verdict: Result<(), Sm2Error>) -> u32 {
    status(verdict.err())
}

/// Returns 1/Z of each point, or 0 for infinity. Groups of `TOGETHER` points share an inversion (Montgomery's trick).
fn inverses(points: &[Jacobian]) -> Zeroizing<Vec<Fp>> {
    let mut inverses = Zeroizing::new(points.iter().map(|point| point.z).collect::<Vec<_>>());
    inverses.chunks_mut(TOGETHER).for_each(Fp::invert_all);
    inverses
}
