//! The jobs that are tuned.

use anyhow::Result;
use ringforge::testkit::{Named, Random};
use ringforge::{Job, Limits, Modulus, Op, Order, Ring};

use crate::rings::BLS12_381;
use crate::sample;

/// Bytes of an operand on a GPU, and on a CPU.
const OPERAND_BYTES: usize = 128 << 20;
const OPERAND_BYTES_CPU: usize = 4 << 20;
/// Moduli of an RNS basis.
const MODULI: usize = 8;

/// A job, and how many items a run has.
pub(super) struct Subject {
    pub(super) job: Job,
    pub(super) batch: usize,
}

impl Subject {
    /// Random operands, some of them with edges.
    pub(super) fn inputs(&self) -> ringforge::Result<Named> {
        sample::operands(&self.job, &mut Random::new(std::process::id().into()), 2, self.batch)
    }
}

/// Rings, and what is done in them.
enum Kind {
    /// Small ones, in batches.
    Small(&'static str),
    /// x^n + 1 modulo primes of so many bits, in batches, transforms alone.
    Rns { log_n: u32, bits: u32 },
    /// x^n − 1 over BLS12-381's scalar field, one at a time in natural order, transforms alone.
    Proof { log_n: u32 },
}

use Kind::{Proof, Rns, Small};

/// Each with whether it is tuned with `--quick` too.
const KINDS: &[(Kind, bool)] = &[
    (Small("3329:x^256+1"), true),
    (Small("12289:x^1024+1"), false),
    (Small("1073479681:x^1024+1"), true),
    (Small("0xffffffff00000001:x^1024-1"), false),
    (Rns { log_n: 12, bits: 49 }, true),
    (Rns { log_n: 14, bits: 49 }, false),
    (Rns { log_n: 16, bits: 49 }, false),
    (Rns { log_n: 12, bits: 60 }, true),
    (Rns { log_n: 13, bits: 60 }, false),
    (Rns { log_n: 14, bits: 60 }, false),
    (Rns { log_n: 15, bits: 60 }, false),
    (Rns { log_n: 16, bits: 60 }, true),
    (Rns { log_n: 17, bits: 60 }, false),
    (Proof { log_n: 16 }, true),
    (Proof { log_n: 18 }, false),
    (Proof { log_n: 20 }, false),
    (Proof { log_n: 22 }, false),
];

/// The jobs whose name contains this.
pub(super) fn all(filter: &str, quick: bool, limits: &Limits) -> Result<Vec<Subject>> {
    let bytes = if limits.is_cpu() { OPERAND_BYTES_CPU } else { OPERAND_BYTES };
    let mut subjects = Vec::new();
    for (kind, _) in KINDS.iter().filter(|(_, is_quick)| *is_quick || !quick) {
        let (ring, order, one): (Ring, _, _) = match kind {
            Small(text) => (text.parse()?, Order::Tree, false),
            Rns { log_n, bits } => {
                let basis = Modulus::ntt_primes(2 << log_n, *bits, MODULI)?;
                (Ring::rns(1 << log_n, &basis)?, Order::Tree, false)
            }
            Proof { log_n } => (format!("{BLS12_381}:x^{}-1", 1u64 << log_n).parse()?, Order::Natural, true),
        };
        let ops = match kind {
            Small(_) => &[Op::Forward, Op::Inverse, Op::Mul][..],
            Rns { .. } | Proof { .. } => &[Op::Forward, Op::Inverse],
        };
        let batch = if one { 1 } else { (bytes / ring.bytes()).max(1) };
        let jobs = ops.iter().map(|op| Job::new(&ring, *op).order(order).batch_hint(batch));
        let wanted = jobs.filter(|job| job.to_string().contains(filter));
        subjects.extend(wanted.map(|job| Subject { job, batch }));
    }
    Ok(subjects)
}
