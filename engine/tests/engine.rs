//! [`Engine`]: transforms and products in one call, on host memory and on the device, and errors for invalid arguments.

use ringforge::factorization::Factorization;
use ringforge::{Device, Engine, Error, Job, Limits, Modulus, Op, Order, Planner, PolyType, Result, Ring, U256};
use ringforge_testkit::naive;
use ringforge_testkit::{Target, residues};

/// Rings of every width of residues, and for each ring whether it has an NTT.
fn rings() -> Vec<(PolyType, bool)> {
    let texts = [
        ("3329 : x^256 + 1", true),
        ("998244353 : x^64 + 1", true),
        ("1152921504606584833, 1152921504598720513 : x^128 + 1", true),
        ("0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001 : x^32 - 1", true),
        ("8000 : x^100 - 3x^4 + 2", false),
    ];
    texts.map(|(text, splits)| (text.parse().expect("a ring"), splits)).to_vec()
}

fn engines() -> Vec<Engine> {
    let one = [Target::Cpu, Target::Cuda].into_iter().filter_map(Target::device).map(Engine::on);
    one.chain(groups()).collect()
}

/// Groups of one to three CPUs that divide items evenly, and a group of two CPUs that divides items by given rates. If
/// there is a GPU, also a group of this GPU and a CPU.
fn groups() -> Vec<Engine> {
    let cpus = |count| vec![(); count].into_iter().map(|()| Device::cpu()).collect::<Vec<_>>();
    let gpu = Target::Cuda.device().map(|gpu| vec![(gpu, 3.0), (Device::cpu(), 1.0)]);
    let rated = [Some(vec![(Device::cpu(), 1.0), (Device::cpu(), 7.5)]), gpu];
    let rated = rated.into_iter().flatten().map(|devices| Engine::group_by_rate(&devices).expect("a group"));
    [1, 2, 3].map(|count| Engine::group(&cpus(count)).expect("a group")).into_iter().chain(rated).collect()
}

/// Evaluates a generic expression with the integer type of a ring's residues.
macro_rules! by_width {
    ($ring:expr, $bytes:expr, $T:ident => $body:expr) => {
        match $ring.width().bytes() {
            2 => by_width!(@ u16, $T, $body),
            4 => by_width!(@ u32, $T, $body),
            8 => by_width!(@ u64, $T, $body),
            _ => by_width!(@ [u64; 4], $T, $body),
        }
    };
    (@ $word:ty, $T:ident, $body:expr) => {{
        type $T = $word;
        $body
    }};
}

fn of<T: bytemuck::Pod>(bytes: &[u8]) -> Vec<T> {
    bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
}

#[test]
fn products_equal_the_oracle() -> Result<()> {
    for engine in engines() {
        for (ring, _) in rings() {
            let (a, b) = (residues(&ring, 1, 3), residues(&ring, 2, 3));
            let plain = [&a, &b].map(|bytes| naive::to_plain(&ring, bytes));
            let wanted = naive::to_stored(&ring, &naive::mul(&ring, &plain[0], &plain[1]));
            by_width!(ring, bytes, T => {
                let (a, b, wanted) = (of::<T>(&a), of::<T>(&b), of::<T>(&wanted));
                assert_eq!(engine.mul(&ring, &a, &b)?, wanted, "{ring}");
                let on_device = engine.upload(&ring, &a)?.mul(&engine.upload(&ring, &b)?)?;
                assert_eq!(on_device.download::<T>()?, wanted, "{ring}");
            });
        }
    }
    Ok(())
}

