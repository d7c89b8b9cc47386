//! Groth16 proofs of a chain x ← (x + k)^3, beside bits of which each is proved to be 0 or 1.

use std::time::Instant;

use anyhow::{Context, Result};
use ark_bls12_381::Bls12_381;
use ark_bn254::Bn254;
use ark_ec::pairing::Pairing;
use ark_ec::{AffineRepr, CurveGroup};
use ark_ff::{Field, UniformRand};
use ark_groth16::{Groth16, ProvingKey, VerifyingKey};
use ark_relations::gr1cs::{ConstraintSynthesizer, ConstraintSystem, ConstraintSystemRef, LinearCombination, Variable};
use ark_std::rand::{SeedableRng, rngs::StdRng};
use ringforge::{Device, Engine};
use ringforge_arkworks::{Backend, DevicePoint, EngineField, Groth16Device, Phases, Reduction};
use ringforge_cli::measure;
use ringforge_cli::record::{Measurement, Step};
use ringforge_cli::session::Bench;
use ringforge_cli::suite::{Case, Scope};

use super::{numbered, points_of};

type G1 = <Bn254 as Pairing>::G1Affine;
type G2 = <Bn254 as Pairing>::G2Affine;

/// log2 of the numbers of constraints, and whether nine in ten variables are bits.
const SIZES: &[(u32, bool)] = &[(18, false), (18, true), (20, false)];
const CPU_SIZES: &[(u32, bool)] = &[(10, false), (10, true)];

/// Operations.
pub(crate) const FROM: [&str; 2] = ["from the assignment", "from the circuit"];

pub(super) fn cases(scope: &Scope) -> Vec<Case> {
    let sizes = scope.either(SIZES, CPU_SIZES);
    let case = |&(log_n, bits): &(u32, bool)| {
        let kind = if bits { ", nine in ten 0 or 1" } else { "" };
        let (name, n) = (format!("Groth16 BLS12-381 2^{log_n}{kind}"), 1 << scope.log_n(log_n));
        Case::new(name.clone(), &FROM, move |bench, wanted| {
            let lines = lines(bench, &name, &Chain::new(bench.seed, n, bits))?;
            Ok(lines.into_iter().filter(|line| wanted.has(&line.operation)).collect())
        })
    };
    sizes.iter().take(if scope.quick { 1 } else { sizes.len() }).map(case).collect()
}

/// A chain of rounds with two constraints each, whose start is secret and whose end is public; and secret bits.
#[derive(Debug, Clone)]
struct Chain<F> {
    constants: Vec<F>,
    start: F,
    bits: usize,
}

impl<F: Field> Chain<F> {
    /// A chain of which the constraints, and a row for each of two public variables, just fit n rows.
    fn new(seed: u64, n: usize, with_bits: bool) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let bits = if with_bits { n * 9 / 10 } else { 0 };
        let rounds = ((n - bits) / 2).saturating_sub(1).max(1);
        Self { constants: (0..rounds).map(|_| F::rand(&mut rng)).collect(), start: F::rand(&mut rng), bits }
    }
}

impl<F: Field> ConstraintSynthesizer<F> for Chain<F> {
    fn generate_constraints(self, cs: ConstraintSystemRef<F>) -> ark_relations::gr1cs::Result<()> {
        let Self { constants, start: mut value, bits } = self;
        for i in 0..bits {
            let bit = cs.new_witness_variable(|| Ok(F::from(u8::from(i % 3 == 0))))?;
            cs.enforce_r1cs_constraint(|| bit.into(), || bit.into(), || bit.into())?;
        }
        let mut x = cs.new_witness_variable(|| Ok(value))?;
        for (i, k) in constants.iter().enumerate() {
            let sum = value + k;
            let square = cs.new_witness_variable(|| Ok(sum.square()))?;
            value = sum.square() * sum;
            let next = match i + 1 == constants.len() {
                true => cs.new_input_variable(|| Ok(value))?,
                false => cs.new_witness_variable(|| Ok(value))?,
            };
            let sum = || LinearCombination::from(x) + (*k, Variable::One);
            cs.enforce_r1cs_constraint(sum, sum, || square.into())?;
            cs.enforce_r1cs_constraint(sum, || square.into(), || next.into())?;
            x = next;
        }
        Ok(())
    }
}

fn assignment<F: Field>(circuit: &Chain<F>) -> Result<Vec<F>> {
    let cs = ConstraintSystem::new_ref();
    circuit.clone().generate_constraints(cs.clone())?;
    cs.finalize();
    let cs = cs.borrow().context("a constraint system")?;
    Ok([cs.instance_assignment()?, cs.witness_assignment()?].concat())
}

fn prover<E>(devices: &[Device], pk: &ProvingKey<E>, circuit: &Chain<E::ScalarField>) -> Result<Groth16Device<E>>
where
    E: Pairing<ScalarField: EngineField, G1Affine: DevicePoint, G2Affine: DevicePoint>,
{
    let backends: Vec<_> = devices.iter().map(|device| Backend::new(&Engine::on(device.clone()))).collect();
    Ok(Groth16Device::for_circuit(&backends, pk, circuit.clone(), Reduction::Libsnark)?)
}

