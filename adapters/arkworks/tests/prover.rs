//! Compares proofs of the device's prover with those of ark-groth16.

use ark_bls12_381::Bls12_381;
use ark_bn254::Bn254;
use ark_ec::AffineRepr;
use ark_ec::pairing::Pairing;
use ark_ff::{AdditiveGroup, Field, UniformRand};
use ark_groth16::r1cs_to_qap::evaluate_constraint;
use ark_groth16::{Groth16, ProvingKey};
use ark_relations::gr1cs::{
    ConstraintSynthesizer, ConstraintSystem, ConstraintSystemRef, LinearCombination, Matrix, R1CS_PREDICATE_LABEL,
    Result, Variable,
};
use ark_std::rand::{Rng, SeedableRng, rngs::StdRng};
use ringforge::{Device, Engine, Error};
use ringforge_arkworks::{Backend, Circom, DevicePoint, EngineField, Groth16Device, ProofError, Reduction};
use ringforge_msm::MsmError;
use ringforge_testkit::{Target, seed};

/// A random satisfied circuit: each constraint multiplies two random combinations of earlier variables.
#[derive(Clone)]
pub(crate) struct Chance {
    pub(crate) seed: u64,
    pub(crate) public: usize,
    pub(crate) private: usize,
    pub(crate) constraints: usize,
    /// Whether coefficients and values are small, zero or one.
    pub(crate) small: bool,
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

/// Compares proofs for random circuits, on one to three backends of a device.
fn agrees<E>(device: &Device, circuits: impl Iterator<Item = Chance>)
where
    E: Pairing<ScalarField: EngineField, G1Affine: DevicePoint, G2Affine: DevicePoint>,
{
    let all = [(); 3].map(|()| Backend::new(&Engine::on(device.clone())));
    for circuit in circuits {
        let mut rng = StdRng::seed_from_u64(circuit.seed);
        let pk = key::<E>(&circuit, &mut rng);
        let backends = &all[..1 + circuit.seed as usize % 3];
        let prover = Groth16Device::<E>::for_circuit(backends, &pk, circuit.clone(), Reduction::Libsnark);
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
    let device = Device::cpu();
    agrees::<Bls12_381>(&device, circuits(seed() % 1_000_000, 6, 60));
    agrees::<Bn254>(&device, circuits(seed() % 1_000_000, 6, 60));
}

#[test]
fn proofs_on_a_gpu_are_those_of_arkworks() {
    let Some(device) = Target::Cuda.device() else { return };
    agrees::<Bls12_381>(&device, circuits(seed() % 1_000_000, 100, 200));
    agrees::<Bn254>(&device, circuits(seed() % 1_000_000, 98, 200));
    agrees::<Bn254>(&device, circuits(seed() % 1_000_000, 2, 40_000));
}

#[test]
#[ignore = "takes minutes: scripts/release.sh runs it"]
fn proofs_in_cuda_source_are_those_of_arkworks() {
    // the sanitizers of the test kit, which has compiled most of the kernels
    let Some(device) = Target::EmulatorSanitized.device() else { return };
    agrees::<Bls12_381>(&device, circuits(seed() % 1_000_000, 10, 6));
}

#[test]
fn awkward_circuits_and_numbers() {
    for device in [Target::Cpu, Target::Cuda].into_iter().filter_map(Target::device) {
        let backends = [Backend::new(&Engine::on(device))];
        // no public variables, no private ones, a domain that is just full or has one more row
        for (public, private, constraints) in [(0, 1, 1), (1, 0, 6), (1, 0, 7), (3, 1, 12), (0, 2, 16)] {
            let circuit = Chance { seed: 7, public, private, constraints, small: true };
            let mut rng = StdRng::seed_from_u64(1);
            let pk = key::<Bn254>(&circuit, &mut rng);
            let prover = Groth16Device::<Bn254>::for_circuit(&backends, &pk, circuit.clone(), Reduction::Libsnark);
            let prover = prover.expect("a prover");
            let assignment = system::<ark_bn254::Fr>(circuit.clone()).1;
            type F = ark_bn254::Fr;
            for (r, s) in [(F::ZERO, F::ZERO), (F::ZERO, F::rand(&mut rng)), (F::rand(&mut rng), F::ZERO)] {
                let stock = Groth16::<Bn254>::create_proof_with_reduction(circuit.clone(), &pk, r, s).expect("a proof");
                assert_eq!(prover.prove_assignment(&assignment, r, s).expect("a proof"), stock);
            }
        }
    }
}

/// The matrices and the assignment of a circuit.
pub(crate) fn system<F: EngineField>(circuit: Chance) -> (Vec<Matrix<F>>, Vec<F>) {
    let cs = ConstraintSystem::new_ref();
    circuit.generate_constraints(cs.clone()).expect("constraints");
    cs.finalize();
    let matrices = cs.to_matrices().expect("matrices")[R1CS_PREDICATE_LABEL].clone();
    let cs = cs.borrow().expect("a system");
    (matrices, [cs.instance_assignment().expect("values"), cs.witness_assignment().expect("values")].concat())
}

/// A circuit whose private variables all have one value, and whose bases are equal, opposite and infinite.
#[derive(Clone)]
struct Alike<F>(F);

impl<F: Field> ConstraintSynthesizer<F> for Alike<F> {
    fn generate_constraints(self, cs: ConstraintSystemRef<F>) -> Result<()> {
        let variables = (0..8).map(|_| cs.new_witness_variable(|| Ok(self.0))).collect::<Result<Vec<_>>>()?;
        // the last two variables are in no constraint
        for three in variables[..6].chunks(3) {
            let sum = || LinearCombination::from(three[0]) - three[1] + three[2];
            cs.enforce_r1cs_constraint(sum, || Variable::One.into(), sum)?;
        }
        Ok(())
    }
}

#[test]
fn equal_scalars_and_bases() {
    type F = ark_bn254::Fr;
    for device in [Target::Cpu, Target::Cuda].into_iter().filter_map(Target::device) {
        let backends = [Backend::new(&Engine::on(device))];
        for value in [F::ZERO, F::ONE, -F::ONE] {
            let mut rng = StdRng::seed_from_u64(1);
            let circuit = Alike(value);
            let pk = Groth16::<Bn254>::generate_random_parameters_with_reduction(circuit.clone(), &mut rng);
            let pk = pk.expect("a key");
            let (one, two, other) = (pk.a_query[1], pk.a_query[2], pk.a_query[7]);
            assert!(one == -two && one == pk.a_query[3] && other.is_zero(), "the bases are not such as the test needs");
            let prover = Groth16Device::<Bn254>::for_circuit(&backends, &pk, circuit.clone(), Reduction::Libsnark);
            let mut again = rng.clone();
            let proof = prover.expect("a prover").prove(circuit.clone(), &mut again).expect("a proof");
            let stock = Groth16::<Bn254>::create_random_proof_with_reduction(circuit, &pk, &mut rng);
            assert_eq!(proof, stock.expect("a proof"), "{value}");
        }
    }
}

#[test]
fn given_evaluations_replace_the_matrices() {
    for device in [Target::Cpu, Target::Cuda].into_iter().filter_map(Target::device) {
        let backends = [Backend::new(&Engine::on(device))];
        let circuit = Chance { seed: 11, public: 2, private: 3, constraints: 20, small: false };
        let mut rng = StdRng::seed_from_u64(1);
        let pk = key::<Bn254>(&circuit, &mut rng);
        let (matrices, assignment) = system::<ark_bn254::Fr>(circuit);
        let prover = Groth16Device::<Bn254>::prepare(&backends, &pk, &matrices, 3, Reduction::Libsnark);
        let prover = prover.expect("a prover");
        let of = |rows: &Matrix<_>| rows.iter().map(|row| evaluate_constraint(row, &assignment)).collect::<Vec<_>>();
        let [mut a, b, c] = [0, 1, 2].map(|i| of(&matrices[i]));
        a.extend(&assignment[..3]);
        let (r, s) = (ark_bn254::Fr::rand(&mut rng), ark_bn254::Fr::rand(&mut rng));
        let (proof, phases) = prover.prove_timed(&assignment, Some([&a, &b, &c]), r, s).expect("a proof");
        assert_eq!(proof, prover.prove_assignment(&assignment, r, s).expect("a proof"));
        let within = [phases.copies, phases.quotient, phases.sums, phases.quotient_sum];
        assert!(within.iter().all(|seconds| *seconds >= 0.0), "{phases:?}");
        assert!(within.iter().sum::<f64>() <= phases.elements, "{phases:?}");
        assert!(phases.verification > 0.0, "{phases:?}");
        a.resize(33, ark_bn254::Fr::ZERO);
        let long = prover.prove_timed(&assignment, Some([&a, &b, &c]), r, s);
        assert!(matches!(long, Err(ProofError::Circuit { expected: 32, got: 33, .. })), "{long:?}");
    }
}

#[test]
fn keys_of_circom_give_its_proofs() {
    type F = ark_bn254::Fr;
    type Stock = Groth16<Bn254, Circom<F>>;
    for device in [Target::Cpu, Target::Cuda].into_iter().filter_map(Target::device) {
        let backends = [Backend::new(&Engine::on(device))];
        for seed in 0..3 {
            let circuit = Chance { seed, public: 2, private: 3, constraints: 20, small: seed == 1 };
            let mut rng = StdRng::seed_from_u64(1);
            let pk = Stock::generate_random_parameters_with_reduction(circuit.clone(), &mut rng).expect("a key");
            let prover = Groth16Device::<Bn254>::for_circuit(&backends, &pk, circuit.clone(), Reduction::Circom);
            let prover = prover.expect("a prover");
            let (r, s) = (F::rand(&mut rng), F::rand(&mut rng));
            let proof = prover.prove_assignment(&system(circuit.clone()).1, r, s).expect("a proof");
            assert_eq!(proof, Stock::create_proof_with_reduction(circuit, &pk, r, s).expect("a proof"));
        }
    }
}

#[test]
fn too_little_device_memory_is_an_error_that_passes() {
    let Some(device) = Target::Cuda.device() else { return };
    let backends = [Backend::new(&Engine::on(device.clone()))];
    let circuit = Chance { seed: 5, public: 1, private: 1, constraints: 3000, small: false };
    let mut rng = StdRng::seed_from_u64(1);
    let pk = key::<Bn254>(&circuit, &mut rng);
    let assignment = system(circuit.clone()).1;
    let prover = Groth16Device::<Bn254>::for_circuit(&backends, &pk, circuit, Reduction::Libsnark).expect("a prover");
    let (r, s) = (ark_bn254::Fr::rand(&mut rng), ark_bn254::Fr::rand(&mut rng));
    // takes the memory of the device, until there is less left than a proof needs
    let (mut taken, mut size) = (Vec::new(), 1 << 36);
    while size > 1 << 16 {
        match device.buffer(size) {
            Ok(buffer) => taken.push(buffer),
            Err(_) => size /= 2,
        }
    }
    let full = prover.prove_assignment(&assignment, r, s);
    assert!(matches!(full, Err(ProofError::Msm(MsmError::Engine(Error::OutOfMemory { .. })))), "{full:?}");
    drop(taken);
    prover.prove_assignment(&assignment, r, s).expect("there is memory again");
}

#[test]
fn a_failing_device_is_an_error_that_passes() {
    let circuit = Chance { seed: 6, public: 1, private: 1, constraints: 3, small: false };
    let mut rng = StdRng::seed_from_u64(1);
    let pk = key::<Bn254>(&circuit, &mut rng);
    let assignment = system(circuit.clone()).1;
    let (r, s) = (ark_bn254::Fr::rand(&mut rng), ark_bn254::Fr::rand(&mut rng));
    let (device, fault) = ringforge_testkit::failing::device();
    let failing_device = device.clone();
    // a peak counts anew from what is held
    let held = || (failing_device.backend().peak_bytes(), failing_device.backend().peak_bytes()).1;
    let [failing, sound] = [device, Device::cpu()].map(|device| Backend::new(&Engine::on(device)));
    for backends in [vec![failing.clone()], vec![sound, failing]] {
        let prover = Groth16Device::<Bn254>::for_circuit(&backends, &pk, circuit.clone(), Reduction::Libsnark);
        let prover = prover.expect("a prover");
        let expected = prover.prove_assignment(&assignment, r, s).expect("a proof");
        let (before, mut calls, mut told) = (held(), 0, 0);
        loop {
            calls += 1;
            fault.at(calls);
            let proof = prover.prove_assignment(&assignment, r, s);
            if !fault.happened() {
                break;
            }
            match proof {
                // the wipe of memory that is being freed cannot tell its failure
                Ok(proof) => assert_eq!(proof, expected),
                Err(ProofError::Msm(MsmError::Engine(Error::Driver { .. }))) => told += 1,
                Err(error) => panic!("call {calls} of {} devices: {error:?}", backends.len()),
            }
            assert_eq!(held(), before, "call {calls} of {} devices", backends.len());
        }
        assert!(told > 20, "{told}");
        fault.at(0);
        assert_eq!(prover.prove_assignment(&assignment, r, s).expect("a proof"), expected);
        fault.at(1);
        let key = Groth16Device::<Bn254>::for_circuit(&backends, &pk, circuit.clone(), Reduction::Libsnark);
        assert!(matches!(key, Err(ProofError::Msm(MsmError::Engine(Error::Driver { .. })))), "{key:?}");
    }
}

#[test]
fn wrong_input_is_refused() {
    type F = ark_bn254::Fr;
    let backends = [Backend::new(&Engine::cpu())];
    let circuit = Chance { seed: 3, public: 2, private: 2, constraints: 9, small: false };
    let mut rng = StdRng::seed_from_u64(1);
    let pk = key::<Bn254>(&circuit, &mut rng);
    let prover = Groth16Device::<Bn254>::for_circuit(&backends, &pk, circuit.clone(), Reduction::Libsnark);
    let prover = prover.expect("a prover");
    let mut assignment = system::<F>(circuit.clone()).1;
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
    // a device that computes wrongly, as if one of its bases were another
    let mut damaged = pk.clone();
    damaged.b_g2_query[2] = damaged.b_g2_query[3];
    let faulty = Groth16Device::<Bn254>::for_circuit(&backends, &damaged, circuit.clone(), Reduction::Libsnark);
    let sound = system::<F>(circuit.clone()).1;
    let refused = faulty.expect("a prover").prove_assignment(&sound, r, s);
    assert!(matches!(refused, Err(ProofError::Refused)), "{refused:?}");
    let nowhere = Groth16Device::<Bn254>::for_circuit(&[], &pk, circuit.clone(), Reduction::Libsnark);
    assert!(matches!(nowhere, Err(ProofError::Circuit { what: "the list of devices", .. })), "{nowhere:?}");
    let other = Chance { constraints: 10, ..circuit };
    let foreign = Groth16Device::<Bn254>::for_circuit(&backends, &pk, other, Reduction::Libsnark);
    assert!(matches!(foreign, Err(ProofError::Circuit { .. })), "{foreign:?}");
}
