//! Compares proofs of the device's prover with those of ark-groth16.

use ark_bls12_381::Bls12_381;
use ark_bn254::Bn254;
use ark_ec::pairing::Pairing;
use ark_ff::{AdditiveGroup, Field, UniformRand};
use ark_groth16::{Groth16, ProvingKey};
use ark_relations::gr1cs::{ConstraintSynthesizer, ConstraintSystemRef, LinearCombination, Result, Variable};
use ark_std::rand::{Rng, SeedableRng, rngs::StdRng};
use ringforge::Engine;
use ringforge_arkworks::{Backend, DevicePoint, EngineField, Groth16Device, ProofError, Reduction};
use ringforge_testkit::{Target, seed};

/// A random satisfied circuit: each constraint multiplies two random combinations of earlier variables.
#[derive(Clone)]
struct Chance {
    seed: u64,
    public: usize,
    private: usize,
    constraints: usize,
    /// Whether coefficients and values are small, zero or one.
    small: bool,
}

impl<F: Field> ConstraintSynthesizer<F> for Chance {
    fn generate_constraints(self, cs: ConstraintSystemRef<F>) -> Result<()> {
        let mut random = StdRng::seed_from_u64(self.seed);
        let mut values = vec![F::ONE];
        let mut variables = vec![Variable::One];
        let small = self.small;
        let number = move |random: &mut StdRng| match random.gen_range(0..if small { 4 } else { 6 }) {
            0 => F::ZERO,
            1 => F::ONE,
            2 => -F::ONE,
            3 => F::from(random.gen_range(0..9u8)),
            _ => F::rand(random),
        };
        for i in 0..self.public + self.private {
            let value = number(&mut random);
            values.push(value);
            variables.push(match i < self.public {
                true => cs.new_input_variable(|| Ok(value))?,
                false => cs.new_witness_variable(|| Ok(value))?,
            });
        }
        for _ in 0..self.constraints {
            let combine = |random: &mut StdRng| {
                let terms = if random.gen_bool(0.1) { 70 } else { random.gen_range(0..4) };
                let mut sum = (LinearCombination::<F>::new(), F::ZERO);
                for _ in 0..terms {
                    let (i, factor) = (random.gen_range(0..values.len()), number(random));
                    sum = (sum.0 + (factor, variables[i]), sum.1 + factor * values[i]);
                }
                sum
            };
            let (a, b) = (combine(&mut random), combine(&mut random));
            let product = a.1 * b.1;
            let c = cs.new_witness_variable(|| Ok(product))?;
            values.push(product);
            variables.push(c);
            cs.enforce_r1cs_constraint(|| a.0.clone(), || b.0.clone(), || c.into())?;
        }
        Ok(())
    }
}

fn key<E: Pairing>(circuit: &Chance, rng: &mut StdRng) -> ProvingKey<E> {
    Groth16::<E>::generate_random_parameters_with_reduction(circuit.clone(), rng).expect("a key")
}

