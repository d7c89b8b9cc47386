//! Horner's rule on a device: the value of a polynomial at a point, and its quotient by x − z.

use core::any::TypeId;

use ringforge::kernels::{Built, CustomKernel, Launch, Port};
use ringforge::run::BufferSlice;
use ringforge::{Buffer, Engine, Plan, Planner, Program, Result, Stream};
use ringforge_msm::prime_source;

use crate::field::{EngineField, WORD};

const THREADS: u32 = 128;
/// Coefficients per thread.
const ELEMENTS: usize = 8;
/// log2 of the coefficients that a block computes at once.
const LOG_TILE: usize = 10;
const TILE: usize = THREADS as usize * ELEMENTS;
const _: () = assert!(TILE == 1 << LOG_TILE);

/// Horner's rule for polynomials of a fixed number of coefficients: h_i = p_i + z h_(i + 1). So h_0 is the value at z,
/// and h_1, h_2, … are the coefficients of the quotient (p(x) − p(z)) / (x − z).
#[derive(Debug)]
pub(crate) struct Horner(Program);

impl Horner {
    /// For polynomials of `count` coefficients, at least one.
    pub(crate) fn new<F: EngineField>(engine: &Engine, count: usize) -> Result<Self> {
        let key = (TypeId::of::<F>(), "Horner", count);
        engine.program_of(&key, |planner| plan::<F>(planner, count)).map(Self)
    }

    /// Enqueues the rule. All elements are in Montgomery form.
    pub(crate) fn run<'a>(
        &self,
        stream: &Stream,
        coefficients: impl Into<BufferSlice<'a>>,
        point: &Buffer,
        results: &mut Buffer,
    ) -> Result<()> {
        let call = self.0.on(stream, 1).input("coefficients", coefficients.into()).input("points", point);
        call.output("results", results).run()
    }
}

fn plan<F: EngineField>(planner: &Planner, count: usize) -> Result<Plan> {
    let tiles = count.div_ceil(TILE);
    let p = planner.pipeline(format!("Horner's rule, {count}"));
    let (coefficients, points) = (p.input("coefficients"), p.input("points"));
    let step = |pass, count, log, inputs: [_; 3]| {
        let [results] = p.step(horner::<F>(pass, count, log), &inputs);
        results
    };
    let results = if tiles == 1 {
        step(Pass::Alone, count, 0, [coefficients, points, coefficients])
    } else {
        let heads = step(Pass::Heads, count, 0, [coefficients, points, coefficients]);
        let carries = step(Pass::Alone, tiles, LOG_TILE, [heads, points, heads]);
        step(Pass::Tiles, count, 0, [coefficients, points, carries])
    };
    p.output("results", results);
    Ok(p.build()?.on_secrets())
}

/// The results that a launch computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// The first result of each tile, as if nothing came after the tile.
    Heads,
    /// All results of a tile per block, from the carries.
    Tiles,
    /// All results, by one block.
    Alone,
}

