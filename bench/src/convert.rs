//! Conversions between RNS bases, for x^n + 1 with n = 2^16 and primes of 50 to 60 bits.

use anyhow::Result;
use ringforge::{Job, Modulus, Op, PolyType, Ring};

use ringforge_cli::jobs::Task;
use ringforge_cli::session::Bench;
use ringforge_cli::suite::{Case, Figure, Scope, Suite};

pub(crate) static SUITE: Suite = Suite {
    name: "conversions",
    title: "Conversions between RNS bases",
    about: "RNS basis conversions at n = 2^16 with primes of 50 to 60 bits. They are exact, or leave a multiple of Q. \
            All data is on the device, about a gigabyte of it per run.",
    figure: Figure::Item,
    headline: Some(("8 to 24", "convert_fast")),
    cases,
    ..Suite::NONE
};

const LOG_N: u32 = 16;
/// Numbers of moduli of the source and of the target basis.
const SOURCES: [usize; 4] = [1, 3, 6, 8];
const TARGETS: [usize; 4] = [4, 8, 24, 30];
/// Pairs of source and target sizes that are also measured with `--quick`.
const QUICK: [(usize, usize); 3] = [(1, 30), (3, 24), (8, 4)];
/// Bytes of a batch on a GPU, inputs and outputs together.
const BYTES: usize = 1 << 30;

fn cases(scope: &Scope) -> Result<Vec<Case>> {
    let n = 1 << scope.log_n(LOG_N);
    // primes of 50 to 60 bits; no prime is in both bases
    let basis = |of: usize, count: usize| -> Result<Vec<Modulus>> {
        let each = |i| Ok(Modulus::ntt_primes(2 << LOG_N, 50 + i as u32 % 11, count.div_ceil(11) + of)?[i / 11 + of]);
        (0..count).map(each).collect()
    };
    let mut cases = Vec::new();
    for (k, l) in SOURCES.into_iter().flat_map(|k| TARGETS.map(|l| (k, l))) {
        if !scope.wants(QUICK.contains(&(k, l))) {
            continue;
        }
        let (from, to) = (PolyType::from(Ring::rns(n, &basis(0, k)?)?), PolyType::from(Ring::rns(n, &basis(1, l)?)?));
        for op in [Op::ConvertFast, Op::Convert] {
            let (job, name) = (Job::new(&from, op).to(&to), format!("{k} to {l}"));
            let batches = scope.batches(&[scope.either(BYTES / (from.bytes() + to.bytes()), 1)]);
            let run =
                move |bench: &Bench, batch| Task::new(&job, batch).line(bench, format!("{k} to {l}"), bench.effort);
            cases.push(Case::of_batches(name, op, batches, run));
        }
    }
    Ok(cases)
}