fn lines(bench: &Bench, name: &str, circuit: &Chain<ark_bls12_381::Fr>) -> Result<Vec<Measurement>> {
    let mut rng = StdRng::seed_from_u64(bench.seed);
    let pk = Groth16::<Bls12_381>::generate_random_parameters_with_reduction(circuit.clone(), &mut rng)?;
    let prover = prover(core::slice::from_ref(&bench.device), &pk, circuit)?;
    let assignment = assignment(circuit)?;
    let (r, s) = (UniformRand::rand(&mut rng), UniformRand::rand(&mut rng));
    let (mut proof, mut phases) = prover.prove_timed(&assignment, None, r, s)?;
    let of_assignment = measure::wall(bench.effort, || {
        (proof, phases) = prover.prove_timed(&assignment, None, r, s)?;
        Ok(())
    })?;
    let before = Instant::now();
    let stock = Groth16::<Bls12_381>::create_proof_with_reduction(circuit.clone(), &pk, r, s)?;
    let stock_seconds = before.elapsed().as_secs_f64();
    let of_circuit = measure::wall(bench.effort, || {
        prover.prove(circuit.clone(), &mut rng)?;
        Ok(())
    })?;
    let line = |operation, times| {
        let line = Measurement::new(name, operation, 1, times);
        line.checked("equal to ark-groth16's proof for the same random numbers", proof == stock)
    };
    let mut of_assignment = line(FROM[0], of_assignment);
    of_assignment.steps = steps(&phases);
    let of_circuit = line(FROM[1], of_circuit).beside("ark-groth16 0.6, all cores", stock_seconds);
    Ok(vec![of_assignment, of_circuit])
}

/// A key whose bases are small multiples of the generators, which takes seconds to make where a real key takes minutes.
/// Proofs with it take as long, but no verifier accepts them.
fn made_up_key(variables: usize, instance: usize, points: usize) -> Result<ProvingKey<Bn254>> {
    let (g1, g2) = (points_of::<G1>(variables.max(points))?, points_of::<G2>(variables)?);
    let vk = VerifyingKey {
        alpha_g1: g1[0],
        beta_g2: g2[0],
        gamma_g2: g2[0],
        delta_g2: g2[0],
        gamma_abc_g1: g1[..instance].to_vec(),
    };
    Ok(ProvingKey {
        vk,
        beta_g1: g1[0],
        delta_g1: g1[0],
        a_query: g1[..variables].to_vec(),
        b_g1_query: g1[..variables].to_vec(),
        l_query: g1[..variables - instance].to_vec(),
        h_query: g1[..points - 1].to_vec(),
        b_g2_query: g2,
    })
}

/// Measures a proof over BN254 from the assignment on all of these devices, and on the first alone, without the
/// verification.
pub(crate) fn on_all(bench: &Bench, name: &str, n: usize, devices: &[Device]) -> Result<Measurement> {
    let mut rng = StdRng::seed_from_u64(bench.seed);
    let circuit = Chain::new(bench.seed, n, false);
    let assignment = assignment(&circuit)?;
    let pk = made_up_key(assignment.len(), 2, n)?;
    let (r, s) = (ark_bn254::Fr::rand(&mut rng), ark_bn254::Fr::rand(&mut rng));
    let mut measured = Vec::new();
    for devices in [&devices[..1], devices] {
        let prover = prover(devices, &pk, &circuit)?.unverified();
        let mut last = prover.prove_timed(&assignment, None, r, s)?;
        let times = measure::wall(bench.effort, || {
            last = prover.prove_timed(&assignment, None, r, s)?;
            Ok(())
        })?;
        measured.push((last, times));
    }
    let [((of_one, _), one), ((of_all, phases), all)] = &measured[..] else {
        anyhow::bail!("two provers were measured")
    };
    let mut line = Measurement::new(name, FROM[0], 1, *all).varied(format!("{} devices", devices.len()));
    line.steps = steps(phases);
    // alpha, beta and delta are the generators
    let sum = numbered(&assignment) + ark_bn254::Fr::ONE;
    let (a, b) = (G1::generator() * (sum + r), G2::generator() * (sum + s));
    let right = of_one == of_all && of_all.a == a.into_affine() && of_all.b == b.into_affine();
    let checked = "A and B, with one multiple of each generator; all elements, with those of one device";
    Ok(line.beside("one of them", one.median_seconds).checked(checked, right))
}

/// The phases of a proof as steps of a measurement.
fn steps(phases: &Phases) -> Vec<Step> {
    let on_devices = phases.copies + phases.quotient + phases.sums + phases.quotient_sum;
    let steps = [
        ("copies of the assignment", phases.copies),
        ("matrices and witness map", phases.quotient),
        ("sums over variables", phases.sums),
        ("sum over the quotient", phases.quotient_sum),
        ("elements, on the CPU", phases.elements - on_devices),
        ("verification, on the CPU", phases.verification),
    ];
    let step =
        |(kernel, median_seconds): (&str, f64)| Step { kernel: kernel.into(), median_seconds, ..Step::default() };
    // what was not done, or is hidden by another device's longer phases
    steps.into_iter().filter(|(_, seconds)| *seconds > 0.0).map(step).collect()
}
