//! The planner: from a job to a plan. A pure function of the job, a device's limits, and choices of speed.

mod lift;
mod rns;

use crypto_bigint::U256;

use crate::error::{Error, Result};
use crate::job::{Job, Op, Order};
use crate::kernels::{Forward, Inverse, PointMul, RingMul};
use crate::limits::Limits;
use crate::plan::{Content, Plan, Slot, Step};
use crate::ring::split::Split;
use crate::rows::Rows;
use crate::tuning::Tuning;

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
            Op::Mul => match Split::of(&job.ring, job.depth) {
                Ok(split) => self.product(job, &split),
                Err(error) if job.depth.is_some() => Err(error),
                Err(Error::NotPrime { .. } | Error::NoRoot { .. } | Error::Unsupported { .. }) => {
                    lift::mul(job, &self.limits)
                }
                Err(error) => Err(error),
            },
            Op::Forward | Op::Inverse => self.transform(job, &Split::of(&job.ring, job.depth)?),
            Op::PointMul | Op::MulAdd => self.pointwise(job, &Split::of(&job.ring, job.depth)?),
        }
    }

    /// Strategy: between coefficients and values, in as many kernels as rows need.
    fn transform(&self, job: &Job, split: &Split) -> Result<Plan> {
        let Job { ring, op, order, in_place, .. } = job;
        let coefficients = Content::Coefficients(ring.clone());
        let values = Content::Values { ring: ring.clone(), depth: split.depth(), order: *order };
        let rows = self.rows(job, split, *order);
        let (from, to) = (Slot::Arg(0), Slot::Arg(usize::from(!in_place)));
        let (steps, before, after) = match op {
            Op::Inverse => (inverse(&rows, from, to), values, coefficients),
            _ => (forward(&rows, from, to), coefficients, values),
        };
        let plan = Plan::new(job.to_string(), steps)?;
        match in_place {
            true => plan.with_contents(vec![Some(before)])?.becoming(0, after),
            false => plan.with_contents(vec![Some(before), Some(after)]),
        }
    }

    /// Strategy: an operation on values, in one kernel.
    fn pointwise(&self, job: &Job, split: &Split) -> Result<Plan> {
        let Job { ring, op, order, .. } = job;
        let values = Content::Values { ring: ring.clone(), depth: split.depth(), order: *order };
        let kernel = PointMul::new(split, *order, &self.limits);
        let kernel = if *op == Op::MulAdd { kernel.adding() } else { kernel };
        let [a, b, c] = [0, 1, 2].map(Slot::Arg);
        Plan::new(job.to_string(), vec![kernel.step(a, b, c)])?.with_contents(vec![Some(values); 3])
    }

    /// Strategy: a product through the ring's own transform, in one kernel where a row fits a block.
    fn product(&self, job: &Job, split: &Split) -> Result<Plan> {
        let limits = &self.limits;
        let ring = &job.ring;
        let [a, b, c] = [0, 1, 2].map(Slot::Arg);
        let fused = RingMul::new(split, limits).chosen(self.tuning.choice(job));
        let steps = if limits.is_cpu() || fused.fits(limits) {
            vec![fused.step(a, b, c)]
        } else {
            transforms(&self.rows(job, split, Order::Tree), [a, b, c])
        };
        let contents = vec![Some(Content::Coefficients(ring.clone())); 3];
        Plan::new(job.to_string(), steps)?.with_contents(contents)
    }

    /// Rows of the job's ring as transforms work on them.
    fn rows(&self, job: &Job, split: &Split, order: Order) -> Rows {
        let rows = Rows::with_split(split, &self.limits).order(order).chosen(self.tuning.choice(job));
        rows.scale(job.scale.unwrap_or(U256::ONE))
    }
}

/// The steps of a forward transform.
fn forward(rows: &Rows, from: Slot, to: Slot) -> Vec<Step> {
    chain(rows, Forward::parts(rows), Forward::step, from, to)
}

/// The steps of an inverse transform.
fn inverse(rows: &Rows, from: Slot, to: Slot) -> Vec<Step> {
    chain(rows, Inverse::parts(rows), Inverse::step, from, to)
}

/// The steps of one kernel, or of several that hand on in the target, or where values change their places, in a temporary.
fn chain<K>(rows: &Rows, kernels: Vec<K>, step: fn(K, Slot, Slot) -> Step, from: Slot, to: Slot) -> Vec<Step> {
    let between = if rows.is_natural() { Slot::Temp(0) } else { to.clone() };
    let count = kernels.len();
    let steps = kernels.into_iter().enumerate().map(|(i, kernel)| {
        let source = if i == 0 { &from } else { &between };
        let target = if i + 1 == count { &to } else { &between };
        step(kernel, source.clone(), target.clone())
    });
    steps.collect()
}

/// A product as two transforms, a product of values and a transform back.
fn transforms(rows: &Rows, [a, b, c]: [Slot; 3]) -> Vec<Step> {
    let [x, y] = [0, 1].map(Slot::Temp);
    let mut steps = forward(rows, a, x.clone());
    steps.extend(forward(rows, b, y.clone()));
    steps.push(PointMul::new(&rows.split, rows.order, &rows.limits).step(x, y, c.clone()));
    steps.extend(inverse(rows, c.clone(), c));
    steps
}
