//! Transforms of zero-knowledge provers over BLS12-381's scalar field, with inputs and outputs in natural order. They
//! run captured on the device, on a subgroup or a coset; from host memory to host memory; and in witness maps.
//!
//! In addition to the checks of every [job](ringforge_cli::jobs), transforms of up to 2^20 points are compared with
//! arkworks'. In longer transforms, all evaluations are checked at once against the coefficients, at a random point.

mod field;
mod witness;

use anyhow::Result;
use ark_bls12_381::Fr;
use ark_ff::{FftField, Field};
use ringforge::{Job, Op, Order};
use ringforge_testkit::Random;

pub(super) use field::element;
use field::values_agree;
pub(super) use field::{are_of_one_polynomial, coset};

use ringforge_cli::jobs::Task;
use ringforge_cli::record::{Measurement, Memory};
use ringforge_cli::session::Bench;
use ringforge_cli::suite::{Case, Figure, Quoted, Scope, Suite};

pub(crate) static SUITE: Suite = Suite {
    name: "zk",
    title: "Proofs",
    about: "One transform over BLS12-381's scalar field, in natural order on both sides: on the device, replayed from a \
            graph on the same buffers, or from host memory to host memory by the host's clock. A witness map is the \
            seven transforms of Groth16 with the products between them.",
    figure: Figure::Item,
    headline: Some(("2^22", "forward")),
    quoted: QUOTED,
    cases,
    ..Suite::NONE
};