#[test]
fn transforms_equal_the_oracle() -> Result<()> {
    for engine in engines() {
        for (ring, splits) in rings() {
            let ntt = engine.ntt(&ring);
            if !splits {
                assert!(matches!(ntt, Err(Error::Unsupported { .. } | Error::NotPrime { .. })), "{ring}");
                continue;
            }
            let (factorization, bytes) = (Factorization::of(&ring, None)?, residues(&ring, 3, 3));
            for order in [Order::Natural, Order::DigitReversed] {
                let values = naive::forward(&ring, &factorization, order, &naive::to_plain(&ring, &bytes));
                let values = naive::to_stored(&ring, &values);
                by_width!(ring, bytes, T => {
                    let (a, values) = (of::<T>(&bytes), of::<T>(&values));
                    let ntt = engine.ntt(&ring)?.order(order);
                    let mut row = a.clone();
                    ntt.forward(&mut row)?;
                    assert_eq!(row, values, "{ring} {order}");
                    ntt.inverse(&mut row)?;
                    assert_eq!(row, a, "{ring} {order}");
                    assert_eq!((ntt.evaluate(&a)?, ntt.interpolate(&values)?), (values.clone(), a.clone()));
                    let on_device = engine.upload(&ring, &a)?.forward_to(order)?;
                    assert_eq!(on_device.download::<T>()?, values, "{ring} {order}");
                    assert_eq!(on_device.inverse()?.download::<T>()?, a, "{ring} {order}");
                });
            }
        }
    }
    Ok(())
}

/// Operations accept slices, vectors and arrays, and empty batches.
#[test]
fn any_slice_is_accepted() -> Result<()> {
    let (engine, ring) = (Engine::cpu(), "17 : x^2 + 1".parse::<PolyType>()?);
    let (array, vector) = ([0u16, 1], vec![0u16, 1]);
    assert_eq!(engine.mul(&ring, &array, &vector)?, engine.mul(&ring, &vector[..], &array)?);
    let mut in_place = [3u16, 0];
    engine.ntt(&ring)?.forward(&mut in_place)?;
    assert_eq!(in_place, [3, 3]);
    assert_eq!(engine.mul::<u16>(&ring, &[], &[])?, []);
    assert_eq!(engine.upload::<u16>(&ring, &[])?.forward()?.download::<u16>()?, []);
    Ok(())
}

/// The argument name in the error of an operation, and the error itself. Panics if the operation succeeded.
fn argument<T: std::fmt::Debug>(outcome: Result<T>) -> (&'static str, Error) {
    match outcome {
        Err(Error::Argument { name, error }) => (name, *error),
        other => panic!("no error of an argument: {other:?}"),
    }
}

#[test]
fn errors_name_the_argument() -> Result<()> {
    let (engine, ring) = (Engine::cpu(), "17 : x^2 + 1".parse::<PolyType>()?);
    let good = [1u16, 2];
    let q = Modulus::new(17u32)?.value();
    assert_eq!(argument(engine.mul(&ring, &good, &[1, 17])), ("b", Error::NotReduced { index: 1, q }));
    assert!(matches!(argument(engine.mul(&ring, &good[1..], &good)), ("a", Error::Length { expected: 2, got: 1, .. })));
    assert!(matches!(argument(engine.mul(&ring, &good, &[0; 4])), ("b", Error::Length { expected: 2, got: 4, .. })));
    assert!(matches!(argument(engine.mul(&ring, &[1u32, 2], &[1, 2])), ("a", Error::Mismatch { .. })));
    assert!(matches!(argument(engine.ntt(&ring)?.forward(&mut [17u16, 0])), ("elements", Error::NotReduced { .. })));
    assert!(matches!(argument(engine.upload(&ring, &[0u8; 4])), ("coefficients", Error::Mismatch { .. })));
    // the caller must ensure that unchecked residues are below q
    assert!(engine.mul_unchecked(&ring, &good, &[1, 17]).is_ok());
    assert!(engine.ntt(&ring)?.forward_unchecked(&mut [17u16, 0]).is_ok());

    let a = engine.upload(&ring, &good)?;
    assert_eq!(a.buffers()[0].content(), Some(a.poly()), "programs refuse the buffer as well");
    let (tree, natural) = (a.forward()?, a.forward_to(Order::Natural)?);
    assert!(matches!(argument(a.mul(&tree)), ("other", Error::Mismatch { .. })));
    assert!(matches!(argument(tree.mul(&natural)), ("other", Error::Mismatch { .. })));
    assert!(matches!(argument(tree.forward()), ("self", Error::Mismatch { .. })));
    assert!(matches!(argument(a.inverse()), ("self", Error::Mismatch { .. })));
    assert!(matches!(argument(a.mul(&engine.upload(&ring, &[0u16; 4])?)), ("other", Error::Length { .. })));
    assert!(matches!(argument(a.download::<u64>()), ("the vector", Error::Mismatch { .. })));
    let elsewhere = Engine::cpu().upload(&ring, &good)?;
    assert!(matches!(a.mul(&elsewhere), Err(Error::ForeignDevice { .. })));
    Ok(())
}

