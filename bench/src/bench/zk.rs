//! Lines about transforms as provers have them: one of BLS12-381's scalar field, in natural order on both sides, plain or
//! on a coset, captured (on a GPU, a graph that is replayed).
//!
//! Inputs are drawn anew for every task. Every output that the timed runs leave is checked: values of up to 2^20 points
//! against arkworks' transform, all of them; of more points in some random places, by evaluation there. Then the inverse
//! runs on these values and must give back all inputs, bit for bit.

use anyhow::{Context, Result};
use ark_bls12_381::Fr;
use ark_ff::{AdditiveGroup, BigInt, FftField, Field, PrimeField};
use ark_poly::{EvaluationDomain, Radix2EvaluationDomain};
use rayon::prelude::*;
use ringforge::run::CapturedArg;
use ringforge::testkit::Random;
use ringforge::{Buffer, Device, Job, Modulus, Op, Order, Ring, U256};
use serde::Serialize;

use super::{Bench, Options, What, is_reference};
use crate::floor::Floor;
use crate::measure::{self, Effort};
use crate::{sample, show};

/// Up to this many points, all values are compared.
const ALL: usize = 1 << 20;
/// Beyond, so many.
const PLACES: usize = 3;
/// Coefficients that one thread evaluates at a time.
const SHARE: usize = 1 << 14;
/// Most points on a CPU.
const CPU_LOG: u32 = 20;
/// By how much a transform on a coset may take longer.
const COSET: f64 = 1.12;

/// A length, measured both ways, plain and on a coset.
#[derive(Debug)]
struct Shape {
    log_n: u32,
    /// Milliseconds that the best open library takes on an H200: forward and inverse, plain and on a coset.
    peers: Option<[[f64; 2]; 2]>,
    /// Milliseconds that are wanted at most for a plain transform.
    bar: Option<f64>,
    /// Whether it is measured with `--quick` too.
    quick: bool,
}

const fn shape(log_n: u32, plain: [f64; 2], coset: [f64; 2], bar: f64) -> Shape {
    Shape { log_n, peers: Some([plain, coset]), bar: Some(bar), quick: log_n == 16 }
}

const fn alone(log_n: u32) -> Shape {
    Shape { log_n, peers: None, bar: None, quick: false }
}

const SHAPES: &[Shape] = &[
    shape(16, [0.028, 0.029], [0.034, 0.035], 0.024),
    shape(18, [0.073, 0.077], [0.086, 0.090], 0.062),
    shape(20, [0.269, 0.285], [0.309, 0.325], 0.22),
    shape(22, [1.089, 1.153], [1.246, 1.306], 0.90),
    shape(24, [4.63, 4.87], [5.22, 5.47], 3.8),
    shape(26, [23.4, 24.4], [25.7, 26.7], 17.0),
    // byte offsets beyond 2^32
    alone(27),
    alone(28),
];

/// A length, plain or on a coset.
pub(super) struct Task {
    shape: &'static Shape,
    is_coset: bool,
    /// The directions whose lines are wanted; both are run, for the inverse needs values.
    wanted: Vec<Op>,
}

/// One measurement, beside what it is to be compared with.
#[derive(Debug, Serialize)]
pub(super) struct Line {
    #[serde(flatten)]
    pub(super) line: super::Line,
    log_n: u32,
    coset: bool,
    /// The best open library on an H200; on an H200 only.
    peer_seconds: Option<f64>,
    /// What is wanted at most; on an H200 only.
    bar_seconds: Option<f64>,
}

/// What is to be measured.
pub(super) fn tasks(options: &Options, device: &Device) -> Vec<Task> {
    let fits = |shape: &&Shape| !device.limits().is_cpu() || shape.log_n <= CPU_LOG;
    let shapes = SHAPES.iter().filter(fits).filter(|shape| shape.quick || !options.quick);
    let tasks = shapes.flat_map(|shape| [false, true].map(|is_coset| Task { shape, is_coset, wanted: Vec::new() }));
    let wanted = tasks.map(|task| {
        let is_wanted = |op: &Op| format!("{} {op}", task.title()).contains(&options.filter);
        Task { wanted: [Op::Forward, Op::Inverse].into_iter().filter(is_wanted).collect(), ..task }
    });
    wanted.filter(|task| !task.wanted.is_empty()).collect()
}

impl Task {
    pub(super) fn title(&self) -> String {
        format!("zk 2^{}{}", self.shape.log_n, if self.is_coset { " coset" } else { "" })
    }

    fn ring(&self) -> Result<Ring> {
        let n = 1 << self.shape.log_n;
        let q = modulus()?;
        let root = plain(&root(n)?.into_bigint().0);
        Ok(match self.is_coset {
            false => cyclic(n)?,
            true => Ring::coset(n, q, plain(&self.offset().into_bigint().0), root)?,
        })
    }

