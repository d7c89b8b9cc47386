//! Witness maps as one program: the transforms of three polynomials, and what happens to their values, on the device.

use ringforge::{Arg, Buffer, Device, Job, Op, Order, Plan, Planner, Program, Result, Ring, Slot, Step};

use crate::backend::Backend;
use crate::field::{EngineField, coset, odd_powers, subgroup};

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
    /// n times what the plan multiplies by.
    constant: Buffer,
}

impl Chain {
    pub(crate) fn new<F: EngineField>(device: &Device, reduction: Reduction, n: usize) -> Result<Self> {
        let planner = Planner::new(device.limits().clone());
        let program = device.compile(&plan::<F>(&planner, reduction, n)?)?;
        let constant = match reduction {
            // the vanishing polynomial is the same on the whole coset, and not zero there
            Reduction::Libsnark => (F::GENERATOR.pow([n as u64]) - F::ONE).inverse().unwrap_or_default(),
            Reduction::Circom => -F::ONE,
        };
        let stream = device.stream()?;
        let constant = stream.upload(&vec![constant.limbs(); n])?;
        stream.synchronize()?;
        Ok(Self { n, reduction, program, constant })
    }

    /// Runs the map. `fill(i, values)` puts down the values of a, b and, in [`Reduction::Libsnark`], −c; `take` takes the
    /// result.
    pub(crate) fn run<T>(
        &self,
        backend: &Backend,
        fill: impl Fn(usize, &mut [[u64; 4]]),
        take: impl FnOnce(&[[u64; 4]]) -> T,
    ) -> Result<T> {
        let device = self.program.device();
        let stream = device.stream()?;
        let bytes = self.constant.len();
        let [mut a, mut b, mut c, mut h] =
            [device.buffer(bytes)?, device.buffer(bytes)?, device.buffer(bytes)?, device.buffer(bytes)?];
        let inputs = if self.reduction == Reduction::Libsnark { 3 } else { 2 };
        backend.staged(self.n, |staging| {
            for (i, buffer) in [&mut a, &mut b, &mut c].into_iter().take(inputs).enumerate() {
                fill(i, staging);
                stream.write(buffer, staging)?;
            }
            let [a, b, c] = [&mut a, &mut b, &mut c].map(Arg::Out);
            self.program.run(&stream, 1, &mut [a, b, c, Arg::Out(&mut h), Arg::In(&self.constant)])?;
            stream.read(&h, staging)?;
            Ok(take(staging))
        })
    }
}

/// The plan of a witness map. Arguments: values of a, b and −c in natural order (c is made from the others in
/// [`Reduction::Circom`]), the result, and the constant.
fn plan<F: EngineField>(planner: &Planner, reduction: Reduction, n: usize) -> Result<Plan> {
    let [a, b, c, h, constant] = [0, 1, 2, 3, 4].map(Slot::Arg);
    let from = subgroup::<F>(n)?;
    let mut steps = Vec::new();
    let mut then = |op, ring: &Ring, order, args: &[&Slot]| -> Result<()> {
        let job = Job::new(ring, op).order(order).batch_hint(1);
        let job = if args.len() == 1 { job.in_place() } else { job };
        steps.extend(planner.plan(&job)?.steps().iter().map(|step| on(step, args)));
        Ok(())
    };
    match reduction {
        Reduction::Libsnark => {
            // values on the coset are multiplied and transformed back, so they may stand in any order
            let (to, order) = (coset::<F>(n)?, Order::Any);
            for x in [&a, &b, &c] {
                then(Op::Inverse, &from, Order::Natural, &[x])?;
                then(Op::Forward, &to, order, &[x])?;
            }
            then(Op::MulAdd, &to, order, &[&a, &b, &c])?;
            then(Op::Inverse, &to, order, &[&c])?;
            then(Op::PointMul, &from, order, &[&c, &constant, &h])?;
        }
        Reduction::Circom => {
            let (to, order) = (odd_powers::<F>(n)?, Order::Natural);
            then(Op::PointMul, &from, order, &[&a, &b, &c])?;
            then(Op::PointMul, &from, order, &[&c, &constant, &h])?;
            for x in [&a, &b, &h] {
                then(Op::Inverse, &from, order, &[x])?;
                then(Op::Forward, &to, order, &[x])?;
            }
            then(Op::MulAdd, &to, order, &[&a, &b, &h])?;
        }
    }
    Plan::new(format!("{reduction:?} witness map in {from}"), steps)
}

/// A step of a part of the plan, on these arguments. Temporaries, all of one size, are used by one part after another.
fn on(step: &Step, args: &[&Slot]) -> Step {
    let slots = step.slots.iter().map(|slot| match slot {
        Slot::Arg(i) => args[*i].clone(),
        Slot::Temp(_) | Slot::Table(_) => slot.clone(),
    });
    Step { kernel: step.kernel.clone(), slots: slots.collect() }
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
                let minus_c: Vec<Fr> = c.iter().map(|x| -*x).collect();
                let fill = |i: usize, to: &mut [[u64; 4]]| {
                    let from = [&a, &b, &minus_c][i];
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
            assert_eq!(chain.program.plan().steps().len() > 9, shared_out, "{}", chain.program.plan());
            check(&device, n);
        }
    }

    #[test]
    fn maps_are_seven_and_six_transforms() {
        for (reduction, transforms, others) in [(Reduction::Libsnark, 7, 2), (Reduction::Circom, 6, 3)] {
            let plan = plan::<Fr>(&Planner::new(Limits::cpu()), reduction, 1 << 20).unwrap();
            let is_transform = |step: &&Step| matches!(step.kernel.name(), "forward" | "inverse");
            assert_eq!(plan.steps().iter().filter(is_transform).count(), transforms, "{plan}");
            assert_eq!(plan.steps().len(), transforms + others, "{plan}");
        }
    }
}
