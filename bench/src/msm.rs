//! Multi-scalar multiplications, KZG commitments and openings, and whole Groth16 proofs.
//!
//! The points are multiples of a generator, so that the sum is known: it is compared with one multiple of the generator.
//! Proofs are compared with ark-groth16's for the same random numbers, where that takes no minutes, and verified.

pub(crate) mod groth16;
mod kzg;
mod vectors;

use anyhow::Result;
use ark_bls12_381::Bls12_381;
use ark_bn254::Bn254;
use ark_ec::CurveGroup;
use ark_ec::pairing::Pairing;
use ark_ff::{AdditiveGroup, Field, PrimeField, UniformRand};
use ark_std::rand::{Rng, SeedableRng, rngs::StdRng};
use rayon::prelude::*;
use ringforge::{Buffer, Device, Engine, Stream};
use ringforge_arkworks::{DevicePoint, EngineField};
use ringforge_cli::measure::{self, Times};
use ringforge_cli::record::Measurement;
use ringforge_cli::roofline::Roofline;
use ringforge_cli::session::Bench;
use ringforge_cli::suite::{Case, Figure, Quoted, Scope, Suite};
use ringforge_msm::{Bases, Check, Curve, HostBases, ScalarForm, Sums, multiples};

pub(crate) static SUITE: Suite = Suite {
    name: "MSM",
    title: "Multi-scalar multiplication, KZG and Groth16",
    about: "Sums of points times scalars, with points and scalars on the device, until the sum is on the host; KZG \
            commitments and openings of polynomials in host memory; operations on vectors; and Groth16 proofs from the assignment in host \
            memory, verified before they are handed out. All by the host's clock.",
    figure: Figure::Item,
    headline: Some(("BLS12-381 G1 2^20", "random scalars")),
    quoted: QUOTED,
    cases,
    ..Suite::NONE
};

