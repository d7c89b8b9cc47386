//! Compares sums with those of arkworks, on every device.

use ark_ec::short_weierstrass::{Affine, Projective, SWCurveConfig};
use ark_ec::{AffineRepr, CurveGroup, PrimeGroup, VariableBaseMSM};
use ark_ff::{BigInt, Field, Fp, MontBackend, MontConfig, PrimeField, QuadExtConfig, QuadExtField};
use ark_std::UniformRand;
use ark_std::rand::rngs::StdRng;
use ark_std::rand::{Rng, SeedableRng};
use ringforge::{Device, Engine};
use ringforge_msm::{Bases, Check, Curve, HostBases, MsmError, ScalarForm};
use ringforge_testkit::{Target, kept_memory, seed};

/// A field element as limbs in Montgomery form.
trait Words: Field {
    fn words(&self) -> Vec<u64>;
}

impl<C: MontConfig<L>, const L: usize> Words for Fp<MontBackend<C, L>, L> {
    fn words(&self) -> Vec<u64> {
        self.0.0.to_vec()
    }
}

impl<C: QuadExtConfig<BaseField: Words>> Words for QuadExtField<C> {
    fn words(&self) -> Vec<u64> {
        [self.c0.words(), self.c1.words()].concat()
    }
}

fn bytes_of<P: SWCurveConfig<BaseField: Words>>(curve: &Curve, point: Affine<P>) -> Vec<u8> {
    match point.xy() {
        Some((x, y)) => bytemuck::cast_slice(&[x.words(), y.words()].concat()).to_vec(),
        None => vec![0xff; curve.point_bytes()],
    }
}

/// Scalars that are small, large, equal, opposite, or have long carries.
fn hostile<F: PrimeField>(random: &mut StdRng, count: usize) -> Vec<F> {
    let kind = random.gen_range(0..5);
    let fixed = F::rand(random);
    (0..count)
        .map(|_| match kind {
            0 => F::from(random.gen_range(0..3u8)),
            1 => -F::from(random.gen_range(0..3u8)),
            2 => fixed,
            _ => match random.gen_range(0..8) {
                0 => F::zero(),
                1 => -F::one(),
                2 => -F::from(2u8),
                3 => F::from(2u8).pow([random.gen_range(0..253)]),
                4 => -F::from(2u8).pow([random.gen_range(0..253)]),
                5 => F::from(2u8).inverse().expect("2 is not 0"),
                _ => F::rand(random),
            },
        })
        .collect()
}

/// Points that are random, equal, opposite, infinite, or partial sums of each other.
fn points<P: SWCurveConfig>(random: &mut StdRng, count: usize) -> Vec<Affine<P>> {
    let base = Projective::<P>::rand(random);
    let kind = random.gen_range(0..4);
    let (mut double, mut any) = (base, Projective::<P>::rand(random));
    let points: Vec<Projective<P>> = (0..count)
        .map(|_| {
            double += double;
            any += if random.r#gen() { any } else { base };
            match (kind, random.gen_range(0..4)) {
                (1, 0) => -base,
                (1, 1) => Projective::default(),
                (2, _) => double,
                (0, _) | (_, 0) => base,
                _ => any,
            }
        })
        .collect();
    Projective::normalize_batch(&points)
}

