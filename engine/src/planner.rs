//! The planner: from a job to a plan. A pure function of the job and a device's limits.

mod lift;
mod rns;
pub mod split;

use crate::arithmetic::Arithmetic;
use crate::error::{Error, Result};
use crate::job::{Job, Op, Order};
use crate::kernels::{Forward, Inverse, MulAdd, PointMul, RingMul};
use crate::limits::Limits;
use crate::modulus::Modulus;
use crate::plan::{Content, Plan, Slot, Step};
use crate::ring::Ring;

use split::Split;

/// Turns jobs into plans for devices with given limits.
#[derive(Debug, Clone, Default)]
pub struct Planner {
    limits: Limits,
}

impl Planner {
    /// A planner for devices with these limits.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits }
    }

    /// The plan for a job: of the first strategy that applies.
    ///
    /// # Errors
    /// [`Error::Unsupported`], [`Error::Mismatch`] for a target ring with another quotient, and what [`Split::of`] says where a transform is asked for that the ring does not have.
    pub fn plan(&self, job: &Job) -> Result<Plan> {
        if job.in_place && !matches!(job.op, Op::Forward | Op::Inverse) {
            return Err(Error::unsupported(job.op, &job.ring, "only transforms run in place"));
        }
        if job.target.is_some() && !matches!(job.op, Op::Convert | Op::ConvertCentred | Op::ConvertFast) {
            return Err(Error::unsupported(job.op, &job.ring, "only conversions have a target ring"));
        }
        match job.op {
            Op::Combine | Op::Decompose | Op::Convert | Op::ConvertCentred | Op::ConvertFast => rns::plan(job),
            Op::Mul => match split_of(job) {
                Ok(split) => product(job, &split, &self.limits),
                Err(error) if job.depth.is_some() => Err(error),
                Err(Error::NotPrime { .. } | Error::NoRoot { .. } | Error::Unsupported { .. }) => {
                    lift::mul(job, &self.limits)
                }
                Err(error) => Err(error),
            },
            Op::Forward | Op::Inverse | Op::PointMul | Op::MulAdd => transform(job, &split_of(job)?, &self.limits),
        }
    }
}

/// How the job's ring splits, where device arithmetic serves all its moduli.
fn split_of(job: &Job) -> Result<Split> {
    let ring = &job.ring;
    if Arithmetic::of(ring) != Arithmetic::Mod16 && !ring.basis().iter().all(Modulus::is_odd) {
        return Err(Error::unsupported(job.op, ring, "an even modulus shares its basis with a large one"));
    }
    Split::of(ring, job.depth)
}

/// Strategy: an operation on values, in one kernel, or between coefficients and values, in as many as rows need.
fn transform(job: &Job, split: &Split, limits: &Limits) -> Result<Plan> {
    let Job { ring, op, order, .. } = job;
    let coefficients = Content::Coefficients(ring.clone());
    let values = Content::Values { ring: ring.clone(), depth: split.depth(), order: *order };
    let [a, b, c] = [0, 1, 2].map(Slot::Arg);
    let target = if job.in_place { a.clone() } else { b.clone() };
    let (steps, contents) = match op {
        Op::Forward => (forward(ring, split, *order, limits, a, target), vec![coefficients, values]),
        Op::Inverse => (inverse(ring, split, *order, limits, a, target), vec![values, coefficients]),
        Op::MulAdd => (vec![MulAdd::new(ring, split, *order, limits).step(a, b, c)], vec![values; 3]),
        _ => (vec![PointMul::new(ring, split, *order, limits).step(a, b, c)], vec![values; 3]),
    };
    let plan = Plan::new(job.to_string(), steps)?;
    match <[Content; 2]>::try_from(contents) {
        Ok([before, after]) if job.in_place => plan.with_contents(vec![Some(before)])?.becoming(0, after),
        Ok(contents) => plan.with_contents(contents.map(Some).into()),
        Err(contents) => plan.with_contents(contents.into_iter().map(Some).collect()),
    }
}

/// Strategy: a product through the ring's own transform, in one kernel where a row fits a block.
fn product(job: &Job, split: &Split, limits: &Limits) -> Result<Plan> {
    let ring = &job.ring;
    let [a, b, c] = [0, 1, 2].map(Slot::Arg);
    let fused = RingMul::new(ring, split, limits);
    let steps = if limits.is_cpu() || fused.fits(limits) {
        vec![fused.step(a, b, c)]
    } else {
        transforms(ring, split, limits, [a, b, c])
    };
    let contents = vec![Some(Content::Coefficients(ring.clone())); 3];
    Plan::new(job.to_string(), steps)?.with_contents(contents)
}

/// The steps of a forward transform: one, or several that hand on in the target, or where values change their places,
/// in a temporary.
fn forward(ring: &Ring, split: &Split, order: Order, limits: &Limits, from: Slot, to: Slot) -> Vec<Step> {
    let parts = Forward::parts(ring, split, order, limits);
    let between = if order == Order::Natural { Slot::Temp(0) } else { to.clone() };
    chain(parts.len(), from, between, to).zip(parts).map(|((from, to), part)| part.step(from, to)).collect()
}

/// The steps of an inverse transform, likewise.
fn inverse(ring: &Ring, split: &Split, order: Order, limits: &Limits, from: Slot, to: Slot) -> Vec<Step> {
    let parts = Inverse::parts(ring, split, order, limits);
    let between = if order == Order::Natural { Slot::Temp(0) } else { to.clone() };
    chain(parts.len(), from, between, to).zip(parts).map(|((from, to), part)| part.step(from, to)).collect()
}

/// Where each of `count` steps reads and writes.
fn chain(count: usize, from: Slot, between: Slot, to: Slot) -> impl Iterator<Item = (Slot, Slot)> {
    (1..=count).map(move |i| {
        let source = if i == 1 { from.clone() } else { between.clone() };
        let target = if i == count { to.clone() } else { between.clone() };
        (source, target)
    })
}

/// A product as two transforms, a product of values and a transform back.
fn transforms(ring: &Ring, split: &Split, limits: &Limits, [a, b, c]: [Slot; 3]) -> Vec<Step> {
    let order = Order::Any;
    let [x, y] = [0, 1].map(Slot::Temp);
    let mut steps = forward(ring, split, order, limits, a, x.clone());
    steps.extend(forward(ring, split, order, limits, b, y.clone()));
    steps.push(PointMul::new(ring, split, order, limits).step(x, y, c.clone()));
    steps.extend(inverse(ring, split, order, limits, c.clone(), c));
    steps
}
