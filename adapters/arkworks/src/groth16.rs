//! Groth16 proofs on the device: constraints, witness map and multi-scalar multiplications.

use ark_ec::pairing::Pairing;
use ark_ec::{AffineRepr, CurveGroup};
use ark_ff::UniformRand;
use ark_groth16::{Groth16, PreparedVerifyingKey, Proof, ProvingKey, VerifyingKey, prepare_verifying_key};
use ark_relations::gr1cs::{
    ConstraintSynthesizer, ConstraintSystem, Matrix, OptimizationGoal, R1CS_PREDICATE_LABEL, SynthesisError,
    SynthesisMode,
};
use ark_std::rand::{CryptoRng, Rng};
use rayon::prelude::*;
use ringforge::{Buffer, Engine, Stream};
use ringforge_msm::{Bases, MsmError, ScalarForm, Sums};
use zeroize::Zeroizing;

use crate::backend::Backend;
use crate::field::EngineField;
use crate::matrix::DeviceMatrix;
use crate::points::{DevicePoint, point, upload};
use crate::witness::{Reduction, WitnessMap};

/// Why a proof was not made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProofError {
    /// An error of the device or of a multiplication on it.
    #[error(transparent)]
    Msm(#[from] MsmError),
    /// An error of the circuit's synthesis.
    #[error("the circuit's constraints cannot be synthesised: {0}")]
    Synthesis(#[from] SynthesisError),
    /// The proving key, the matrices or the assignment are of different circuits.
    #[error("{what} has {got} elements, but the proving key is for {expected}")]
    Circuit {
        /// The part that does not fit the proving key.
        what: &'static str,
        /// The number that the proving key needs.
        expected: usize,
        /// The number that there is.
        got: usize,
    },
    /// The first element of the assignment, the constant, is not 1.
    #[error("the first element of the assignment must be 1")]
    Constant,
    /// The proof was made, but the verifying key refuses it: the assignment does not satisfy the constraints.
    #[error("the assignment does not satisfy the constraints")]
    Refused,
}

impl From<ringforge::Error> for ProofError {
    fn from(error: ringforge::Error) -> Self {
        Self::Msm(error.into())
    }
}

/// A proving key and the constraints of its circuit on a device. Proofs are those of ark-groth16 for the same key,
/// assignment and random numbers, byte for byte.
///
/// Only the assignment is copied to the device for each proof. There, it is multiplied by the matrices, the witness map
/// makes the quotient polynomial, and the multi-scalar multiplications make the proof's elements. The circuit's
/// synthesis, which makes the assignment, runs on the CPU.
///
/// Several threads may prove with one key at once.
///
/// ```
/// use ark_bls12_381::{Bls12_381, Fr};
/// use ark_groth16::Groth16;
/// use ark_relations::gr1cs::{ConstraintSynthesizer, ConstraintSystemRef, SynthesisError};
/// use ark_snark::SNARK;
/// use ark_std::rand::rngs::OsRng;
/// use ringforge_arkworks::{Backend, Groth16Device, Reduction};
///
/// /// Knowledge of a square root x of a public number.
/// #[derive(Clone)]
/// struct Square(Fr);
///
/// impl ConstraintSynthesizer<Fr> for Square {
///     fn generate_constraints(self, cs: ConstraintSystemRef<Fr>) -> Result<(), SynthesisError> {
///         let square = cs.new_input_variable(|| Ok(self.0 * self.0))?;
///         let x = cs.new_witness_variable(|| Ok(self.0))?;
///         cs.enforce_r1cs_constraint(|| x.into(), || x.into(), || square.into())
///     }
/// }
///
/// let mut rng = OsRng;
/// let circuit = Square(Fr::from(3));
/// let (pk, vk) = Groth16::<Bls12_381>::circuit_specific_setup(circuit.clone(), &mut rng)?;
/// let prover = Groth16Device::<Bls12_381>::for_circuit(&Backend::best(), &pk, circuit.clone(), Reduction::Libsnark)?;
/// let proof = prover.prove(circuit, &mut rng)?;
/// assert!(Groth16::<Bls12_381>::verify(&vk, &[Fr::from(9)], &proof)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Groth16Device<E: Pairing> {
    engine: Engine,
    matrices: [DeviceMatrix; 3],
    map: WitnessMap,
    /// The bases of A, B in G1, and L; all for the assignment.
    a: Bases,
    b_g1: Bases,
    l: Bases,
    b_g2: Bases,
    h: Bases,
    backend: Backend,
    key: VerifyingKey<E>,
    beta_g1: E::G1Affine,
    delta_g1: E::G1Affine,
    prepared: PreparedVerifyingKey<E>,
    variables: usize,
    instance: usize,
    verifies: bool,
}

