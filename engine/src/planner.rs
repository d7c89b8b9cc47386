//! The planner: from a job to a plan. A pure function of the job, a device's limits, and choices of speed.

mod lift;
mod rns;

use core::ops::Range;

use crypto_bigint::U256;

use crate::arithmetic::Arithmetic;
use crate::job::{Job, Op};
use crate::kernels::{Forward, Inverse, PointMul, RingMul};
use crate::pipeline::{Pipeline, PlanJob, Target, Value};
use crate::rows::Rows;
use crate::tuning::Tuning;
use ringforge_math::error::{Error, Result};
use ringforge_math::poly::{Order, PolyType};
use ringforge_math::split::Split;
use ringforge_runtime::limits::Limits;
use ringforge_runtime::plan::Plan;

/// The most launches that a ring is worked on by where its limbs are fastest in different arithmetics.
const MOST_RUNS: usize = 4;

/// Turns jobs into plans for devices with given limits.
#[derive(Debug, Clone)]
pub struct Planner {
    limits: Limits,
    tuning: Tuning,
    /// Items of a run of a pipeline, about.
    items: usize,
}

impl Default for Planner {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl Planner {
    /// A planner for devices with these limits.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, tuning: Tuning::default(), items: 1 }
    }

    /// The same for pipelines whose runs have about this many items, one if this is not called; decides nothing but speed. A
    /// [`Job`] has a [number of its own](Job::batch_hint).
    #[must_use]
    pub fn for_batch(self, items: usize) -> Self {
        Self { items, ..self }
    }

    /// The same with other choices where only speed depends on them.
    #[must_use]
    pub fn tuned(mut self, tuning: Tuning) -> Self {
        self.tuning = tuning;
        self
    }

    /// The choices.
    pub(crate) fn tuning(&self) -> &Tuning {
        &self.tuning
    }

    /// What the devices can hold.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// An empty pipeline for the planner's devices.
    #[must_use]
    pub fn pipeline(&self, title: impl Into<String>) -> Pipeline {
        let planner = self.clone();
        self.empty(title.into(), Box::new(move |job| planner.plan(job)))
    }

    /// One for a strategy, which makes a plan of kernels and plans alone.
    fn of_kernels(&self, job: &Job) -> Pipeline {
        let refuse = |job: &Job| Err(Error::unsupported(job.op, &job.poly, "a strategy plans no job"));
        self.empty(job.to_string(), Box::new(refuse))
    }

    fn empty(&self, title: String, plan: PlanJob) -> Pipeline {
        // on a CPU each step would still take its own way over memory
        let fuses = self.tuning.fuses() && !self.limits.is_cpu();
        Pipeline::new(title, Target { limits: self.limits.clone(), fuses, items: self.items, plan })
    }

    /// The plan for a job, its arguments named as [`Op`] says: of the first strategy that applies.
    ///
    /// # Errors
    /// [`Error::Unsupported`], [`Error::Mismatch`] for a target ring with another quotient, and what [`Split::of`] says
    /// where a transform is asked for that the ring does not have.
    pub fn plan(&self, job: &Job) -> Result<Plan> {
        if job.in_place && !matches!(job.op, Op::Forward | Op::Inverse) {
            return Err(Error::unsupported(job.op, &job.poly, "only transforms run in place"));
        }
        if job.scale.is_some() && !matches!(job.op, Op::Forward | Op::Inverse) {
            return Err(Error::unsupported(job.op, &job.poly, "only transforms have a scale"));
        }
        if job.target.is_some() && !matches!(job.op, Op::Convert | Op::ConvertCentred | Op::ConvertFast) {
            return Err(Error::unsupported(job.op, &job.poly, "only conversions have a target ring"));
        }
        if matches!(job.op, Op::Mul | Op::PointMul | Op::MulAdd) {
            job.poly.check_single(job.op)?;
        }
        match job.op {
            Op::Compose | Op::Decompose | Op::Convert | Op::ConvertCentred | Op::ConvertFast => rns::plan(self, job),
            Op::Mul => match Split::of(&job.poly, job.depth) {
                Ok(split) => self.product(job, &split),
                Err(error) if job.depth.is_some() => Err(error),
                Err(Error::NotPrime { .. } | Error::NoRoot { .. } | Error::Unsupported { .. }) => lift::mul(self, job),
                Err(error) => Err(error),
            },
            Op::Forward | Op::Inverse => self.transform(job, &Split::of(&job.poly, job.depth)?),
            Op::PointMul | Op::MulAdd => self.pointwise(job, &Split::of(&job.poly, job.depth)?),
        }
    }

    /// Strategy: between coefficients and values, in as many kernels as rows need.
    fn transform(&self, job: &Job, split: &Split) -> Result<Plan> {
        if job.order == Order::Natural {
            split.check_degree("values in natural order")?;
        }
        let p = self.of_kernels(job);
        let (coefficients, values) = (job.poly.coefficients(), values(job, split));
        let [name, result] = if job.in_place { ["data"; 2] } else { ["from", "to"] };
        let (from, to, transform): (_, _, Transform) = match job.op {
            Op::Inverse => (values, coefficients, inverse),
            _ => (coefficients, values, forward),
        };
        let done = self.by_arithmetic(&p, (job, split), &to, [p.elements(name, from)], |split, [value]| {
            transform(&p, &self.rows(job, split, job.order), value)
        })?;
        p.output(result, done);
        p.build()
    }