/// The kernel of a pass over `count` coefficients, with z^(2^log) in place of z.
fn horner<F: EngineField>(pass: Pass, count: usize, log: usize) -> CustomKernel {
    let tiles = count.div_ceil(TILE);
    let of_carries = if pass == Pass::Tiles { tiles } else { count };
    let of_results = if pass == Pass::Heads { tiles } else { count };
    let ports = [
        Port::input(WORD * count).secret(),
        Port::input(WORD),
        Port::input(WORD * of_carries).secret(),
        Port::output(WORD * of_results).secret(),
    ];
    let blocks = if pass == Pass::Alone { 1 } else { u32::try_from(tiles).unwrap_or(u32::MAX) };
    let launch = Launch {
        items_per_block: 1,
        blocks_per_item: blocks,
        shared_bytes: THREADS * WORD as u32,
        ..Launch::thread_per_item(THREADS)
    };
    let task = format!(
        "struct Task {{\n    static constexpr rf::u32 threads = {THREADS}, elements = {ELEMENTS};\n    \
         static constexpr bool heads = {}, alone = {};\n}};\n",
        pass == Pass::Heads,
        pass == Pass::Alone
    );
    let prelude = prime_source::<4>("Q", &F::MODULUS.0) + &task;
    let build = move |_: &ringforge::Limits| Ok(Built::new(launch).lines(&prelude));
    let on_cpu = move |items, args: &mut ringforge::kernels::Args<'_>| {
        type Ports<'a> = (&'a [[u64; 4]], &'a [u64; 4], &'a [[u64; 4]], &'a mut [[u64; 4]]);
        args.each(items, |_, (coefficients, point, carries, results): Ports<'_>| {
            let y = (0..log).fold(F::from_limbs(*point), |y, _| y.square());
            let mut run = F::ZERO;
            for (i, coefficient) in coefficients.iter().enumerate().rev() {
                if i % TILE == TILE - 1 && pass != Pass::Alone {
                    let next = carries.get(i / TILE + 1).filter(|_| pass == Pass::Tiles);
                    run = next.map_or(F::ZERO, |next| F::from_limbs(*next));
                }
                run = run * y + F::from_limbs(*coefficient);
                match pass {
                    Pass::Heads if i % TILE == 0 => results[i / TILE] = run.limbs(),
                    Pass::Heads => {}
                    Pass::Tiles | Pass::Alone => results[i] = run.limbs(),
                }
            }
            Ok(())
        })
    };
    let numbers = [count, tiles, log].map(|number| number as u64);
    // SAFETY: A block writes the results of its own tiles. Memory is accessed at places that depend on sizes alone.
    #[allow(unsafe_code)]
    let kernel = unsafe {
        CustomKernel::new(("horner", include_str!("kernels/horner.cu"), &[]), ports, build, on_cpu)
            .with_numbers(numbers)
    };
    kernel.described(format!("{pass:?}"))
}

#[cfg(test)]
mod tests {
    use ark_bn254::Fr;
    use ark_ff::{AdditiveGroup, UniformRand};
    use ark_poly::univariate::DensePolynomial;
    use ark_poly::{DenseUVPolynomial, Polynomial};
    use ringforge_testkit::Target;

    use super::*;

    #[test]
    fn values_and_quotients_are_those_of_arkworks() {
        let mut rng = ark_std::test_rng();
        for target in [Target::Cpu, Target::EmulatorSanitized, Target::Cuda] {
            let Some(device) = target.device() else { continue };
            let engine = Engine::on(device);
            let stream = engine.stream().unwrap();
            let few = [1, 2, 9, TILE, TILE + 1, 2 * TILE + 3];
            let many = [TILE * TILE + 5, 3 * TILE * TILE];
            for &count in few.iter().chain(if target == Target::Cuda { &many[..] } else { &[] }) {
                for point in [Fr::ZERO, Fr::rand(&mut rng)] {
                    let p: Vec<Fr> = (0..count).map(|_| Fr::rand(&mut rng)).collect();
                    let words: Vec<[u64; 4]> = p.iter().map(Fr::limbs).collect();
                    let (coefficients, z) = (stream.upload(&words).unwrap(), stream.upload(&[point.limbs()]).unwrap());
                    let mut results = stream.secret_buffer(WORD * count).unwrap();
                    Horner::new::<Fr>(&engine, count).unwrap().run(stream, &coefficients, &z, &mut results).unwrap();
                    let found: Vec<Fr> = stream.download(&results).unwrap().into_iter().map(Fr::from_limbs).collect();
                    let polynomial = DensePolynomial::from_coefficients_vec(p);
                    assert_eq!(found[0], polynomial.evaluate(&point), "{engine:?}, {count}");
                    let divisor = DensePolynomial::from_coefficients_vec(vec![-point, Fr::from(1u8)]);
                    assert_eq!(found[1..], (&polynomial / &divisor).coeffs[..], "{engine:?}, {count}");
                }
            }
        }
    }
}
