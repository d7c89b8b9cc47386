//! Tests domains against ark-poly's over five fields: elements, transforms of many kinds of input, cosets, batches
//! and invalid input.

use ark_ff::UniformRand;
use ark_poly::{EvaluationDomain, Radix2EvaluationDomain};
use ark_serialize::{CanonicalDeserialize, CanonicalSerialize};
use ark_std::rand::{Rng, SeedableRng, rngs::StdRng};
use ringforge::{Engine, Op};
use ringforge_arkworks::{Backend, Domain, EngineField, Error};
use ringforge_testkit::Target;

/// Backends on the CPU and, if there is one, on the GPU.
fn backends() -> Vec<Backend> {
    [Target::Cpu, Target::Cuda]
        .into_iter()
        .filter_map(Target::device)
        .map(|device| Backend::new(&Engine::on(device)))
        .collect()
}

fn random<F: EngineField>(rng: &mut StdRng, len: usize) -> Vec<F> {
    (0..len).map(|_| F::rand(rng)).collect()
}

/// Edge cases of n elements: all 0, all 1 and all −1, then a random mix of 0, 1, −1, 1/2 and the field's generator.
fn edges<F: EngineField>(rng: &mut StdRng, n: usize) -> Vec<Vec<F>> {
    let half = F::from(2u64).inverse().expect("an odd field");
    let kinds = [F::ZERO, F::ONE, -F::ONE, half, F::GENERATOR];
    let mixed = (0..n).map(|_| kinds[rng.gen_range(0..kinds.len())]).collect();
    kinds[..3].iter().map(|x| vec![*x; n]).chain([mixed]).collect()
}

fn cosets<F: EngineField>(rng: &mut StdRng, n: usize) -> Vec<(Domain<F>, Radix2EvaluationDomain<F>)> {
    let offsets = [F::ONE, F::GENERATOR, -F::ONE, F::rand(rng)];
    let pair = |g| Domain::new_coset(n, g).zip(Radix2EvaluationDomain::new_coset(n, g)).expect("a small coset");
    offsets.into_iter().map(pair).collect()
}

fn transforms<F: EngineField>() {
    let mut rng = StdRng::seed_from_u64(1);
    for log in 0..=14 {
        let n = 1 << log;
        for (domain, stock) in cosets::<F>(&mut rng, n) {
            let inputs = edges(&mut rng, n).into_iter().chain([random(&mut rng, n)]);
            for x in inputs {
                assert_eq!(domain.fft(&x), stock.fft(&x), "forward, 2^{log}, offset {}", stock.offset);
                assert_eq!(domain.ifft(&x), stock.ifft(&x), "inverse, 2^{log}, offset {}", stock.offset);
            }
            // inputs of other lengths, which are padded or truncated
            for len in [0, 1, n / 4, n / 2 + 1, n + 1, 2 * n + 3] {
                let x = random(&mut rng, len);
                assert_eq!(domain.fft(&x), stock.fft(&x), "forward, 2^{log} from {len}");
                assert_eq!(domain.ifft(&x), stock.ifft(&x), "inverse, 2^{log} from {len}");
            }
        }
    }
}

fn batches<F: EngineField>(backends: &[Backend], logs: &[u32]) {
    let mut rng = StdRng::seed_from_u64(2);
    for (backend, log) in backends.iter().flat_map(|backend| logs.iter().map(move |log| (backend, log))) {
        let n = 1 << log;
        for (domain, stock) in cosets::<F>(&mut rng, n) {
            for batch in [0, 1, 3] {
                let x: Vec<F> = random(&mut rng, batch * n);
                let (mut values, mut coeffs) = (x.clone(), x.clone());
                domain.forward(backend, &mut values).expect("a forward transform");
                domain.inverse(backend, &mut coeffs).expect("an inverse transform");
                for ((x, values), coeffs) in x.chunks(n).zip(values.chunks(n)).zip(coeffs.chunks(n)) {
                    assert_eq!(values, stock.fft(x), "{backend:?} forward, 2^{log} × {batch}");
                    assert_eq!(coeffs, stock.ifft(x), "{backend:?} inverse, 2^{log} × {batch}");
                }
            }
        }
    }
}

