//! Multi-scalar multiplication.

use core::ffi::c_char;

use ringforge_msm::{Bases, Check, Curve, MsmError, ScalarForm};

use crate::code::{Failure, RingforgeCode, guarded};
use crate::engine::RingforgeEngine;
use crate::pointer::{Memory, give, reference, take_back, text};

/// 64-bit words of a scalar.
const SCALAR: usize = 4;

/// Points of a curve on an engine's device, which scalars are multiplied by. Threads may share it.
#[derive(Debug)]
pub struct RingforgeBases(Bases);

impl From<MsmError> for Failure {
    fn from(error: MsmError) -> Self {
        match error {
            MsmError::Engine(error) => error.into(),
            MsmError::Scalar(_) => Self::new(RingforgeCode::NotReduced, error.to_string()),
            _ => Self::new(RingforgeCode::Argument, error.to_string()),
        }
    }
}

/// The 64-bit words of a point.
fn words(curve: &Curve) -> usize {
    curve.point_bytes() / size_of::<u64>()
}

/// Copies `count` points of a curve to the engine's device. `curve` is one of `bn254:g1`, `bn254:g2`, `bls12-381:g1`,
/// `bls12-381:g2`, `bls12-377:g1`, `pallas`, `vesta`, `secp256k1` and `sm2`.
///
/// A point is x, then y, each of 64-bit words, least significant first, in Montgomery form: times 2^64 to the power of
/// the number of words of the prime. In a coordinate c0 + c1 u of G2, c0 is first. Zeros are infinity. gnark, arkworks
/// and snarkjs keep points so.
///
/// With `checked`, points that are not on the curve are refused. With `in_subgroup`, the caller promises that the
/// group's order times each point is infinity, which saves time; if that is false, sums are wrong. If tables of
/// multiples take at most `table_bytes` of device memory, they are made on a GPU; 0 for none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_bases_new(
    engine: *const RingforgeEngine,
    curve: *const c_char,
    points: *const u64,
    count: usize,
    checked: bool,
    in_subgroup: bool,
    table_bytes: usize,
    bases: *mut *mut RingforgeBases,
) -> RingforgeCode {
    guarded(|| {
        give("bases", bases, || {
            let (engine, curve) = (&reference("engine", engine)?.engine, text("curve", curve)?.parse::<Curve>()?);
            let mut points = Memory::new("points", points, count, words(&curve)).read()?.to_vec();
            // infinity has all bits set in the library
            let infinite = points.chunks_mut(words(&curve)).filter(|point| point.iter().all(|word| *word == 0));
            infinite.for_each(|point| point.fill(u64::MAX));
            let check = if checked { Check::OnCurve } else { Check::Trusted };
            let bases = Bases::upload(engine, &curve, bytes(&points), check)?;
            let bases = if in_subgroup { bases.in_subgroup() } else { bases };
            Ok(RingforgeBases(bases.with_tables(table_bytes)?))
        })
    })
}

/// Returns the number of 64-bit words of a point: 8, 12, 16 or 24; 0 for null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_bases_point_words(bases: *const RingforgeBases) -> usize {
    bases.as_ref().map_or(0, |bases| words(bases.0.curve()))
}

/// Computes `batch` sums of the first `count` points times scalars. Scalar i of sum k is at place `count` k + i, in four
/// 64-bit words, least significant first: as a plain number, or in Montgomery form (times 2^256) with `montgomery`. A
/// scalar that is not below the group's order is an error with its place. Each sum is an affine point in the form of
/// `ringforge_bases_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_msm(
    bases: *const RingforgeBases,
    scalars: *const u64,
    count: usize,
    batch: usize,
    montgomery: bool,
    sums: *mut u64,
) -> RingforgeCode {
    guarded(|| {
        let bases = &reference("bases", bases)?.0;
        let scalars = Memory::new("scalars", scalars, batch, count.saturating_mul(SCALAR));
        let sums = Memory::new("sums", sums, batch, words(bases.curve())).apart_from([scalars.bytes()])?.write()?;
        let form = if montgomery { ScalarForm::Montgomery } else { ScalarForm::Plain };
        if batch == 0 {
            return Ok(());
        }
        let found = bases.msm_batch(bytes(scalars.read()?), form, batch)?;
        for (to, point) in sums.chunks_mut(words(bases.curve())).zip(found.chunks(bases.curve().point_bytes())) {
            let infinite = point.iter().all(|byte| *byte == u8::MAX);
            for (to, word) in to.iter_mut().zip(point.as_chunks().0) {
                *to = if infinite { 0 } else { u64::from_ne_bytes(*word) };
            }
        }
        Ok(())
    })
}

/// Frees bases; null is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_bases_free(bases: *mut RingforgeBases) {
    take_back(bases);
}

fn bytes(words: &[u64]) -> &[u8] {
    // SAFETY: bytes have no alignment and no invalid values, and the size is that of the words.
    unsafe { core::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}
