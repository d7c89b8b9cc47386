//! The planner: from a job to a plan. A pure function of the job, a device's limits, and choices of speed.

mod lift;
mod rns;
pub mod split;
pub(crate) mod tuning;

use crypto_bigint::U256;

use crate::arithmetic::Arithmetic;
use crate::error::{Error, Result};
use crate::job::{Job, Op, Order};
use crate::kernels::{Forward, Inverse, MulAdd, PointMul, RingMul};
use crate::limits::Limits;
use crate::modulus::Modulus;
use crate::plan::{Content, Plan, Slot, Step};
use crate::rows::Rows;

use split::Split;
use tuning::Tuning;

/// Turns jobs into plans for devices with given limits.
#[derive(Debug, Clone, Default)]
pub struct Planner {
    limits: Limits,
    tuning: Tuning,
}

impl Planner {
    /// A planner for devices with these limits.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, tuning: Tuning::default() }
    }

    /// The same with other choices where only speed depends on them.
    #[must_use]
    pub fn tuned(mut self, tuning: Tuning) -> Self {
        self.tuning = tuning;
        self
    }

    /// The plan for a job: of the first strategy that applies.
    ///
    /// # Errors
    /// [`Error::Unsupported`], [`Error::Mismatch`] for a target ring with another quotient, and what [`Split::of`] says
    /// where a transform is asked for that the ring does not have.
    pub fn plan(&self, job: &Job) -> Result<Plan> {
        if job.in_place && !matches!(job.op, Op::Forward | Op::Inverse) {
            return Err(Error::unsupported(job.op, &job.ring, "only transforms run in place"));
        }
        if job.scale.is_some() && !matches!(job.op, Op::Forward | Op::Inverse) {
            return Err(Error::unsupported(job.op, &job.ring, "only transforms have a scale"));
        }
        if job.target.is_some() && !matches!(job.op, Op::Convert | Op::ConvertCentred | Op::ConvertFast) {
            return Err(Error::unsupported(job.op, &job.ring, "only conversions have a target ring"));
        }
        match job.op {
            Op::Combine | Op::Decompose | Op::Convert | Op::ConvertCentred | Op::ConvertFast => rns::plan(job),
            Op::Mul => match split_of(job) {
                Ok(split) => self.product(job, &split),
                Err(error) if job.depth.is_some() => Err(error),
                Err(Error::NotPrime { .. } | Error::NoRoot { .. } | Error::Unsupported { .. }) => {
                    lift::mul(job, &self.limits)
                }
                Err(error) => Err(error),
            },
            Op::Forward | Op::Inverse | Op::PointMul | Op::MulAdd => self.transform(job, &split_of(job)?),
        }
    }

    /// Strategy: an operation on values, in one kernel, or between coefficients and values, in as many as rows need.
    fn transform(&self, job: &Job, split: &Split) -> Result<Plan> {
        let limits = &self.limits;
        let Job { ring, op, order, .. } = job;
        let coefficients = Content::Coefficients(ring.clone());
        let values = Content::Values { ring: ring.clone(), depth: split.depth(), order: *order };
        let [a, b, c] = [0, 1, 2].map(Slot::Arg);
        let target = if job.in_place { a.clone() } else { b.clone() };
        let rows = self.rows(job, split, *order);
        let (steps, contents) = match op {
            Op::Forward => (forward(&rows, a, target), vec![coefficients, values]),
            Op::Inverse => (inverse(&rows, a, target), vec![values, coefficients]),
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
    fn product(&self, job: &Job, split: &Split) -> Result<Plan> {
        let limits = &self.limits;
        let ring = &job.ring;
        let [a, b, c] = [0, 1, 2].map(Slot::Arg);
        let fused = RingMul::new(ring, split, limits);
        let steps = if limits.is_cpu() || fused.fits(limits) {
            vec![fused.step(a, b, c)]
        } else {
            transforms(job, &self.rows(job, split, Order::Any), [a, b, c])
        };
        let contents = vec![Some(Content::Coefficients(ring.clone())); 3];
        Plan::new(job.to_string(), steps)?.with_contents(contents)
    }

    /// Rows of the job's ring as transforms work on them.
    fn rows(&self, job: &Job, split: &Split, order: Order) -> Rows {
        let rows = Rows::with_split(&job.ring, split, &self.limits).order(order).fastest();
        rows.exchange(self.tuning.exchange).scale(job.scale.unwrap_or(U256::ONE))
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

/// The steps of a forward transform: one, or several that hand on in the target, or where values change their places,
/// in a temporary.
fn forward(rows: &Rows, from: Slot, to: Slot) -> Vec<Step> {
    let parts = Forward::parts(rows);
    let between = if rows.is_natural() { Slot::Temp(0) } else { to.clone() };
    chain(parts.len(), from, between, to).zip(parts).map(|((from, to), part)| part.step(from, to)).collect()
}

/// The steps of an inverse transform, likewise.
fn inverse(rows: &Rows, from: Slot, to: Slot) -> Vec<Step> {
    let parts = Inverse::parts(rows);
    let between = if rows.is_natural() { Slot::Temp(0) } else { to.clone() };
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
fn transforms(job: &Job, rows: &Rows, [a, b, c]: [Slot; 3]) -> Vec<Step> {
    let [x, y] = [0, 1].map(Slot::Temp);
    let mut steps = forward(rows, a, x.clone());
    steps.extend(forward(rows, b, y.clone()));
    steps.push(PointMul::new(&job.ring, &rows.split, rows.order, &rows.limits).step(x, y, c.clone()));
    steps.extend(inverse(rows, c.clone(), c));
    steps
}
