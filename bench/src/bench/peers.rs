//! Lines about this machine's CPU: what the engine and the schemes take beside other crates, on the same inputs, in the
//! same run, with as many threads.

use std::hint::black_box;

use anyhow::{Context, Result, ensure};
use ark_bls12_381::Fr;
use ark_poly::{EvaluationDomain, Radix2EvaluationDomain};
use kem::{Decapsulate, Encapsulate, Kem};
use rand::SeedableRng;
use rand::rngs::StdRng;
use ringforge::testkit::bytes;
use ringforge::{Device, Job, Modulus, Op, Order, Program, Ring};
use ringforge_ctru::Ctru768;
use ringforge_sm2::PrivateKey;
use serde::Serialize;
use sm2::dsa::signature::hazmat::{PrehashSigner, PrehashVerifier};
use tfhe_ntt::prime64::Plan as Peer;

use super::{Bench, Options, zk};
use crate::measure::{self, Effort};
use crate::work::Work;
use crate::{environment, sample, show};

/// Sizes of transforms of BLS12-381's scalar field; the first one in a hurry.
const LOG_N_ZK: [u32; 3] = [16, 18, 20];
/// The same of x^n + 1 modulo a prime of 60 bits.
const LOG_N_FHE: [u32; 3] = [12, 14, 16];
/// Calls that are timed together where one takes microseconds.
const CALLS: usize = 64;

/// What is compared.
#[derive(Debug, Clone, Copy)]
pub(super) enum Task {
    ArkPoly { log_n: u32 },
    TfheNtt { log_n: u32 },
    Sm2,
    MlKem,
}

/// One operation, on both sides.
#[derive(Debug, Serialize)]
pub(super) struct Line {
    name: String,
    op: &'static str,
    /// Of either side.
    threads: usize,
    median_seconds: f64,
    peer: &'static str,
    peer_median_seconds: f64,
    /// How many times as long the peer takes.
    ratio: f64,
    /// Whether both sides give the same, or in schemes with other keys each what it should.
    pub(super) right: bool,
}

