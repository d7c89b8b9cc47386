//! Tests witness maps against arkworks' maps and against their definition, and proofs against arkworks' verifier.

#[path = "../examples/groth16/mimc.rs"]
mod mimc;

use ark_bls12_381::Bls12_381;
use ark_bn254::Bn254;
use ark_ec::pairing::Pairing;
use ark_ff::{AdditiveGroup, Field, PrimeField};
use ark_groth16::r1cs_to_qap::{LibsnarkReduction, R1CSToQAP, evaluate_constraint};
use ark_groth16::{Groth16, Proof};
use ark_poly::univariate::DensePolynomial;
use ark_poly::{
    DenseUVPolynomial, EvaluationDomain, GeneralEvaluationDomain, MixedRadixEvaluationDomain, Polynomial,
    Radix2EvaluationDomain,
};
use ark_relations::gr1cs::{ConstraintSystemRef, Matrix, Result, SynthesisError};
use ark_snark::SNARK;
use ark_std::rand::{SeedableRng, rngs::StdRng};
use mimc::Mimc;
use ringforge_arkworks::{Backend, Circom, Domain, EngineField, Libsnark, Reduction};

type General<F> = GeneralEvaluationDomain<F>;

/// Numbers of rounds of the test circuits, whose domains are below and above the backend's minimum size, and full or
/// half empty.
const ROUNDS: [usize; 6] = [1, 3, 100, 127, 1024, 3000];

/// A logger that panics if the backend falls back to arkworks' code, whose correct results would hide the failure.
struct Refuse;

impl log::Log for Refuse {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let line = record.args().to_string();
        assert!(!line.contains("falls back to arkworks"), "{line}");
    }

    fn flush(&self) {}
}

fn maps_agree<F: EngineField>() {
    log::set_max_level(log::LevelFilter::Warn);
    // another test may have set the logger already
    let _ = log::set_logger(&Refuse);
    for rounds in ROUNDS {
        let (matrices, inputs, assignment) = Mimc::new(rounds, Some(F::from(7u64))).system().expect("a circuit");
        let constraints = matrices[0].len();
        let stock =
            LibsnarkReduction::witness_map_from_matrices::<F, General<F>>(&matrices, inputs, constraints, &assignment);
        // the second run uses the cached programs of the first
        for _ in 0..2 {
            let plug =
                Libsnark::<F>::witness_map_from_matrices::<F, General<F>>(&matrices, inputs, constraints, &assignment);
            assert_eq!(plug.expect("a map"), stock.clone().expect("a map"), "{rounds} rounds");
        }
        // the maps must also agree on an assignment that violates the constraints
        let mut wrong = assignment.clone();
        wrong[rounds] += F::ONE;
        assert_eq!(
            Libsnark::<F>::witness_map_from_matrices::<F, General<F>>(&matrices, inputs, constraints, &wrong)
                .expect("a map"),
            LibsnarkReduction::witness_map_from_matrices::<F, General<F>>(&matrices, inputs, constraints, &wrong)
                .expect("a map"),
        );
    }
}

#[test]
fn maps_agree_bls12_381() {
    maps_agree::<ark_bls12_381::Fr>();
}

#[test]
fn maps_agree_bn254() {
    maps_agree::<ark_bn254::Fr>();
}

#[test]
fn maps_agree_bls12_377() {
    maps_agree::<ark_bls12_377::Fr>();
}

#[test]
fn maps_agree_pallas() {
    maps_agree::<ark_pallas::Fr>();
}

#[test]
fn maps_agree_vesta() {
    maps_agree::<ark_vesta::Fr>();
}

/// Tests Circom's map against its definition: a·b − c as a polynomial, evaluated at each odd power of the root of
/// unity of order 2n.
fn circom_by_definition<Plug: R1CSToQAP, F: PrimeField>(rounds: usize) {
    let (matrices, inputs, assignment) = Mimc::new(rounds, Some(F::from(7u64))).system().expect("a circuit");
    let constraints = matrices[0].len();
    let domain = Radix2EvaluationDomain::<F>::new(constraints + inputs).expect("a domain");
    let [a, b] = [0, 1].map(|i| {
        let mut values: Vec<F> = matrices[i].iter().map(|row| evaluate_constraint(row, &assignment)).collect();
        values.extend(assignment[..inputs].iter().filter(|_| i == 0));
        values.resize(domain.size(), F::ZERO);
        values
    });
    let c: Vec<F> = a.iter().zip(&b).map(|(a, b)| *a * b).collect();
    let [a, b, c] = [a, b, c].map(|values| DensePolynomial::from_coefficients_vec(domain.ifft(&values)));
    let root = F::get_root_of_unity(2 * domain.size() as u64).expect("a root");
    let expected = |i: usize| {
        let x = root.pow([2 * i as u64 + 1]);
        a.evaluate(&x) * b.evaluate(&x) - c.evaluate(&x)
    };
    let expected: Vec<F> = (0..domain.size()).map(expected).collect();
    let map = Plug::witness_map_from_matrices::<F, General<F>>(&matrices, inputs, constraints, &assignment);
    assert_eq!(map.expect("a map"), expected, "{rounds} rounds");
}