fn contracts<F: EngineField>() {
    let mut rng = StdRng::seed_from_u64(3);
    let domains: Vec<_> = [1, 2, 8, 512].into_iter().flat_map(|n| cosets::<F>(&mut rng, n)).collect();
    for (domain, stock) in domains {
        assert_eq!(domain.elements().collect::<Vec<F>>(), stock.elements().collect::<Vec<F>>());
        assert_eq!(
            (domain.size(), domain.log_size_of_group(), domain.size_as_field_element(), domain.size_inv()),
            (stock.size(), stock.log_size_of_group(), stock.size_as_field_element, stock.size_inv)
        );
        assert_eq!((domain.group_gen(), domain.group_gen_inv()), (stock.group_gen, stock.group_gen_inv));
        assert_eq!((domain.coset_offset(), domain.coset_offset_inv()), (stock.offset, stock.offset_inv));
        assert_eq!(domain.coset_offset_pow_size(), stock.offset_pow_size);
        let tau = F::rand(&mut rng);
        assert_eq!(
            domain.evaluate_all_lagrange_coefficients(tau),
            stock.evaluate_all_lagrange_coefficients(tau),
            "{domain:?}"
        );

        // through the trait, as generic code calls the transforms
        let x: Vec<F> = random(&mut rng, domain.size());
        assert_eq!(EvaluationDomain::fft(&domain, &x), stock.fft(&x));
        assert_eq!(EvaluationDomain::ifft(&domain, &x), stock.ifft(&x));

        let (mut bytes, mut expected) = (Vec::new(), Vec::new());
        domain.serialize_compressed(&mut bytes).expect("memory takes bytes");
        stock.serialize_compressed(&mut expected).expect("memory takes bytes");
        assert_eq!(bytes, expected);
        assert_eq!(Domain::deserialize_compressed(&bytes[..]).ok(), Some(domain));
        for i in [0, 8, 12, bytes.len() - 32] {
            let mut wrong = bytes.clone();
            wrong[i] ^= 1;
            assert!(Domain::<F>::deserialize_compressed_unchecked(&wrong[..]).is_err(), "byte {i} of {domain:?}");
        }
    }

    // the number of coefficients is rounded up to a power of two
    assert_eq!(Domain::<F>::new(0).map(|domain| domain.size()), Some(1));
    assert_eq!(Domain::<F>::new(5).map(|domain| domain.size()), Some(8));
    let most = 1usize << F::TWO_ADICITY;
    assert_eq!(Domain::<F>::new(most).map(|domain| domain.size()), Some(most));
    for beyond in [most + 1, 2 * most, usize::MAX] {
        assert_eq!(Domain::<F>::compute_size_of_domain(beyond), None);
        assert_eq!(Domain::<F>::new(beyond), None);
    }
    assert_eq!(Domain::<F>::new_coset(8, F::ZERO), None);
}

fn refusals<F: EngineField>() {
    let mut rng = StdRng::seed_from_u64(4);
    let domain = Domain::<F>::new_coset(8, F::GENERATOR).expect("a small coset");
    for backend in backends() {
        for len in [1, 7, 9, 15] {
            let x: Vec<F> = random(&mut rng, len);
            let mut data = x.clone();
            let refused = domain.forward(&backend, &mut data);
            assert!(matches!(refused, Err(Error::Length { got, .. }) if got == len), "{refused:?}");
            assert!(domain.inverse(&backend, &mut data).is_err());
            assert_eq!(data, x);
        }
        // only forward and inverse transforms have programs
        assert!(matches!(domain.program(&backend, Op::Mul), Err(Error::Unsupported { .. })));
        // the field has roots of unity for domains that exceed the engine's maximum degree
        if F::TWO_ADICITY > 28 {
            let large = Domain::<F>::new(1 << 29).expect("a large domain");
            assert!(matches!(large.forward(&backend, &mut []), Err(Error::TooLarge { .. })));
        }
    }
}

/// Tests that `of_size` returns the coset of exactly this size, or the right error.
fn sizes<F: EngineField>() {
    for log in [0, 1, 5, F::TWO_ADICITY] {
        let (n, offset) = (1usize << log, F::GENERATOR);
        assert_eq!(Domain::of_size(n, offset).ok(), Domain::new_coset(n, offset), "2^{log}");
    }
    for (n, expected) in [(0, 1), (3, 4), (1000, 1024), (usize::MAX, 0)] {
        let refused = Domain::<F>::of_size(n, F::ONE);
        assert!(
            matches!(refused, Err(Error::Length { expected: e, got, .. }) if (e, got) == (expected, n)),
            "{refused:?}"
        );
    }
    let refused = Domain::<F>::of_size(2 << F::TWO_ADICITY, F::ONE);
    assert!(matches!(refused, Err(Error::NoRoot { order, .. }) if order == 2 << F::TWO_ADICITY), "{refused:?}");
    assert!(matches!(Domain::<F>::of_size(8, F::ZERO), Err(Error::Ring { .. })));
}

