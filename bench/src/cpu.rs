//! Compares the engine and the schemes on this machine's CPU with other crates, on the same inputs, in the same run,
//! with the same number of threads.

#[cfg(feature = "pqclean")]
mod pqclean;

use std::hint::black_box;

use anyhow::{Context, Result};
use ark_bls12_381::Fr;
use ark_ff::Field;
use ark_poly::{EvaluationDomain, Radix2EvaluationDomain};
use ringforge::{Device, Job, Modulus, Op, Order, Planner, PolyType, Ring};
use ringforge_sm2::PrivateKey;
use ringforge_testkit::bytes;
use sm2::dsa::Signature;
use sm2::dsa::signature::hazmat::{PrehashSigner, PrehashVerifier};

use crate::zk;
use ringforge_cli::environment;
use ringforge_cli::jobs::Task;
use ringforge_cli::measure::{self, Effort, Times};
use ringforge_cli::record::Measurement;
use ringforge_cli::roofline::Roofline;
use ringforge_cli::sample;
use ringforge_cli::session::Bench;
use ringforge_cli::suite::{Case, Figure, Scope, Suite};

pub(crate) static SUITE: Suite = Suite {
    name: "CPU",
    title: "A CPU beside its peers",
    about: "The same plans and schemes without a GPU, beside crates for the same task, in place, on the same inputs and \
            with equal thread counts. No other crate implements CTRU, so CTRU-768 is compared with ML-KEM-768, which has \
            the same strength. Single CTRU operations on a CPU are slower than PQClean's, which is written by hand for \
            AVX2.",
    figure: Figure::Item,
    headline: Some(("BLS12-381 Fr 2^20", "forward")),
    cases,
    ..Suite::NONE
};

/// The implementation that a case is compared with.
#[derive(Debug, Clone, Copy)]
enum Against {
    /// arkworks' transform over BLS12-381's scalar field, on all threads. The number is log2 of the length.
    ArkPoly(u32),
    /// tfhe-ntt's transform modulo x^n + 1. The numbers are the bits of the prime, 31 or more, and log2 n.
    TfheNtt(u32, u32),
    Sm2,
    #[cfg(feature = "pqclean")]
    MlKem,
}

