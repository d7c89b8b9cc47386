//! Groth16 witness maps on the device: transforms of the constraint polynomials a, b and c, and a pointwise step on
//! their evaluations.

use core::any::TypeId;
use core::fmt;

use ringforge::{Buffer, Engine, Job, Op, Order, Plan, Planner, Program, Result, Ring, Stream};

use crate::backend::Backend;
use crate::field::{EngineField, coset, integer, root};

/// The form in which the prover receives the quotient (a·b − c)/(x^n − 1) of the constraint polynomials a, b and c.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// The coefficients of (a·b − c)/(x^n − 1).
    Libsnark,
    /// The evaluations of a·b − c at the odd powers of a root of unity of order 2n. Here c is the polynomial of degree
    /// below n that equals a·b at the even powers.
    Circom,
}

/// A compiled witness map on a domain of n points, made by [`Backend::witness_map`]. Cloning is cheap.
///
/// Each of the polynomials a, b and c is interpolated and then evaluated on a coset, where a·b − c is computed. On the
/// coset the divisor x^n − 1 is a constant. With [`Reduction::Libsnark`], the division becomes the scale of the last
/// inverse transform and costs nothing. The subtraction is free too: all three polynomials are negated, and (−a)(−b) +
/// (−c) = a·b − c.
#[derive(Clone)]
pub struct WitnessMap {
    n: usize,
    reduction: Reduction,
    /// Computes c = a·b; used by [`Reduction::Circom`] only.
    product: Option<Program>,
    /// Maps evaluations on the domain to negated evaluations on the coset.
    to_coset: Program,
    /// Maps the negated evaluations of a, b and c on the coset to the result.
    last: Program,
}

impl WitnessMap {
    pub(crate) fn new<F: EngineField>(engine: &Engine, reduction: Reduction, n: usize) -> Result<Self> {
        let program = |part: Part| {
            let key = (TypeId::of::<F>(), reduction, n, part);
            engine.program_of(&key, |planner| part.plan::<F>(planner, reduction, n))
        };
        let product = (reduction == Reduction::Circom).then(|| program(Part::Product)).transpose()?;
        ringforge_cpu::threads::start();
        let (to_coset, last) = rayon::join(|| program(Part::ToCoset), || program(Part::Last));
        Ok(Self { n, reduction, product, to_coset: to_coset?, last: last? })
    }

    /// The plans of the map's programs.
    pub(crate) fn plans<F: EngineField>(planner: &Planner, reduction: Reduction, n: usize) -> Result<Vec<Plan>> {
        let parts = [Part::Product, Part::ToCoset, Part::Last].into_iter();
        let needed = parts.filter(|part| *part != Part::Product || reduction == Reduction::Circom);
        needed.map(|part| part.plan::<F>(planner, reduction, n)).collect()
    }

    /// The number of points of the domain.
    #[must_use]
    pub fn size(&self) -> usize {
        self.n
    }

    /// Enqueues the map on `stream`; on a GPU the call returns before the work is done. Each of the buffers holds the n
    /// evaluations of one polynomial on the domain in natural order, with four Montgomery limbs per evaluation.
    ///
    /// The result overwrites c, and a and b are used as scratch memory. With [`Reduction::Circom`], c is computed from
    /// a and b, so its initial contents are ignored.
    ///
    /// # Errors
    /// The errors of [`Call::run`](ringforge::run::Call::run).
    pub fn run(&self, stream: &Stream, a: &mut Buffer, b: &mut Buffer, c: &mut Buffer) -> Result<()> {
        if let Some(product) = &self.product {
            product.on(stream, 1).input("a", &*a).input("b", &*b).output("product", &mut *c).run()?;
        }
        for x in [&mut *a, &mut *b, &mut *c] {
            self.to_coset.on(stream, 1).output("data", x).run()?;
        }
        self.last.on(stream, 1).input("a", &*a).input("b", &*b).output("c", c).run()
    }