const fn sppark(case: &'static str, seconds: &'static [(&'static str, f64)]) -> Quoted {
    let source = "run by us on an H200 on 2026-11-26, with its best window";
    Quoted { case, peer: "sppark 0.1.16", source, device: Some("H200"), seconds }
}

const fn icicle(case: &'static str, seconds: &'static [(&'static str, f64)]) -> Quoted {
    let source = "run by us on an H200 on 2026-11-26, with its best window and no tables";
    Quoted { case, peer: "open-icicle", source, device: Some("H200"), seconds }
}

const QUOTED: &[Quoted] = &[
    sppark("BLS12-381 G1 2^16", &[(KINDS[0], 4.49e-3), (KINDS[1], 3.45e-3)]),
    sppark("BLS12-381 G1 2^18", &[(KINDS[0], 6.88e-3), (KINDS[1], 4.11e-3)]),
    sppark("BLS12-381 G1 2^20", &[(KINDS[0], 15.8e-3), (KINDS[1], 6.92e-3)]),
    sppark("BLS12-381 G1 2^22", &[(KINDS[0], 42.9e-3), (KINDS[1], 16.0e-3)]),
    sppark("BLS12-381 G2 2^18", &[(KINDS[0], 14.3e-3)]),
    sppark("BLS12-381 G2 2^20", &[(KINDS[0], 37.7e-3)]),
    sppark("BLS12-381 G2 2^22", &[(KINDS[0], 122e-3)]),
    sppark("BN254 G1 2^20", &[(KINDS[0], 8.23e-3), (KINDS[1], 4.5e-3)]),
    sppark("BN254 G1 2^22", &[(KINDS[0], 22.4e-3), (KINDS[1], 10.1e-3)]),
    icicle("BLS12-381 G1 2^16", &[(KINDS[0], 10.3e-3)]),
    icicle("BLS12-381 G1 2^18", &[(KINDS[0], 12.2e-3)]),
    icicle("BLS12-381 G1 2^20", &[(KINDS[0], 18.6e-3)]),
    icicle("BLS12-381 G1 2^22", &[(KINDS[0], 41.7e-3)]),
    icicle("BLS12-381 G1 2^24", &[(KINDS[0], 130e-3)]),
    icicle("BN254 G1 2^20", &[(KINDS[0], 8.39e-3)]),
    icicle("BN254 G1 2^22", &[(KINDS[0], 21.4e-3)]),
    icicle("BN254 G1 2^24", &[(KINDS[0], 71.8e-3)]),
    icicle("BLS12-381 G2 2^18", &[(KINDS[0], 50.5e-3)]),
    icicle("BLS12-381 G2 2^20", &[(KINDS[0], 90e-3)]),
    icicle("BLS12-381 G2 2^22", &[(KINDS[0], 244e-3)]),
];

/// A group whose sums are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    Bn254,
    Bls12,
    Bls12G2,
}

/// Name, log2 of the numbers of points, limbs of 32 bits of a coordinate, and degree of its field.
const GROUPS: [(Group, &str, &[u32], f64, u32); 3] = [
    (Group::Bn254, "BN254 G1", &[16, 20, 22, 24], 8.0, 1),
    (Group::Bls12, "BLS12-381 G1", &[16, 18, 20, 22, 24], 12.0, 1),
    (Group::Bls12G2, "BLS12-381 G2", &[18, 20, 22], 12.0, 2),
];
const CPU_LOG_N: u32 = 12;

/// Operations: kinds of scalars.
pub(crate) const KINDS: [&str; 3] = ["random scalars", "nine in ten 0, 1 or -1", "random scalars, tables"];

fn cases(scope: &Scope) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for (group, name, sizes, limbs, degree) in GROUPS {
        for &log_n in sizes.iter().filter(|log_n| scope.wants(**log_n == 20)) {
            let log_n = if scope.cpu { log_n.min(CPU_LOG_N) } else { log_n };
            for kind in KINDS {
                let (name, n) = (format!("{name} 2^{log_n}"), 1 << scope.log_n(log_n));
                let case = Case::of_batches(name.clone(), kind, vec![1], move |bench, _| {
                    let (times, right) = match group {
                        Group::Bn254 => sum::<<Bn254 as Pairing>::G1Affine>(bench, n, kind),
                        Group::Bls12 => sum::<<Bls12_381 as Pairing>::G1Affine>(bench, n, kind),
                        Group::Bls12G2 => sum::<<Bls12_381 as Pairing>::G2Affine>(bench, n, kind),
                    }?;
                    let line = Measurement::new(name.clone(), kind, 1, times);
                    let line = if kind == KINDS[0] { line.above(floor(bench, n, limbs, degree)) } else { line };
                    Ok(line.checked("the sum, with one multiple of the generator", right))
                });
                if !cases.iter().any(|other: &Case| other.name == case.name && other.operations == case.operations) {
                    cases.push(case);
                }
            }
        }
    }
    cases.extend(streamed(scope));
    cases.extend(kzg::cases(scope));
    cases.extend(vectors::cases(scope));
    cases.extend(groth16::cases(scope));
    Ok(cases)
}

/// A sum over more bases than one would keep on a device.
fn streamed(scope: &Scope) -> Option<Case> {
    let log_n = if scope.cpu { CPU_LOG_N } else { LOG_N_STREAMED };
    let (name, n) = (format!("BN254 G1 2^{log_n}"), 1 << scope.log_n(log_n));
    scope.wants(false).then(|| {
        Case::of_batches(name.clone(), STREAMED, vec![1], move |bench, _| {
            let (times, resident, right) = sum_from_host::<<Bn254 as Pairing>::G1Affine>(bench, n)?;
            let line = Measurement::new(name.clone(), STREAMED, 1, times).beside("bases on the device", resident);
            Ok(line.checked("the sum, with one multiple of the generator", right))
        })
    })
}

const LOG_N_STREAMED: u32 = 26;
const STREAMED: &str = "random scalars, bases and scalars in host memory";

/// Measures a sum of n points in page-locked memory. Returns its times, those with bases on the device and the scalars
/// copied, and true if it is right.
fn sum_from_host<G: DevicePoint<ScalarField: EngineField>>(bench: &Bench, n: usize) -> Result<(Times, f64, bool)> {
    let Sum { curve, points, scalars, expected } = Sum::new::<G>(bench.seed, n, KINDS[0])?;
    let engine = Engine::on(bench.device.clone());
    let (mut of_points, mut of_scalars) = (bench.device.pinned(points.len())?, bench.device.pinned(32 * n)?);
    let (of_points, of_scalars) = (of_points.elements_mut()?, of_scalars.elements_mut()?);
    of_points.copy_from_slice(&points);
    of_scalars.copy_from_slice(bytemuck::cast_slice(&scalars));
    drop(points);
    let mut found = Vec::new();
    let bases = HostBases::new(&engine, &curve, of_points, Check::Trusted)?.in_subgroup();
    let times = measure::wall(bench.effort, || {
        found = bases.msm(of_scalars, ScalarForm::Plain)?;
        Ok(())
    })?;
    let bases = Bases::upload(&engine, &curve, of_points, Check::Trusted)?.in_subgroup();
    let mut again = Vec::new();
    let resident = measure::wall(bench.effort, || {
        again = bases.msm(of_scalars, ScalarForm::Plain)?;
        Ok(())
    })?;
    Ok((times, resident.median_seconds, found == expected && again == expected))
}

/// The roofline bound of a sum with the best window. An addition takes five products and a square. There are two further
/// additions per bucket. A digit moves 44 bytes to be sorted, and an addition moves five points.
fn floor(bench: &Bench, n: usize, limbs: f64, degree: u32) -> Roofline {
    let (product, square) = match degree {
        1 => (2.0 * limbs * limbs + limbs / 2.0, limbs * (limbs + 1.0) / 2.0 + limbs * limbs + limbs / 2.0),
        _ => (5.0 * limbs * limbs + limbs, 4.0 * limbs * limbs + limbs),
    };
    let (bits, n) = (if limbs > 8.0 { 255.0 } else { 254.0 }, n as f64);
    let additions = |width: u32| {
        let windows = f64::ceil(bits / f64::from(width));
        let (entries, buckets) =
            (windows * n * (1.0 - 0.5f64.powi(width as i32)), windows * 2f64.powi(width as i32 - 1));
        let full = buckets * (1.0 - (-entries / buckets).exp());
        (entries + full, entries)
    };
    let best = (4..24).map(additions).min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or_default();
    let bytes = best.1 * 44.0 + best.0 * 5.0 * limbs * 8.0 * f64::from(degree);
    Roofline::new(Some(2.0 * best.0 * (5.0 * product + square)), None, bytes as usize, &bench.peaks)
}

/// The curve, and the first n multiples of the generator: 1 G, 2 G, 3 G, …
fn multiples_of<G: DevicePoint>(n: usize) -> Result<(Curve, Vec<u8>)> {
    let (curve, mut generator) = (G::curve()?, Vec::new());
    G::generator().write(&mut generator);
    let points = multiples(&curve, bytemuck::cast_slice(&generator), n);
    Ok((curve, points))
}

/// The first n multiples of the generator, as points of arkworks.
fn points_of<G: DevicePoint>(n: usize) -> Result<Vec<G>> {
    let (curve, bytes) = multiples_of::<G>(n)?;
    let words = |point: &[u8]| point.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect::<Vec<_>>();
    Ok(bytes.par_chunks(curve.point_bytes()).map(|point| G::read(&words(point))).collect())
}

/// The sum of 1 x_1, 2 x_2, 3 x_3, …: what scalars make of [`multiples_of`] the generator.
fn numbered<F: Field>(scalars: &[F]) -> F {
    let (mut number, mut total) = (F::ZERO, F::ZERO);
    for scalar in scalars {
        number += F::ONE;
        total += number * scalar;
    }
    total
}

/// A multiplication of n multiples of the generator, and what it must give.
struct Sum {
    curve: Curve,
    points: Vec<u8>,
    scalars: Vec<[u64; 4]>,
    expected: Vec<u8>,
}

/// Measures a sum of n points. Returns its times, and true if it is right.
fn sum<G: DevicePoint<ScalarField: EngineField>>(bench: &Bench, n: usize, kind: &str) -> Result<(Times, bool)> {
    let Sum { curve, points, scalars, expected } = Sum::new::<G>(bench.seed, n, kind)?;
    let mut bases = Bases::upload(&Engine::on(bench.device.clone()), &curve, &points, Check::Trusted)?.in_subgroup();
    drop(points);
    if kind == KINDS[2] {
        bases = bases.with_tables(kzg::TABLES)?;
    }
    let stream = bench.device.stream()?;
    let scalars = stream.upload_secret(&scalars)?;
    let mut found = Vec::new();
    let times = measure::wall(bench.effort, || {
        found = bases.msm_on(&stream, &scalars, ScalarForm::Plain, 1)?;
        Ok(())
    })?;
    Ok((times, found == expected))
}

/// Measures a sum over BN254 of which each device has an equal part, and on the first device alone.
pub(crate) fn sum_on_all(bench: &Bench, name: &str, n: usize, devices: &[Device]) -> Result<Measurement> {
    let Sum { curve, points, scalars, expected } = Sum::new::<<Bn254 as Pairing>::G1Affine>(bench.seed, n, KINDS[0])?;
    let (mut measured, mut right) = (Vec::new(), true);
    for devices in [&devices[..1], devices] {
        let share = n.div_ceil(devices.len());
        let parts = devices.iter().zip(points.chunks(share * curve.point_bytes())).zip(scalars.chunks(share));
        let parts = parts.map(|((device, points), scalars)| {
            let bases = Bases::upload(&Engine::on(device.clone()), &curve, points, Check::Trusted)?.in_subgroup();
            let stream = device.stream()?;
            let scalars = stream.upload_secret(scalars)?;
            anyhow::Ok((bases, stream, scalars))
        });
        let parts = parts.collect::<Result<Vec<_>>>()?;
        measured.push(measure::wall(bench.effort, || {
            let start = |(bases, stream, scalars): &(Bases, Stream, Buffer)| {
                Ok((Sums::start(stream, &[bases], scalars, ScalarForm::Plain, 1)?, stream.clone()))
            };
            let started = parts.iter().map(start).collect::<Result<Vec<_>>>()?;
            let sums = started.into_iter().map(|(sums, stream)| Ok(sums.finish(&stream)?.concat()));
            right &= curve.sum(&sums.collect::<Result<Vec<_>>>()?.concat())? == expected;
            Ok(())
        })?);
    }
    let [one, all] = &measured[..] else { anyhow::bail!("one device and all were measured") };
    let line = Measurement::new(name, KINDS[0], 1, *all).varied(format!("{} devices", devices.len()));
    Ok(line.beside("one of them", one.median_seconds).checked("the sum, with one multiple of the generator", right))
}

impl Sum {
    fn new<G: DevicePoint<ScalarField: EngineField>>(seed: u64, n: usize, kind: &str) -> Result<Self> {
        let (curve, points) = multiples_of::<G>(n)?;
        let mut random = StdRng::seed_from_u64(seed);
        let one = G::ScalarField::ONE;
        let scalars: Vec<G::ScalarField> = (0..n)
            .map(|_| match (kind != KINDS[1], random.gen_range(0..30)) {
                (false, 0..9) => G::ScalarField::ZERO,
                (false, 9..18) => one,
                (false, 18..27) => -one,
                _ => G::ScalarField::rand(&mut random),
            })
            .collect();
        let total = numbered(&scalars);
        let scalars = scalars.iter().map(|scalar| scalar.into_bigint().0).collect();
        let mut expected = Vec::new();
        (G::generator() * total).into_affine().write(&mut expected);
        Ok(Self { curve, points, scalars, expected: bytemuck::cast_slice(&expected).to_vec() })
    }
}