/// Tests programs on data that stays on the device: two polynomials are transformed to evaluations on a coset and back.
/// A program for another coset must reject these evaluations.
fn programs<F: EngineField>() {
    let mut rng = StdRng::seed_from_u64(7);
    let n = 1 << 10;
    let (domain, stock) = cosets::<F>(&mut rng, n).swap_remove(3);
    for backend in backends() {
        let [forward, inverse] = [Op::Forward, Op::Inverse].map(|op| domain.program(&backend, op).expect("a program"));
        let x: Vec<F> = random(&mut rng, 2 * n);
        let limbs: Vec<[u64; 4]> = x.iter().map(F::limbs).collect();
        let stream = backend.device().stream().expect("a stream");
        let mut data = stream.upload(&limbs).expect("a buffer");
        forward.on(&stream, 2).output("data", &mut data).run().expect("a run");
        let values: Vec<F> = stream.download(&data).expect("limbs").into_iter().map(F::from_limbs).collect();
        assert_eq!(values, [stock.fft(&x[..n]), stock.fft(&x[n..])].concat());
        // a program for another coset must reject the evaluations
        let other = Domain::<F>::of_size(n, F::ONE).and_then(|domain| domain.program(&backend, Op::Inverse));
        let refused = other.expect("a program").on(&stream, 2).output("data", &mut data).run();
        assert!(matches!(refused, Err(Error::Mismatch { .. })), "{refused:?}");
        inverse.on(&stream, 2).output("data", &mut data).run().expect("a run");
        assert_eq!(stream.download::<[u64; 4]>(&data).expect("limbs"), limbs);
    }
}

macro_rules! fields {
    ($($name:ident: $field:ty),*) => {$(
        mod $name {
            #[test]
            fn transforms() {
                super::transforms::<$field>();
            }

            #[test]
            fn batches() {
                super::batches::<$field>(&super::backends(), &[0, 1, 2, 3, 7, 11, 13]);
            }

            #[test]
            fn contracts() {
                super::contracts::<$field>();
            }

            #[test]
            fn refusals() {
                super::refusals::<$field>();
            }

            #[test]
            fn sizes() {
                super::sizes::<$field>();
            }

            #[test]
            fn programs() {
                super::programs::<$field>();
            }
        }
    )*};
}
fields!(bls12_381: ark_bls12_381::Fr, bn254: ark_bn254::Fr, bls12_377: ark_bls12_377::Fr, pallas: ark_pallas::Fr, vesta: ark_vesta::Fr);

#[test]
fn batches_in_cuda_source() {
    let backend = Target::Emulator.device().map(|device| Backend::new(&Engine::on(device)));
    batches::<ark_bls12_381::Fr>(backend.as_slice(), &[0, 1, 5]);
}

#[test]
fn group_elements_are_transformed_by_arkworks() {
    use ark_bn254::{Fr, G1Projective};
    let mut rng = StdRng::seed_from_u64(5);
    let x: Vec<G1Projective> = (0..8).map(|_| G1Projective::rand(&mut rng)).collect();
    let domain = Domain::<Fr>::new_coset(8, Fr::from(3)).expect("a small coset");
    let stock = Radix2EvaluationDomain::<Fr>::new_coset(8, Fr::from(3)).expect("a small coset");
    assert_eq!(EvaluationDomain::fft(&domain, &x), stock.fft(&x));
    assert_eq!(EvaluationDomain::ifft(&domain, &x), stock.ifft(&x));
}

/// Tests that a field with four limbs whose modulus fits one word is rejected, because the engine stores its residues
/// differently.
#[test]
fn a_small_field_is_refused() {
    use ark_ff::{BigInt, FftField, Fp, MontBackend, MontConfig};
    struct Config;
    impl MontConfig<4> for Config {
        const MODULUS: BigInt<4> = BigInt([65537, 0, 0, 0]);
        const GENERATOR: Fp<MontBackend<Self, 4>, 4> = Fp::new(BigInt([3, 0, 0, 0]));
        const TWO_ADIC_ROOT_OF_UNITY: Fp<MontBackend<Self, 4>, 4> = Fp::new(BigInt([3, 0, 0, 0]));
    }
    type F = Fp<MontBackend<Config, 4>, 4>;
    let domain = Domain::<F>::of_size(1 << 12, F::GENERATOR).expect("a domain");
    let backend = Backend::new(&Engine::cpu());
    let mut x: Vec<F> = (0..1 << 12).map(F::from).collect();
    let refused = domain.forward(&backend, &mut x);
    assert!(matches!(refused, Err(Error::Unsupported { .. })), "{refused:?}");
    // the inherent `fft` cannot fail, so it falls back to arkworks' code
    let stock = Radix2EvaluationDomain::<F>::new_coset(1 << 12, F::GENERATOR).expect("a domain");
    assert_eq!(domain.fft(&x), stock.fft(&x));
}
