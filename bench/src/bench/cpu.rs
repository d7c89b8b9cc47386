//! This machine's CPU: what the engine and the schemes take beside other crates, on the same inputs, in the same run, with as
//! many threads.

use std::hint::black_box;

use anyhow::{Context, Result, ensure};
use ark_bls12_381::Fr;
use ark_ff::Field;
use ark_poly::{EvaluationDomain, Radix2EvaluationDomain};
use kem::{Decapsulate, Encapsulate, Kem};
use rand::SeedableRng;
use rand::rngs::StdRng;
use ringforge::testkit::bytes;
use ringforge::{Device, Job, Modulus, Op, Order, Program, Ring};
use ringforge_ctru::Ctru768;
use ringforge_sm2::PrivateKey;
use sm2::dsa::signature::hazmat::{PrehashSigner, PrehashVerifier};
use tfhe_ntt::prime64::Plan as Peer;

use super::suites::{Case, Figure, Scope, Suite};
use super::zk;
use crate::environment;
use crate::measure::{self, Effort, Times};
use crate::record::Measurement;
use crate::sample;
use crate::work::Work;

pub(super) static SUITE: Suite = Suite {
    name: "CPU",
    title: "A CPU beside its peers",
    about: "What the same plans and schemes take without a GPU, beside crates that do the same, on the same inputs and as many \
            threads, in place. CTRU-768 stands beside ML-KEM-768, another scheme of the same strength, since no other crate \
            has CTRU.",
    figure: Figure::Item,
    headline: Some(("BLS12-381 Fr 2^20", "forward")),
    cases,
    ..Suite::NONE
};

