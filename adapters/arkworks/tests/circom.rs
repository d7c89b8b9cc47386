//! Writes keys and witnesses as snarkjs does, and proves with them.

use ark_bls12_381::Bls12_381;
use ark_bn254::Bn254;
use ark_ec::AffineRepr;
use ark_ec::pairing::Pairing;
use ark_ff::{BigInt, PrimeField, UniformRand};
use ark_groth16::{Groth16, ProvingKey};
use ark_relations::gr1cs::Matrix;
use ark_std::rand::{Rng, SeedableRng, rngs::StdRng};
use ringforge::Engine;
use ringforge_arkworks::{
    Backend, Check, Circom, Coordinate, DevicePoint, EngineField, FileError, Groth16Device, ProofError, Zkey, read_wtns,
};
use ringforge_msm::MsmError;
use ringforge_testkit::Target;

use crate::prover::{Chance, system};

fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn point<G: DevicePoint>(point: &G) -> Vec<u8> {
    let mut words = Vec::new();
    point.write(&mut words);
    if point.is_zero() {
        words.fill(0);
    }
    bytes(&words)
}

fn points<G: DevicePoint>(points: &[G]) -> Vec<u8> {
    points.iter().flat_map(point).collect()
}

fn file(kind: &str, version: u32, sections: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let mut file = kind.as_bytes().to_vec();
    file.extend(version.to_le_bytes());
    file.extend((sections.len() as u32).to_le_bytes());
    for (id, section) in sections {
        file.extend(id.to_le_bytes());
        file.extend((section.len() as u64).to_le_bytes());
        file.extend(section);
    }
    file
}

fn sized(prime: &[u64]) -> Vec<u8> {
    [(8 * prime.len() as u32).to_le_bytes().to_vec(), bytes(prime)].concat()
}

fn zkey<E>(pk: &ProvingKey<E>, matrices: &[Matrix<E::ScalarField>]) -> Vec<u8>
where
    E: Pairing<ScalarField: EngineField, G1Affine: DevicePoint, G2Affine: DevicePoint>,
    <E::G1Affine as AffineRepr>::BaseField: Coordinate,
{
    let vk = &pk.vk;
    let instance = vk.gamma_abc_g1.len();
    let header = [
        sized(&<E::G1Affine as AffineRepr>::BaseField::prime()),
        sized(&E::ScalarField::MODULUS.0),
        [pk.a_query.len(), instance - 1, pk.h_query.len()].map(|size| (size as u32).to_le_bytes()).concat(),
        [point(&vk.alpha_g1), point(&pk.beta_g1), point(&vk.beta_g2), point(&vk.gamma_g2)].concat(),
        [point(&pk.delta_g1), point(&vk.delta_g2)].concat(),
    ];
    let mut entries = Vec::new();
    let inputs = (0..instance).map(|i| vec![(E::ScalarField::from(1u8), i)]);
    let a = matrices[0].iter().cloned().chain(inputs).collect::<Matrix<_>>();
    for (matrix, rows) in [&a, &matrices[1]].into_iter().enumerate() {
        // snarkjs does not write rows in order
        for (row, terms) in rows.iter().enumerate().rev() {
            for (value, column) in terms {
                let squared = E::ScalarField::from_bigint(BigInt(value.limbs())).expect("below the modulus");
                let places = [matrix, row, *column].map(|place| (place as u32).to_le_bytes()).concat();
                entries.push([places, bytes(&squared.limbs())].concat());
            }
        }
    }
    let coefficients = [(entries.len() as u32).to_le_bytes().to_vec(), entries.concat()].concat();
    let sections = [
        (1, 1u32.to_le_bytes().to_vec()),
        (2, header.concat()),
        (3, points(&vk.gamma_abc_g1)),
        (4, coefficients),
        (5, points(&pk.a_query)),
        (6, points(&pk.b_g1_query)),
        (7, points(&pk.b_g2_query)),
        (8, points(&pk.l_query)),
        (9, points(&pk.h_query)),
        (10, vec![1, 2, 3]),
    ];
    file("zkey", 1, &sections)
}

fn wtns<F: EngineField>(witness: &[F]) -> Vec<u8> {
    let header = [sized(&F::MODULUS.0), (witness.len() as u32).to_le_bytes().to_vec()].concat();
    let values = witness.iter().flat_map(|value| bytes(&value.into_bigint().0)).collect();
    file("wtns", 2, &[(1, header), (2, values)])
}

