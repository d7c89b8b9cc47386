//! Compares KZG commitments and openings with ark-poly-commit's.

use ark_bls12_381::Bls12_381;
use ark_bn254::Bn254;
use ark_crypto_primitives::sponge::CryptographicSponge;
use ark_crypto_primitives::sponge::poseidon::{PoseidonConfig, PoseidonSponge};
use ark_ec::pairing::Pairing;
use ark_ff::{AdditiveGroup, Field, PrimeField, UniformRand};
use ark_poly::univariate::DensePolynomial;
use ark_poly::{DenseUVPolynomial, Polynomial};
use ark_poly_commit::kzg10::{KZG10, Powers, Randomness, UniversalParams, VerifierKey};
use ark_poly_commit::marlin_pc::MarlinKZG10;
use ark_poly_commit::{
    Error, Evaluations, LabeledPolynomial, LinearCombination, PCCommitmentState, PolynomialCommitment, QuerySet,
};
use ark_serialize::{CanonicalDeserialize, CanonicalSerialize};
use ark_std::rand::{Rng, RngCore, SeedableRng, rngs::StdRng};
use ringforge::{Device, Engine};
use ringforge_arkworks::{Backend, DevicePoint, EngineField, KzgDevice, KzgError, MarlinCommitterKey, MarlinKzgDevice};
use ringforge_testkit::{Target, seed};

type Poly<E> = DensePolynomial<<E as Pairing>::ScalarField>;

fn powers<E: Pairing>(setup: &UniversalParams<E>) -> Powers<'_, E> {
    Powers {
        powers_of_g: setup.powers_of_g[..].into(),
        powers_of_gamma_g: setup.powers_of_gamma_g.values().copied().collect::<Vec<_>>().into(),
    }
}

fn verifier<E: Pairing>(setup: &UniversalParams<E>) -> VerifierKey<E> {
    VerifierKey {
        g: setup.powers_of_g[0],
        gamma_g: setup.powers_of_gamma_g[&0],
        h: setup.h,
        beta_h: setup.beta_h,
        prepared_h: setup.prepared_h.clone(),
        prepared_beta_h: setup.prepared_beta_h.clone(),
    }
}

/// A polynomial of up to this degree: zero, constant, with few coefficients other than 0, or random.
fn polynomial<F: PrimeField>(random: &mut StdRng, most: usize) -> DensePolynomial<F> {
    let limit = random.gen_range(0..=most);
    let degree = random.gen_range(0..=limit);
    match random.gen_range(0..8) {
        0 => DensePolynomial::from_coefficients_vec(vec![]),
        1 => DensePolynomial::from_coefficients_vec(vec![F::rand(random)]),
        2 => {
            let mut coefficients = vec![F::ZERO; degree + 1];
            coefficients[degree] = F::from(random.gen_range(1..4u8));
            DensePolynomial::from_coefficients_vec(coefficients)
        }
        _ => DensePolynomial::rand(degree, random),
    }
}

