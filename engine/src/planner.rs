//! The planner turns jobs into plans. A plan depends only on the job, the device limits and the tuning.

mod lift;
mod rns;

use core::ops::Range;

use crypto_bigint::U256;

use crate::arithmetic::Arithmetic;
use crate::job::{Job, Op};
use crate::kernels::{Forward, Inverse, PointMul, RingMul};
use crate::layout::KernelLayout;
use crate::pipeline::{Pipeline, PlanJob, Target, Value};
use crate::tuning::Tuning;
use ringforge_math::error::{Error, Result};
use ringforge_math::factorization::Factorization;
use ringforge_math::poly::{Order, PolyType};
use ringforge_runtime::limits::Limits;
use ringforge_runtime::plan::Plan;

/// Maximum number of runs of adjacent limbs that get launches of their own because different arithmetics are fastest
/// for them.
const MOST_RUNS: usize = 4;

/// Turns jobs into plans for devices with given limits.
#[derive(Debug, Clone)]
pub struct Planner {
    limits: Limits,
    tuning: Tuning,
    /// The expected number of items per run of a pipeline.
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

    /// Sets the expected number of items per run of a pipeline, 1 by default. It affects speed only. A [`Job`] has
    /// its own [hint](Job::batch_hint).
    #[must_use]
    pub fn for_batch(self, items: usize) -> Self {
        Self { items, ..self }
    }

    /// Sets the tuning, which affects speed only.
    #[must_use]
    pub fn tuned(mut self, tuning: Tuning) -> Self {
        self.tuning = tuning;
        self
    }

    /// The tuning, which affects speed only.
    pub(crate) fn tuning(&self) -> &Tuning {
        &self.tuning
    }

    /// The limits of the devices.
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

    /// An empty pipeline for a planning strategy. A strategy adds kernels and other plans, but no jobs.
    fn of_kernels(&self, job: &Job) -> Pipeline {
        let refuse = |job: &Job| Err(Error::unsupported(job.op, &job.poly, "a strategy cannot plan jobs"));
        self.empty(job.to_string(), Box::new(refuse))
    }

    fn empty(&self, title: String, plan: PlanJob) -> Pipeline {
        // on a CPU, a fused step would still make a pass of its own over memory
        let fuses = self.tuning.fuses() && !self.limits.is_cpu();
        Pipeline::new(title, Target { limits: self.limits.clone(), fuses, items: self.items, plan })
    }