#[test]
fn circom_map_matches_its_definition() {
    for rounds in [1, 5, 126, 200, 500] {
        circom_by_definition::<Circom<ark_bn254::Fr>, ark_bn254::Fr>(rounds);
        circom_by_definition::<Circom<ark_bls12_381::Fr>, ark_bls12_381::Fr>(rounds);
    }
}

#[test]
fn other_fields_fall_back_to_arkworks() {
    type F = ark_bls12_381::Fr;
    circom_by_definition::<Circom<ark_bn254::Fr>, F>(200);
    let (matrices, inputs, assignment) = Mimc::new(200, Some(F::from(7))).system().expect("a circuit");
    assert_eq!(
        Libsnark::<ark_bn254::Fr>::witness_map_from_matrices::<F, General<F>>(&matrices, inputs, 400, &assignment)
            .expect("a map"),
        LibsnarkReduction::witness_map_from_matrices::<F, General<F>>(&matrices, inputs, 400, &assignment)
            .expect("a map"),
    );
}

#[test]
fn other_domains_fall_back_to_arkworks() {
    type F = ark_bn254::Fr;
    type Mixed = MixedRadixEvaluationDomain<F>;
    let (matrices, inputs, assignment) = Mimc::new(1100, Some(F::from(7))).system().expect("a circuit");
    assert_ne!(Mixed::new(2202).expect("a domain").size(), 4096, "the domain is not another one");
    assert_eq!(
        Libsnark::<F>::witness_map_from_matrices::<F, Mixed>(&matrices, inputs, 2200, &assignment).expect("a map"),
        LibsnarkReduction::witness_map_from_matrices::<F, Mixed>(&matrices, inputs, 2200, &assignment).expect("a map"),
    );
}

#[test]
fn bad_systems_are_refused() {
    type F = ark_bn254::Fr;
    let (matrices, inputs, assignment) = Mimc::new(4, Some(F::from(7))).system().expect("a circuit");
    let refused = |matrices: &[Matrix<F>], inputs, constraints, assignment: &[F]| {
        let map = Libsnark::<F>::witness_map_from_matrices::<F, General<F>>;
        let circom = Circom::<F>::witness_map_from_matrices::<F, General<F>>;
        map(matrices, inputs, constraints, assignment).is_err()
            && circom(matrices, inputs, constraints, assignment).is_err()
    };
    assert!(refused(&matrices[..2], inputs, 8, &assignment), "two matrices");
    assert!(refused(&matrices, inputs, 8, &assignment[..1]), "fewer values than inputs");
    assert!(refused(&matrices, inputs, 1 << 40, &assignment), "beyond the two-adicity");
    assert!(refused(&matrices, inputs, usize::MAX, &assignment), "beyond all numbers");
}

/// Tests proofs made by `Prover` with keys made by `Keys`. Arkworks' verifier must accept them, and reject other public
/// inputs and proofs from wrong witnesses.
fn proofs<E: Pairing, Keys: R1CSToQAP, Prover: R1CSToQAP>(rounds: usize) {
    let mut rng = StdRng::seed_from_u64(6);
    let setup = Groth16::<E, Keys>::circuit_specific_setup(Mimc::new(rounds, None), &mut rng);
    let (pk, vk) = setup.expect("keys");
    let circuit = Mimc::new(rounds, Some(E::ScalarField::from(11u64)));
    let end = circuit.end().expect("an end");
    let verify = |end, proof: &Proof<E>| Groth16::<E>::verify(&vk, &[end], proof).expect("a verdict");

    let proof = Groth16::<E, Prover>::prove(&pk, circuit.clone(), &mut rng).expect("a proof");
    assert!(verify(end, &proof));
    assert!(!verify(end + E::ScalarField::ONE, &proof), "another end");

    let (matrices, inputs, assignment) = circuit.system().expect("a circuit");
    let prove = |assignment: &[E::ScalarField]| {
        let zero = E::ScalarField::ZERO;
        Groth16::<E, Prover>::create_proof_with_reduction_and_matrices(
            &pk,
            zero,
            zero,
            &matrices,
            inputs,
            matrices[0].len(),
            assignment,
        )
    };
    assert!(verify(end, &prove(&assignment).expect("a proof")));
    for place in [inputs, inputs + rounds, assignment.len() - 1] {
        let mut wrong = assignment.clone();
        wrong[place] += E::ScalarField::ONE;
        assert!(!verify(end, &prove(&wrong).expect("a proof")), "a wrong witness at {place}");
    }
}

