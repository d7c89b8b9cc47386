//! Transforms for homomorphic encryption, modulo x^N + 1 and 32 primes: of a gigabyte of data in one run, or of one
//! polynomial.

use anyhow::Result;
use ringforge::{Job, Modulus, Op, PolyType, Ring};

use self::Primes::{Friendly, Of};
use ringforge_cli::jobs::Task;
use ringforge_cli::session::Bench;
use ringforge_cli::suite::{Case, Figure, Quoted, Scope, Suite};

pub(crate) static SUITE: Suite = Suite {
    name: "FHE",
    title: "Transforms for homomorphic encryption",
    about: "Transforms of polynomials modulo x^N + 1 and 32 primes, with all data on the device: one polynomial per run, \
            or a gigabyte of them. A limb is one polynomial modulo one prime. Below 2^50, products use doubles if the \
            device is fast at them. Primes of 30 and 31 bits use 32-bit words, and two of them replace one of 60 bits. \
            Friendly primes are 1 modulo 2^32.",
    figure: Figure::Limb,
    headline: Some(("2^16, 60 bits", "forward")),
    quoted: QUOTED,
    cases,
    ..Suite::NONE
};

/// Moduli per polynomial.
pub(super) const MODULI: usize = 32;
/// Bytes of a batch on a GPU and on a CPU.
const BYTES: [usize; 2] = [1 << 30, 16 << 20];

const SOURCE: &str = "rebuilt and run by us on an H200, driver 580.159.04, 2026-11-22; outputs checked";
const LIMBS: f64 = MODULI as f64 * 1e-9;

const fn quoted(case: &'static str, peer: &'static str, seconds: &'static [(&'static str, f64)]) -> Quoted {
    Quoted { case, peer, source: SOURCE, device: Some("H200"), seconds }
}

const QUOTED: &[Quoted] = &[
    quoted("2^12, 60 bits", "Phantom", &[("forward", 93.0 * LIMBS), ("inverse", 81.0 * LIMBS)]),
    quoted("2^12, 60 bits", "GPU-NTT", &[("forward", 99.0 * LIMBS), ("inverse", 110.0 * LIMBS)]),
    quoted("2^14, 60 bits", "Over 100x", &[("forward", 326.0 * LIMBS), ("inverse", 352.0 * LIMBS)]),
    quoted("2^14, 60 bits", "Phantom", &[("forward", 361.0 * LIMBS), ("inverse", 353.0 * LIMBS)]),
    quoted("2^14, 60 bits", "GPU-NTT", &[("forward", 446.0 * LIMBS), ("inverse", 498.0 * LIMBS)]),
    quoted("2^16, 60 bits", "Over 100x", &[("forward", 1378.0 * LIMBS), ("inverse", 1505.0 * LIMBS)]),
    quoted("2^16, 60 bits", "Phantom", &[("forward", 1412.0 * LIMBS), ("inverse", 1387.0 * LIMBS)]),
    quoted("2^16, 60 bits", "GPU-NTT", &[("forward", 2021.0 * LIMBS), ("inverse", 2234.0 * LIMBS)]),
    quoted("2^17, 60 bits", "Over 100x", &[("forward", 3011.0 * LIMBS), ("inverse", 3259.0 * LIMBS)]),
    quoted("2^17, 60 bits", "Phantom", &[("forward", 3215.0 * LIMBS), ("inverse", 3141.0 * LIMBS)]),
    quoted("2^17, 60 bits", "GPU-NTT", &[("forward", 4526.0 * LIMBS), ("inverse", 4974.0 * LIMBS)]),
    quoted("2^16, one polynomial", "Over 100x", &[("forward", 52.3e-6), ("inverse", 55.6e-6)]),
    quoted("2^16, one polynomial", "Phantom", &[("forward", 53.6e-6), ("inverse", 55.0e-6)]),
    quoted("2^16, one polynomial", "GPU-NTT", &[("forward", 72.0e-6), ("inverse", 80.0e-6)]),
];

/// The amount of data that a run transforms.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// A batch that fills a gigabyte (less on a CPU).
    Batch,
    /// One polynomial.
    One,
    /// One polynomial in place, captured. On a GPU the captured graph is replayed.
    OneCaptured,
}

/// Primes with a given number of bits.
#[derive(Clone, Copy)]
pub(super) enum Primes {
    /// The largest suitable primes.
    Of(u32),
    /// The largest suitable primes that are also 1 modulo 2^32.
    Friendly(u32),
}

