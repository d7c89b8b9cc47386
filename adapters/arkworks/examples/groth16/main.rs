//! Proves a MiMC chain with arkworks' keys: wholly on the device, through the plug `Libsnark`, and by arkworks alone.
//! Compares and verifies the proofs, and times the witness map with and without `Libsnark`.
//!
//! `cargo run --release -p ringforge-arkworks --example groth16 -- 16` proves 2^16 constraints; the default is 2^10.

mod mimc;

use std::error::Error;
use std::time::{Duration, Instant};

use ark_bls12_381::{Bls12_381, Fr};
use ark_ff::{AdditiveGroup, Field, UniformRand};
use ark_groth16::Groth16;
use ark_groth16::r1cs_to_qap::{LibsnarkReduction, R1CSToQAP, evaluate_constraint};
use ark_poly::{EvaluationDomain, GeneralEvaluationDomain};
use ark_snark::SNARK;
use ark_std::rand::rngs::OsRng;
use mimc::Mimc;
use rayon::prelude::*;
use ringforge_arkworks::{Backend, Groth16Device, Libsnark, Reduction};

type Stock = Groth16<Bls12_381>;
type Plugged = Groth16<Bls12_381, Libsnark<Fr>>;
type Domain = GeneralEvaluationDomain<Fr>;

fn main() -> Result<(), Box<dyn Error>> {
    let log = std::env::args().nth(1).map_or(Ok(10), |log| log.parse::<u32>())?;
    let rounds = 1usize.checked_shl(log).ok_or("log2 of the constraints must be below 64")?.div_ceil(2);
    let constraints = 2 * rounds;
    println!("{constraints} constraints, transforms on {}", Backend::shared().device());

    let ((pk, vk), time) = timed(|| Stock::circuit_specific_setup(Mimc::new(rounds, None), &mut OsRng))?;
    println!("{time:>10.2?}  keys, made by arkworks");
    let circuit = Mimc::new(rounds, Some(Fr::from(42)));
    let end = circuit.end().ok_or("the chain has no start")?;
    let backend = Backend::shared();
    let (prover, time) = timed(|| {
        Groth16Device::for_circuit(core::slice::from_ref(backend), &pk, circuit.clone(), Reduction::Libsnark)
    })?;
    println!("{time:>10.2?}  keys and constraints copied to the device, once");
    let (_, time) = timed(|| prover.prove(circuit.clone(), &mut OsRng))?;
    println!("{time:>10.2?}  proof on the device, what is compiled once included");
    let (_, time) = fastest(|| prover.prove(circuit.clone(), &mut OsRng))?;
    println!("{time:>10.2?}  another one");
    let (_, _, assignment) = circuit.clone().system()?;
    let (r, s) = (Fr::rand(&mut OsRng), Fr::rand(&mut OsRng));
    let (proof, time) = fastest(|| prover.prove_assignment(&assignment, r, s))?;
    println!("{time:>10.2?}  from its assignment");
    assert!(Stock::verify(&vk, &[end], &proof)?, "a valid proof was rejected");
    let (stock, time) = timed(|| Stock::create_proof_with_reduction(circuit.clone(), &pk, r, s))?;
    println!("{time:>10.2?}  the same proof by arkworks alone");
    assert!(proof == stock, "the proofs differ");
    let (proof, time) = timed(|| Plugged::prove(&pk, circuit.clone(), &mut OsRng))?;
    println!("{time:>10.2?}  proof through the plug, what is made once included");
    let (_, time) = timed(|| Plugged::prove(&pk, circuit.clone(), &mut OsRng))?;
    println!("{time:>10.2?}  another one");
    assert!(Stock::verify(&vk, &[end], &proof)?, "a valid proof was rejected");
    assert!(!Stock::verify(&vk, &[end + Fr::ONE], &proof)?, "a proof for another public input was accepted");
    println!("accepted by arkworks' verifier; not so for another public end");

    let (matrices, inputs, mut assignment) = circuit.system()?;
    let (_, lines) = fastest(|| {
        let polynomials = matrices.iter().map(|rows| rows.par_iter().map(|row| evaluate_constraint(row, &assignment)));
        Ok::<_, Box<dyn Error>>(polynomials.map(|values| values.collect()).collect::<Vec<Vec<Fr>>>())
    })?;
    let (h, with) = fastest(|| {
        Libsnark::<Fr>::witness_map_from_matrices::<Fr, Domain>(&matrices, inputs, constraints, &assignment)
    })?;
    let (expected, without) = fastest(|| {
        LibsnarkReduction::witness_map_from_matrices::<Fr, Domain>(&matrices, inputs, constraints, &assignment)
    })?;
    assert!(h == expected, "the witness maps differ");
    println!("{:>10.2?}  in transforms and copies with the plug", with.saturating_sub(lines));
    println!("{:>10.2?}  in transforms without it", without.saturating_sub(lines));
    println!("{lines:>10.2?}  in the constraints, before either");

    let points = ringforge_arkworks::Domain::<Fr>::new(constraints).ok_or("too many constraints for Fr")?;
    let (values, with) = fastest(|| Ok::<_, Box<dyn Error>>(points.fft(&h)))?;
    let (expected, without) = fastest(|| Ok::<_, Box<dyn Error>>(EvaluationDomain::fft(&points, &h)))?;
    assert!(values == expected, "the transforms differ");
    println!("{with:>10.2?}  one transform by Domain::fft, on the engine");
    println!("{without:>10.2?}  one by EvaluationDomain::fft, as generic code calls it, by arkworks");

    // corrupt the square of the last round, which violates both constraints of that round
    *assignment.last_mut().ok_or("the chain has no steps")? += Fr::ONE;
    let no_blinding = Fr::ZERO;
    let wrong = Plugged::create_proof_with_reduction_and_matrices(
        &pk,
        no_blinding,
        no_blinding,
        &matrices,
        inputs,
        constraints,
        &assignment,
    )?;
    assert!(!Stock::verify(&vk, &[end], &wrong)?, "a proof from a wrong witness was accepted");
    println!("a wrong witness is rejected");
    Ok(())
}

fn timed<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<(T, Duration), E> {
    let start = Instant::now();
    work().map(|result| (result, start.elapsed()))
}

/// Runs `work` five times. Returns the result of the last run and the minimum time.
fn fastest<T, E>(mut work: impl FnMut() -> Result<T, E>) -> Result<(T, Duration), E> {
    let (mut result, mut least) = timed(&mut work)?;
    for _ in 1..5 {
        let (again, time) = timed(&mut work)?;
        (result, least) = (again, least.min(time));
    }
    Ok((result, least))
}
