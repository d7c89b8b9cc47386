//! Groth16 proofs on devices: constraints, witness map and multi-scalar multiplications.

mod part;

use core::ops::Range;
use std::time::Instant;

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
use ringforge::{Engine, Plan, Planner};
use ringforge_msm::{Bases, Check, MsmError, SparseMatrix};
use zeroize::Zeroizing;

use crate::backend::Backend;
use crate::circom::{FileError, Zkey};
use crate::field::{EngineField, WORD, modulus};
use crate::points::{Coordinate, DevicePoint, upload};
use crate::witness::Reduction;
use part::{Part, Parts, Query, Running};

/// Why a proof was not made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProofError {
    /// An error of the device or of a multiplication on it.
    #[error(transparent)]
    Msm(#[from] MsmError),
    /// A key of snarkjs is damaged.
    #[error(transparent)]
    File(#[from] FileError),
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

/// The times of a proof's phases, in seconds. With several devices, the time of a phase on a device is the longest.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct Phases {
    /// Copies of the assignment, and of evaluations if they were given, to the device.
    pub copies: f64,
    /// The products with the matrices, and the witness map.
    pub quotient: f64,
    /// The sums over the variables: A, B in both groups, and L.
    pub sums: f64,
    /// The sum over the quotient's coefficients: H.
    pub quotient_sum: f64,
    /// From the call until the proof's elements are on the host. It contains the phases above.
    pub elements: f64,
    /// The verification, on the CPU. 0 if the prover is [not verified](Groth16Device::unverified).
    pub verification: f64,
}

/// The elements of a key that a proof needs beside the bases.
#[derive(Debug, Clone)]
pub(crate) struct Ends<E: Pairing> {
    pub(crate) vk: VerifyingKey<E>,
    pub(crate) beta_g1: E::G1Affine,
    pub(crate) delta_g1: E::G1Affine,
}

/// A proving key and the constraints of its circuit on one or more devices. Proofs are those of ark-groth16 for the same
/// key, assignment and random numbers, byte for byte.
///
/// Only the assignment is copied to the devices for each proof. There, it is multiplied by the matrices, the witness map
/// makes the quotient polynomial, and the multi-scalar multiplications make the proof's elements. The circuit's
/// synthesis, which makes the assignment, runs on the CPU. Each of several devices has all matrices, and the bases of an
/// equal part of the variables.
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
/// let prover = Groth16Device::<Bls12_381>::for_circuit(&[Backend::best()], &pk, circuit.clone(), Reduction::Libsnark)?;
/// let proof = prover.prove(circuit, &mut rng)?;
/// assert!(Groth16::<Bls12_381>::verify(&vk, &[Fr::from(9)], &proof)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Groth16Device<E: Pairing> {
    parts: Vec<Part>,
    ends: Ends<E>,
    prepared: PreparedVerifyingKey<E>,
    variables: usize,
    /// Points of the domain.
    points: usize,
    proof_bytes: usize,
    verifies: bool,
}