    fn offset(&self) -> Fr {
        if self.is_coset { Fr::GENERATOR } else { Fr::ONE }
    }

    /// Measures both directions.
    pub(super) fn lines(&self, bench: &Bench) -> Result<Vec<Line>> {
        let ring = self.ring()?;
        let mut random = Random::new(std::process::id().into());
        let mut inputs = sample::elements(&ring, random.bits(), 0, 1)?;
        // edges: 0, 1 as it is stored, q − 1
        for (place, x) in [Fr::ZERO, Fr::ONE, -Fr::ONE].into_iter().enumerate().take(ring.degree()) {
            inputs[32 * place..][..32].copy_from_slice(bytes(&x).as_flattened());
        }
        let device = &bench.device;
        let from = device.stream()?.upload(&inputs)?;
        let (forward, values) =
            self.line(Op::Forward, &ring, from, bench, |values| self.values_are_right(values, &inputs, &mut random))?;
        let (inverse, _) =
            self.line(Op::Inverse, &ring, values, bench, |back| Ok(back == inputs && forward.line.right))?;
        let mut lines = vec![forward, inverse];
        lines.retain(|line| self.wanted.iter().any(|op| op.to_string() == line.line.what.op));
        Ok(lines)
    }

    /// Measures one direction on what is in a buffer, and checks what it leaves in another one.
    fn line(
        &self,
        op: Op,
        ring: &Ring,
        from: Buffer,
        bench: &Bench,
        check: impl FnOnce(&[u8]) -> Result<bool>,
    ) -> Result<(Line, Buffer)> {
        let job = Job::new(ring, op).order(Order::Natural).batch_hint(1);
        let work = bench.work(&job)?;
        let args = vec![("from", from.into()), ("to", bench.device.buffer(ring.bytes())?.into())];
        let mut captured = [work.program.capture(&work.stream, 1, args)?];
        let effort = if self.wanted.contains(&op) { bench.effort } else { Effort::LEAST };
        let times = measure::runs(&work.stream, &mut captured, effort, |captured| Ok(captured.run()?))?;
        let [captured] = captured;
        let own = |(name, arg)| match arg {
            CapturedArg::Own(buffer) if name == "to" => Some(buffer),
            _ => None,
        };
        let left = captured.into_args().into_iter().find_map(own).context("a transform writes")?;
        let right = check(&work.stream.download(&left)?)?;

        let Shape { log_n, peers, bar, .. } = *self.shape;
        let plan = work.program.plan();
        let limits = bench.device.limits();
        let floor = Floor::of(&job, plan.floor_bytes_per_item(), &bench.ceilings, limits);
        let what = What { name: "zk", ring: ring.to_string(), op: op.to_string() };
        let seconds = |ms: Option<f64>| ms.filter(|_| is_reference(limits)).map(|ms| 1e-3 * ms);
        let peer = peers.map(|peers| peers[usize::from(self.is_coset)][usize::from(op == Op::Inverse)]);
        let line = Line {
            line: super::Line::new(what, 1, plan, times, floor, right),
            log_n,
            coset: self.is_coset,
            peer_seconds: seconds(peer),
            bar_seconds: seconds(bar.map(|bar| if self.is_coset { COSET * bar } else { bar })),
        };
        Ok((line, left))
    }

    /// Whether values are those of the inputs: all of them by arkworks, or some by evaluation.
    fn values_are_right(&self, values: &[u8], inputs: &[u8], random: &mut Random) -> Result<bool> {
        let n = 1 << self.shape.log_n;
        let offset = self.offset();
        if n <= ALL {
            let domain = Radix2EvaluationDomain::<Fr>::new(n).and_then(|domain| domain.get_coset(offset));
            let domain = domain.context("arkworks has such a domain")?;
            let all = domain.fft(&inputs.par_chunks_exact(32).map(element).collect::<Vec<_>>());
            return Ok(all
                .par_iter()
                .zip(values.par_chunks_exact(32))
                .all(|(x, value)| bytes(x).as_flattened() == value));
        }
        some_are_right(values, inputs, offset, random)
    }
}

/// Whether values on a coset are those of the inputs in a few places.
pub(super) fn some_are_right(values: &[u8], inputs: &[u8], offset: Fr, random: &mut Random) -> Result<bool> {
    let n = inputs.len() / 32;
    let root = root(n)?;
    let places: Vec<usize> = [0, n - 1].into_iter().chain((2..PLACES).map(|_| random.below(n))).collect();
    Ok(places.into_iter().all(|place| {
        let value = evaluate(inputs, offset * root.pow([place as u64]));
        bytes(&value).as_flattened() == &values[32 * place..][..32]
    }))
}