/// Compares commitments and openings of random polynomials with those of `KZG10`, and verifies them.
fn agrees<E>(device: &Device, count: usize, most: usize)
where
    E: Pairing<ScalarField: EngineField, G1Affine: DevicePoint>,
{
    let mut random = StdRng::seed_from_u64(seed());
    let setup = KZG10::<E, Poly<E>>::setup(most, false, &mut random).expect("a setup");
    let (powers, vk) = (powers(&setup), verifier(&setup));
    let ours = KzgDevice::<E>::new(&Backend::new(&Engine::on(device.clone())), &powers).expect("powers");
    let mut made = Vec::new();
    for i in 0..count {
        let polynomial = polynomial::<E::ScalarField>(&mut random, most);
        let hiding = random.r#gen::<bool>().then(|| random.gen_range(1..4));
        let mut again = random.clone();
        let (found, state) = ours.commit(&polynomial, hiding, Some(&mut again)).expect("a commitment");
        let (commitment, randomness) =
            KZG10::<E, Poly<E>>::commit(&powers, &polynomial, hiding, Some(&mut random)).expect("a commitment");
        assert_eq!((found, &state), (commitment, &randomness), "{i}, degree {}", polynomial.degree());
        assert_eq!(random.next_u64(), again.next_u64(), "the same random numbers are used up");
        let z = if i % 8 == 0 { E::ScalarField::ZERO } else { E::ScalarField::rand(&mut random) };
        let proof = ours.open(&polynomial, z, &state).expect("a proof");
        assert_eq!(proof, KZG10::<E, Poly<E>>::open(&powers, &polynomial, z, &randomness).expect("a proof"), "{i}");
        let value = polynomial.evaluate(&z);
        assert!(KZG10::<E, Poly<E>>::check(&vk, &commitment, z, value, &proof).expect("a check"));
        let wrong = value + E::ScalarField::ONE;
        assert!(!KZG10::<E, Poly<E>>::check(&vk, &commitment, z, wrong, &proof).expect("a check"));
        made.push((polynomial, hiding, z, (commitment, randomness), proof));
    }
    let polynomials: Vec<_> = made.iter().map(|(polynomial, hiding, ..)| (polynomial, *hiding)).collect();
    let committed = ours.commit_batch(&polynomials, Some(&mut random)).expect("commitments");
    for ((commitment, state), (.., (expected, _), _)) in committed.iter().zip(&made) {
        // the random numbers are others
        assert_eq!(commitment == expected, !state.is_hiding());
    }
    let openings: Vec<_> = made.iter().map(|(polynomial, _, z, (_, state), _)| (polynomial, *z, state)).collect();
    let proofs = ours.open_batch(&openings).expect("proofs");
    assert!(proofs.iter().eq(made.iter().map(|(.., proof)| proof)));

    // the same polynomials on the device, without hiding
    let length = made.iter().map(|(polynomial, ..)| polynomial.coeffs.len()).max().unwrap_or(0).max(2);
    let few = &made[..made.len().min(4)];
    let words = |(polynomial, ..): &(Poly<E>, _, _, _, _)| {
        let mut words: Vec<[u64; 4]> = polynomial.coeffs.iter().map(EngineField::limbs).collect();
        words.resize(length, [0; 4]);
        words
    };
    let stream = device.stream().expect("a stream");
    let coefficients = stream.upload(&few.iter().flat_map(words).collect::<Vec<_>>()).expect("coefficients");
    let points: Vec<[u64; 4]> = few.iter().map(|(_, _, z, ..)| z.limbs()).collect();
    let points = stream.upload(&points).expect("points");
    let commitments = ours.commit_on(&stream, &coefficients, few.len()).expect("commitments");
    let proofs = ours.open_on(&stream, &coefficients, &points, few.len()).expect("proofs");
    // one coefficient has no quotient
    let refused = ours.open_on(&stream, coefficients.slice(0..32).expect("a part"), &points, 1);
    assert!(matches!(refused, Err(KzgError::Msm(_))), "{refused:?}");
    for ((polynomial, _, z, ..), (commitment, proof)) in few.iter().zip(commitments.iter().zip(proofs)) {
        let (expected, state) = KZG10::<E, Poly<E>>::commit(&powers, polynomial, None, None).expect("a commitment");
        assert_eq!(*commitment, expected);
        assert_eq!(proof, KZG10::<E, Poly<E>>::open(&powers, polynomial, *z, &state).expect("a proof"));
    }
}

#[test]
fn commitments_are_those_of_kzg10() {
    agrees::<Bn254>(&Device::cpu(), 12, 300);
    agrees::<Bls12_381>(&Device::cpu(), 6, 100);
    if let Some(device) = Target::Cuda.device() {
        agrees::<Bn254>(&device, 100, 1 << 16);
        agrees::<Bls12_381>(&device, 100, 1 << 16);
    }
}

#[test]
fn wrong_degrees_and_bounds_are_refused() {
    let mut random = StdRng::seed_from_u64(1);
    let setup = KZG10::<Bn254, Poly<Bn254>>::setup(10, false, &mut random).expect("a setup");
    let ours = KzgDevice::<Bn254>::new(&Backend::new(&Engine::cpu()), &powers(&setup)).expect("powers");
    let small = Poly::<Bn254>::rand(10, &mut random);
    let large = Poly::<Bn254>::rand(11, &mut random);
    let refused = ours.commit(&large, None, None);
    let expected = Error::TooManyCoefficients { num_coefficients: 12, num_powers: 11 }.to_string();
    assert!(matches!(&refused, Err(KzgError::Commitment(error)) if error.to_string() == expected), "{refused:?}");
    let refused = ours.open(&large, ark_bn254::Fr::ONE, &Randomness::empty());
    assert!(matches!(&refused, Err(KzgError::Commitment(error)) if error.to_string() == expected), "{refused:?}");
    let refused = ours.commit(&small, Some(1), None);
    assert!(matches!(refused, Err(KzgError::Commitment(Error::MissingRng))), "{refused:?}");
    let refused = ours.commit(&small, Some(11), Some(&mut random));
    assert!(matches!(refused, Err(KzgError::Commitment(Error::HidingBoundToolarge { .. }))), "{refused:?}");
}