/// Compares random multiplications of these numbers of points on a curve with arkworks. Returns how many were compared.
fn agrees<P: SWCurveConfig<BaseField: Words>>(device: &Device, curve: &Curve, sizes: &[usize]) -> usize
where
    P::ScalarField: PrimeField<BigInt = BigInt<4>> + Words,
{
    let (engine, mut random) = (Engine::on(device.clone()), StdRng::seed_from_u64(seed() ^ sizes[0] as u64));
    let mut compared = 0;
    for &count in sizes {
        let points = points::<P>(&mut random, count);
        let bytes: Vec<u8> = points.iter().flat_map(|point| bytes_of(curve, *point)).collect();
        let bases = Bases::upload(&engine, curve, &bytes, Check::OnCurve).expect("the points are on the curve");
        // the emulator is slow
        let kinds = [(true, true), (true, false), (false, true), (false, false)];
        for &(in_subgroup, tables) in &kinds[..if is_emulator(device) { 2 } else { 4 }] {
            let bases = if in_subgroup { bases.clone().in_subgroup() } else { bases.clone() };
            let bases = if tables { bases.with_tables(1 << 30).expect("tables") } else { bases };
            assert_eq!(bases.has_tables(), tables && !device.limits().is_cpu());
            let batch = random.gen_range(1..3);
            let scalars: Vec<Vec<P::ScalarField>> = (0..batch).map(|_| hostile(&mut random, count)).collect();
            let expected: Vec<u8> = scalars
                .iter()
                .flat_map(|scalars| {
                    let plain: Vec<_> = scalars.iter().map(|scalar| scalar.into_bigint()).collect();
                    bytes_of(curve, Projective::<P>::msm_bigint(&points, &plain).into_affine())
                })
                .collect();
            let plain: Vec<u64> = scalars.iter().flatten().flat_map(|scalar| scalar.into_bigint().0).collect();
            let montgomery: Vec<u64> = scalars.iter().flatten().flat_map(Words::words).collect();
            for (words, form) in [(plain, ScalarForm::Plain), (montgomery, ScalarForm::Montgomery)] {
                let sums = bases.msm_batch(bytemuck::cast_slice(&words), form, batch).expect("the sum");
                let about = || format!("{curve:?}, {count} points, {form:?}, {in_subgroup}, {tables}, {device}");
                assert_eq!(sums, expected, "{}", about());
                compared += batch;
            }
            // fewer scalars than bases, with tables and with too few for them
            for fewer in [count * 3 / 4, count / 3].into_iter().filter(|_| !is_emulator(device)) {
                let plain: Vec<_> = scalars[0][..fewer].iter().map(|scalar| scalar.into_bigint()).collect();
                let words: Vec<u64> = plain.iter().flat_map(|scalar| scalar.0).collect();
                let sum = bases.msm(bytemuck::cast_slice(&words), ScalarForm::Plain).expect("the sum");
                let expected = Projective::<P>::msm_bigint(&points[..fewer], &plain).into_affine();
                assert_eq!(sum, bytes_of(curve, expected), "{curve:?}, {fewer} of {count}, {tables}, {device}");
                compared += 1;
            }
        }
    }
    compared
}

/// The devices, the emulator with the sanitizers of the suite, which has compiled the kernels.
fn devices() -> impl Iterator<Item = Device> {
    [Target::Cpu, Target::EmulatorSanitized, Target::Cuda].into_iter().filter_map(Target::device)
}

fn is_emulator(device: &Device) -> bool {
    device.to_string().contains("emulator")
}

#[test]
fn sums_are_those_of_arkworks() {
    for device in devices() {
        if is_emulator(&device) {
            agrees::<ark_bn254::g1::Config>(&device, &Curve::bn254(), &[33]);
            continue;
        }
        let sizes = [1, 2, 31, 32, 33, 237, 1000, 4097];
        agrees::<ark_bn254::g1::Config>(&device, &Curve::bn254(), &sizes);
        agrees::<ark_bls12_381::g1::Config>(&device, &Curve::bls12_381(), &sizes[..7]);
        agrees::<ark_bls12_377::g1::Config>(&device, &Curve::bls12_377(), &sizes[..5]);
        agrees::<ark_pallas::PallasConfig>(&device, &Curve::pallas(), &sizes[..5]);
        agrees::<ark_vesta::VestaConfig>(&device, &Curve::vesta(), &sizes[..5]);
        agrees::<ark_bn254::g2::Config>(&device, &Curve::bn254_g2(), &sizes[..5]);
        agrees::<ark_bls12_381::g2::Config>(&device, &Curve::bls12_381_g2(), &sizes[..5]);
    }
}

