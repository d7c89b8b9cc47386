//! Witness maps as one program: the transforms of three polynomials, and what happens to their values, on the device.

use ark_ff::Field;
use rayon::prelude::*;
use ringforge::{Arg, Buffer, Device, Job, Op, Order, Plan, Planner, Program, Result, Ring, Slot, Step};

use crate::backend::Backend;
use crate::field::{EngineField, ring, root};

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
            Reduction::Circom => vec![(-F::ONE, root(2 * n as u64)?)],
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

#[cfg(test)]
mod tests {
    use ark_bls12_381::Fr;
    use ark_ff::{FftField, UniformRand};
    use ark_poly::{EvaluationDomain, Radix2EvaluationDomain};
    use ringforge::Limits;
    use ringforge::testkit::{Target, text};

    use super::*;

    /// The same map, by arkworks' transforms.
    fn expected(reduction: Reduction, n: usize, [a, b, c]: [&[Fr]; 3]) -> Vec<Fr> {
        let domain = Radix2EvaluationDomain::<Fr>::new(n).unwrap();
        let on_coset = |offset: Fr| {
            let coset = domain.get_coset(offset).unwrap();
            let [a, b, c] = [a, b, c].map(|values| coset.fft(&domain.ifft(values)));
            let remainders = a.iter().zip(&b).zip(&c).map(|((a, b), c)| *a * b - c);
            (coset, remainders.collect::<Vec<Fr>>())
        };
        match reduction {
            Reduction::Libsnark => {
                let (coset, mut values) = on_coset(Fr::GENERATOR);
                let vanishing = domain.evaluate_vanishing_polynomial(Fr::GENERATOR);
                values.iter_mut().for_each(|value| *value /= vanishing);
                coset.ifft(&values)
            }
            Reduction::Circom => on_coset(Fr::get_root_of_unity(2 * n as u64).unwrap()).1,
        }
    }

    fn check(device: &Device, n: usize) {
        let mut rng = ark_std::test_rng();
        let backend = Backend::new(device.clone());
        for reduction in [Reduction::Libsnark, Reduction::Circom] {
            let chain = backend.chain::<Fr>(reduction, n).unwrap();
            // twice, the second time over what the first one left
            for _ in 0..2 {
                let [a, b, mut c] = [0; 3].map(|_| (0..n).map(|_| Fr::rand(&mut rng)).collect::<Vec<Fr>>());
                if reduction == Reduction::Circom {
                    c = a.iter().zip(&b).map(|(a, b)| *a * b).collect();
                }
                let fill = |i: usize, to: &mut [[u64; 4]]| {
                    let from = [&a, &b, &c][i];
                    to.iter_mut().zip(from).for_each(|(to, x)| *to = x.limbs());
                };
                let h = chain.run(&backend, fill, |h| h.iter().map(|x| Fr::from_limbs(*x)).collect::<Vec<Fr>>());
                assert_eq!(h.unwrap(), expected(reduction, n, [&a, &b, &c]), "{reduction:?} of {n} on {device}");
            }
        }
    }

    #[test]
    fn maps_are_their_definition() {
        for device in [Target::Cpu.device(), Target::Cuda.device()].into_iter().flatten() {
            for n in [1, 2, 4, 64, 512, 1 << 12, 1 << 14] {
                check(&device, n);
            }
        }
    }

    #[test]
    fn maps_are_their_definition_in_the_kernels_text() {
        let Some(_) = Target::Text.device() else { return };
        // two orders of threads: kernels are tested elsewhere, and here how they follow one another
        let limits = Limits::of_capability(75);
        let device = text::device(text::Options { schedules: vec![0, 1], limits, ..text::Options::default() }).unwrap();
        for (n, shared_out) in [(1, false), (32, false), (1 << 12, true)] {
            let chain = Chain::new::<Fr>(&device, Reduction::Libsnark, n).unwrap();
            assert_eq!(chain.program.plan().steps().len() > 12, shared_out, "{}", chain.program.plan());
            check(&device, n);
        }
    }

    #[test]
    fn maps_are_seven_and_six_transforms() {
        for (reduction, transforms, others) in [(Reduction::Libsnark, 7, 5), (Reduction::Circom, 6, 5)] {
            let plan = plan(&Planner::new(Limits::cpu()), &ring::<Fr>(1 << 20).unwrap(), reduction).unwrap();
            let is_transform = |step: &&Step| matches!(step.kernel.name(), "forward" | "inverse");
            assert_eq!(plan.steps().iter().filter(is_transform).count(), transforms, "{plan}");
            assert_eq!(plan.steps().len(), transforms + others, "{plan}");
        }
    }
}
