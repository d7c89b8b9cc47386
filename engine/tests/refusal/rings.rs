//! Moduli, rings, factorizations and jobs that are invalid.

use ringforge::factorization::Factorization;
use ringforge::{Error, Job, Limits, Modulus, Op, Order, Planner, PolyType, Quotient, Result, Ring, U256};

use super::refused;

fn q(q: u64) -> Modulus {
    Modulus::new(q).expect("a modulus")
}

fn plan(job: &Job) -> Result<ringforge::Plan> {
    // plans for a CPU and for a GPU fail with the same error
    let gpu = Planner::new(Limits::h200()).plan(job);
    let cpu = Planner::default().plan(job);
    assert_eq!(gpu.as_ref().err(), cpu.as_ref().err(), "{job}");
    cpu
}

const OPS_OF_TRANSFORMS: [Op; 4] = [Op::Forward, Op::Inverse, Op::PointMul, Op::MulAdd];

#[test]
fn moduli() {
    refused!(Modulus::new(0u32), Error::Modulus { q, .. } if q == U256::ZERO);
    refused!(Modulus::new(1u32), Error::Modulus { q, .. } if q == U256::ONE);
    refused!(Modulus::from_hex("0x1"), Error::Modulus { q, .. } if q == U256::ONE);
    refused!(Modulus::from_hex("0"), Error::Modulus { .. });
    refused!(Modulus::from_hex(""), Error::Modulus { .. });
    refused!(Modulus::from_hex("0xfg"), Error::Modulus { .. });
    refused!(Modulus::from_hex(&format!("1{}", "0".repeat(64))), Error::Modulus { .. }); // 2^256
    assert!(Modulus::from_hex(&"f".repeat(64)).is_ok());
    assert!(Modulus::new(2u32).is_ok());
}

#[test]
fn degrees() {
    refused!(Ring::cyclic(0, q(17)), Error::Ring { .. });
    refused!(Ring::negacyclic(0, q(17)), Error::Ring { .. });
    refused!(Ring::trinomial(0, q(3457)), Error::Ring { .. });
    refused!(Ring::trinomial(7, q(3457)), Error::Ring { .. });
    refused!(Ring::prime_trinomial(0, q(4591)), Error::Ring { .. });
    refused!(Ring::prime_trinomial(1, q(4591)), Error::Ring { .. });
    refused!(Ring::new(&[q(17)], Quotient::Binomial { n: 0, c: U256::ONE }), Error::Ring { .. });
    refused!(Ring::cyclic(Ring::MAX_DEGREE + 1, q(17)), Error::TooLarge { limit: Ring::MAX_DEGREE, .. });
    refused!(Ring::cyclic(usize::MAX, q(17)), Error::TooLarge { got: usize::MAX, .. });
}

#[test]
fn sparse_quotients() {
    let ring = |n, terms: &[(usize, i64)]| Ring::new(&[q(17)], Quotient::Sparse { n, terms: terms.to_vec() });
    refused!(ring(0, &[]), Error::Ring { .. });
    refused!(ring(4, &[(4, 1)]), Error::Ring { .. });
    refused!(ring(4, &[(1, 1), (1, 2)]), Error::Ring { .. });
    assert!(ring(4, &[(1, i64::MIN), (0, i64::MAX)]).is_ok());
}

#[test]
fn bases() {
    refused!(Ring::rns(8, &[]), Error::Ring { .. });
    refused!(Ring::rns(8, &[q(97), q(97)]), Error::Ring { .. });
    refused!(Ring::rns(8, &[q(15), q(97), q(21)]), Error::Ring { .. });
    let rows = |moduli: &[Modulus], map: &[usize]| {
        Ring::new(moduli, Quotient::Negacyclic { n: 8 }).and_then(|ring| PolyType::from(ring).with_limbs(map))
    };
    refused!(rows(&[q(97)], &[]), Error::Ring { .. });
    refused!(rows(&[], &[0]), Error::Ring { .. });
    refused!(rows(&[q(97), q(193)], &[0, 2]), Error::Ring { .. });
    refused!(rows(&[q(15), q(21)], &[0, 0, 1]), Error::Ring { .. });
    assert_eq!(rows(&[q(97), q(15), q(193)], &[2, 0]), Ring::rns(8, &[q(193), q(97)]).map(PolyType::from));
}