    /// Runs the map from host memory. `fill(i, values)` writes the evaluations of a (`i` = 0) and b (1), and `take`
    /// receives the result. With [`Reduction::Libsnark`] `fill` also writes c (2), and each call of `fill` overlaps the
    /// device's work on the previous polynomial.
    pub(crate) fn run_host<T>(
        &self,
        backend: &Backend,
        fill: impl Fn(usize, &mut [[u64; 4]]),
        take: impl FnOnce(&[[u64; 4]]) -> T,
    ) -> Result<T> {
        let device = self.last.device();
        // copies have their own stream, because a copy from page-locked memory blocks until its stream is idle
        let (copies, work) = (device.stream()?, device.stream()?);
        let buffer = || device.buffer(self.n * size_of::<[u64; 4]>());
        let [mut a, mut b, mut c] = [buffer()?, buffer()?, buffer()?];
        backend.staged(self.n, |staging| {
            let mut load = |i, x: &mut Buffer| {
                fill(i, staging);
                copies.write(x, staging)
            };
            let to_coset = |x: &mut Buffer| self.to_coset.on(&work, 1).output("data", x).run();
            match &self.product {
                None => {
                    for (i, x) in [&mut a, &mut b, &mut c].into_iter().enumerate() {
                        load(i, x)?;
                        to_coset(x)?;
                    }
                    self.last.on(&work, 1).input("a", &a).input("b", &b).output("c", &mut c).run()?;
                }
                Some(_) => {
                    load(0, &mut a)?;
                    load(1, &mut b)?;
                    self.run(&work, &mut a, &mut b, &mut c)?;
                }
            }
            work.read(&c, staging)?;
            Ok(take(staging))
        })
    }
}

impl fmt::Debug for WitnessMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WitnessMap({:?} of {} points on {})", self.reduction, self.n, self.last.device())
    }
}

/// One of the programs of a witness map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Product,
    ToCoset,
    Last,
}

impl Part {
    fn plan<F: EngineField>(self, planner: &Planner, reduction: Reduction, n: usize) -> Result<Plan> {
        let from = coset(n, F::ONE)?;
        let (to, order, vanishing) = match reduction {
            // evaluations on the coset are only multiplied pointwise and transformed back, so they may stay in
            // bit-reversed order
            Reduction::Libsnark => {
                (coset(n, F::GENERATOR)?, Order::DigitReversed, F::GENERATOR.pow([n as u64]) - F::ONE)
            }
            Reduction::Circom => (coset(n, root::<F>(2 * n as u64)?)?, Order::Natural, F::ONE),
        };
        let scale = integer(vanishing.inverse().unwrap_or_default());
        let job = |ring: &Ring, op, order| Job::new(ring, op).order(order).batch_hint(1);
        let p = planner.pipeline(format!("{reduction:?}: {self:?}"));
        match self {
            Self::Product => return Ok(planner.plan(&job(&from, Op::PointMul, Order::Natural))?.on_secrets()),
            Self::ToCoset => {
                let values = p.evaluations("data", &from, Order::Natural);
                let back = job(&from, Op::Inverse, Order::Natural).scale(integer(-F::ONE));
                let coefficients = p.job(&back, &[values]).holding(&to);
                // the scale does not change a forward transform, but lets it share the twiddle table of the inverse
                // transform, which applies the scale
                p.output("data", p.job(&job(&to, Op::Forward, order).scale(scale), &[coefficients]));
            }
            Self::Last => {
                let [a, b, c] = ["a", "b", "c"].map(|name| p.evaluations(name, &to, order));
                let sum = a.mul_add(b, c);
                let back = job(&to, Op::Inverse, order).scale(scale);
                p.output("c", if reduction == Reduction::Libsnark { p.job(&back, &[sum]) } else { sum });
            }
        }
        // they hold the assignment or what is computed from it
        Ok(p.build()?.on_secrets())
    }
}

#[cfg(test)]
mod tests {
    use ark_bls12_381::Fr;
    use ark_ff::{FftField, Field, UniformRand};
    use ark_poly::{EvaluationDomain, Radix2EvaluationDomain};
    use ringforge::{Device, Error, Limits};
    use ringforge_testkit::{Target, emulator};

    use super::*;

