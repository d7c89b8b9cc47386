//! Evaluations on cosets match their definition on every device, and parameters that define no coset are rejected.

use crate::fixtures::cosets::{Coset, Cosets, FIELDS};
use ringforge::{Error, Job, Limits, Modulus, Op, Order, Planner, PolyType, Quotient, Result, Ring, U256};
use ringforge_testkit::{Random, Target, check_scheme};

#[test]
fn cpu() {
    check_scheme::<Cosets>(Target::Cpu);
}

#[test]
fn emulator() {
    check_scheme::<Cosets>(Target::Emulator);
}

#[test]
fn cuda() {
    check_scheme::<Cosets>(Target::Cuda);
}

fn q(q: u64) -> Modulus {
    Modulus::new(q).expect("a modulus")
}

#[test]
fn invalid_cosets_are_refused() -> Result<()> {
    let p = q(97);
    Ring::coset(8, p, 5u32, 33u32)?;
    Ring::coset(6, p, 5u32, 36u32)?; // 36 has order 6
    Ring::coset(8, p, 33u32, 33u32)?; // the subgroup itself, starting at its second element
    for (n, g, w) in [
        (8, 0, 33),  // g is not a unit
        (8, 97, 33), // g is not reduced
        (8, 5, 0),
        (8, 5, 97),
        (8, 5, 1),
        (8, 5, 22), // w has order 4
        (4, 5, 33), // w has order 8
        (0, 5, 1),
    ] {
        let ring = Ring::coset(n, p, g as u32, w as u32);
        assert!(matches!(ring, Err(Error::Ring { .. })), "{n} {g} {w}: {ring:?}");
    }
    // no root of this order; a modulus that is not prime; no transform of this degree; a degree that is too large
    assert!(matches!(Ring::coset(64, p, 5u32, 33u32), Err(Error::NoRoot { .. })));
    assert!(matches!(Ring::coset(8, q(15), 2u32, 2u32), Err(Error::NotPrime { .. })));
    assert!(Ring::coset(5, q(11), 2u32, 3u32).is_err());
    assert!(matches!(Ring::coset(1 << 29, p, 5u32, 33u32), Err(Error::TooLarge { .. })));
    Ok(())
}

#[test]
fn steps_are_named_where_roots_do_not_determine_them() -> Result<()> {
    let steps = |numbers: &[u32]| numbers.iter().copied().map(U256::from).collect::<Vec<U256>>();
    let refused = |ring: Ring, numbers: &[u32]| ring.with_steps(&steps(numbers)).is_err();
    assert!(refused(Ring::cyclic(8, q(97))?, &[33]));
    assert!(refused(Ring::negacyclic(8, q(97))?, &[33]));
    // x^8 − 1 modulo two primes, with a root and a step for each prime
    let two = || Ring::new(&[q(97), q(17)], Quotient::Binomial { n: 8, c: U256::ONE });
    let named = two()?.with_roots(&steps(&[1, 1]))?.with_steps(&steps(&[33, 9]))?;
    assert_eq!(named.steps(), steps(&[33, 9]));
    assert_ne!(named, two()?.with_roots(&steps(&[1, 1]))?);
    for wrong in [&[33][..], &[33, 9, 9], &[33, 17], &[0, 9]] {
        assert!(refused(two()?, wrong), "{wrong:?}");
    }
    Ok(())
}

#[test]
fn only_transforms_are_scaled() -> Result<()> {
    let ring = Ring::cyclic(8, q(97))?;
    for op in [Op::PointMul, Op::MulAdd, Op::Mul, Op::Compose, Op::Decompose] {
        let plan = Planner::default().plan(&Job::new(&ring, op).scale(5u32));
        assert!(matches!(plan, Err(Error::Unsupported { .. })), "{op}");
    }
    Ok(())
}

/// Tables are cached by their `Debug` form, so this form must differ between tables with different offsets, roots or
/// scales. Forward and inverse transforms share a table.
#[test]
fn tables_differ_where_they_must() -> Result<()> {
    let p = Modulus::from_hex(FIELDS[0])?;
    let mut random = Random::new(3);
    let table = |op, scale: u32, ring: &PolyType| -> Result<String> {
        let job = Job::new(ring, op).order(Order::Natural).scale(scale);
        Ok(Planner::new(Limits::h200()).plan(&job)?.tables().map(|table| format!("{table:?}")).collect())
    };
    let rings = [(); 3].map(|()| Coset::random(p, 1 << 10, &mut random).and_then(|coset| coset.ring()));
    let mut seen = std::collections::HashSet::new();
    for ring in rings {
        let ring = ring?;
        for scale in [1, 2] {
            let forward = table(Op::Forward, scale, &ring)?;
            assert_eq!(forward, table(Op::Inverse, scale, &ring)?);
            assert!(seen.insert(forward));
        }
    }
    Ok(())
}