/// Name, log2 of the length, primes, amount of data that a run transforms, and whether `--quick` measures the case too.
const CASES: &[(&str, u32, Primes, How, bool)] = &[
    ("2^12, 60 bits", 12, Of(60), How::Batch, false),
    ("2^13, 60 bits", 13, Of(60), How::Batch, false),
    ("2^14, 60 bits", 14, Of(60), How::Batch, false),
    ("2^15, 60 bits", 15, Of(60), How::Batch, false),
    ("2^16, 60 bits", 16, Of(60), How::Batch, true),
    ("2^17, 60 bits", 17, Of(60), How::Batch, false),
    ("2^14, 60 bits, friendly", 14, Friendly(60), How::Batch, false),
    ("2^15, 60 bits, friendly", 15, Friendly(60), How::Batch, false),
    ("2^16, 60 bits, friendly", 16, Friendly(60), How::Batch, false),
    ("2^17, 60 bits, friendly", 17, Friendly(60), How::Batch, false),
    ("2^16, 49 bits", 16, Of(49), How::Batch, true),
    ("2^12, 30 bits", 12, Of(30), How::Batch, false),
    ("2^13, 30 bits", 13, Of(30), How::Batch, false),
    ("2^14, 30 bits", 14, Of(30), How::Batch, false),
    ("2^15, 30 bits", 15, Of(30), How::Batch, false),
    ("2^16, 30 bits", 16, Of(30), How::Batch, false),
    ("2^17, 30 bits", 17, Of(30), How::Batch, false),
    ("2^16, 31 bits", 16, Of(31), How::Batch, false),
    ("2^16, one polynomial", 16, Of(60), How::One, true),
    ("2^16, one polynomial", 16, Of(60), How::OneCaptured, true),
    ("2^16, one polynomial, friendly", 16, Friendly(60), How::One, false),
    ("2^16, one polynomial, friendly", 16, Friendly(60), How::OneCaptured, false),
];

/// The ring of polynomials modulo x^n + 1 and [`MODULI`] primes, where log2 of n is `log_n`.
pub(super) fn ring(log_n: u32, primes: Primes) -> Result<PolyType> {
    let (n, order) = (1 << log_n, 2 << log_n);
    let primes = match primes {
        Of(bits) => Modulus::ntt_primes(order, bits, MODULI),
        Friendly(bits) => Modulus::friendly_ntt_primes(order, bits, MODULI),
    };
    Ok(PolyType::from(Ring::rns(n, &primes?)?))
}

/// Number of polynomials in a batch of [`BYTES`]: a gigabyte on a GPU, 16 MiB on a CPU.
pub(super) fn filling(ring: &PolyType, scope: &Scope) -> usize {
    (scope.either(BYTES[0], BYTES[1]) / ring.bytes()).max(1)
}

fn cases(scope: &Scope) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for &(name, log_n, primes, how, _) in CASES.iter().filter(|case| scope.wants(case.4)) {
        let ring = ring(scope.log_n(log_n), primes)?;
        let batches = if how == How::Batch { scope.batches(&[filling(&ring, scope)]) } else { vec![1] };
        for op in [Op::Forward, Op::Inverse] {
            let ring = ring.clone();
            let run = move |bench: &Bench, batch: usize| {
                let job = Job::new(&ring, op).batch_hint(batch);
                if how != How::OneCaptured {
                    // one set of buffers, because the quoted measurements transformed one polynomial repeatedly
                    let sets = (how == How::One).then_some(1);
                    return Task { sets, ..Task::new(&job, batch) }.line(bench, name, bench.effort);
                }
                let job = job.in_place();
                let task = Task { sets: Some(1), captured: true, ..Task::new(&job, batch) };
                anyhow::Ok(task.line(bench, name, bench.effort)?.varied("in place, captured"))
            };
            cases.push(Case::of_batches(name, op, batches.clone(), run));
        }
    }
    Ok(cases)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_and_moduli_are_as_described() -> Result<()> {
        for &(_, log_n, primes, ..) in CASES {
            let ring = ring(log_n, primes)?;
            let (Of(bits) | Friendly(bits)) = primes;
            assert_eq!(BYTES[0] % ring.bytes(), 0);
            assert!(ring.basis().iter().all(|q| q.bits() == bits) && ring.basis().len() == MODULI);
        }
        Ok(())
    }
}