    /// The expected result, computed with arkworks' transforms.
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
        let backend = Backend::new(&Engine::on(device.clone()));
        for reduction in [Reduction::Libsnark, Reduction::Circom] {
            let map = backend.witness_map::<Fr>(reduction, n).unwrap();
            // run twice, because the second run reuses memory that holds data of the first
            for _ in 0..2 {
                let [a, b, mut c] = [0; 3].map(|_| (0..n).map(|_| Fr::rand(&mut rng)).collect::<Vec<Fr>>());
                if reduction == Reduction::Circom {
                    c = a.iter().zip(&b).map(|(a, b)| *a * b).collect();
                }
                let expected = expected(reduction, n, [&a, &b, &c]);
                let fill = |i: usize, to: &mut [[u64; 4]]| {
                    let from = [&a, &b, &c][i];
                    to.iter_mut().zip(from).for_each(|(to, x)| *to = x.limbs());
                };
                let h = map.run_host(&backend, fill, |h| h.iter().map(|x| Fr::from_limbs(*x)).collect::<Vec<Fr>>());
                assert_eq!(h.unwrap(), expected, "{map:?}");

                let stream = device.stream().unwrap();
                let limbs = [&a, &b, &c].map(|x| x.iter().map(Fr::limbs).collect::<Vec<[u64; 4]>>());
                let [mut a, mut b, mut c] = limbs.map(|x| stream.upload(&x).unwrap());
                map.run(&stream, &mut a, &mut b, &mut c).unwrap();
                let h: Vec<Fr> = stream.download(&c).unwrap().into_iter().map(Fr::from_limbs).collect();
                assert_eq!(h, expected, "{map:?} on buffers");
            }
        }
    }

    #[test]
    fn maps_match_their_definition() {
        for device in [Target::Cpu.device(), Target::Cuda.device()].into_iter().flatten() {
            for n in [1, 2, 4, 64, 512, 1 << 12, 1 << 14] {
                check(&device, n);
            }
        }
    }

    #[test]
    fn maps_match_their_definition_in_cuda_source() {
        let Some(_) = Target::Emulator.device() else { return };
        // two emulated thread schedules are enough: other tests cover the kernels, and this one their sequence
        let limits = Limits::of_capability(75);
        let device =
            emulator::device(emulator::Options { schedules: vec![0, 1], limits, ..emulator::Options::default() })
                .unwrap();
        for (n, shared_out) in [(1, false), (32, false), (1 << 12, true)] {
            let map = Backend::new(&Engine::on(device.clone())).witness_map::<Fr>(Reduction::Libsnark, n).unwrap();
            assert_eq!(map.to_coset.plan().kernels().len() > 2, shared_out, "{}", map.to_coset.plan());
            check(&device, n);
        }
    }

    #[test]
    fn maps_have_seven_and_six_transforms_and_pointwise_steps() {
        let (planner, n) = (Planner::new(Limits::h200()), 1 << 22);
        let kernels =
            |ring: &Ring, op, order| planner.plan(&Job::new(ring, op).order(order).in_place()).unwrap().kernels().len();
        for (reduction, to, order) in [
            (Reduction::Libsnark, coset(n, Fr::GENERATOR), Order::DigitReversed),
            (Reduction::Circom, coset(n, root::<Fr>(2 * n as u64).unwrap()), Order::Natural),
        ] {
            let (from, to) = (coset(n, Fr::ONE).unwrap(), to.unwrap());
            let back = vec!["inverse"; kernels(&from, Op::Inverse, Order::Natural)];
            let forth = vec!["forward"; kernels(&to, Op::Forward, order)];
            let [product, to_coset, last] =
                [Part::Product, Part::ToCoset, Part::Last].map(|part| part.plan::<Fr>(&planner, reduction, n).unwrap());
            let steps = |plan: &Plan| plan.kernels().map(|kernel| kernel.name().to_owned()).collect::<Vec<String>>();
            assert_eq!(steps(&to_coset), [back, forth].concat(), "{to_coset}");
            let end = match reduction {
                Reduction::Libsnark => vec!["inverse"; kernels(&to, Op::Inverse, order)],
                Reduction::Circom => vec![],
            };
            assert_eq!(steps(&last), [vec!["mul_add"], end].concat(), "{last}");
            assert_eq!(steps(&product), ["point_mul"]);
        }
    }

    #[test]
    fn sizes_without_roots_are_refused() {
        let backend = Backend::new(&Engine::cpu());
        let refused = |reduction, n| backend.witness_map::<ark_bn254::Fr>(reduction, n).unwrap_err();
        // the field has roots of unity of order 2^28, but none of order 2^29
        assert!(matches!(refused(Reduction::Circom, 1 << 28), Error::NoRoot { .. }));
        assert!(matches!(refused(Reduction::Libsnark, 1 << 29), Error::NoRoot { .. }));
        assert!(matches!(refused(Reduction::Libsnark, 5), Error::NoRoot { .. }));
        assert!(matches!(backend.witness_map::<Fr>(Reduction::Libsnark, 1 << 29).unwrap_err(), Error::TooLarge { .. }));

        let map = backend.witness_map::<Fr>(Reduction::Libsnark, 8).unwrap();
        let stream = Device::cpu().stream().unwrap();
        let [mut a, mut b, mut c] = [8 * 32, 8 * 32, 7 * 32].map(|bytes| stream.upload(&vec![0u8; bytes]).unwrap());
        let foreign = map.run(&stream, &mut a, &mut b, &mut c);
        assert!(matches!(foreign, Err(Error::ForeignDevice { .. })), "{foreign:?}");
        let stream = backend.device().stream().unwrap();
        let [mut a, mut b, mut c] = [8 * 32, 8 * 32, 7 * 32].map(|bytes| stream.upload(&vec![0u8; bytes]).unwrap());
        let short = map.run(&stream, &mut a, &mut b, &mut c);
        assert!(matches!(short, Err(Error::ArgumentSize { expected: 256, got: 224, .. })), "{short:?}");
    }
}