/// A case, what measures it, and whether it is measured with `--quick` too.
type Entry = (&'static str, Against, bool);

/// What is compared.
#[derive(Debug, Clone, Copy)]
enum Against {
    /// A transform of BLS12-381's scalar field of so many points, as a power of two, with all threads.
    ArkPoly(u32),
    /// One of x^n + 1 modulo a prime of 60 bits.
    TfheNtt(u32),
    Sm2,
    MlKem,
}

const CASES: [Entry; 8] = [
    ("BLS12-381 Fr 2^16", Against::ArkPoly(16), true),
    ("BLS12-381 Fr 2^18", Against::ArkPoly(18), false),
    ("BLS12-381 Fr 2^20", Against::ArkPoly(20), false),
    ("x^n + 1, 60 bits, 2^12", Against::TfheNtt(12), true),
    ("x^n + 1, 60 bits, 2^14", Against::TfheNtt(14), false),
    ("x^n + 1, 60 bits, 2^16", Against::TfheNtt(16), false),
    ("SM2", Against::Sm2, true),
    ("CTRU-768", Against::MlKem, true),
];

/// Calls that are timed together where one takes microseconds.
const CALLS: usize = 64;

type Domain = Radix2EvaluationDomain<Fr>;
/// A direction, and how the peer takes it.
type Side = (Op, fn(&Domain, &mut Vec<Fr>));

fn cases(scope: &Scope) -> Result<Vec<Case>> {
    let case = |&(name, against, _): &Entry| {
        let operations = match against {
            Against::ArkPoly(_) | Against::TfheNtt(_) => &["forward", "inverse"][..],
            Against::Sm2 => &["sign", "verify"],
            Against::MlKem => &["KeyGen", "Encaps", "Decaps"],
        };
        let scope = scope.clone();
        Case::new(name, operations, move |bench, _| {
            let (effort, one_thread) = (bench.effort, || rayon::ThreadPoolBuilder::new().num_threads(1).build());
            let lines = match against {
                Against::ArkPoly(log_n) => ark_poly(scope.log_n(log_n), effort)?,
                Against::TfheNtt(log_n) => one_thread()?.install(|| tfhe_ntt(scope.log_n(log_n), effort))?,
                Against::Sm2 => one_thread()?.install(|| sm2(effort))?,
                Against::MlKem => one_thread()?.install(|| ml_kem(effort))?,
            };
            let threads = if matches!(against, Against::ArkPoly(_)) { environment::threads() } else { 1 };
            Ok(lines
                .into_iter()
                .map(|line| Measurement { case: name.into(), threads: Some(threads), ..line })
                .collect())
        })
    };
    Ok(CASES.iter().filter(|(.., quick)| scope.wants(*quick)).map(case).collect())
}

/// An operation on both sides.
fn line(operation: &str, times: Times, (peer, peer_times): (&str, Times), checked: (&str, bool)) -> Measurement {
    Measurement::new("", operation, 1, times).beside(peer, peer_times.median_seconds).checked(checked.0, checked.1)
}

/// In place, in natural order, with all threads.
fn ark_poly(log_n: u32, effort: Effort) -> Result<Vec<Measurement>> {
    let domain = Domain::new(1 << log_n).context("no domain of this size")?;
    let ring = zk::coset(1 << log_n, Fr::ONE)?;
    let inputs = sample::elements(&ring, 1, 0, 1)?;
    let sides: [Side; 2] = [
        (Op::Forward, |domain, data| domain.fft_in_place(data)),
        (Op::Inverse, |domain, data| domain.ifft_in_place(data)),
    ];
    let line = |(op, peer): Side| {
        let program = program(&Job::new(&ring, op).order(Order::Natural).in_place())?;
        let (mut ours, mut theirs) = (inputs.clone(), inputs.chunks_exact(32).map(zk::element).collect::<Vec<Fr>>());
        program.on_host(1).output("data", &mut ours).run()?;
        peer(&domain, &mut theirs);
        let right = ours.chunks_exact(32).zip(&theirs).all(|(ours, theirs)| ours == zk::bytes(theirs).as_flattened());
        let times = measure::wall(effort, || Ok(program.on_host(1).output("data", &mut ours).run()?))?;
        let peer_times = measure::wall(effort, || {
            peer(&domain, &mut theirs);
            Ok(())
        })?;
        let checked = ("all values bit for bit with the peer's", right);
        Ok(line(&op.to_string(), times, ("ark-poly 0.6, parallel", peer_times), checked).in_ring(&ring))
    };
    sides.into_iter().map(line).collect()
}

/// In place, values in the order that either side likes: as sets they are the same. The peer's way back leaves out the
/// factor 1/n, ours has it.
fn tfhe_ntt(log_n: u32, effort: Effort) -> Result<Vec<Measurement>> {
    let n = 1 << log_n;
    let ring = Ring::rns(n, &Modulus::ntt_primes(2 * n as u64, 60, 1)?)?;
    let q = ring.moduli()[0].value_u64().context("a prime of 60 bits")?;
    let peer = Peer::try_new(n, q).context("no plan for this prime")?;
    let inputs = sample::elements(&ring, 2, 0, 1)?;
    let [forward, inverse] = [Op::Forward, Op::Inverse].map(|op| program(&Job::new(&ring, op).in_place()));
    let (forward, inverse) = (forward?, inverse?);
    let (mut ours, mut theirs) = (inputs.clone(), words(&inputs));
    forward.on_host(1).output("data", &mut ours).run()?;
    peer.fwd(&mut theirs);
    let sorted = |mut values: Vec<u64>| {
        values.sort_unstable();
        values
    };
    let agree = ("all values with the peer's, as sets", sorted(words(&ours)) == sorted(theirs.clone()));
    inverse.on_host(1).output("data", &mut ours).run()?;
    let returns = ("the inputs are back", ours == inputs);
    let both = [
        (Op::Forward, &forward, Peer::fwd as fn(&Peer, &mut [u64]), agree),
        (Op::Inverse, &inverse, Peer::inv, returns),
    ];
    let mut lines = Vec::new();
    for (op, program, transform, checked) in both {
        let times = measure::wall(effort, || Ok(program.on_host(1).output("data", &mut ours).run()?))?;
        let peer_times = measure::wall(effort, || {
            transform(&peer, &mut theirs);
            Ok(())
        })?;
        lines.push(line(&op.to_string(), times, ("tfhe-ntt 0.7", peer_times), checked).in_ring(&ring));
    }
    Ok(lines)
}

/// With the nonces of RFC 6979, so that signatures are the same.
fn sm2(effort: Effort) -> Result<Vec<Measurement>> {
    const PEER: &str = "sm2 0.14";
    let digests =
        (0..CALLS).map(|i| Ok(bytes(i as u64, 32).as_slice().try_into()?)).collect::<Result<Vec<[u8; 32]>>>()?;
    let ours = PrivateKey::from_bytes(&[0x42; 32])?;
    let theirs = sm2::dsa::SigningKey::new("1234567812345678", &sm2::SecretKey::from_slice(&[0x42; 32])?)?;
    let (own, others) = (ours.public_key(), theirs.verifying_key());
    let signatures: Vec<_> = digests.iter().map(|digest| ours.sign_digest(digest)).collect();
    let peers =
        digests.iter().map(|digest| theirs.sign_prehash(digest)).collect::<Result<Vec<sm2::dsa::Signature>, _>>()?;
    let same = peers.iter().zip(&signatures).all(|(a, b)| a.to_bytes()[..] == b.to_bytes());
    let sign = each(effort, |i| {
        black_box(ours.sign_digest(&digests[i]));
        Ok(())
    })?;
    let peer_sign = each(effort, |i| {
        let signature: sm2::dsa::Signature = theirs.sign_prehash(&digests[i])?;
        black_box(signature);
        Ok(())
    })?;
    let verify = each(effort, |i| Ok(own.verify_digest(&digests[i], &signatures[i])?))?;
    let peer_verify = each(effort, |i| Ok(others.verify_prehash(&digests[i], &peers[i])?))?;
    let checked = ("signatures are the peer's, and both sides verify them", same);
    Ok(vec![line("sign", sign, (PEER, peer_sign), checked), line("verify", verify, (PEER, peer_verify), checked)])
}

/// Another scheme of the same strength, since there is no other crate for this one.
fn ml_kem(effort: Effort) -> Result<Vec<Measurement>> {
    let both = round_trip::<Ctru768>(effort)?.into_iter().zip(ml_kem_768(effort)?);
    let line = |(operation, (ours, theirs))| {
        line(operation, ours, (ML_KEM, theirs), ("both ends of either scheme agree", true))
    };
    Ok(["KeyGen", "Encaps", "Decaps"].into_iter().zip(both).map(line).collect())
}

/// The KEM that people know, and its crate.
pub(super) const ML_KEM: &str = "ml-kem 0.3, ML-KEM-768";

/// A key pair, an encapsulation and a decapsulation of ML-KEM-768 by that crate, on one thread.
pub(super) fn ml_kem_768(effort: Effort) -> Result<[Times; 3]> {
    round_trip::<ml_kem::MlKem768>(effort)
}

/// A key pair, an encapsulation, a decapsulation.
///
/// # Errors
/// If the two ends do not agree.
fn round_trip<K: Kem<DecapsulationKey: Decapsulate>>(effort: Effort) -> Result<[Times; 3]> {
    let mut rng = StdRng::seed_from_u64(3);
    let (key, public_key) = K::generate_keypair_from_rng(&mut rng);
    let (ciphertext, sent) = public_key.encapsulate_with_rng(&mut rng);
    ensure!(key.decapsulate(&ciphertext) == sent, "the two ends have other keys");
    let generate = each(effort, |_| {
        black_box(K::generate_keypair_from_rng(&mut rng));
        Ok(())
    })?;
    let encapsulate = each(effort, |_| {
        black_box(public_key.encapsulate_with_rng(&mut rng));
        Ok(())
    })?;
    let decapsulate = each(effort, |_| {
        black_box(key.decapsulate(&ciphertext));
        Ok(())
    })?;
    Ok([generate, encapsulate, decapsulate])
}

fn program(job: &Job) -> Result<Program> {
    Ok(Work::new(&Device::cpu(), job)?.program)
}

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word)).collect()
}

/// A call, many of which are timed together.
fn each(effort: Effort, mut call: impl FnMut(usize) -> Result<()>) -> Result<Times> {
    Ok(measure::wall(effort, || (0..CALLS).try_for_each(&mut call))?.of_each(CALLS))
}
