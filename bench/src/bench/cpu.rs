//! This machine's CPU: what the engine and the schemes take beside other crates, on the same inputs, in the same run, with as
//! many threads.

use std::hint::black_box;

use anyhow::{Context, Result, ensure};
use ark_bls12_381::Fr;
use ark_ff::Field;
use ark_poly::{EvaluationDomain, Radix2EvaluationDomain};
use kem::{Decapsulate, Encapsulate, Kem};
use pqcrypto_mlkem::mlkem768;
use rand::SeedableRng;
use rand::rngs::StdRng;
use ringforge::testkit::bytes;
use ringforge::{Device, Job, Modulus, Op, Order, Program, Ring};
use ringforge_ctru::Ctru768;
use ringforge_sm2::PrivateKey;
use sm2::dsa::Signature;
use sm2::dsa::signature::hazmat::{PrehashSigner, PrehashVerifier};

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
            has CTRU: PQClean's C code for AVX2.",
    figure: Figure::Item,
    headline: Some(("BLS12-381 Fr 2^20", "forward")),
    cases,
    ..Suite::NONE
};

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

/// A case, what it is compared with, its operations, and whether it is measured with `--quick` too.
type Entry = (&'static str, Against, &'static [&'static str], bool);

const CASES: [Entry; 8] = [
    ("BLS12-381 Fr 2^16", Against::ArkPoly(16), &["forward", "inverse"], true),
    ("BLS12-381 Fr 2^18", Against::ArkPoly(18), &["forward", "inverse"], false),
    ("BLS12-381 Fr 2^20", Against::ArkPoly(20), &["forward", "inverse"], false),
    ("x^n + 1, 60 bits, 2^12", Against::TfheNtt(12), &["forward", "inverse"], true),
    ("x^n + 1, 60 bits, 2^14", Against::TfheNtt(14), &["forward", "inverse"], false),
    ("x^n + 1, 60 bits, 2^16", Against::TfheNtt(16), &["forward", "inverse"], false),
    ("SM2", Against::Sm2, &["sign", "verify"], true),
    ("CTRU-768", Against::MlKem, &["KeyGen", "Encaps", "Decaps"], true),
];

/// Calls that are timed together where one takes microseconds.
const CALLS: usize = 64;

fn cases(scope: &Scope) -> Result<Vec<Case>> {
    let case = |&(name, against, operations, _): &Entry| {
        let scope = scope.clone();
        Case::new(name, operations, move |bench, _| {
            let all = matches!(against, Against::ArkPoly(_));
            let threads = if all { environment::threads() } else { 1 };
            let lines = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?.install(|| match against {
                Against::ArkPoly(log_n) => ark_poly(scope.log_n(log_n), bench.effort),
                Against::TfheNtt(log_n) => tfhe_ntt(scope.log_n(log_n), bench.effort),
                Against::Sm2 => sm2(bench.effort),
                Against::MlKem => ml_kem(bench.effort),
            });
            let named = |line| Measurement { case: name.into(), threads: Some(threads), ..line };
            Ok(lines?.into_iter().map(named).collect())
        })
    };
    Ok(CASES.iter().filter(|(.., quick)| scope.wants(*quick)).map(case).collect())
}

/// An operation on both sides.
fn line(operation: &str, times: Times, (peer, peer_times): (&str, Times), checked: (&str, bool)) -> Measurement {
    Measurement::new("", operation, 1, times).beside(peer, peer_times.median_seconds).checked(checked.0, checked.1)
}

/// A transform of ours in place, beside a peer's.
fn transform(
    effort: Effort,
    (ring, op): (&Ring, Op),
    (program, data): (&Program, &mut [u8]),
    (peer, mut theirs): (&str, impl FnMut()),
    checked: (&str, bool),
) -> Result<Measurement> {
    let times = measure::wall(effort, || Ok(program.on_host(1).output("data", &mut *data).run()?))?;
    let peer_times = measure::wall(effort, || {
        theirs();
        Ok(())
    })?;
    Ok(line(&op.to_string(), times, (peer, peer_times), checked).in_ring(ring))
}

/// In place, in natural order, with all threads.
fn ark_poly(log_n: u32, effort: Effort) -> Result<Vec<Measurement>> {
    let domain = Radix2EvaluationDomain::<Fr>::new(1 << log_n).context("no domain of this size")?;
    let ring = zk::coset(1 << log_n, Fr::ONE)?;
    let inputs = sample::elements(&ring, 1, 0, 1)?;
    let line = |op| {
        let program = Work::new(&Device::cpu(), &Job::new(&ring, op).order(Order::Natural).in_place())?.program;
        let (mut ours, mut theirs) = (inputs.clone(), inputs.chunks_exact(32).map(zk::element).collect::<Vec<Fr>>());
        let peer = |data: &mut Vec<Fr>| match op {
            Op::Forward => domain.fft_in_place(data),
            _ => domain.ifft_in_place(data),
        };
        program.on_host(1).output("data", &mut ours).run()?;
        peer(&mut theirs);
        let right = ours.chunks_exact(32).zip(&theirs).all(|(ours, theirs)| ours == zk::bytes(theirs).as_flattened());
        let checked = ("all values bit for bit with the peer's", right);
        let peer = ("ark-poly 0.6, parallel", || peer(&mut theirs));
        transform(effort, (&ring, op), (&program, &mut ours), peer, checked)
    };
    [Op::Forward, Op::Inverse].into_iter().map(line).collect()
}

/// In place, values in the order that either side likes: as sets they are the same. The peer's way back leaves out the
/// factor 1/n, ours has it.
fn tfhe_ntt(log_n: u32, effort: Effort) -> Result<Vec<Measurement>> {
    const PEER: &str = "tfhe-ntt 0.7";
    let n = 1 << log_n;
    let ring = Ring::rns(n, &Modulus::ntt_primes(2 * n as u64, 60, 1)?)?;
    let q = ring.moduli()[0].value_u64().context("a prime of 60 bits")?;
    let peer = tfhe_ntt::prime64::Plan::try_new(n, q).context("no plan for this prime")?;
    let inputs = sample::elements(&ring, 2, 0, 1)?;
    let program = |op| anyhow::Ok(Work::new(&Device::cpu(), &Job::new(&ring, op).in_place())?.program);
    let (forward, inverse) = (program(Op::Forward)?, program(Op::Inverse)?);
    let words = |bytes: &[u8]| bytes.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word)).collect::<Vec<_>>();
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
    Ok(vec![
        transform(effort, (&ring, Op::Forward), (&forward, &mut ours), (PEER, || peer.fwd(&mut theirs)), agree)?,
        transform(effort, (&ring, Op::Inverse), (&inverse, &mut ours), (PEER, || peer.inv(&mut theirs)), returns)?,
    ])
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
    let peers = digests.iter().map(|digest| theirs.sign_prehash(digest)).collect::<Result<Vec<Signature>, _>>()?;
    let same = peers.iter().zip(&signatures).all(|(a, b)| a.to_bytes()[..] == b.to_bytes());
    let sign = each(effort, |i| Ok(ours.sign_digest(&digests[i])))?;
    let peer_sign = each(effort, |i| Ok(theirs.sign_prehash(&digests[i]).map(|signature: Signature| signature)?))?;
    let verify = each(effort, |i| Ok(own.verify_digest(&digests[i], &signatures[i])?))?;
    let peer_verify = each(effort, |i| Ok(others.verify_prehash(&digests[i], &peers[i])?))?;
    let checked = ("signatures are the peer's, and both sides verify them", same);
    Ok(vec![line("sign", sign, (PEER, peer_sign), checked), line("verify", verify, (PEER, peer_verify), checked)])
}