#[test]
fn repeated_requests_make_one_program() -> Result<()> {
    let (engine, ring) = (Engine::cpu(), "17 : x^2 + 1".parse::<PolyType>()?);
    let job = Job::new(&ring, Op::Mul);
    let tables = |program: &ringforge::Program| std::ptr::from_ref(program.plan());
    assert_eq!(tables(&engine.program(&job)?), tables(&engine.clone().program(&job)?));
    Ok(())
}

#[test]
fn elements_are_added_and_moved() -> Result<()> {
    let ring: PolyType = "17,97:x^4+1".parse()?;
    for engine in engines() {
        let [a, b] = [[1u16, 2, 3, 4, 5, 6, 7, 8], [16, 0, 0, 1, 96, 0, 0, 1]];
        let (a, b) = (engine.upload(&ring, &a)?, engine.upload(&ring, &b)?);
        assert_eq!(a.add(&b)?.download::<u16>()?, [0, 2, 3, 5, 4, 6, 7, 9]);
        assert_eq!(a.sub(&b)?.download::<u16>()?, [2, 2, 3, 3, 6, 6, 7, 7]);
        assert_eq!(a.scale(&[2u32, 3].map(U256::from))?.download::<u16>()?, [2, 4, 6, 8, 15, 18, 21, 24]);
        assert_eq!(a.automorphism(3)?.download::<u16>()?, [1, 4, 14, 2, 5, 8, 90, 6]);
        // the same operations on evaluations give the same results
        let there = a.forward()?.add(&b.forward()?)?.automorphism(3)?.inverse()?;
        assert_eq!(there.download::<u16>()?, a.add(&b)?.automorphism(3)?.download::<u16>()?);
        assert!(matches!(argument(a.add(&b.forward()?)), ("other", Error::Mismatch { .. })));
        let two = engine.upload(&ring, &[0u16; 16])?;
        assert!(matches!(argument(a.sub(&two)), ("other", Error::Length { .. })));
        assert!(matches!(a.scale(&[U256::ONE; 3]), Err(Error::Plan { .. })));
        assert!(matches!(a.automorphism(2), Err(Error::Plan { .. })));
    }
    Ok(())
}

/// Making a ring of thousands of moduli, planning for it and taking a range of its limbs must not take quadratic time.
#[test]
fn thousands_of_moduli() -> Result<()> {
    let primes = Modulus::ntt_primes(32, 45, 4000)?;
    let start = std::time::Instant::now();
    let ring = PolyType::from(Ring::rns(16, &primes)?);
    Planner::new(Limits::h200()).plan(&Job::new(&ring, Op::Forward))?;
    assert_eq!(ring.limbs(1000..4000)?.basis(), &primes[1000..]);
    assert!(start.elapsed().as_secs_f64() < 2.0, "{:?}", start.elapsed());
    // a common factor of two moduli is found among many moduli, too
    let product = primes[30].value_u64().unwrap_or(0) * 3;
    let wrong = Ring::rns(16, &[&primes[..40], &[Modulus::new(product)?]].concat()).map(PolyType::from);
    assert!(matches!(&wrong, Err(Error::Ring { why }) if why.contains("common factor")), "{wrong:?}");
    let wrong = Ring::rns(16, &[&[Modulus::new(product)?], &primes[..40]].concat()).map(PolyType::from);
    assert!(matches!(&wrong, Err(Error::Ring { .. })), "{wrong:?}");
    Ok(())
}