fn sponge<F: PrimeField>() -> PoseidonSponge<F> {
    // any numbers serve: both sides use the same
    let mut random = StdRng::seed_from_u64(3);
    let mut numbers = |count| (0..count).map(|_| F::rand(&mut random)).collect::<Vec<F>>();
    let config = PoseidonConfig {
        full_rounds: 8,
        partial_rounds: 24,
        alpha: 31,
        ark: (0..32).map(|_| numbers(3)).collect(),
        mds: (0..3).map(|_| numbers(3)).collect(),
        rate: 2,
        capacity: 1,
    };
    PoseidonSponge::new(&config)
}

#[test]
fn marlins_commitments_and_proofs_are_the_same() {
    type F = ark_bn254::Fr;
    type P = Poly<Bn254>;
    type Ours = MarlinKzgDevice<Bn254, P>;
    type Stock = MarlinKZG10<Bn254, P>;
    let mut random = StdRng::seed_from_u64(seed());
    let setup = Ours::setup(70, None, &mut random).expect("a setup");
    for (hiding, bounds) in [(None, None), (Some(1), None), (None, Some(&[20, 50][..])), (Some(2), Some(&[20, 50][..]))]
    {
        let (our_key, vk) = Ours::trim(&setup, 60, 3, bounds).expect("keys");
        let (key, _) = Stock::trim(&setup, 60, 3, bounds).expect("keys");
        // a key that was stored works as well
        let mut bytes = Vec::new();
        our_key.serialize_compressed(&mut bytes).expect("bytes");
        let our_key = MarlinCommitterKey::deserialize_compressed(&bytes[..]).expect("a key");
        let labeled = [(0, 60, None), (1, 7, bounds.map(|_| 20)), (2, 50, bounds.map(|_| 50)), (3, 0, None)];
        let polynomials = labeled.map(|(i, degree, bound)| {
            let polynomial = if i == 3 { P::from_coefficients_vec(vec![]) } else { P::rand(degree, &mut random) };
            LabeledPolynomial::new(format!("p{i}"), polynomial, bound, hiding)
        });
        let mut again = random.clone();
        let (ours, our_states) = Ours::commit(&our_key, &polynomials, Some(&mut again)).expect("commitments");
        let (stock, states) = Stock::commit(&key, &polynomials, Some(&mut random)).expect("commitments");
        for (ours, stock) in ours.iter().zip(&stock) {
            assert_eq!(ours.commitment(), stock.commitment(), "{hiding:?}, {bounds:?}, {}", stock.label());
        }
        assert_eq!(random.next_u64(), again.next_u64());

        let z = F::rand(&mut random);
        let proof = Ours::open(&our_key, &polynomials, &ours, &z, &mut sponge::<F>(), &our_states, None);
        let proof = proof.expect("a proof");
        let expected = Stock::open(&key, &polynomials, &stock, &z, &mut sponge::<F>(), &states, None);
        assert_eq!(proof, expected.expect("a proof"), "{hiding:?}, {bounds:?}");
        let values = polynomials.iter().map(|polynomial| polynomial.evaluate(&z));
        assert!(Stock::check(&vk, &stock, &z, values, &proof, &mut sponge::<F>(), None).expect("a check"));

        // sums of polynomials without bounds, and one with a bound alone
        let mut combinations = vec![LinearCombination::new("sum", vec![(F::from(3u8), "p0"), (F::ONE, "p3")])];
        combinations.push(LinearCombination::new("alone", vec![(F::ONE, "p1")]));
        let mut queries = QuerySet::new();
        let mut evaluations = Evaluations::new();
        for (label, value) in [
            ("sum", polynomials[0].evaluate(&z) * F::from(3u8) + polynomials[3].evaluate(&z)),
            ("alone", polynomials[1].evaluate(&z)),
        ] {
            queries.insert((label.to_owned(), ("z".to_owned(), z)));
            evaluations.insert((label.to_owned(), z), value);
        }
        let rng = &mut random.clone();
        let found = Ours::open_combinations(
            &our_key,
            &combinations,
            &polynomials,
            &ours,
            &queries,
            &mut sponge::<F>(),
            &our_states,
            Some(rng),
        );
        let found = found.expect("a proof");
        let expected = Stock::open_combinations(
            &key,
            &combinations,
            &polynomials,
            &stock,
            &queries,
            &mut sponge::<F>(),
            &states,
            Some(rng),
        );
        assert_eq!(found.proof, expected.expect("a proof").proof, "{hiding:?}, {bounds:?}");
        let sponge = &mut sponge::<F>();
        assert!(
            Ours::check_combinations(&vk, &combinations, &ours, &queries, &evaluations, &found, sponge, rng)
                .expect("a check")
        );
    }
}
