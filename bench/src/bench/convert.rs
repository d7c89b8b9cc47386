//! Lines about conversions between RNS bases: x^n + 1, n = 2^16, primes of 50 to 60 bits.
//!
//! Inputs are drawn anew for every line, the first item full of edges. On a GPU all results are compared with the CPU's;
//! on any device some of the first and the last item with their definition.

use anyhow::Result;
use ringforge::testkit::{Named, Random};
use ringforge::{Device, Job, Modulus, Op, Ring};

use super::{Bench, Line, Options, What};
use crate::floor::Floor;
use crate::work::{Work, slices};
use crate::{measure, sample};

const NAME: &str = "RNS";
const N: usize = 1 << 16;
/// Moduli of the one basis and of the other.
const SOURCES: [usize; 4] = [1, 3, 6, 8];
const TARGETS: [usize; 4] = [4, 8, 24, 30];
/// What of these is measured with `--quick` too.
const QUICK: [(usize, usize); 3] = [(1, 30), (3, 24), (8, 4)];
/// Bytes of a batch on a GPU, in and out.
const BYTES: usize = 1 << 30;
/// Coefficients of an item that are compared with their definition.
const PLACES: usize = 8;

/// A conversion and a batch.
pub(super) struct Task {
    job: Job,
    to: Ring,
    batch: usize,
}

/// What is to be measured.
pub(super) fn tasks(options: &Options, device: &Device) -> Result<Vec<Task>> {
    let mut tasks = Vec::new();
    for (k, l) in SOURCES.into_iter().flat_map(|k| TARGETS.map(|l| (k, l))) {
        if options.quick && !QUICK.contains(&(k, l)) {
            continue;
        }
        // of all sizes, none of them twice
        let bits = |of: usize, count: usize| -> Result<Vec<Modulus>> {
            let each =
                |i| Ok(Modulus::ntt_primes(2 * N as u64, 50 + i as u32 % 11, count.div_ceil(11) + of)?[i / 11 + of]);
            (0..count).map(each).collect()
        };
        let (from, to) = (Ring::rns(N, &bits(0, k)?)?, Ring::rns(N, &bits(1, l)?)?);
        for op in [Op::ConvertFast, Op::Convert] {
            let usual = if device.limits().is_cpu() { 1 } else { BYTES / (from.bytes() + to.bytes()) };
            let task = |batch| Task { job: Job::new(&from, op).to(&to), to: to.clone(), batch };
            let wanted = options.batches(|| vec![usual]).into_iter().map(task);
            tasks.extend(wanted.filter(|task| format!("{NAME} {from} {}", task.title()).contains(&options.filter)));
        }
    }
    Ok(tasks)
}

impl Task {
    pub(super) fn title(&self) -> String {
        format!("{} {} to {}", self.job.op, self.job.ring.basis().len(), self.to.basis().len())
    }

    /// Measures a line.
    pub(super) fn line(&self, bench: &Bench) -> Result<Line> {
        let Self { job, to, batch } = self;
        let work = bench.work(job)?;
        let from = sample::elements(&job.ring, Random::new(std::process::id().into()).bits(), 1, *batch)?;
        let inputs = Named::from([("from".into(), from)]);
        let sets = (0..measure::sets(&work, *batch)).map(|_| work.buffers(*batch, &slices(&inputs)));
        let mut sets = sets.collect::<Result<Vec<_>>>()?;
        let times = measure::measure(&work, *batch, &mut sets, bench.effort)?;
        let result = sets.last().map(|buffers| work.result(buffers)).transpose()?.unwrap_or_default();
        drop(sets);
        let mut items = inputs["from"].chunks_exact(job.ring.bytes()).zip(result.chunks_exact(to.bytes()));
        let mut right =
            [items.clone().next(), items.next_back()].into_iter().flatten().all(|(x, y)| self.is_right(x, y));
        if !bench.device.limits().is_cpu() {
            right &= Work::new(&Device::cpu(), job)?.run(*batch, &slices(&inputs))? == result;
        }
        let plan = work.program.plan();
        let floor = Floor::of_conversion(job, to, plan.floor_bytes_per_item(), &bench.ceilings);
        let what = What { name: NAME, ring: job.ring.to_string(), op: self.title() };
        Ok(Line::new(what, *batch, plan, times, floor, right))
    }

    /// Whether some coefficients of an item are what the definition says.
    fn is_right(&self, from: &[u8], to: &[u8]) -> bool {
        let words = |ring: &Ring, bytes: &[u8], place: usize| -> Vec<(u64, u64)> {
            let word = |row: usize| core::array::from_fn(|i| bytes[8 * (row * N + place) + i]);
            let moduli = ring.basis().iter().filter_map(Modulus::value_u64).enumerate();
            moduli.map(|(row, q)| (q, u64::from_le_bytes(word(row)))).collect()
        };
        (0..PLACES).map(|i| i * (N - 1) / (PLACES - 1)).all(|place| {
            let terms = terms(&words(&self.job.ring, from, place), self.job.op == Op::Convert);
            words(&self.to, to, place).iter().all(|&(p, x)| {
                let product = |factors: &[u64]| factors.iter().fold(1, |product, factor| mul(product, factor % p, p));
                let sum: u128 =
                    terms.iter().map(|(digit, weight)| u128::from(mul(digit % p, product(weight), p))).sum();
                sum % u128::from(p) == u128::from(x)
            })
        })
    }
}

/// Digits of the integer with these residues modulo primes, each with the factors of its weight: q_0 … q_(i−1) if exact,
/// else all but q_i.
fn terms(residues: &[(u64, u64)], exact: bool) -> Vec<(u64, Vec<u64>)> {
    let mut terms: Vec<(u64, Vec<u64>)> = Vec::new();
    for (i, &(q, x)) in residues.iter().enumerate() {
        let others = residues.iter().enumerate().filter(|&(j, _)| if exact { j < i } else { j != i });
        let weight: Vec<u64> = others.map(|(_, &(other, _))| other).collect();
        let product = |factors: &[u64]| factors.iter().fold(1, |product, factor| mul(product, factor % q, q));
        let before = terms.iter().map(|(digit, weight)| mul(digit % q, product(weight), q));
        let rest = if exact { before.fold(x, |x, term| (x + (q - term)) % q) } else { x };
        let mut inverse = 1;
        for bit in (0..u64::BITS).rev() {
            inverse = mul(inverse, inverse, q);
            if (q - 2) >> bit & 1 == 1 {
                inverse = mul(inverse, product(&weight), q);
            }
        }
        terms.push((mul(rest, inverse, q), weight));
    }
    terms
}

fn mul(a: u64, b: u64, q: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(q)) as u64
}