    /// The plan for a job by the first strategy that applies. Its arguments are named as in [`Op`].
    ///
    /// # Errors
    /// [`Error::Unsupported`] for an option that the operation does not have, or if no strategy applies.
    /// [`Error::Mismatch`] for a target ring whose quotient or number of columns differs from that of the job's ring.
    /// Also the errors of [`Factorization::of`] for transforms that the ring does not have.
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
            Op::Mul => match Factorization::of(&job.poly, job.depth) {
                Ok(factorization) => self.product(job, &factorization),
                Err(error) if job.depth.is_some() => Err(error),
                Err(Error::NotPrime { .. } | Error::NoRoot { .. } | Error::Unsupported { .. }) => lift::mul(self, job),
                Err(error) => Err(error),
            },
            Op::Forward | Op::Inverse => self.transform(job, &Factorization::of(&job.poly, job.depth)?),
            Op::PointMul | Op::MulAdd => self.pointwise(job, &Factorization::of(&job.poly, job.depth)?),
        }
    }

    /// Strategy for transforms: one kernel, or several if a limb does not fit a thread block.
    fn transform(&self, job: &Job, factorization: &Factorization) -> Result<Plan> {
        if job.order == Order::Natural {
            factorization.check_degree("evaluations in natural order")?;
        }
        let p = self.of_kernels(job);
        let (coefficients, values) = (job.poly.coefficients(), values(job, factorization));
        let [name, result] = if job.in_place { ["data"; 2] } else { ["from", "to"] };
        let (from, to, transform): (_, _, Transform) = match job.op {
            Op::Inverse => (values, coefficients, inverse),
            _ => (coefficients, values, forward),
        };
        let done =
            self.by_arithmetic(&p, (job, factorization), &to, [p.elements(name, from)], |factorization, [value]| {
                transform(&p, &self.rows(job, factorization, job.order), value)
            })?;
        p.output(result, done);
        p.build()
    }

    /// Applies `make` to values in the job's ring: to all limbs at once if the same arithmetic is fastest for all, else
    /// to each run of adjacent limbs with the same fastest arithmetic. The arithmetic of a limb then does not depend on
    /// the other limbs of the basis.
    fn by_arithmetic<'p, const N: usize>(
        &self,
        p: &'p Pipeline,
        (job, factorization): (&Job, &Factorization),
        content: &PolyType,
        values: [Value<'p>; N],
        make: impl Fn(&Factorization, [Value<'p>; N]) -> Value<'p>,
    ) -> Result<Value<'p>> {
        let runs = self.runs(job, factorization);
        if runs.len() == 1 {
            return Ok(make(factorization, values).holding(content.clone()));
        }
        let part = |run: Range<usize>| {
            let made = make(&factorization.limbs(run.clone())?, values.map(|value| value.limbs(run.clone())));
            Ok(made.holding(content.limbs(run)?))
        };
        let parts = runs.into_iter().map(part).collect::<Result<Vec<_>>>()?;
        Ok(p.join(content.clone(), &parts))
    }

    /// The runs of adjacent limbs for which the same arithmetic is fastest; a single run if there would be too many, or
    /// if the tuning chooses an arithmetic.
    fn runs(&self, job: &Job, factorization: &Factorization) -> Vec<Range<usize>> {
        let limbs = job.poly.basis().len();
        let whole = || core::iter::once(0..limbs).collect();
        let arithmetic = |limb: usize| {
            let poly = job.poly.limbs(limb..limb + 1).ok()?;
            let of_device = factorization.is_binary().then(|| Arithmetic::of_device(&poly, &self.limits));
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

    /// Strategy for pointwise operations on evaluations: one kernel.
    fn pointwise(&self, job: &Job, factorization: &Factorization) -> Result<Plan> {
        factorization.check_leaves("a product of evaluations")?;
        let p = self.of_kernels(job);
        let values = values(job, factorization);
        let kernel = PointMul::new(factorization, job.order, &self.limits);
        let [a, b] = ["a", "b"].map(|name| p.elements(name, values.clone()));
        let ([result], name) = match job.op {
            Op::MulAdd => (p.step(kernel.adding(), &[a, b, p.elements("sum", values.clone())]), "sum"),
            _ => (p.step(kernel, &[a, b]), "product"),
        };
        p.output(name, result.holding(values));
        p.build()
    }

    /// Strategy for products by the ring's own NTT: one kernel if a limb fits a thread block or on a CPU, else forward
    /// transforms, a pointwise product and an inverse transform.
    fn product(&self, job: &Job, factorization: &Factorization) -> Result<Plan> {
        factorization.check_leaves("a product")?;
        let p = self.of_kernels(job);
        let coefficients = job.poly.coefficients();
        let factors = ["a", "b"].map(|name| p.elements(name, coefficients.clone()));
        let product =
            self.by_arithmetic(&p, (job, factorization), &coefficients, factors, |factorization, factors| {
                let fused = RingMul::new(factorization, &self.limits).chosen(self.tuning.choice(job));
                if self.limits.is_cpu() || fused.fits(&self.limits) {
                    let [product] = p.step(fused, &factors);
                    return product;
                }
                let rows = self.rows(job, factorization, Order::DigitReversed);
                let factors = factors.map(|factor| forward(&p, &rows, factor));
                let [product] = p.step(PointMul::new(&rows.factorization, rows.order, &rows.limits), &factors);
                inverse(&p, &rows, product)
            })?;
        p.output("product", product);
        p.build()
    }

    /// The layout of the job's limbs in thread blocks.
    fn rows(&self, job: &Job, factorization: &Factorization, order: Order) -> KernelLayout {
        let rows = KernelLayout::with_split(factorization, &self.limits).of_items(job.batch_hint).order(order);
        let rows = rows.chosen(self.tuning.choice(job));
        rows.scale(job.scale.unwrap_or(U256::ONE))
    }
}

/// A function that adds a transform to a pipeline, one step for each of its kernels.
type Transform = for<'p> fn(&'p Pipeline, &KernelLayout, Value<'p>) -> Value<'p>;

/// Adds a forward transform to a pipeline, one step for each of its kernels.
fn forward<'p>(p: &'p Pipeline, rows: &KernelLayout, coefficients: Value<'p>) -> Value<'p> {
    Forward::parts(rows).into_iter().fold(coefficients, |value, part| {
        let [value] = p.step(part, &[value]);
        value
    })
}

/// Adds an inverse transform to a pipeline, one step for each of its kernels.
fn inverse<'p>(p: &'p Pipeline, rows: &KernelLayout, values: Value<'p>) -> Value<'p> {
    Inverse::parts(rows).into_iter().fold(values, |value, part| {
        let [value] = p.step(part, &[value]);
        value
    })
}

/// The type of the evaluations that a job's transform writes or reads.
fn values(job: &Job, factorization: &Factorization) -> PolyType {
    job.poly.evaluations_after(factorization.depth(), job.order)
}
