//! Witness maps as one program: the transforms of three polynomials, and what happens to their values, on the device.

use ark_ff::Field;
use rayon::prelude::*;
use ringforge::{Arg, Buffer, Device, Job, Op, Order, Plan, Planner, Program, Result, Ring, Slot, Step};

use crate::backend::Backend;
use crate::field::{EngineField, ring};

/// How the quotient polynomial is handed to the prover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Reduction {
    /// The coefficients of (a·b − c)/(x^n − 1).
    Libsnark,
    /// The values of a·b − c at the odd powers of a root of order 2n, where c has the values of a·b at the even ones.
    Circom,
}

/// A witness map on a domain of n points, made ready.
pub(crate) struct Chain {
    n: usize,
    reduction: Reduction,
    program: Program,
    /// What coefficients are weighed by on their way to values, and in [`Reduction::Libsnark`] on their way back.
    weights: Vec<Buffer>,
}

impl Chain {
    pub(crate) fn new<F: EngineField>(device: &Device, reduction: Reduction, n: usize) -> Result<Self> {
        let plan = plan(&Planner::new(device.limits().clone()), &ring::<F>(n)?, reduction)?;
        let program = device.compile(&plan)?;
        // coefficients are weighed by −s^i rather than s^i: a·b has its sign twice, and the kernel that adds products
        // then leaves a·b − c
        let weights = match reduction {
            Reduction::Libsnark => {
                let (shift, vanishing) = (F::GENERATOR, F::GENERATOR.pow([n as u64]) - F::ONE);
                vec![(-F::ONE, shift), (inverse(vanishing), inverse(shift))]
            }
            Reduction::Circom => vec![(-F::ONE, F::get_root_of_unity(2 * n as u64).unwrap_or_default())],
        };
        let stream = device.stream()?;
        let weights = weights.into_iter().map(|(first, ratio)| stream.upload(&powers(first, ratio, n)));
        let weights = weights.collect::<Result<_>>()?;
        stream.synchronize()?;
        Ok(Self { n, reduction, program, weights })
    }

    /// Runs the map. `fill(i, values)` puts down the values of a, b and, in [`Reduction::Libsnark`], c; `take` takes the
    /// result.
    pub(crate) fn run<T>(
        &self,
        backend: &Backend,
        fill: impl Fn(usize, &mut [[u64; 4]]),
        take: impl FnOnce(&[[u64; 4]]) -> T,
    ) -> Result<T> {
        let device = self.program.device();
        let stream = device.stream()?;
        let mut buffers = Vec::with_capacity(3);
        for _ in 0..3 {
            buffers.push(device.buffer(self.n * size_of::<[u64; 4]>())?);
        }
        let (inputs, output) = match self.reduction {
            Reduction::Libsnark => (3, 0),
            Reduction::Circom => (2, 2),
        };
        backend.staged(self.n, |staging| {
            for (i, buffer) in buffers[..inputs].iter_mut().enumerate() {
                fill(i, staging);
                stream.write(buffer, staging)?;
            }
            let weights = self.weights.iter().map(Arg::In);
            let mut args: Vec<Arg<'_>> = buffers.iter_mut().map(Arg::Out).chain(weights).collect();
            self.program.run(&stream, 1, &mut args)?;
            stream.read(&buffers[output], staging)?;
            Ok(take(staging))
        })
    }
}

/// The plan of a witness map. Arguments: values of a, b and c in natural order, and the weights; the result replaces a
/// in [`Reduction::Libsnark`] and c in [`Reduction::Circom`].
fn plan(planner: &Planner, ring: &Ring, reduction: Reduction) -> Result<Plan> {
    let [a, b, c, weights, weights_back] = [0, 1, 2, 3, 4].map(Slot::Arg);
    let weighed = Slot::Temp(0);
    // where values stand in between matters to Circom's prover alone
    let order = if reduction == Reduction::Libsnark { Order::Any } else { Order::Natural };
    let mut steps = Vec::new();
    let mut then = |job: Job, args: &[&Slot]| -> Result<()> {
        steps.extend(planner.plan(&job)?.steps().iter().map(|step| renamed(step, args)));
        Ok(())
    };
    let job = |op| Job::new(ring, op).batch_hint(1);
    if reduction == Reduction::Circom {
        then(job(Op::PointMul), &[&a, &b, &c])?;
    }
    for x in [&a, &b, &c] {
        then(job(Op::Inverse).order(Order::Natural).in_place(), &[x])?;
        then(job(Op::PointMul), &[x, &weights, &weighed])?;
        then(job(Op::Forward).order(order), &[&weighed, x])?;
    }
    then(job(Op::MulAdd), &[&a, &b, &c])?;
    if reduction == Reduction::Libsnark {
        then(job(Op::Inverse).order(order).in_place(), &[&c])?;
        then(job(Op::PointMul), &[&c, &weights_back, &a])?;
    }
    Plan::new(format!("{reduction:?} witness map in {ring}"), steps)
}

/// A step of a part of a plan: its arguments are these, and its temporaries follow the plan's own one.
fn renamed(step: &Step, args: &[&Slot]) -> Step {
    let slots = step.slots.iter().map(|slot| match slot {
        Slot::Arg(i) => args[*i].clone(),
        Slot::Temp(i) => Slot::Temp(i + 1),
        Slot::Table(_) => slot.clone(),
    });
    Step { kernel: step.kernel.clone(), slots: slots.collect() }
}

/// first · ratio^i for all i below n.
fn powers<F: EngineField>(first: F, ratio: F, n: usize) -> Vec<[u64; 4]> {
    let mut powers = vec![[0; 4]; n];
    powers.par_chunks_mut(PIECE).enumerate().for_each(|(i, piece)| {
        let mut power = first * ratio.pow([(i * PIECE) as u64]);
        for to in piece {
            *to = power.limbs();
            power *= ratio;
        }
    });
    powers
}

/// Elements that a thread makes at a time.
const PIECE: usize = 1 << 12;

/// 1/x; 0 for 0, which no caller passes.
fn inverse<F: Field>(x: F) -> F {
    x.inverse().unwrap_or_default()
}