/// x^n − 1 with arkworks' root.
pub(super) fn cyclic(n: usize) -> Result<Ring> {
    Ok(Ring::cyclic(n, modulus()?)?.with_root(plain(&root(n)?.into_bigint().0))?)
}

/// The field's modulus.
pub(super) fn modulus() -> Result<Modulus> {
    Ok(Modulus::new(plain(&Fr::MODULUS.0))?)
}

/// The value at x of the polynomial with these coefficients.
pub(super) fn evaluate(coefficients: &[u8], x: Fr) -> Fr {
    let shares = coefficients.par_chunks(32 * SHARE).enumerate();
    let values = shares.map(|(share, coefficients)| {
        let horner = coefficients.chunks_exact(32).rev().fold(Fr::ZERO, |value, c| value * x + element(c));
        horner * x.pow([(share * SHARE) as u64])
    });
    values.sum()
}

/// arkworks' n-th root of unity.
fn root(n: usize) -> Result<Fr> {
    Fr::get_root_of_unity(n as u64).with_context(|| format!("no root of order {n}"))
}

/// An element as it is stored: four limbs in Montgomery form.
pub(super) fn bytes(x: &Fr) -> [[u8; 8]; 4] {
    x.0.0.map(u64::to_le_bytes)
}

/// The element that is stored so.
pub(super) fn element(bytes: &[u8]) -> Fr {
    let mut limbs = [0; 4];
    for (limb, bytes) in limbs.iter_mut().zip(bytes.chunks_exact(8)) {
        *limb = bytes.iter().rev().fold(0, |limb, &byte| limb << 8 | u64::from(byte));
    }
    Fr::new_unchecked(BigInt(limbs))
}

/// Limbs of a plain value.
fn plain(limbs: &[u64; 4]) -> U256 {
    U256::from_le_slice(limbs.map(u64::to_le_bytes).as_flattened())
}

/// The lines as a table.
pub(super) fn table(lines: &[Line]) -> String {
    let headings = ["points", "operation", "median", "p95", "peer", "bar", "floor", "% of floor", "right"];
    let mut table = show::table(&headings, &[2, 3, 4, 5, 6, 7]);
    for Line { line, log_n, coset, peer_seconds, bar_seconds } in lines {
        let compared = |seconds: &Option<f64>| seconds.map_or("–".into(), show::time);
        let (floor, limit) = line.floor.limit();
        table.add_row([
            format!("2^{log_n}"),
            format!("{}{}", line.what.op, if *coset { " on a coset" } else { "" }),
            show::time(line.times.median_seconds),
            show::time(line.times.p95_seconds),
            compared(peer_seconds),
            compared(bar_seconds),
            format!("{} ({limit})", show::time(floor)),
            format!("{:.0}", line.percent_of_floor),
            show::yes_or_no(line.right),
        ]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::Work;

    fn task(log_n: u32, is_coset: bool) -> Task {
        let shape = Box::leak(Box::new(alone(log_n)));
        Task { shape, is_coset, wanted: vec![Op::Forward, Op::Inverse] }
    }

    #[test]
    fn lines_are_right() -> Result<()> {
        for (log_n, is_coset) in [(1, false), (6, false), (6, true), (11, true)] {
            let lines = task(log_n, is_coset).lines(&Bench::of_cpu())?;
            assert_eq!(lines.iter().map(|line| line.line.what.op.as_str()).collect::<Vec<_>>(), ["forward", "inverse"]);
            assert!(lines.iter().all(|line| line.line.right && line.peer_seconds.is_none() && line.coset == is_coset));
        }
        Ok(())
    }

    #[test]
    fn evaluation_is_arkworks_transform() -> Result<()> {
        let n = 4 * SHARE;
        let task = task(n.ilog2(), true);
        let inputs = sample::elements(&task.ring()?, 1, 0, 1)?;
        let domain = Radix2EvaluationDomain::<Fr>::new(n).context("a domain")?;
        let domain = domain.get_coset(task.offset()).context("a coset")?;
        let values = domain.fft(&inputs.chunks_exact(32).map(element).collect::<Vec<_>>());
        for place in [0, 1, n - 1] {
            assert_eq!(evaluate(&inputs, domain.element(place)), values[place]);
        }
        Ok(())
    }

    #[test]
    fn wrong_values_are_noticed() -> Result<()> {
        for is_coset in [false, true] {
            let (here, other) = (task(5, is_coset), task(5, !is_coset));
            let inputs = sample::elements(&here.ring()?, 1, 0, 1)?;
            let job = Job::new(&other.ring()?, Op::Forward).order(Order::Natural);
            let values = Work::new(&Device::cpu(), &job)?.run(1, &[("from", &inputs)])?;
            assert!(other.values_are_right(&values, &inputs, &mut Random::new(1))?);
            assert!(!here.values_are_right(&values, &inputs, &mut Random::new(1))?);
        }
        Ok(())
    }
}