/// Another scheme of the same strength, since there is no other crate for this one.
fn ml_kem(effort: Effort) -> Result<Vec<Measurement>> {
    let mut rng = StdRng::seed_from_u64(3);
    let (key, public_key) = Ctru768::generate_keypair_from_rng(&mut rng);
    let (ciphertext, sent) = public_key.encapsulate_with_rng(&mut rng);
    let (peer_public, peer_key) = mlkem768::keypair();
    let (peer_sent, peer_ciphertext) = mlkem768::encapsulate(&peer_public);
    ensure!(key.decapsulate(&ciphertext) == sent, "the two ends have other keys");
    ensure!(mlkem768::decapsulate(&peer_ciphertext, &peer_key) == peer_sent, "the peer's two ends have other keys");
    let times = [
        each(effort, |_| Ok(Ctru768::generate_keypair_from_rng(&mut rng)))?,
        each(effort, |_| Ok(public_key.encapsulate_with_rng(&mut rng)))?,
        each(effort, |_| Ok(key.decapsulate(&ciphertext)))?,
    ];
    let peer_times = [
        each(effort, |_| Ok(mlkem768::keypair()))?,
        each(effort, |_| Ok(mlkem768::encapsulate(&peer_public)))?,
        each(effort, |_| Ok(mlkem768::decapsulate(&peer_ciphertext, &peer_key)))?,
    ];
    let line = |(operation, (ours, theirs))| {
        let peer = ("ML-KEM-768 of PQClean, pqcrypto-mlkem 0.1.1", theirs);
        line(operation, ours, peer, ("both ends of either scheme agree", true))
    };
    Ok(["KeyGen", "Encaps", "Decaps"].into_iter().zip(times.into_iter().zip(peer_times)).map(line).collect())
}

/// A call, many of which are timed together.
fn each<T>(effort: Effort, mut call: impl FnMut(usize) -> Result<T>) -> Result<Times> {
    let calls = || (0..CALLS).try_for_each(|i| call(i).map(|made| drop(black_box(made))));
    Ok(measure::wall(effort, calls)?.of_each(CALLS))
}