#[test]
fn texts() {
    for text in ["", "17", "17:", ":x^4+1", "17:y^4+1", "17:x^0", "17:2x^4+1", "q:x^4+1", "17:x^4+1@"] {
        refused!(text.parse::<Ring>(), Error::Ring { .. });
    }
    refused!("1:x^4+1".parse::<Ring>(), Error::Modulus { .. });
    refused!("17:x^99999999999999999999+1".parse::<Ring>(), Error::Ring { .. } | Error::TooLarge { .. });
    refused!("divide".parse::<Op>(), Error::Unsupported { .. });
}

/// A modulus that is even or composite has no NTT; products use a larger NTT.
#[test]
fn transforms_modulo_what_is_not_prime() -> Result<()> {
    let wide = Modulus::new(U256::ONE.shl_vartime(200))?;
    for modulus in [q(1024), q(3455), q(1 << 40), q(u64::MAX), wide, Modulus::new(U256::MAX)?] {
        let ring = Ring::negacyclic(64, modulus)?;
        refused!(Factorization::of(&ring, None), Error::NotPrime { q } if q == modulus.value());
        for op in OPS_OF_TRANSFORMS {
            refused!(plan(&Job::new(&ring, op)), Error::NotPrime { .. } | Error::Unsupported { .. });
        }
        plan(&Job::new(&ring, Op::Mul))?;
    }
    Ok(())
}

#[test]
fn transforms_without_a_root() -> Result<()> {
    // 3329 - 1 = 2^8 13, so full factorization would end at leaves of degree 16
    let ring = Ring::negacyclic(2048, q(3329))?;
    refused!(Factorization::of(&ring, None), Error::NoRoot { .. });
    let none = Ring::negacyclic(256, q(4591))?;
    for op in OPS_OF_TRANSFORMS {
        refused!(plan(&Job::new(&ring, op)), Error::NoRoot { .. });
        refused!(plan(&Job::new(&none, op)), Error::NoRoot { .. });
    }
    plan(&Job::new(&ring, Op::Mul))?;
    plan(&Job::new(&none, Op::Mul))?;
    Ok(())
}

#[test]
fn transforms_of_quotients_that_do_not_split() -> Result<()> {
    let prime = Ring::prime_trinomial(761, q(4591))?;
    let sparse = Ring::new(&[q(17)], Quotient::Sparse { n: 8, terms: vec![(3, 1), (0, 1)] })?;
    for ring in [prime, sparse] {
        for op in OPS_OF_TRANSFORMS {
            refused!(plan(&Job::new(&ring, op)), Error::Unsupported { .. });
        }
        plan(&Job::new(&ring, Op::Mul))?;
    }
    Ok(())
}

#[test]
fn depths() -> Result<()> {
    let ring = Ring::negacyclic(256, q(3329))?;
    let trinomial = Ring::trinomial(768, q(3457))?;
    for op in OPS_OF_TRANSFORMS.into_iter().chain([Op::Mul]) {
        // the full transform has seven layers; five layers end at degree 8, four at degree 16
        plan(&Job::new(&ring, op).depth(7))?;
        plan(&Job::new(&ring, op).depth(5))?;
        // evaluations modulo leaves of degree 16 exist, but cannot be multiplied
        match op {
            Op::Forward | Op::Inverse => drop(plan(&Job::new(&ring, op).depth(4))?),
            _ => refused!(plan(&Job::new(&ring, op).depth(4)), Error::Unsupported { .. }),
        }
        for depth in [0, 8, u32::MAX] {
            refused!(plan(&Job::new(&ring, op).depth(depth)), Error::Unsupported { .. });
        }
        refused!(plan(&Job::new(&trinomial, op).depth(0)), Error::Unsupported { .. });
        refused!(plan(&Job::new(&trinomial, op).depth(9)), Error::Unsupported { .. });
    }
    Ok(())
}