#[test]
fn proofs_with_stock_keys_are_accepted() {
    proofs::<Bls12_381, LibsnarkReduction, Libsnark<ark_bls12_381::Fr>>(40);
    proofs::<Bls12_381, LibsnarkReduction, Libsnark<ark_bls12_381::Fr>>(1500);
    proofs::<Bn254, LibsnarkReduction, Libsnark<ark_bn254::Fr>>(1500);
}

#[test]
fn engine_keys_work_with_the_stock_prover() {
    proofs::<Bn254, Libsnark<ark_bn254::Fr>, LibsnarkReduction>(200);
}

/// Generates keys as trusted setup ceremonies do, from powers of the secret point. On a domain of n points the highest
/// power is 2n − 2. This is the maximum degree of a·b − c for constraint polynomials a, b and c of degree below n.
struct Ceremony;

impl R1CSToQAP for Ceremony {
    fn instance_map_with_evaluation<F: PrimeField, D: EvaluationDomain<F>>(
        cs: ConstraintSystemRef<F>,
        t: &F,
    ) -> Result<(Vec<F>, Vec<F>, Vec<F>, F, usize, usize)> {
        LibsnarkReduction::instance_map_with_evaluation::<F, D>(cs, t)
    }

    fn witness_map_from_matrices<F: PrimeField, D: EvaluationDomain<F>>(
        _: &[Matrix<F>],
        _: usize,
        _: usize,
        _: &[F],
    ) -> Result<Vec<F>> {
        Err(SynthesisError::AssignmentMissing)
    }

    fn h_query_scalars<F: PrimeField, D: EvaluationDomain<F>>(
        max_power: usize,
        t: F,
        _: F,
        delta_inverse: F,
    ) -> Result<Vec<F>> {
        let powers: Vec<F> = (0..=2 * max_power as u64).map(|i| t.pow([i]) * delta_inverse).collect();
        let bases = D::new(powers.len()).ok_or(SynthesisError::PolynomialDegreeTooLarge)?.ifft(&powers);
        Ok(bases.into_iter().skip(1).step_by(2).collect())
    }
}

#[test]
fn circom_proofs_are_accepted() {
    proofs::<Bn254, Ceremony, Circom<ark_bn254::Fr>>(40);
    proofs::<Bn254, Ceremony, Circom<ark_bn254::Fr>>(1500);
    proofs::<Bn254, Circom<ark_bn254::Fr>, Circom<ark_bn254::Fr>>(40);
    proofs::<Bn254, Circom<ark_bn254::Fr>, Circom<ark_bn254::Fr>>(1500);
}

/// Runs the example code of `docs/guides/groth16.md`.
#[test]
fn proofs_and_domains_match_arkworks() -> core::result::Result<(), Box<dyn core::error::Error>> {
    use ark_bls12_381::Fr;

    let mut rng = StdRng::seed_from_u64(1);
    let circuit = Mimc::new(100, Some(Fr::from(7)));

    // keys and proofs are those of Groth16<Bls12_381>; only the prover changes
    type Prover = Groth16<Bls12_381, Libsnark<Fr>>;
    let (key, verifying_key) = Prover::circuit_specific_setup(circuit.clone(), &mut rng)?;
    let public: Vec<Fr> = circuit.end().into_iter().collect();
    let proof = Prover::prove(&key, circuit, &mut rng)?;
    assert!(Groth16::<Bls12_381>::verify(&verifying_key, &public, &proof)?);

    // ark-poly's domains, with the same elements and results
    let mut coefficients = vec![Fr::from(3); 1 << 10];
    let stock = Radix2EvaluationDomain::<Fr>::new(1 << 10).and_then(|domain| domain.get_coset(Fr::from(7)));
    let wanted = stock.expect("a domain").fft(&coefficients);
    let mut polynomials = coefficients.repeat(3);
    let domain = Domain::<Fr>::of_size(1 << 10, Fr::from(7))?;
    domain.fft_in_place(&mut coefficients); // Vec<Fr>, arkworks' contract: cut or padded with zeros
    domain.forward(Backend::shared(), &mut polynomials)?; // &mut [Fr]: whole polynomials, typed errors
    assert_eq!(coefficients, wanted);
    assert_eq!(polynomials, wanted.repeat(3));

    // data that stays on the device, as buffers of limbs; the quotient overwrites the last one
    let stream = Backend::shared().device().stream()?;
    let map = Backend::shared().witness_map::<Fr>(Reduction::Libsnark, 1 << 10)?;
    let [mut a, mut b, mut c] = [stream.zeros(32 << 10)?, stream.zeros(32 << 10)?, stream.zeros(32 << 10)?];
    map.run(&stream, &mut a, &mut b, &mut c)?;
    assert_eq!(stream.download::<u64>(&c)?, vec![0; 4 << 10]);
    Ok(())
}