/// Compares proofs for random circuits on an engine.
fn agrees<E>(engine: &Engine, circuits: impl Iterator<Item = Chance>)
where
    E: Pairing<ScalarField: EngineField, G1Affine: DevicePoint, G2Affine: DevicePoint>,
{
    let backend = Backend::new(engine);
    for circuit in circuits {
        let mut rng = StdRng::seed_from_u64(circuit.seed);
        let pk = key::<E>(&circuit, &mut rng);
        let prover = Groth16Device::<E>::for_circuit(&backend, &pk, circuit.clone(), Reduction::Libsnark);
        let prover = prover.expect("a prover");
        let mut again = rng.clone();
        let stock = Groth16::<E>::create_random_proof_with_reduction(circuit.clone(), &pk, &mut rng).expect("a proof");
        let ours = prover.prove(circuit.clone(), &mut again).expect("a proof");
        assert_eq!(ours, stock, "seed {}", circuit.seed);
        assert_eq!(rng.r#gen::<u64>(), again.r#gen::<u64>(), "the same random numbers are used up");
    }
}

fn circuits(first: u64, count: u64, most: usize) -> impl Iterator<Item = Chance> {
    (first..first + count).map(move |seed| {
        let mut random = StdRng::seed_from_u64(seed);
        Chance {
            seed,
            public: random.gen_range(0..4),
            private: random.gen_range(0..4),
            constraints: random.gen_range(1..most),
            small: random.gen_bool(0.5),
        }
    })
}

#[test]
fn proofs_on_a_cpu_are_those_of_arkworks() {
    let engine = Engine::on(Target::Cpu.device().expect("a CPU"));
    agrees::<Bls12_381>(&engine, circuits(seed() % 1_000_000, 6, 60));
    agrees::<Bn254>(&engine, circuits(seed() % 1_000_000, 6, 60));
}

#[test]
fn proofs_on_a_gpu_are_those_of_arkworks() {
    let Some(device) = Target::Cuda.device() else { return };
    let engine = Engine::on(device);
    agrees::<Bls12_381>(&engine, circuits(seed() % 1_000_000, 60, 200));
    agrees::<Bn254>(&engine, circuits(seed() % 1_000_000, 60, 200));
    agrees::<Bn254>(&engine, circuits(seed() % 1_000_000, 2, 40_000));
}

#[test]
fn awkward_circuits_and_numbers() {
    for device in [Target::Cpu, Target::Cuda].into_iter().filter_map(Target::device) {
        let backend = Backend::new(&Engine::on(device));
        // no public variables, no private ones, a domain that is just full or has one more row
        for (public, private, constraints) in [(0, 1, 1), (1, 0, 6), (1, 0, 7), (3, 1, 12), (0, 2, 16)] {
            let circuit = Chance { seed: 7, public, private, constraints, small: true };
            let mut rng = StdRng::seed_from_u64(1);
            let pk = key::<Bn254>(&circuit, &mut rng);
            let prover = Groth16Device::<Bn254>::for_circuit(&backend, &pk, circuit.clone(), Reduction::Libsnark);
            let prover = prover.expect("a prover");
            let assignment = assignment::<ark_bn254::Fr>(circuit.clone());
            type F = ark_bn254::Fr;
            for (r, s) in [(F::ZERO, F::ZERO), (F::ZERO, F::rand(&mut rng)), (F::rand(&mut rng), F::ZERO)] {
                let stock = Groth16::<Bn254>::create_proof_with_reduction(circuit.clone(), &pk, r, s).expect("a proof");
                assert_eq!(prover.prove_assignment(&assignment, r, s).expect("a proof"), stock);
            }
        }
    }
}

fn assignment<F: EngineField>(circuit: Chance) -> Vec<F> {
    let cs = ark_relations::gr1cs::ConstraintSystem::new_ref();
    circuit.generate_constraints(cs.clone()).expect("constraints");
    cs.finalize();
    let cs = cs.borrow().expect("a system");
    [cs.instance_assignment().expect("values"), cs.witness_assignment().expect("values")].concat()
}

#[test]
fn wrong_input_is_refused() {
    type F = ark_bn254::Fr;
    let backend = Backend::new(&Engine::cpu());
    let circuit = Chance { seed: 3, public: 2, private: 2, constraints: 9, small: false };
    let mut rng = StdRng::seed_from_u64(1);
    let pk = key::<Bn254>(&circuit, &mut rng);
    let prover = Groth16Device::<Bn254>::for_circuit(&backend, &pk, circuit.clone(), Reduction::Libsnark);
    let prover = prover.expect("a prover");
    let mut assignment = assignment::<F>(circuit.clone());
    let (r, s) = (F::rand(&mut rng), F::rand(&mut rng));
    let short = prover.prove_assignment(&assignment[1..], r, s);
    assert!(matches!(short, Err(ProofError::Circuit { what: "the assignment", .. })), "{short:?}");
    let last = assignment.len() - 1;
    assignment[last] += F::ONE;
    let wrong = prover.prove_assignment(&assignment, r, s);
    assert!(matches!(wrong, Err(ProofError::Refused)), "{wrong:?}");
    assignment[0] += F::ONE;
    let constant = prover.prove_assignment(&assignment, r, s);
    assert!(matches!(constant, Err(ProofError::Constant)), "{constant:?}");
    let other = Chance { constraints: 10, ..circuit };
    let foreign = Groth16Device::<Bn254>::for_circuit(&backend, &pk, other, Reduction::Libsnark);
    assert!(matches!(foreign, Err(ProofError::Circuit { .. })), "{foreign:?}");
}