#[test]
fn ten_thousand_sums_are_those_of_arkworks() {
    let Some(device) = Target::Cuda.device() else { return };
    let (mut random, mut compared) = (StdRng::seed_from_u64(seed()), 0);
    while compared < 10_000 {
        // a size serves many multiplications, because each size has a program of its own
        let most = random.gen_range(2..=4097);
        let sizes = [random.gen_range(1..most); 40];
        compared += agrees::<ark_bn254::g1::Config>(&device, &Curve::bn254(), &sizes);
        compared += agrees::<ark_bls12_381::g1::Config>(&device, &Curve::bls12_381(), &sizes);
        compared += agrees::<ark_pallas::PallasConfig>(&device, &Curve::pallas(), &sizes);
        compared += agrees::<ark_bn254::g2::Config>(&device, &Curve::bn254_g2(), &sizes);
        compared += agrees::<ark_bls12_381::g2::Config>(&device, &Curve::bls12_381_g2(), &sizes);
    }
}

#[test]
fn parts_of_a_sum_add_up() {
    let curve = Curve::bn254();
    let mut random = StdRng::seed_from_u64(seed());
    let points = points::<ark_bn254::g1::Config>(&mut random, 20);
    let scalars: Vec<ark_bn254::Fr> = hostile(&mut random, 20);
    let bytes: Vec<u8> = points.iter().flat_map(|point| bytes_of(&curve, *point)).collect();
    let words: Vec<u64> = scalars.iter().flat_map(Words::words).collect();
    let msm = |points: &[u8], scalars: &[u64]| {
        let bases = Bases::upload(&Engine::cpu(), &curve, points, Check::OnCurve).expect("bases");
        bases.msm(bytemuck::cast_slice(scalars), ScalarForm::Montgomery).expect("a sum")
    };
    for first in [1, 7, 19] {
        let (points, scalars) = (bytes.split_at(64 * first), words.split_at(4 * first));
        let parts = [msm(points.0, scalars.0), msm(points.1, scalars.1)].concat();
        assert_eq!(curve.sum(&parts).expect("whole points"), msm(&bytes, &words), "{first}");
    }
    assert_eq!(curve.sum(&[]).expect("no points"), [0xff; 64]);
    assert!(matches!(curve.sum(&bytes[1..]), Err(MsmError::Length { what: "points", expected: 64, got: 1279 })));
}

#[test]
fn bases_in_host_memory_are_multiplied_in_parts() {
    for device in [Target::Cpu, Target::Cuda].into_iter().filter_map(Target::device) {
        let (engine, curve) = (Engine::on(device.clone()), Curve::bn254());
        let mut random = StdRng::seed_from_u64(seed());
        let points = points::<ark_bn254::g1::Config>(&mut random, 50);
        let bytes: Vec<u8> = points.iter().flat_map(|point| bytes_of(&curve, *point)).collect();
        let whole = Bases::upload(&engine, &curve, &bytes, Check::OnCurve).expect("bases");
        let host = HostBases::new(&engine, &curve, &bytes, Check::OnCurve).expect("bases");
        for (count, part) in [(0, 7), (1, 7), (50, 1), (50, 7), (49, 7), (50, 50), (30, usize::MAX)] {
            let scalars: Vec<ark_bn254::Fr> = hostile(&mut random, count);
            let words: Vec<u64> = scalars.iter().flat_map(Words::words).collect();
            let (host, scalars) = (host.clone().in_parts_of(part), bytemuck::cast_slice(&words));
            let expected = whole.msm(scalars, ScalarForm::Montgomery).expect("a sum");
            assert_eq!(
                host.msm(scalars, ScalarForm::Montgomery).expect("a sum"),
                expected,
                "{count}, {part}, {device}"
            );
            let sum = host.in_subgroup().msm(scalars, ScalarForm::Montgomery).expect("a sum");
            assert_eq!(sum, expected, "{count}, {part}, {device}");
        }
        let mut scalars = vec![0; 32 * 50];
        scalars[32 * 40..][..32].fill(0xff);
        let host = host.in_parts_of(7);
        assert_eq!(host.msm(&scalars, ScalarForm::Plain), Err(MsmError::Scalar(40)));
        let many = MsmError::TooManyScalars { scalars: 51, bases: 50 };
        assert_eq!(host.msm(&[0; 32 * 51], ScalarForm::Plain), Err(many));
        let mut wrong = bytes.clone();
        wrong[..64].copy_from_slice(&[1; 64]);
        assert_eq!(HostBases::new(&engine, &curve, &wrong, Check::OnCurve).err(), Some(MsmError::Point(0)));
    }
}