/// A key of a small circuit in arkworks' form and as a file, and a witness.
fn small<E>() -> (Chance, ProvingKey<E>, Vec<u8>, Vec<E::ScalarField>)
where
    E: Pairing<ScalarField: EngineField, G1Affine: DevicePoint, G2Affine: DevicePoint>,
    <E::G1Affine as AffineRepr>::BaseField: Coordinate,
{
    let circuit = Chance { seed: 5, public: 2, private: 3, constraints: 12, small: false };
    let mut rng = StdRng::seed_from_u64(1);
    let pk = Groth16::<E, Circom<E::ScalarField>>::generate_random_parameters_with_reduction(circuit.clone(), &mut rng);
    let pk = pk.expect("a key");
    let (matrices, witness) = system(circuit.clone());
    let file = zkey(&pk, &matrices);
    (circuit, pk, file, witness)
}

fn proves<E>()
where
    E: Pairing<ScalarField: EngineField, G1Affine: DevicePoint, G2Affine: DevicePoint>,
    <E::G1Affine as AffineRepr>::BaseField: Coordinate,
{
    let (circuit, pk, file, witness) = small::<E>();
    let key = Zkey::<E>::new(&file).expect("a key");
    assert_eq!((key.verifying_key(), key.variables(), key.points()), (&pk.vk, witness.len(), pk.h_query.len()));
    let read = read_wtns::<E::ScalarField>(&wtns(&witness)).expect("a witness");
    assert_eq!(read, witness);
    let mut rng = StdRng::seed_from_u64(2);
    let (r, s) = (E::ScalarField::rand(&mut rng), E::ScalarField::rand(&mut rng));
    let stock = Groth16::<E, Circom<E::ScalarField>>::create_proof_with_reduction(circuit, &pk, r, s);
    let stock = stock.expect("a proof");
    for device in [Target::Cpu, Target::Cuda].into_iter().filter_map(Target::device) {
        let backends = [Backend::new(&Engine::on(device.clone())), Backend::new(&Engine::on(device))];
        for backends in [&backends[..1], &backends] {
            let prover = Groth16Device::from_zkey(backends, &key, Check::OnCurve).expect("a prover");
            assert_eq!(prover.prove_assignment(&read, r, s).expect("a proof"), stock);
        }
    }
}

#[test]
fn keys_and_witnesses_of_circom_are_read() {
    proves::<Bn254>();
    proves::<Bls12_381>();
}

#[test]
fn damaged_files_are_refused() {
    let (_, _, file, witness) = small::<Bn254>();
    let witness = wtns(&witness);
    for length in 0..file.len() {
        assert!(Zkey::<Bn254>::new(&file[..length]).is_err(), "{length}");
    }
    for length in 0..witness.len() {
        assert!(read_wtns::<ark_bn254::Fr>(&witness[..length]).is_err(), "{length}");
    }
    assert_eq!(Zkey::<Bn254>::new(&witness).err(), Some(FileError::Kind("zkey")));
    let other = Some(FileError::Header("the key is over another curve"));
    assert_eq!(Zkey::<Bls12_381>::new(&file).err(), other);
    let mut rng = StdRng::seed_from_u64(3);
    let backends = [Backend::new(&Engine::cpu())];
    let mut refused = 0;
    for _ in 0..300 {
        let (mut file, mut witness) = (file.clone(), witness.clone());
        let place = rng.gen_range(0..file.len());
        file[place] ^= 1 << rng.gen_range(0..8);
        let made = Zkey::<Bn254>::new(&file).map(|key| Groth16Device::from_zkey(&backends, &key, Check::OnCurve));
        match made {
            Err(_) | Ok(Err(ProofError::File(_) | ProofError::Msm(MsmError::Point(_)))) => refused += 1,
            // a coefficient or a contribution that is another valid one
            Ok(Ok(_)) => {}
            Ok(Err(error)) => panic!("{error:?}"),
        }
        let place = rng.gen_range(0..witness.len());
        witness[place] ^= 1 << rng.gen_range(0..8);
        let _ = read_wtns::<ark_bn254::Fr>(&witness);
    }
    assert!(refused > 150, "{refused}");
    // a length that no file can have
    let mut long = witness.clone();
    long[16..24].fill(0xff);
    assert_eq!(read_wtns::<ark_bn254::Fr>(&long), Err(FileError::Section(1)));
    // a scalar that is not reduced
    let end = witness.len();
    let mut large = witness;
    large[end - 32..].fill(0xff);
    let found = read_wtns::<ark_bn254::Fr>(&large);
    assert!(matches!(found, Err(FileError::Range { what: "element", .. })), "{found:?}");
}