const fn sppark(case: &'static str, seconds: &'static [(&'static str, f64)]) -> Quoted {
    const SOURCE: &str = "run by us on an H200; plain forward transforms on 2026-11-22, the others before";
    Quoted { case, peer: "sppark 0.1.16", source: SOURCE, device: Some("H200"), seconds }
}

const fn bellperson(case: &'static str, seconds: &'static [(&'static str, f64)]) -> Quoted {
    Quoted {
        case,
        peer: "Bellperson",
        source: "run by us on an H200, split near to a square",
        device: Some("H200"),
        seconds,
    }
}

const QUOTED: &[Quoted] = &[
    sppark("2^16", &[("forward", 25.3e-6), ("inverse", 29e-6)]),
    sppark("2^18", &[("forward", 71.2e-6), ("inverse", 77e-6)]),
    sppark("2^20", &[("forward", 0.270e-3), ("inverse", 0.285e-3)]),
    sppark("2^22", &[("forward", 1.09e-3), ("inverse", 1.153e-3)]),
    sppark("2^24", &[("forward", 4.61e-3), ("inverse", 4.87e-3)]),
    sppark("2^26", &[("forward", 23.3e-3), ("inverse", 24.4e-3)]),
    sppark("2^16 coset", &[("forward", 34e-6), ("inverse", 35e-6)]),
    sppark("2^18 coset", &[("forward", 86e-6), ("inverse", 90e-6)]),
    sppark("2^20 coset", &[("forward", 0.309e-3), ("inverse", 0.325e-3)]),
    sppark("2^22 coset", &[("forward", 1.246e-3), ("inverse", 1.306e-3)]),
    sppark("2^24 coset", &[("forward", 5.22e-3), ("inverse", 5.47e-3)]),
    sppark("2^26 coset", &[("forward", 25.7e-3), ("inverse", 26.7e-3)]),
    bellperson("2^16", &[("forward", 0.075e-3), ("inverse", 0.079e-3)]),
    bellperson("2^18", &[("forward", 0.215e-3), ("inverse", 0.226e-3)]),
    bellperson("2^20", &[("forward", 0.913e-3), ("inverse", 0.943e-3)]),
    bellperson("2^22", &[("forward", 3.83e-3), ("inverse", 3.92e-3)]),
    bellperson("2^24", &[("forward", 15.70e-3), ("inverse", 16.08e-3)]),
];

/// log2 of the lengths, and whether `--quick` measures them too. The buffers of the last two lengths have 2^32 bytes or
/// more.
const SIZES: &[(u32, bool)] =
    &[(16, true), (18, false), (20, false), (22, false), (24, false), (26, false), (27, false), (28, false)];
/// log2 of the longest transform on a CPU.
const CPU_LOG_N: u32 = 20;

/// log2 of the length of a transform from host memory: on a GPU, with `--quick`, and on a CPU.
const HOST_LOG_N: [u32; 3] = [24, 20, 16];

/// Name, transforms per call, and the memory of the arguments.
const FROM_HOST: &[(&str, usize, Memory)] =
    &[("host", 1, Memory::Pinned), ("host", 1, Memory::Pageable), ("host stream", 8, Memory::Pinned)];

fn cases(scope: &Scope) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for &(log_n, _) in
        SIZES.iter().filter(|(log_n, quick)| scope.wants(*quick) && *log_n <= scope.either(28, CPU_LOG_N))
    {
        for (offset, coset) in [(Fr::ONE, ""), (Fr::GENERATOR, " coset")] {
            for op in [Op::Forward, Op::Inverse] {
                let (name, n) = (format!("2^{log_n}{coset}"), 1 << scope.log_n(log_n));
                cases.push(Case::of_batches(name.clone(), op, vec![1], move |bench, _| {
                    transform(bench, &name, n, offset, op)
                }));
            }
        }
    }
    let log_n = if scope.cpu { HOST_LOG_N[2] } else { HOST_LOG_N[usize::from(scope.quick)] };
    for &(name, batch, memory) in FROM_HOST {
        let batches = if batch == 1 { vec![1] } else { scope.batches(&[batch]) };
        for op in [Op::Forward, Op::Inverse] {
            let (name, ring) = (format!("{name} 2^{log_n}"), coset(1 << scope.log_n(log_n), Fr::ONE)?);
            cases.push(Case::of_batches(name.clone(), op, batches.clone(), move |bench, batch| {
                let job = Job::new(&ring, op).order(Order::Natural).batch_hint(batch);
                Task { memory, ..Task::new(&job, batch) }.line(bench, &name, bench.effort)
            }));
        }
    }
    cases.extend(witness::cases(scope));
    Ok(cases)
}

/// Description of the check of transforms, stored in each measurement.
pub(super) const CHECKED: &str =
    "all values with arkworks', beyond 2^20 points with the coefficients at a random point";

/// Returns a check that evaluations on the coset of this offset match the coefficients. The coefficients are the
/// operand of a forward transform or the result of an inverse transform.
pub(super) fn definition(op: Op, offset: Fr) -> impl Fn(&[&[u8]], &[u8], &mut Random) -> Result<bool> + Sync {
    move |operands, result, random| {
        let (inputs, values) = if op == Op::Forward { (operands[0], result) } else { (result, operands[0]) };
        values_agree(values, inputs, offset, random)
    }
}

/// Measures one captured transform to or from evaluations on the coset of this offset, on the device and always over
/// the same buffers.
fn transform(bench: &Bench, name: &str, n: usize, offset: Fr, op: Op) -> Result<Measurement> {
    let job = Job::new(&coset(n, offset)?, op).order(Order::Natural).batch_hint(1);
    let definition = definition(op, offset);
    let task = Task { captured: true, sets: Some(1), definition: Some((CHECKED, &definition)), ..Task::new(&job, 1) };
    task.line(bench, name, bench.effort)
}

#[cfg(test)]
mod tests {
    use ringforge::Device;

    use super::*;
    use ringforge_cli::sample;
    use ringforge_cli::work::Work;

    #[test]
    fn values_of_another_coset_are_noticed() -> Result<()> {
        for [here, other] in [[Fr::ONE, Fr::GENERATOR], [Fr::GENERATOR, Fr::ONE]] {
            let ring = coset(1 << 14, here)?;
            let inputs = sample::elements(&ring, 1, 3, 1)?;
            let job = Job::new(&ring, Op::Forward).order(Order::Natural);
            let mut values = Work::new(&Device::cpu(), &job)?.run(1, &[("from", &inputs)])?;
            for agree in [values_agree, are_of_one_polynomial] {
                assert!(agree(&values, &inputs, here, &mut Random::new(1))?);
                assert!(!agree(&values, &inputs, other, &mut Random::new(1))?);
                values[32 * 17] ^= 1;
                assert!(!agree(&values, &inputs, here, &mut Random::new(1))?);
                values[32 * 17] ^= 1;
            }
        }
        Ok(())
    }
}