/// Name of a case, the implementation that it is compared with, its operations, and whether `--quick` measures it too.
type Entry = (&'static str, Against, &'static [&'static str], bool);

const CASES: &[Entry] = &[
    ("BLS12-381 Fr 2^16", Against::ArkPoly(16), &["forward", "inverse"], true),
    ("BLS12-381 Fr 2^18", Against::ArkPoly(18), &["forward", "inverse"], false),
    ("BLS12-381 Fr 2^20", Against::ArkPoly(20), &["forward", "inverse"], false),
    ("x^n + 1, 31 bits, 2^12", Against::TfheNtt(31, 12), &["forward", "inverse"], false),
    ("x^n + 1, 31 bits, 2^16", Against::TfheNtt(31, 16), &["forward", "inverse"], false),
    ("x^n + 1, 50 bits, 2^12", Against::TfheNtt(50, 12), &["forward", "inverse"], false),
    ("x^n + 1, 50 bits, 2^14", Against::TfheNtt(50, 14), &["forward", "inverse"], false),
    ("x^n + 1, 50 bits, 2^16", Against::TfheNtt(50, 16), &["forward", "inverse"], false),
    ("x^n + 1, 60 bits, 2^12", Against::TfheNtt(60, 12), &["forward", "inverse"], true),
    ("x^n + 1, 60 bits, 2^14", Against::TfheNtt(60, 14), &["forward", "inverse"], false),
    ("x^n + 1, 60 bits, 2^16", Against::TfheNtt(60, 16), &["forward", "inverse"], false),
    ("SM2", Against::Sm2, &["sign", "verify"], true),
    #[cfg(feature = "pqclean")]
    ("CTRU-768", Against::MlKem, &["KeyGen", "Encaps", "Decaps"], true),
];

/// Number of calls that are timed together if one call takes microseconds.
const CALLS: usize = 64;

fn cases(scope: &Scope) -> Result<Vec<Case>> {
    let case = |&(name, against, operations, _): &Entry| {
        let scope = scope.clone();
        Case::new(name, operations, move |bench, _| {
            let all = matches!(against, Against::ArkPoly(_));
            let threads = if all { environment::threads() } else { 1 };
            let lines = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?.install(|| match against {
                Against::ArkPoly(log_n) => ark_poly(scope.log_n(log_n), bench),
                Against::TfheNtt(bits, log_n) => tfhe_ntt(bits, scope.log_n(log_n), bench),
                Against::Sm2 => sm2(bench.effort),
                #[cfg(feature = "pqclean")]
                Against::MlKem => pqclean::ml_kem(bench.effort),
            });
            let named = |line| Measurement { case: name.into(), threads: Some(threads), ..line };
            Ok(lines?.into_iter().map(named).collect())
        })
    };
    Ok(CASES.iter().filter(|(.., quick)| scope.wants(*quick)).map(case).collect())
}

/// Returns the measurement of an operation, with the time of another implementation.
fn line(operation: &str, times: Times, (peer, peer_times): (&str, Times), checked: (&str, bool)) -> Measurement {
    Measurement::new("", operation, 1, times).beside(peer, peer_times.median_seconds).checked(checked.0, checked.1)
}

/// Measures the engine's transform repeatedly over the same buffer, and another implementation's transform.
fn transform(bench: &Bench, task: &Task<'_>, peer: &str, mut theirs: impl FnMut()) -> Result<Measurement> {
    let cpu = Device::cpu();
    let planner = Planner::new(cpu.limits().clone());
    let line = task.line(&Bench { device: cpu, planner, ..bench.clone() }, "", bench.effort)?;
    let times = measure::wall(bench.effort, || {
        theirs();
        Ok(())
    })?;
    // no roofline bound, because it would be that of the bench's device instead of the CPU
    Ok(line.beside(peer, times.median_seconds).above(Roofline::default()))
}

/// Compares with ark-poly: transforms in place, in natural order, with all threads.
fn ark_poly(log_n: u32, bench: &Bench) -> Result<Vec<Measurement>> {
    let domain = Radix2EvaluationDomain::<Fr>::new(1 << log_n).context("arkworks has no domain of this size")?;
    let ring = zk::coset(1 << log_n, Fr::ONE)?;
    let inputs = sample::elements(&ring, 1, 0, 1)?;
    let mut data = inputs.chunks_exact(32).map(zk::element).collect::<Vec<Fr>>();
    let mut line = |op| {
        let peer = || match op {
            Op::Forward => domain.fft_in_place(&mut data),
            _ => domain.ifft_in_place(&mut data),
        };
        let job = Job::new(&ring, op).order(Order::Natural).in_place();
        let definition = zk::definition(op, Fr::ONE);
        let task = Task { sets: Some(1), definition: Some((zk::CHECKED, &definition)), ..Task::new(&job, 1) };
        transform(bench, &task, "ark-poly 0.6, parallel", peer)
    };
    Ok(vec![line(Op::Forward)?, line(Op::Inverse)?])
}

/// Compares with tfhe-ntt: in-place transforms, with evaluations in each implementation's own order. The inverse of
/// tfhe-ntt leaves out the factor 1/n; the engine's includes it.
fn tfhe_ntt(bits: u32, log_n: u32, bench: &Bench) -> Result<Vec<Measurement>> {
    let n = 1 << log_n;
    let ring = PolyType::from(Ring::rns(n, &Modulus::ntt_primes(2 * n as u64, bits, 1)?)?);
    let q = ring.moduli()[0].value_u64().context("the modulus must have at most 64 bits")?;
    let inputs = sample::elements(&ring, 2, 0, 1)?;
    let words = inputs.chunks_exact(ring.width().bytes());
    let mut data: Vec<u64> = words.map(|word| word.iter().rev().fold(0, |x, &byte| x << 8 | u64::from(byte))).collect();
    let mut short = data.iter().map(|&word| word.try_into().unwrap_or_default()).collect::<Vec<u32>>();
    let mut peer: Box<dyn FnMut(Op)> = match u32::try_from(q) {
        Ok(q) => {
            let plan = tfhe_ntt::prime32::Plan::try_new(n, q).context("tfhe-ntt has no plan for this prime")?;
            Box::new(move |op| if op == Op::Forward { plan.fwd(&mut short) } else { plan.inv(&mut short) })
        }
        Err(_) => {
            let plan = tfhe_ntt::prime64::Plan::try_new(n, q).context("tfhe-ntt has no plan for this prime")?;
            Box::new(move |op| if op == Op::Forward { plan.fwd(&mut data) } else { plan.inv(&mut data) })
        }
    };
    let mut line = |op| {
        let job = Job::new(&ring, op).in_place();
        transform(bench, &Task { sets: Some(1), ..Task::new(&job, 1) }, "tfhe-ntt 0.7", || peer(op))
    };
    Ok(vec![line(Op::Forward)?, line(Op::Inverse)?])
}

/// Compares SM2 with the `sm2` crate. Nonces follow RFC 6979, so that both sides produce the same signatures.
fn sm2(effort: Effort) -> Result<Vec<Measurement>> {
    const PEER: &str = "sm2 0.14";
    let digests =
        (0..CALLS).map(|i| Ok(bytes(i as u64, 32).as_slice().try_into()?)).collect::<Result<Vec<[u8; 32]>>>()?;
    let ours = PrivateKey::from_bytes(&[0x42; 32])?;
    let theirs = sm2::dsa::SigningKey::new("1234567812345678", &sm2::SecretKey::from_slice(&[0x42; 32])?)?;
    let (own, others) = (ours.public_key(), theirs.verifying_key());
    let signatures: Vec<_> = digests.iter().map(|digest| ours.sign_digest(digest)).collect();
    let peers = digests.iter().map(|digest| theirs.sign_prehash(digest)).collect::<Result<Vec<Signature>, _>>()?;
    let same = peers.iter().zip(&signatures).all(|(a, b)| a.to_bytes()[..] == b.to_bytes());
    let sign = each(effort, |i| Ok(ours.sign_digest(&digests[i])))?;
    let peer_sign = each(effort, |i| Ok(theirs.sign_prehash(&digests[i]).map(|signature: Signature| signature)?))?;
    let verify = each(effort, |i| Ok(own.verify_digest(&digests[i], &signatures[i])?))?;
    let peer_verify = each(effort, |i| Ok(others.verify_prehash(&digests[i], &peers[i])?))?;
    let checked = ("signatures are the peer's, and both sides verify them", same);
    Ok(vec![line("sign", sign, (PEER, peer_sign), checked), line("verify", verify, (PEER, peer_verify), checked)])
}

/// Returns the time of one call, from [`CALLS`] calls that are timed together.
fn each<T>(effort: Effort, mut call: impl FnMut(usize) -> Result<T>) -> Result<Times> {
    let calls = || (0..CALLS).try_for_each(|i| call(i).map(|made| drop(black_box(made))));
    let times = measure::wall(effort, calls)?;
    let [median_seconds, p95_seconds] = [times.median_seconds, times.p95_seconds].map(|all| all / CALLS as f64);
    Ok(Times { median_seconds, p95_seconds, runs_per_sample: CALLS, ..times })
}
