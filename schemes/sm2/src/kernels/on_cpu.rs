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
use crate::point::{Affine, Jacobian};
use crate::windows::Windows;

const FINE: u32 = Reason::FINE;
/// The nonce was refused, and another one is to be drawn: what no item is left with.
pub(crate) const RETRY: u32 = 255;
pub(super) const NONCE_REFUSED: u32 = Reason::status(Some(Reason::NonceRefused));

/// Items that share an inversion.
const TOGETHER: usize = 32;

type Bytes32 = [u8; 32];
type Bytes64 = [u8; 64];

/// The first scalar in range of a draw's two candidates, if there is one.
fn drawn(draws: &Draws, item: usize, attempt: u32) -> Scalar {
    let block = Zeroizing::new(draws.block(item as u64, attempt));
    let candidates = block.as_chunks::<32>().0.iter().map(|bytes| {
        let mut bytes = Zeroizing::new(*bytes);
        bytes.reverse();
        item::nonce(&bytes).unwrap_or(Scalar::ZERO)
    });
    candidates.fold(Scalar::ZERO, |k, next| Scalar::conditional_select(&k, &next, k.is_zero()))
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
            let scalars: Vec<Zeroizing<Scalar>> = if given {
                let given = args.input::<Bytes32>(0)?;
                given.iter().map(|bytes| Zeroizing::new(item::nonce(bytes).unwrap_or(Scalar::ZERO))).collect()
            } else {
                let draws = Draws::from_bytes(args.input(0)?)?;
                items.map(|item| Zeroizing::new(drawn(&draws, item, 0))).collect()
            };
            let table = args.input(1)?;
            let (out, points) = (args.output::<Limbs>(2)?, args.output::<Jacobian>(3)?);
            for ((k, out), point) in scalars.iter().zip(out).zip(points) {
                *out = k.plain();
                let k = Zeroizing::new(Scalar::conditional_select(k, &Scalar::ONE, k.is_zero()));
                *point = base.multiply(table, &k, mode);
            }
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
                let key = Scalar::new(keys[if one_key { 0 } else { i }]);
                let signature = (1..=ATTEMPTS).find_map(|attempt| {
                    let k = Zeroizing::new(drawn(&draws, item, attempt));
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
                let bad = bool::from(bad);
                private[i] = if bad { [0; 32] } else { d.to_bytes() };
                public[i] = if bad { [0; 64] } else { points[i].to_affine_by(inverses[i]).to_bytes() };
                statuses[i] = if bad { Reason::status(Some(Reason::PrivateKeyRange)) } else { FINE };
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
                    let key = Affine::from_bytes(&args.input::<Bytes64>(0)?[i]);
                    let row = tables.chunks_exact(windows.row()).nth(i).filter(|_| key.is_some());
                    Ok::<_, Error>(verify(row, windows, i))
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
