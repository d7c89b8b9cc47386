//! Groth16 proofs of a chain x ← (x + k)^3 over BLS12-381.

use std::time::Instant;

use anyhow::{Context, Result};
use ark_bls12_381::{Bls12_381, Fr};
use ark_ff::{Field, UniformRand};
use ark_groth16::Groth16;
use ark_relations::gr1cs::{ConstraintSynthesizer, ConstraintSystem, ConstraintSystemRef, LinearCombination, Variable};
use ark_snark::SNARK;
use ark_std::rand::{SeedableRng, rngs::StdRng};
use ringforge::Engine;
use ringforge_arkworks::{Backend, Groth16Device, Reduction};
use ringforge_cli::measure;
use ringforge_cli::record::Measurement;
use ringforge_cli::session::Bench;
use ringforge_cli::suite::{Case, Scope};

/// log2 of the numbers of constraints.
const LOG_N: &[u32] = &[18, 20];
const CPU_LOG_N: &[u32] = &[10];

/// Operations.
const FROM: [&str; 2] = ["from the assignment", "from the circuit"];

pub(super) fn cases(scope: &Scope) -> Vec<Case> {
    let sizes = scope.either(LOG_N, CPU_LOG_N);
    let case = |&log_n: &u32| {
        let (name, n) = (format!("Groth16 BLS12-381 2^{log_n}"), 1 << scope.log_n(log_n));
        Case::new(name.clone(), &FROM, move |bench, wanted| {
            let lines = lines(bench, &name, n)?;
            Ok(lines.into_iter().filter(|line| wanted.has(&line.operation)).collect())
        })
    };
    sizes.iter().take(if scope.quick { 1 } else { sizes.len() }).map(case).collect()
}

/// A chain of rounds with two constraints each, whose start is secret and whose end is public.
#[derive(Debug, Clone)]
struct Chain(Vec<Fr>, Fr);

impl ConstraintSynthesizer<Fr> for Chain {
    fn generate_constraints(self, cs: ConstraintSystemRef<Fr>) -> ark_relations::gr1cs::Result<()> {
        let Self(constants, mut value) = self;
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

fn lines(bench: &Bench, name: &str, n: usize) -> Result<Vec<Measurement>> {
    let mut rng = StdRng::seed_from_u64(bench.seed);
    // a row for each constraint and each of two public variables must fit
    let rounds = (n / 2).saturating_sub(1).max(1);
    let circuit = Chain((0..rounds).map(|_| Fr::rand(&mut rng)).collect(), Fr::rand(&mut rng));
    let (pk, _) = Groth16::<Bls12_381>::circuit_specific_setup(circuit.clone(), &mut rng)?;
    let backend = Backend::new(&Engine::on(bench.device.clone()));
    let prover = Groth16Device::<Bls12_381>::for_circuit(&backend, &pk, circuit.clone(), Reduction::Libsnark)?;
    let cs = ConstraintSystem::new_ref();
    circuit.clone().generate_constraints(cs.clone())?;
    cs.finalize();
    let cs = cs.borrow().context("a constraint system")?;
    let assignment = [cs.instance_assignment()?, cs.witness_assignment()?].concat();
    let (r, s) = (Fr::rand(&mut rng), Fr::rand(&mut rng));
    let mut proof = prover.prove_assignment(&assignment, r, s)?;
    let of_assignment = measure::wall(bench.effort, || {
        proof = prover.prove_assignment(&assignment, r, s)?;
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
    let circuit = line(FROM[1], of_circuit).beside("ark-groth16 0.6, all cores", stock_seconds);
    Ok(vec![line(FROM[0], of_assignment), circuit])
}