impl<E> Groth16Device<E>
where
    E: Pairing<ScalarField: EngineField, G1Affine: DevicePoint, G2Affine: DevicePoint>,
{
    /// Copies a proving key, and the constraint matrices of its circuit, to the devices of `backends`. `matrices` are a,
    /// b and c, with a row per constraint; `instance` is the number of public variables, with the constant 1. What the
    /// key will take on each device is logged first.
    ///
    /// # Errors
    /// [`ProofError::Circuit`] if the matrices do not fit the key, or if there are no backends; [`ProofError::Msm`] if
    /// device memory runs out, a driver call fails or the device does not support the curves.
    pub fn prepare(
        backends: &[Backend],
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
        let one = E::ScalarField::from(1u8);
        let inputs: Vec<_> = (0..instance).map(|i| [(one, i)]).collect();
        let rows = |matrix: &'_ Matrix<E::ScalarField>, inputs: &[[(E::ScalarField, usize); 1]]| {
            let inputs = inputs.iter().map(<[_; 1]>::as_slice);
            sparse(matrix.iter().map(Vec::as_slice).chain(inputs), variables, points)
        };
        let mut matrices = vec![rows(a, &inputs)?, rows(b, &[])?];
        if reduction == Reduction::Libsnark {
            matrices.push(rows(c, &[])?);
        }
        let ends = Ends { vk: pk.vk.clone(), beta_g1: pk.beta_g1, delta_g1: pk.delta_g1 };
        let bases = |engine: &Engine, query, range| match query {
            Query::A => upload(engine, range, 0, &pk.a_query),
            Query::B1 => upload(engine, range, 0, &pk.b_g1_query),
            Query::B2 => upload(engine, range, 0, &pk.b_g2_query),
            Query::L => upload(engine, range, instance, &pk.l_query),
            Query::H => upload(engine, range, 0, &pk.h_query),
        };
        Self::assemble(backends, ends, bases, &matrices, reduction, [variables, points])
    }

    /// Makes a prover of the bases that `upload` copies to a device, and of matrices that fit them.
    fn assemble(
        backends: &[Backend],
        ends: Ends<E>,
        upload: impl Fn(&Engine, Query, Range<usize>) -> Result<Bases, MsmError> + Sync,
        matrices: &[SparseMatrix],
        reduction: Reduction,
        [variables, points]: [usize; 2],
    ) -> Result<Self, ProofError> {
        // no device is without a variable and a coefficient
        let backends = backends.get(..variables.min(points)).unwrap_or(backends);
        let Some(first) = backends.first() else {
            return Err(ProofError::Circuit { what: "the list of devices", expected: 1, got: 0 });
        };
        let share = |n: usize, i: usize| n * i / backends.len()..n * (i + 1) / backends.len();
        let (g1, g2) = (E::G1Affine::curve()?.point_bytes(), E::G2Affine::curve()?.point_bytes());
        let bytes = (variables * (3 * g1 + g2) + points * g1).div_ceil(backends.len());
        let bytes = bytes + matrices.iter().map(SparseMatrix::bytes).sum::<usize>();
        log::info!("a Groth16 key of {variables} variables takes {bytes} bytes on each of {} devices", backends.len());
        let parts = backends.iter().enumerate().map(|(i, backend)| {
            let shares = [share(variables, i), share(points, i)];
            let upload = |query, range| upload(backend.engine(), query, range);
            Part::new::<E::ScalarField>(backend, upload, matrices, reduction, points, shares)
        });
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        let (of_variables, of_points) = (variables.div_ceil(backends.len()), points.div_ceil(backends.len()));
        let plans = part::plans::<E>(first.engine().planner(), of_variables, of_points, reduction, points)?;
        let temporary = plans.iter().map(|plan| plan.temporary_bytes(1)).max().unwrap_or(0);
        let proof_bytes = temporary + (variables + 3 * points) * WORD;
        log::info!("a proof takes about {proof_bytes} bytes more on each device");
        let prepared = prepare_verifying_key(&ends.vk);
        Ok(Self { parts, ends, prepared, variables, points, proof_bytes, verifies: true })
    }

    /// Copies a key of snarkjs, and the matrices in it, to the devices of `backends`. Its bases go there without being
    /// read into points of arkworks. With [`Check::OnCurve`] they are checked to be on their curves; that they are in
    /// the subgroups of prime order is not checked.
    ///
    /// # Errors
    /// [`ProofError::File`] for matrices with entries out of range; [`ProofError::Msm`] for a base that is not on its
    /// curve, and as [`Groth16Device::prepare`].
    pub fn from_zkey(backends: &[Backend], key: &Zkey<'_, E>, check: Check) -> Result<Self, ProofError>
    where
        <E::G1Affine as AffineRepr>::BaseField: Coordinate,
    {
        let public = key.ends.vk.gamma_abc_g1.len();
        let bases = |engine: &Engine, query, range| match query {
            Query::A => key.upload::<E::G1Affine>(engine, 0, range, 0, check),
            Query::B1 => key.upload::<E::G1Affine>(engine, 1, range, 0, check),
            Query::B2 => key.upload::<E::G2Affine>(engine, 2, range, 0, check),
            Query::L => key.upload::<E::G1Affine>(engine, 3, range, public, check),
            Query::H => key.upload::<E::G1Affine>(engine, 4, range, 0, check),
        };
        let sizes = [key.variables(), key.points()];
        Self::assemble(backends, key.ends.clone(), bases, &key.matrices()?, Reduction::Circom, sizes)
    }

    /// Like [`Groth16Device::prepare`], with the matrices of a circuit. Its variables need no values.
    ///
    /// # Errors
    /// As [`Groth16Device::prepare`]; [`ProofError::Synthesis`] if the circuit cannot be synthesised.
    pub fn for_circuit<C: ConstraintSynthesizer<E::ScalarField>>(
        backends: &[Backend],
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
        Self::prepare(backends, pk, matrices, cs.num_instance_variables(), reduction)
    }

    /// The same prover, which hands out proofs without verifying them. By default each proof is verified first, so that
    /// a wrong assignment or a faulty device is an error.
    #[must_use]
    pub fn unverified(self) -> Self {
        Self { verifies: false, ..self }
    }

    /// The plans that a proof runs, for a circuit with these numbers of variables and of points of its domain. They can
    /// be compiled into a [`Bundle`](ringforge::cuda::Bundle), and tell their memory. From 2^12 variables on, kernels are
    /// the same for any number of them.
    ///
    /// # Errors
    /// [`Error::NoRoot`](ringforge::Error::NoRoot) or [`Error::TooLarge`](ringforge::Error::TooLarge) for a domain that
    /// the field does not have; [`Error::Unsupported`](ringforge::Error::Unsupported) for curves or fields that the
    /// engine does not support.
    pub fn plans(
        planner: &Planner,
        variables: usize,
        points: usize,
        reduction: Reduction,
    ) -> ringforge::Result<Vec<Plan>> {
        part::plans::<E>(planner, variables, points, reduction, points)
    }

    /// The device memory of the key, in bytes, on the device that holds most of it. Twiddle factors, which all proofs
    /// over a domain share, are not counted.
    #[must_use]
    pub fn key_bytes(&self) -> usize {
        self.parts.iter().map(Part::bytes).max().unwrap_or(0)
    }

    /// The device memory that a proof takes while it runs, in bytes, about. Proofs that run at once take it each.
    #[must_use]
    pub fn proof_bytes(&self) -> usize {
        self.proof_bytes
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
        Ok(self.prove_timed(assignment, None, r, s)?.0)
    }

    /// Like [`Groth16Device::prove_assignment`], and returns what the phases took. If `evaluations` are given, the
    /// device does not multiply the matrices by the assignment, because the caller knows the products: those of a, b and
    /// c, one element for each constraint. In a, the public variables follow, with the constant 1. Further points of the
    /// domain have zeros, which may be left out.
    ///
    /// # Errors
    /// As [`Groth16Device::prove_assignment`]; [`ProofError::Circuit`] for more evaluations than the domain has points.
    pub fn prove_timed(
        &self,
        assignment: &[E::ScalarField],
        evaluations: Option<[&[E::ScalarField]; 3]>,
        r: E::ScalarField,
        s: E::ScalarField,
    ) -> Result<(Proof<E>, Phases), ProofError> {
        if assignment.len() != self.variables {
            let (expected, got) = (self.variables, assignment.len());
            return Err(ProofError::Circuit { what: "the assignment", expected, got });
        }
        if assignment.first() != Some(&E::ScalarField::from(1u8)) {
            return Err(ProofError::Constant);
        }
        if let Some(got) = evaluations.iter().flatten().map(|of| of.len()).find(|length| *length > self.points) {
            return Err(ProofError::Circuit { what: "the evaluations", expected: self.points, got });
        }
        ringforge_cpu::threads::start();
        let (begin, mut phases) = (Instant::now(), Phases::default());
        let running = self.parts.par_iter().map(|part| part.start(assignment, evaluations));
        let running = running.collect::<Result<Vec<Running>, _>>()?;
        // the CPU's part of the proof, while the devices work
        let Ends { vk, beta_g1, delta_g1 } = &self.ends;
        let mut c = *delta_g1 * -(r * s);
        let (mut a, mut b_g1) = (*delta_g1 * r + vk.alpha_g1, *delta_g1 * s + *beta_g1);
        let mut b = vk.delta_g2 * s + vk.beta_g2;
        for part in running {
            let Parts::<E>(of_b, [of_a, of_b_g1, l, h]) = part.finish(&mut phases)?;
            b += of_b;
            a += of_a;
            b_g1 += of_b_g1;
            c += l.into_group() + h;
        }
        c += a * s + b_g1 * r;
        let proof = Proof { a: a.into_affine(), b: b.into_affine(), c: c.into_affine() };
        phases.elements = begin.elapsed().as_secs_f64();
        if self.verifies {
            let inputs = assignment.get(1..vk.gamma_abc_g1.len()).unwrap_or(&[]);
            if !Groth16::<E>::verify_proof(&self.prepared, &proof, inputs)? {
                return Err(ProofError::Refused);
            }
            phases.verification = begin.elapsed().as_secs_f64() - phases.elements;
        }
        Ok((proof, phases))
    }
}

/// A matrix by rows of coefficients and their columns. Products have `padded` elements.
pub(crate) fn sparse<'a, F: EngineField>(
    rows: impl Iterator<Item = &'a [(F, usize)]>,
    columns: usize,
    padded: usize,
) -> ringforge::Result<SparseMatrix> {
    let rows = rows.map(|row| row.iter().map(|(coefficient, column)| (coefficient.limbs(), *column)));
    SparseMatrix::new(&modulus::<F>()?, rows, columns, padded)
}