#[test]
fn bad_input_is_refused() {
    for device in devices() {
        let (engine, curve) = (Engine::on(device.clone()), Curve::bn254());
        let generator = bytes_of(&curve, Projective::<ark_bn254::g1::Config>::generator().into_affine());
        let upload = |points: &[u8]| Bases::upload(&engine, &curve, points, Check::OnCurve);
        let mut points = generator.repeat(3);
        let bases = upload(&points).expect("the points are on the curve");
        points[64] ^= 1;
        assert_eq!(upload(&points).err(), Some(MsmError::Point(1)));
        assert!(matches!(upload(&points[1..]).err(), Some(MsmError::Length { .. })));
        let order: Vec<u8> = curve.order().iter().flat_map(|limb| limb.to_le_bytes()).collect();
        let mut scalars = vec![0; 96];
        scalars[64..].copy_from_slice(&order);
        assert_eq!(bases.msm(&scalars, ScalarForm::Plain), Err(MsmError::Scalar(2)));
        let many = MsmError::TooManyScalars { scalars: 4, bases: 3 };
        assert_eq!(bases.msm(&[0; 128], ScalarForm::Plain), Err(many));
        assert_eq!(bases.msm(&[], ScalarForm::Plain), Ok(vec![0xff; 64]));
        let huge = bases.msm_batch(&[], ScalarForm::Plain, usize::MAX);
        assert!(matches!(huge, Err(MsmError::Engine(ringforge::Error::OutOfMemory { .. }))), "{huge:?}");
        let huge = bases.msm_batch(&[0; 32], ScalarForm::Plain, usize::MAX);
        assert!(matches!(huge, Err(MsmError::Length { what: "scalars", .. })), "{huge:?}");
    }
}

#[test]
fn freed_memory_holds_no_scalars() {
    let Some(device) = Target::Cuda.device() else { return };
    let (engine, curve) = (Engine::on(device.clone()), Curve::bn254());
    let generator = bytes_of(&curve, Projective::<ark_bn254::g1::Config>::generator().into_affine());
    let bases = Bases::upload(&engine, &curve, &generator.repeat(5000), Check::Trusted).expect("bases");
    let secret = [0x5ec2_e7a1_d00d_f00d_u64, 0x1234_5678_9abc_def0, 0x0fed_cba9_8765_4321, 1];
    let sum = bases.msm(bytemuck::cast_slice(&secret.repeat(5000)), ScalarForm::Plain).expect("a sum");
    assert_eq!(sum.len(), 64);
    let kept = kept_memory(&device).expect("the freed memory");
    assert!(!kept.is_empty(), "nothing went back");
    let pattern: &[u8] = bytemuck::cast_slice(&secret[..2]);
    assert!(!kept.iter().any(|bytes| bytes.chunks_exact(16).any(|chunk| chunk == pattern)));
    // digits, and points of buckets, leave nothing else than zeros in the memory of temporaries
    let largest = kept.iter().max_by_key(|bytes| bytes.len()).expect("memory");
    assert!(largest.iter().all(|byte| *byte == 0), "{} bytes", largest.len());
}
