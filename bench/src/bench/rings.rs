//! Lines about transforms and products in rings.

use anyhow::Result;
use ringforge::split::Split;
use ringforge::testkit::naive;
use ringforge::testkit::{Named, Random};
use ringforge::{Device, Job, Op, Order, Ring};

use super::{Bench, Line, Options, What};
use crate::floor::Floor;
use crate::measure;
use crate::rings::{MEASURED, Measured};
use crate::sample;
use crate::work::{Work, slices};

/// Seconds of a run that a CPU's batch is chosen for.
const CPU_RUN_SECONDS: f64 = 0.02;
/// Coefficient products that the oracle may take for a line.
const ORACLE_PRODUCTS: usize = 4 << 20;
/// Items of a GPU's result that are compared with the CPU's.
const CPU_ITEMS: usize = 64;

/// What one line is about.
pub(super) struct Task {
    name: &'static str,
    job: Job,
    /// Where it is fixed.
    batch: Option<usize>,
}

impl Task {
    pub(super) fn title(&self) -> String {
        format!("{} {}", self.name, self.job)
    }
}

/// What is to be measured.
pub(super) fn tasks(options: &Options, device: &Device) -> Result<Vec<Task>> {
    let mut tasks = Vec::new();
    for Measured { name, ring: text, ops, batches, quick } in MEASURED {
        if options.quick && !quick {
            continue;
        }
        let ring: Ring = text.parse()?;
        let batches: Vec<Option<usize>> = match &options.batch[..] {
            [] if device.limits().is_cpu() => vec![None],
            [] => batches.iter().copied().map(Some).collect(),
            batches => batches.iter().copied().map(Some).collect(),
        };
        for op in *ops {
            if !format!("{name} {text} {op}").contains(&options.filter) {
                continue;
            }
            for &batch in &batches {
                let job = Job::new(&ring, *op);
                let job = batch.map_or(job.clone(), |batch| job.batch_hint(batch));
                tasks.push(Task { name, job, batch });
            }
        }
    }
    Ok(tasks)
}

/// Measures a line.
pub(super) fn line(Task { name, job, batch }: &Task, bench: &Bench) -> Result<Line> {
    let Bench { device, ceilings, effort, .. } = bench;
    let work = bench.work(job)?;
    let batch = match *batch {
        Some(batch) => batch,
        None => suiting_batch(&work)?,
    };
    let mut random = Random::new(std::process::id().into());
    let (mut sets, mut inputs) = (Vec::new(), Named::new());
    for _ in 0..measure::sets(&work, batch) {
        inputs = sample::operands(job, &mut random, 4, batch)?;
        sets.push(work.buffers(batch, &slices(&inputs))?);
    }
    let times = measure::measure(&work, batch, &mut sets, *effort)?;
    let result = sets.last().map(|buffers| work.result(buffers)).transpose()?.unwrap_or_default();
    drop(sets);
    let right = is_right(job, device, batch, &inputs, &result)?;
    let plan = work.program.plan();
    let floor = Floor::of(job, plan.floor_bytes_per_item(), ceilings, device.limits());
    let what = What { name, ring: job.ring.to_string(), op: job.op.to_string() };
    Ok(Line::new(what, batch, plan, times, floor, right))
}

/// A power of two that takes a CPU a suitable time.
fn suiting_batch(work: &Work) -> Result<usize> {
    let most = (64 << 20) / work.bytes(1).max(1);
    Ok(((CPU_RUN_SECONDS / measure::estimate_item(work)?) as usize).clamp(16, most.max(16)).next_power_of_two())
}

/// Whether items of the result are what the oracle says, and on a GPU what the CPU says of more of them.
pub(super) fn is_right(job: &Job, device: &Device, batch: usize, inputs: &Named, result: &[u8]) -> Result<bool> {
    let ring = &job.ring;
    let size = ring.bytes();
    let products = ring.basis().len() * ring.degree().pow(2);
    let few = (ORACLE_PRODUCTS / products).clamp(1, 4).min(batch);
    let first: Vec<&[u8]> = inputs.values().map(|input| &input[..few * size]).collect();
    let mut right = oracle(job, &first, &result[..few * size])?;
    if !device.limits().is_cpu() {
        // from the end, where the last block may not be full
        let items = batch.min(CPU_ITEMS);
        let from = (batch - items) * size;
        let last: Vec<_> = slices(inputs).into_iter().map(|(name, input)| (name, &input[from..])).collect();
        right &= Work::new(&Device::cpu(), job)?.run(items, &last)? == result[from..];
    }
    Ok(right)
}

fn oracle(job: &Job, inputs: &[&[u8]], result: &[u8]) -> Result<bool> {
    let ring = &job.ring;
    let plain = |bytes: &[u8]| naive::to_plain(ring, bytes);
    Ok(match (job.op, inputs) {
        (Op::Mul, [a, b]) => naive::mul(ring, &plain(a), &plain(b)) == plain(result),
        (Op::Forward, [a]) => naive::forward(ring, &Split::of(ring, None)?, Order::Tree, &plain(a)) == plain(result),
        (Op::Inverse, [a]) => naive::forward(ring, &Split::of(ring, None)?, Order::Tree, &plain(result)) == plain(a),
        _ => anyhow::bail!("{} has no oracle here", job.op),
    })
}
