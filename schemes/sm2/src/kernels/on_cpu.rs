//! What the kernels mean, on the CPU.

use core::ops::Range;

use ringforge::{Args, Draws, Error, Result};
use ringforge_batch::Reason;
use sm3::{Digest as _, Sm3};
use subtle::ConditionallySelectable;
use zeroize::Zeroizing;

use super::{ATTEMPTS, Keys, Stage};
use crate::field::{Fp, Limbs, Scalar};
use crate::item;
use crate::message;
use crate::params::MAX_ID_BYTES;
use crate::point::{Affine, Jacobian};
use crate::windows::{Mode, Windows};

const FINE: u32 = Reason::FINE;
/// The nonce was refused, and another one is to be drawn: what no item is left with.
pub(crate) const RETRY: u32 = 255;
pub(super) const NONCE_REFUSED: u32 = Reason::status(Some(Reason::NonceRefused));

/// Items that share an inversion.
const TOGETHER: usize = 32;

type Bytes32 = [u8; 32];
type Bytes64 = [u8; 64];

/// A nonce for this prepared key and this digest, or 0.
fn drawn_nonce(draws: &Draws, item: usize, attempt: u32, key: &Limbs, e: &Bytes32) -> Scalar {
    let mut context = Zeroizing::new([0; 64]);
    context[..32].copy_from_slice(bytemuck::bytes_of(key));
    context[32..].copy_from_slice(e);
    first_scalar(Zeroizing::new(draws.hedged_block(item as u64, attempt, &context)))
}

/// The first scalar in range of a block's two candidates, or 0.
fn first_scalar(block: Zeroizing<[u8; 64]>) -> Scalar {
    let candidates = block.as_chunks::<32>().0.iter().map(|bytes| {
        let mut bytes = Zeroizing::new(*bytes);
        bytes.reverse();
        item::nonce(&bytes).unwrap_or(Scalar::ZERO)
    });
    candidates.fold(Scalar::ZERO, |k, next| Scalar::conditional_select(&k, &next, k.is_zero()))
}

/// Writes scalars, and their multiples of the base point; for 0, which is none, the base point.
fn multiples(
    (base, table, mode): (Windows, &[Affine], Mode),
    scalars: impl Iterator<Item = Scalar>,
    out: &mut [Limbs],
    points: &mut [Jacobian],
    statuses: &mut [u32],
) {
    for (((k, out), point), status) in scalars.zip(out).zip(points).zip(statuses) {
        let k = Zeroizing::new(k);
        *out = k.plain();
        let k = Zeroizing::new(Scalar::conditional_select(&k, &Scalar::ONE, k.is_zero()));
        *point = base.multiply(table, &k, mode);
        *status = Reason::PENDING;
    }
}

/// What a nonce's point gives: the signature and whether the nonce must be refused.
fn sign(key: &Scalar, e: &Bytes32, k: &Scalar, point: &Jacobian, inverse: Fp) -> (Bytes64, bool) {
    let x = point.to_affine_by(inverse).x.plain();
    let (signature, refused) = item::sign(key, e, k, x);
    (signature, bool::from(refused | k.is_zero() | point.z.is_zero()))
}