    /// What `make` makes of values in the job's ring: of all limbs at once, or one after another of those that the same
    /// arithmetic is fastest for. No arithmetic depends on its neighbours in the basis then.
    fn by_arithmetic<'p, const N: usize>(
        &self,
        p: &'p Pipeline,
        (job, split): (&Job, &Split),
        content: &PolyType,
        values: [Value<'p>; N],
        make: impl Fn(&Split, [Value<'p>; N]) -> Value<'p>,
    ) -> Result<Value<'p>> {
        let runs = self.runs(job, split);
        if runs.len() == 1 {
            return Ok(make(split, values).holding(content.clone()));
        }
        let part = |run: Range<usize>| {
            let made = make(&split.limbs(run.clone())?, values.map(|value| value.limbs(run.clone())));
            Ok(made.holding(content.limbs(run)?))
        };
        let parts = runs.into_iter().map(part).collect::<Result<Vec<_>>>()?;
        Ok(p.join(content.clone(), &parts))
    }

    /// Neighbouring limbs of the same arithmetic.
    fn runs(&self, job: &Job, split: &Split) -> Vec<Range<usize>> {
        let limbs = job.poly.basis().len();
        let whole = || core::iter::once(0..limbs).collect();
        let arithmetic = |limb: usize| {
            let poly = job.poly.limbs(limb..limb + 1).ok()?;
            let of_device = split.is_binary().then(|| Arithmetic::of_device(&poly, &self.limits));
            Some(of_device.unwrap_or_else(|| Arithmetic::of(&poly)))
        };
        let Some(all) = (0..limbs).map(arithmetic).collect::<Option<Vec<_>>>() else { return whole() };
        let mut ends: Vec<usize> = (1..limbs).filter(|&limb| all[limb] != all[limb - 1]).chain([limbs]).collect();
        if ends.len() > MOST_RUNS || self.tuning.choice(job).arithmetic.is_some() {
            return whole();
        }
        ends.insert(0, 0);
        ends.windows(2).map(|pair| pair[0]..pair[1]).collect()
    }

    /// Strategy: an operation on values, in one kernel.
    fn pointwise(&self, job: &Job, split: &Split) -> Result<Plan> {
        split.check_leaves("a product of values")?;
        let p = self.of_kernels(job);
        let values = values(job, split);
        let kernel = PointMul::new(split, job.order, &self.limits);
        let [a, b] = ["a", "b"].map(|name| p.elements(name, values.clone()));
        let ([result], name) = match job.op {
            Op::MulAdd => (p.step(kernel.adding(), &[a, b, p.elements("sum", values.clone())]), "sum"),
            _ => (p.step(kernel, &[a, b]), "product"),
        };
        p.output(name, result.holding(values));
        p.build()
    }

    /// Strategy: a product through the ring's own transform, in one kernel where a row fits a block.
    fn product(&self, job: &Job, split: &Split) -> Result<Plan> {
        split.check_leaves("a product")?;
        let p = self.of_kernels(job);
        let coefficients = job.poly.coefficients();
        let factors = ["a", "b"].map(|name| p.elements(name, coefficients.clone()));
        let product = self.by_arithmetic(&p, (job, split), &coefficients, factors, |split, factors| {
            let fused = RingMul::new(split, &self.limits).chosen(self.tuning.choice(job));
            if self.limits.is_cpu() || fused.fits(&self.limits) {
                let [product] = p.step(fused, &factors);
                return product;
            }
            let rows = self.rows(job, split, Order::Tree);
            let factors = factors.map(|factor| forward(&p, &rows, factor));
            let [product] = p.step(PointMul::new(&rows.split, rows.order, &rows.limits), &factors);
            inverse(&p, &rows, product)
        })?;
        p.output("product", product);
        p.build()
    }

    /// Rows of the job's ring as transforms work on them.
    fn rows(&self, job: &Job, split: &Split, order: Order) -> Rows {
        let rows = Rows::with_split(split, &self.limits).of_items(job.batch_hint).order(order);
        let rows = rows.chosen(self.tuning.choice(job));
        rows.scale(job.scale.unwrap_or(U256::ONE))
    }
}

/// A transform: one step for each pass.
type Transform = for<'p> fn(&'p Pipeline, &Rows, Value<'p>) -> Value<'p>;

/// A forward transform: one step for each pass.
fn forward<'p>(p: &'p Pipeline, rows: &Rows, coefficients: Value<'p>) -> Value<'p> {
    Forward::parts(rows).into_iter().fold(coefficients, |value, part| {
        let [value] = p.step(part, &[value]);
        value
    })
}

/// An inverse transform: one step for each pass.
fn inverse<'p>(p: &'p Pipeline, rows: &Rows, values: Value<'p>) -> Value<'p> {
    Inverse::parts(rows).into_iter().fold(values, |value, part| {
        let [value] = p.step(part, &[value]);
        value
    })
}

/// What a job's transform gives or takes.
fn values(job: &Job, split: &Split) -> PolyType {
    job.poly.evaluations_after(split.depth(), job.order)
}