#[test]
fn roots() -> Result<()> {
    let ring = || Ring::negacyclic(256, q(3329));
    ring()?.with_root(17u32)?;
    refused!(ring()?.with_root(3329u32), Error::Ring { .. });
    refused!(ring()?.with_root(0u32), Error::Ring { .. });
    refused!(ring()?.with_root(1u32), Error::Ring { .. });
    // 7 has order 2^7·13; the root of a transform with radices 2 and 3 has an order without the factor 13
    refused!(Ring::cyclic(8, q(3329))?.with_root(7u32), Error::Ring { why }
        if why.contains("the root 7 does not generate"));
    let binomial = |n, c: u32| Ring::new(&[q(3329)], Quotient::Binomial { n, c: U256::from(c) });
    refused!(binomial(8, 5)?.with_root(3u32), Error::Ring { why } if why.contains("the root 3 does not generate"));
    refused!(Factorization::of(&binomial(8, 3329)?, None), Error::Unsupported { why, .. } if why.contains("its constant is 0"));
    refused!(ring()?.with_root(U256::MAX), Error::Ring { .. });
    let two = Ring::rns(8, &[q(97), q(193)])?;
    refused!(two.clone().with_root(8u32), Error::Ring { .. });
    refused!(two.clone().with_roots(&[8u32, 1].map(U256::from)), Error::Ring { .. });
    refused!(two.clone().with_roots(&[97u32, 3].map(U256::from)), Error::Ring { .. });
    two.with_roots(&[8u32, 3].map(U256::from))?;
    Ok(())
}

#[test]
fn jobs() -> Result<()> {
    let ring = Ring::negacyclic(256, q(3329))?;
    for op in [Op::PointMul, Op::MulAdd, Op::Mul, Op::Compose, Op::Decompose] {
        refused!(plan(&Job::new(&ring, op).in_place()), Error::Unsupported { .. });
        refused!(plan(&Job::new(&ring, op).to(&ring)), Error::Unsupported { .. });
    }
    // the product before reduction would be longer than a ring can be
    refused!(plan(&Job::new(&Ring::prime_trinomial(1 << 28, q(4591))?, Op::Mul)), Error::Unsupported { .. });
    let wide = PolyType::from(Ring::cyclic(4, Modulus::new(U256::MAX)?)?);
    let mapped = PolyType::from(Ring::new(&[q(97), q(193)], Quotient::Negacyclic { n: 8 })?).with_limbs(&[0, 1, 0])?;
    let many = PolyType::from(Ring::rns(8, &Modulus::ntt_primes(16, 40, 65)?)?);
    for none in [&wide, &mapped, &many] {
        refused!(plan(&Job::new(none, Op::Compose)), Error::Unsupported { .. });
        refused!(plan(&Job::new(none, Op::Decompose)), Error::Unsupported { .. });
    }
    let one = Ring::rns(8, &[q(97)])?;
    for op in [Op::Convert, Op::ConvertCentred, Op::ConvertFast] {
        plan(&Job::new(&one, op).to(&one))?;
        refused!(plan(&Job::new(&one, op)), Error::Unsupported { .. });
        refused!(plan(&Job::new(&one, op).to(&one).in_place()), Error::Unsupported { .. });
        for other in [Ring::rns(16, &[q(97)])?, Ring::cyclic(8, q(97))?] {
            refused!(plan(&Job::new(&one, op).to(&other)), Error::Mismatch { .. });
        }
        for none in [&mapped, &many] {
            refused!(plan(&Job::new(&one, op).to(none)), Error::Unsupported { .. });
            refused!(plan(&Job::new(none, op).to(&one)), Error::Unsupported { .. });
        }
        refused!(plan(&Job::new(&wide, op).to(&wide)), Error::Unsupported { .. });
    }
    plan(&Job::new(&ring, Op::Forward).order(Order::Natural).in_place().batch_hint(0))?;
    Ok(())
}