pub(super) fn run(stage: Stage, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
    match stage {
        Stage::Table { windows, shared } => {
            let points = args.input::<Bytes64>(0)?;
            let out = args.output::<Affine>(1)?;
            for (i, out) in out.chunks_exact_mut(windows.points()).enumerate() {
                let point = Affine::from_bytes(&points[if shared { 0 } else { i }]).unwrap_or(Affine::G);
                out.copy_from_slice(&windows.table(point));
            }
        }
        Stage::Points { base, mode, given } => {
            let base = (base, args.input(1)?, mode);
            let (out, points, statuses) = (args.output(2)?, args.output(3)?, args.output(4)?);
            if given {
                let given = args.input::<Bytes32>(0)?.iter();
                multiples(base, given.map(|bytes| item::nonce(bytes).unwrap_or(Scalar::ZERO)), out, points, statuses);
            } else {
                let draws = Draws::from_bytes(args.input(0)?)?;
                let drawn = items.map(|item| first_scalar(Zeroizing::new(draws.block(item as u64, 0))));
                multiples(base, drawn, out, points, statuses);
            }
        }
        Stage::Nonces { base, mode, one_key } => {
            let draws = Draws::from_bytes(args.input(0)?)?;
            let base = (base, args.input(1)?, mode);
            let (keys, digests) = (args.input::<Limbs>(2)?, args.input::<Bytes32>(3)?);
            let drawn = items.zip(digests).enumerate();
            let drawn = drawn.map(|(i, (item, e))| drawn_nonce(&draws, item, 0, &keys[if one_key { 0 } else { i }], e));
            multiples(base, drawn, args.output(4)?, args.output(5)?, args.output(6)?);
        }
        Stage::Sign { one_key, given } => {
            let (keys, digests) = (args.input::<Limbs>(0)?, args.input::<Bytes32>(1)?);
            let (nonces, points) = (args.input::<Limbs>(2)?, args.input::<Jacobian>(3)?);
            let (signatures, statuses) = (args.output::<Bytes64>(4)?, args.output::<u32>(5)?);
            let inverses = inverses(points);
            for i in 0..digests.len() {
                let key = Scalar::new(keys[if one_key { 0 } else { i }]);
                let k = Zeroizing::new(Scalar::reduced(nonces[i]));
                let (signature, refused) = sign(&key, &digests[i], &k, &points[i], inverses[i]);
                statuses[i] = match (bool::from(key.is_zero()), refused) {
                    // the nonce is what memory held
                    _ if statuses[i] != Reason::PENDING => Reason::NOT_REACHED,
                    (true, _) => Reason::status(Some(Reason::PrivateKeyRange)),
                    (false, true) if given => NONCE_REFUSED,
                    (false, true) => RETRY,
                    (false, false) => FINE,
                };
                signatures[i] = if statuses[i] == FINE { signature } else { [0; 64] };
            }
        }
        Stage::SignAgain { base, mode, one_key } => {
            let draws = Draws::from_bytes(args.input(0)?)?;
            let (keys, digests) = (args.input::<Limbs>(2)?, args.input::<Bytes32>(3)?);
            let table = args.input(1)?;
            let (signatures, statuses) = (args.output::<Bytes64>(4)?, args.output::<u32>(5)?);
            for (i, item) in items.enumerate() {
                if statuses[i] != RETRY {
                    continue;
                }
                let prepared = &keys[if one_key { 0 } else { i }];
                let key = Scalar::new(*prepared);
                let signature = (1..=ATTEMPTS).find_map(|attempt| {
                    let k = Zeroizing::new(drawn_nonce(&draws, item, attempt, prepared, &digests[i]));
                    if bool::from(k.is_zero()) {
                        return None;
                    }
                    let point = base.multiply(table, &k, mode);
                    let (signature, refused) = sign(&key, &digests[i], &k, &point, point.z.inverse());
                    (!refused).then_some(signature)
                });
                statuses[i] = if signature.is_some() { FINE } else { NONCE_REFUSED };
                signatures[i] = signature.unwrap_or([0; 64]);
            }
        }
        Stage::Public => {
            let (scalars, points) = (args.input::<Limbs>(0)?, args.input::<Jacobian>(1)?);
            let (private, public) = (args.output::<Bytes32>(2)?, args.output::<Bytes64>(3)?);
            let statuses = args.output::<u32>(4)?;
            let inverses = inverses(points);
            for i in 0..scalars.len() {
                let d = Zeroizing::new(Scalar::reduced(scalars[i]));
                let bad = d.is_zero() | (*d + Scalar::ONE).is_zero() | points[i].z.is_zero();
                let reached = statuses[i] == Reason::PENDING;
                statuses[i] = match (reached, bool::from(bad)) {
                    // the scalar is what memory held
                    (false, _) => Reason::NOT_REACHED,
                    (_, true) => Reason::status(Some(Reason::PrivateKeyRange)),
                    (_, false) => FINE,
                };
                let bad = statuses[i] != FINE;
                private[i] = if bad { [0; 32] } else { d.to_bytes() };
                public[i] = if bad { [0; 64] } else { points[i].to_affine_by(inverses[i]).to_bytes() };
            }
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
        }
        Stage::Verify { base, keys } => {
            let (digests, signatures) = (args.input::<Bytes32>(1)?, args.input::<Bytes64>(2)?);
            let (base_table, tables) = (args.input(3)?, args.input::<Affine>(4)?);
            let statuses = args.output::<u32>(5)?;
            let verify = |key: Option<&[Affine]>, windows: Windows, i: usize| {
                let key = key.ok_or(Reason::PublicKeyPoint)?;
                item::verify_by(&digests[i], &signatures[i], |s, t| {
                    let of_key = match keys {
                        Keys::Each(_) => windows.multiply_public(key, t),
                        Keys::Cached(..) => windows.add_public(Jacobian::INFINITY, key, t),
                    };
                    base.add_public(of_key, base_table, s)
                })
            };
            let verdict = |i: usize| match keys {
                Keys::Each(windows) => {
                    let row = tables.chunks_exact(windows.row()).nth(i);
                    Ok::<_, Error>(match Affine::from_bytes(&args.input::<Bytes64>(0)?[i]) {
                        None => Err(Reason::PublicKeyPoint),
                        // a table that was not made for this key says whatever its own key would
                        key if row.is_some_and(|row| row.first() != key.as_ref()) => Err(Reason::NotReached),
                        _ => verify(row, windows, i),
                    })
                }
                Keys::Cached(windows, _) => {
                    let number = args.input::<u32>(0)?[i] as usize;
                    Ok(verify(tables.chunks_exact(windows.points()).nth(number), windows, i))
                }
            };
            for (i, status) in statuses.iter_mut().enumerate() {
                *status = Reason::status(verdict(i)?.err());
            }
        }
        Stage::Identity { words, one_id } => {
            let (ids, lengths) = (args.input::<u8>(0)?, args.input::<u32>(1)?);
            let (keys, identities) = (args.input::<Bytes64>(2)?, args.output::<Bytes32>(3)?);
            for (i, (key, identity)) in keys.iter().zip(identities).enumerate() {
                let place = if one_id { 0 } else { i };
                let slot = &ids[4 * words * place..][..4 * words];
                let length = slot.len().min(MAX_ID_BYTES).min(lengths[place] as usize);
                *identity = message::identity(key, &slot[..length]);
            }
        }
        Stage::Digest { words, one_identity } => {
            let (identities, messages) = (args.input::<Bytes32>(0)?, args.input::<u8>(1)?);
            let (lengths, digests) = (args.input::<u32>(2)?, args.output::<Bytes32>(3)?);
            for (i, digest) in digests.iter_mut().enumerate() {
                let slot = &messages[4 * words * i..][..4 * words];
                let message = &slot[..slot.len().min(lengths[i] as usize)];
                let hash = Sm3::new().chain_update(identities[if one_identity { 0 } else { i }]);
                *digest = hash.chain_update(message).finalize().into();
            }
        }
    }
    Ok(())
}

/// 1/Z of each, with an inversion for some of them at a time.
fn inverses(points: &[Jacobian]) -> Zeroizing<Vec<Fp>> {
    let mut inverses = Zeroizing::new(points.iter().map(|point| point.z).collect::<Vec<_>>());
    inverses.chunks_mut(TOGETHER).for_each(Fp::invert_all);
    inverses
}