impl<E> Groth16Device<E>
where
    E: Pairing<ScalarField: EngineField, G1Affine: DevicePoint, G2Affine: DevicePoint>,
{
    /// Copies a proving key, and the constraint matrices of its circuit, to the device of `backend`. `matrices` are a, b
    /// and c, with a row per constraint; `instance` is the number of public variables, with the constant 1.
    ///
    /// # Errors
    /// [`ProofError::Circuit`] if the matrices do not fit the key; [`ProofError::Msm`] if device memory runs out, a
    /// driver call fails or the device does not support the curves.
    pub fn prepare(
        backend: &Backend,
        pk: &ProvingKey<E>,
        matrices: &[Matrix<E::ScalarField>],
        instance: usize,
        reduction: Reduction,
    ) -> Result<Self, ProofError> {
        let fits = |what, expected, got| match expected == got {
            true => Ok(()),
            false => Err(ProofError::Circuit { what, expected, got }),
        };
        let variables = pk.a_query.len();
        fits("the public variables", pk.vk.gamma_abc_g1.len(), instance)?;
        fits("the private variables", pk.l_query.len(), variables.saturating_sub(instance))?;
        let [a, b, c] = matrices else {
            return Err(ProofError::Circuit { what: "the list of matrices", expected: 3, got: matrices.len() });
        };
        fits("the second matrix", a.len(), b.len())?;
        fits("the third matrix", a.len(), c.len())?;
        fits("the query of B in G1", variables, pk.b_g1_query.len())?;
        fits("the query of B in G2", variables, pk.b_g2_query.len())?;
        let columns = matrices.iter().flatten().flatten().map(|(_, column)| column + 1).max().unwrap_or(0);
        if columns > variables {
            return Err(ProofError::Circuit { what: "a row of a matrix", expected: variables, got: columns });
        }
        let points = (a.len() + instance).next_power_of_two();
        let h_query = match reduction {
            Reduction::Libsnark => points - 1,
            Reduction::Circom => points,
        };
        fits("the quotient polynomial", pk.h_query.len(), h_query)?;
        // the prover adds a row for each public variable to a
        let mut with_inputs = a.clone();
        with_inputs.extend((0..instance).map(|i| vec![(E::ScalarField::from(1u8), i)]));
        let engine = backend.engine();
        let matrix = |rows: &Matrix<_>| DeviceMatrix::new(engine, rows, variables, points);
        Ok(Self {
            engine: engine.clone(),
            matrices: [matrix(&with_inputs)?, matrix(b)?, matrix(c)?],
            map: backend.witness_map::<E::ScalarField>(reduction, points)?,
            a: upload(engine, 0, &pk.a_query, variables)?,
            b_g1: upload(engine, 0, &pk.b_g1_query, variables)?,
            l: upload(engine, instance, &pk.l_query, variables)?,
            b_g2: upload(engine, 0, &pk.b_g2_query, variables)?,
            h: upload(engine, 0, &pk.h_query, points)?,
            backend: backend.clone(),
            key: pk.vk.clone(),
            beta_g1: pk.beta_g1,
            delta_g1: pk.delta_g1,
            prepared: prepare_verifying_key(&pk.vk),
            variables,
            instance,
            verifies: true,
        })
    }

    /// Like [`Groth16Device::prepare`], with the matrices of a circuit. Its variables need no values.
    ///
    /// # Errors
    /// As [`Groth16Device::prepare`]; [`ProofError::Synthesis`] if the circuit cannot be synthesised.
    pub fn for_circuit<C: ConstraintSynthesizer<E::ScalarField>>(
        backend: &Backend,
        pk: &ProvingKey<E>,
        circuit: C,
        reduction: Reduction,
    ) -> Result<Self, ProofError> {
        let cs = ConstraintSystem::new_ref();
        cs.set_optimization_goal(OptimizationGoal::Constraints);
        cs.set_mode(SynthesisMode::Setup);
        circuit.generate_constraints(cs.clone())?;
        cs.finalize();
        let matrices = cs.to_matrices()?;
        let matrices = matrices.get(R1CS_PREDICATE_LABEL).ok_or(SynthesisError::AssignmentMissing)?;
        Self::prepare(backend, pk, matrices, cs.num_instance_variables(), reduction)
    }

    /// The same prover, which hands out proofs without verifying them. By default each proof is verified first, so that
    /// a wrong assignment or a faulty device is an error.
    #[must_use]
    pub fn unverified(self) -> Self {
        Self { verifies: false, ..self }
    }

    /// Makes a proof for a circuit with values. Takes the same random numbers from `rng` as ark-groth16's prover.
    ///
    /// # Errors
    /// [`ProofError::Synthesis`] if the circuit cannot be synthesised; as [`Groth16Device::prove_assignment`].
    pub fn prove<C: ConstraintSynthesizer<E::ScalarField>>(
        &self,
        circuit: C,
        rng: &mut (impl Rng + CryptoRng),
    ) -> Result<Proof<E>, ProofError> {
        let (r, s) = (E::ScalarField::rand(rng), E::ScalarField::rand(rng));
        let cs = ConstraintSystem::new_ref();
        cs.set_optimization_goal(OptimizationGoal::Constraints);
        cs.set_mode(SynthesisMode::Prove { construct_matrices: false, generate_lc_assignments: false });
        circuit.generate_constraints(cs.clone())?;
        cs.finalize();
        let cs = cs.borrow().ok_or(SynthesisError::AssignmentMissing)?;
        let assignment = Zeroizing::new([cs.instance_assignment()?, cs.witness_assignment()?].concat());
        self.prove_assignment(&assignment, r, s)
    }

    /// Makes a proof for an assignment: the constant 1, the other public variables, then the private ones. r and s are
    /// the proof's random numbers, which must be fresh and secret.
    ///
    /// # Errors
    /// [`ProofError::Circuit`] or [`ProofError::Constant`] for an assignment that is not of this circuit;
    /// [`ProofError::Refused`] if it does not satisfy the constraints, unless the proof is
    /// [not verified](Groth16Device::unverified); [`ProofError::Msm`] if device memory runs out or a driver call fails.
    pub fn prove_assignment(
        &self,
        assignment: &[E::ScalarField],
        r: E::ScalarField,
        s: E::ScalarField,
    ) -> Result<Proof<E>, ProofError> {
        if assignment.len() != self.variables {
            let (expected, got) = (self.variables, assignment.len());
            return Err(ProofError::Circuit { what: "the assignment", expected, got });
        }
        if assignment.first() != Some(&E::ScalarField::from(1u8)) {
            return Err(ProofError::Constant);
        }
        let stream = self.engine.device().stream()?;
        // the assignment's copy in page-locked memory is wiped while the device works
        let (of_z, of_h) = self.backend.staged(assignment.len(), |staging| {
            ringforge_cpu::threads::start();
            staging.par_iter_mut().zip(assignment).for_each(|(to, from)| *to = from.limbs());
            let mut z = stream.secret_buffer(size_of_val(staging))?;
            stream.write(&mut z, staging)?;
            let form = ScalarForm::Montgomery;
            let quotient = self.quotient(&stream, &z)?;
            let of_z = Sums::start(&stream, &[&self.b_g2, &self.a, &self.b_g1, &self.l], &z, form, 1)?;
            Ok::<_, ProofError>((of_z, Sums::start(&stream, &[&self.h], &quotient, form, 1)?))
        })?;
        // the CPU's part of the proof, meanwhile
        let [r_delta, s_delta, rs_delta] = [r, s, r * s].map(|x| self.delta_g1 * x);
        let s_delta_g2 = self.key.delta_g2 * s;
        let [b_g2, a, b_g1, l] = &of_z.finish(&stream)?[..] else { return Err(ProofError::Refused) };
        let h = of_h.finish(&stream)?.concat();
        let g1 = |bytes: &[u8]| point::<E::G1Affine>(bytes).into_group();
        let a = r_delta + g1(a) + self.key.alpha_g1;
        let b_g1 = s_delta + g1(b_g1) + self.beta_g1;
        let b = s_delta_g2 + point::<E::G2Affine>(b_g2).into_group() + self.key.beta_g2;
        let c = a * s + b_g1 * r - rs_delta + g1(l) + g1(&h);
        let proof = Proof { a: a.into_affine(), b: b.into_affine(), c: c.into_affine() };
        let inputs = assignment.get(1..self.instance).unwrap_or(&[]);
        match !self.verifies || Groth16::<E>::verify_proof(&self.prepared, &proof, inputs)? {
            true => Ok(proof),
            false => Err(ProofError::Refused),
        }
    }

    /// Enqueues the products of the matrices and the assignment, and the witness map.
    fn quotient(&self, stream: &Stream, z: &Buffer) -> Result<Buffer, ProofError> {
        let buffer = || stream.secret_buffer(self.map.size() * size_of::<[u64; 4]>());
        let mut products = [buffer()?, buffer()?, buffer()?];
        for (matrix, product) in self.matrices.iter().zip(&mut products) {
            matrix.times(stream, z, product)?;
        }
        let [a, b, c] = &mut products;
        self.map.run(stream, a, b, c)?;
        let [_, _, quotient] = products;
        Ok(quotient)
    }
}