type Domain = Radix2EvaluationDomain<Fr>;
/// A direction, its name, and how the peer takes it.
type Side = (Op, &'static str, fn(&Domain, &mut Vec<Fr>));

/// What is to be measured.
pub(super) fn tasks(options: &Options) -> Vec<Task> {
    let sizes = |all: &[u32]| all[..if options.quick { 1 } else { all.len() }].to_vec();
    let zk = sizes(&LOG_N_ZK).into_iter().map(|log_n| Task::ArkPoly { log_n });
    let fhe = sizes(&LOG_N_FHE).into_iter().map(|log_n| Task::TfheNtt { log_n });
    let tasks = zk.chain(fhe).chain([Task::Sm2, Task::MlKem]);
    tasks.filter(|task| task.title().contains(&options.filter)).collect()
}

impl Task {
    pub(super) fn title(&self) -> String {
        match self {
            Self::ArkPoly { log_n } => format!("CPU BLS12-381 Fr 2^{log_n}"),
            Self::TfheNtt { log_n } => format!("CPU x^n + 1, 60 bits, 2^{log_n}"),
            Self::Sm2 => "CPU SM2".into(),
            Self::MlKem => "CPU CTRU-768".into(),
        }
    }

    pub(super) fn lines(&self, bench: &Bench) -> Result<Vec<Line>> {
        let effort = bench.effort;
        let one_thread = || rayon::ThreadPoolBuilder::new().num_threads(1).build();
        match *self {
            Self::ArkPoly { log_n } => self.against_ark_poly(log_n, effort),
            Self::TfheNtt { log_n } => one_thread()?.install(|| self.against_tfhe_ntt(log_n, effort)),
            Self::Sm2 => one_thread()?.install(|| self.against_sm2(effort)),
            Self::MlKem => one_thread()?.install(|| self.against_ml_kem(effort)),
        }
    }

    fn line(&self, op: &'static str, median_seconds: f64, peer: (&'static str, f64), right: bool) -> Line {
        let (name, threads, (peer, peer_median_seconds)) = (self.title(), environment::threads(), peer);
        let ratio = peer_median_seconds / median_seconds;
        Line { name, op, threads, median_seconds, peer, peer_median_seconds, ratio, right }
    }

    /// In place, in natural order, with all threads.
    fn against_ark_poly(&self, log_n: u32, effort: Effort) -> Result<Vec<Line>> {
        let domain = Domain::new(1 << log_n).context("no domain of this size")?;
        let ring = zk::cyclic(1 << log_n)?;
        let inputs = sample::elements(&ring, 1, 0, 1)?;
        let sides: [Side; 2] = [
            (Op::Forward, "forward", |domain, data| domain.fft_in_place(data)),
            (Op::Inverse, "inverse", |domain, data| domain.ifft_in_place(data)),
        ];
        let line = |(op, name, peer): Side| {
            let program = program(&Job::new(&ring, op).order(Order::Natural).in_place())?;
            let (mut ours, mut theirs) =
                (inputs.clone(), inputs.chunks_exact(32).map(zk::element).collect::<Vec<Fr>>());
            program.on_host(1).output("data", &mut ours).run()?;
            peer(&domain, &mut theirs);
            let right =
                ours.chunks_exact(32).zip(&theirs).all(|(ours, theirs)| ours == zk::bytes(theirs).as_flattened());
            let seconds = median(effort, || Ok(program.on_host(1).output("data", &mut ours).run()?))?;
            let peer_seconds = median(effort, || {
                peer(&domain, &mut theirs);
                Ok(())
            })?;
            Ok(self.line(name, seconds, ("ark-poly 0.6, parallel", peer_seconds), right))
        };
        sides.into_iter().map(line).collect()
    }

    /// In place, values in the order that either side likes: as sets they are the same. The peer's way back leaves out the
    /// factor 1/n, ours has it.
    fn against_tfhe_ntt(&self, log_n: u32, effort: Effort) -> Result<Vec<Line>> {
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
        let agree = sorted(words(&ours)) == sorted(theirs.clone());
        inverse.on_host(1).output("data", &mut ours).run()?;
        let returns = ours == inputs;
        let mut lines = Vec::new();
        let both = [
            ("forward", &forward, Peer::fwd as fn(&Peer, &mut [u64]), agree),
            ("inverse", &inverse, Peer::inv, returns),
        ];
        for (op, program, transform, right) in both {
            let seconds = median(effort, || Ok(program.on_host(1).output("data", &mut ours).run()?))?;
            let peer_seconds = median(effort, || {
                transform(&peer, &mut theirs);
                Ok(())
            })?;
            lines.push(self.line(op, seconds, ("tfhe-ntt 0.7", peer_seconds), right));
        }
        Ok(lines)
    }

    /// With the nonces of RFC 6979, so that signatures are the same.
    fn against_sm2(&self, effort: Effort) -> Result<Vec<Line>> {
        const PEER: &str = "sm2 0.14";
        let digests =
            (0..CALLS).map(|i| Ok(bytes(i as u64, 32).as_slice().try_into()?)).collect::<Result<Vec<[u8; 32]>>>()?;
        let ours = PrivateKey::from_bytes(&[0x42; 32])?;
        let theirs = sm2::dsa::SigningKey::new("1234567812345678", &sm2::SecretKey::from_slice(&[0x42; 32])?)?;
        let (own, others) = (ours.public_key(), theirs.verifying_key());
        let signatures: Vec<_> = digests.iter().map(|digest| ours.sign_digest(digest)).collect();
        let peers = digests
            .iter()
            .map(|digest| theirs.sign_prehash(digest))
            .collect::<Result<Vec<sm2::dsa::Signature>, _>>()?;
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
        Ok(vec![
            self.line("sign", sign, (PEER, peer_sign), same),
            self.line("verify", verify, (PEER, peer_verify), same),
        ])
    }

    /// Another scheme of the same strength, since there is no other crate for this one: the KEM that people know.
    fn against_ml_kem(&self, effort: Effort) -> Result<Vec<Line>> {
        let (ours, theirs) = (round_trip::<Ctru768>(effort)?, ml_kem_768(effort)?);
        let names = ["KeyGen", "Encaps", "Decaps"];
        let pairs = names.into_iter().zip(ours.into_iter().zip(theirs));
        Ok(pairs.map(|(op, (ours, theirs))| self.line(op, ours, ("ml-kem 0.3, ML-KEM-768", theirs), true)).collect())
    }
}

/// Seconds of a key pair, an encapsulation and a decapsulation of ML-KEM-768 by the crate that people know, on one thread.
pub(super) fn ml_kem_768(effort: Effort) -> Result<[f64; 3]> {
    round_trip::<ml_kem::MlKem768>(effort)
}

/// Seconds of a key pair, an encapsulation, a decapsulation.
///
/// # Errors
/// If the two ends do not agree.
fn round_trip<K: Kem<DecapsulationKey: Decapsulate>>(effort: Effort) -> Result<[f64; 3]> {
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

fn median(effort: Effort, call: impl FnMut() -> Result<()>) -> Result<f64> {
    Ok(measure::wall(effort, call)?.median_seconds)
}

/// Median seconds of a call, many of which are timed together.
fn each(effort: Effort, mut call: impl FnMut(usize) -> Result<()>) -> Result<f64> {
    Ok(median(effort, || (0..CALLS).try_for_each(&mut call))? / CALLS as f64)
}

/// The lines as a table.
pub(super) fn table(lines: &[Line]) -> String {
    let mut table =
        show::table(&["name", "operation", "threads", "ours", "peer", "takes", "ratio", "right"], &[2, 3, 5, 6]);
    for line in lines {
        table.add_row([
            line.name.clone(),
            line.op.into(),
            line.threads.to_string(),
            show::time(line.median_seconds),
            line.peer.into(),
            show::time(line.peer_median_seconds),
            format!("{:.2}", line.ratio),
            show::yes_or_no(line.right),
        ]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_right() -> Result<()> {
        let bench = Bench::of_cpu();
        for task in [Task::ArkPoly { log_n: 10 }, Task::TfheNtt { log_n: 10 }, Task::Sm2, Task::MlKem] {
            let lines = task.lines(&bench)?;
            assert!(lines.len() >= 2 && lines.iter().all(|line| line.right && line.ratio > 0.0), "{task:?}: {lines:?}");
        }
        Ok(())
    }
}
