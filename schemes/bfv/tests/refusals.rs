//! Tests that invalid arguments are typed errors.

use ringforge::Engine;
use ringforge_bfv::{Error, Parameters, Result, rlwe};

use crate::scheme::Scheme;

fn small() -> Result<Scheme> {
    Scheme::new(&Engine::cpu(), Parameters::insecure(4, 97, &[40, 40], &[41])?)
}

#[test]
fn arguments() -> Result<()> {
    let mut scheme = small()?;
    let (one, two) = (scheme.encrypt(&[vec![1; 16]])?, scheme.encrypt(&[vec![1; 16], vec![2]])?);
    let bfv = &scheme.bfv;
    assert_eq!(bfv.encode(&[[1u64; 17]]).unwrap_err(), Error::Slots { slots: 16, got: 17 });
    assert_eq!(bfv.encode(&[[97u64]]).unwrap_err(), Error::Number { modulus: 97, signed: false });
    for number in [49i64, -49, i64::MIN, i64::MAX] {
        let wanted = Error::Number { modulus: 97, signed: true };
        assert_eq!(bfv.encode_signed(&[[number]]).unwrap_err(), wanted);
    }
    assert_eq!(bfv.add(&one, &two).unwrap_err(), Error::Batches { left: 1, right: 2 });
    assert_eq!(bfv.multiply(&two, &one, &scheme.relinearise).unwrap_err(), Error::Batches { left: 2, right: 1 });
    let plain = bfv.encode(&[[1u64], [2]])?;
    assert_eq!(bfv.add_plain(&one, &plain).unwrap_err(), Error::Batches { left: 1, right: 2 });
    let missing = rlwe::Error::NoRotationKey { steps: 4 };
    assert_eq!(bfv.rotate_rows(&one, 4, &scheme.turn).unwrap_err(), missing.into());
    // a key for fewer primes
    let trimmed = bfv.keys().trimmed_galois_keys(&scheme.secret, &[(5, 1)].into(), &mut scheme.random)?;
    let wanted = rlwe::Error::Trimmed { limbs: 1 };
    assert_eq!(bfv.rotate_rows(&one, 1, &trimmed).unwrap_err(), wanted.clone().into());
    assert_eq!(bfv.keys().galois_keys_to_bytes(&trimmed).unwrap_err(), wanted);
    let none = bfv.keys().galois_keys(&scheme.secret, &[], false, &mut scheme.random)?;
    assert_eq!(bfv.rotate_columns(&one, &none).unwrap_err(), rlwe::Error::NoConjugationKey.into());
    Ok(())
}

#[test]
fn foreign_arguments() -> Result<()> {
    let mut scheme = small()?;
    let mut other = Scheme::new(&Engine::cpu(), Parameters::insecure(4, 193, &[40, 39], &[41])?)?;
    let (own, foreign) = (scheme.encrypt(&[vec![1]])?, other.encrypt(&[vec![1]])?);
    let plain = other.bfv.encode(&[[1u64]])?;
    let bfv = &scheme.bfv;
    let results = [
        bfv.add(&own, &foreign),
        bfv.negate(&foreign),
        bfv.add_plain(&own, &plain),
        bfv.encrypt(&plain, &scheme.public, &mut scheme.random),
        bfv.encrypt(&bfv.encode(&[[1u64]])?, &other.public, &mut scheme.random),
        bfv.multiply(&own, &own, &other.relinearise),
        bfv.rotate_rows(&own, 1, &other.turn),
        bfv.rotate_columns(&own, &other.turn),
        bfv.rotate_rows(&foreign, 0, &scheme.turn),
    ];
    for (i, result) in results.into_iter().enumerate() {
        assert!(matches!(result, Err(Error::Rlwe(rlwe::Error::Foreign { .. }))), "{i}: {result:?}");
    }
    assert!(matches!(bfv.decrypt(&own, &other.secret), Err(Error::Rlwe(rlwe::Error::Foreign { .. }))));
    assert!(matches!(bfv.decrypt(&foreign, &scheme.secret), Err(Error::Rlwe(rlwe::Error::Foreign { .. }))));
    Ok(())
}

#[test]
fn parameters() -> Result<()> {
    let refused = |log_n, t, q: &[u32], p: &[u32]| match Parameters::insecure(log_n, t, q, p) {
        Err(Error::Rlwe(rlwe::Error::Parameters { why })) => why,
        other => panic!("{other:?}"),
    };
    // not a prime, not 1 modulo 2N, too long
    for t in [65535, 65539, 0x1fff_ffff_ffff_ffe1] {
        let why = refused(4, t, &[55; 3], &[56]);
        assert!(why.contains(&t.to_string()) && why.contains("prime of at most 60 bits"), "{why}");
    }
    let prime = Parameters::insecure(4, 97, &[55], &[56])?.q()[0].value_u64().unwrap_or(0);
    assert!(refused(4, prime, &[55; 3], &[56]).contains("must differ"));
    assert!(refused(4, Parameters::plain_modulus(4, 40)?, &[35], &[36]).contains("more bits than"));
    assert!(refused(4, Parameters::plain_modulus(4, 40)?, &[31, 31], &[31]).contains("above 32 bits"));
    assert!(matches!(
        Parameters::new(12, 65537, &[55; 3], &[56]),
        Err(Error::Rlwe(rlwe::Error::Insecure { bits: 221, most: 106, .. }))
    ));
    assert!(refused(4, 0, &[55; 3], &[56]).contains("prime of at most 60 bits"));
    assert!(matches!(Parameters::plain_modulus(4, 61), Err(Error::Rlwe(rlwe::Error::Parameters { .. }))));
    Ok(())
}

#[test]
fn malformed_bytes() -> Result<()> {
    let mut scheme = small()?;
    let a = scheme.encrypt(&[vec![1], vec![2]])?;
    let bytes = scheme.bfv.ciphertext_to_bytes(&a)?;
    let is_refused = |bytes: &[u8]| {
        matches!(scheme.bfv.ciphertext_from_bytes(bytes), Err(Error::Rlwe(rlwe::Error::Malformed { .. })))
    };
    assert!(!is_refused(&bytes));
    (0..bytes.len()).step_by(5).for_each(|length| assert!(is_refused(&bytes[..length]), "{length}"));
    for at in 0..40 {
        let mut other = bytes.clone();
        other[at] ^= 1;
        assert!(is_refused(&other), "{at}");
    }
    let mut other = bytes.clone();
    let last = other.len() - 8;
    other[last..].fill(0xff);
    assert!(is_refused(&other));
    let key = scheme.bfv.keys().public_key_to_bytes(&scheme.public)?;
    assert!(is_refused(&key));
    let other = Scheme::new(&Engine::cpu(), Parameters::insecure(4, 193, &[40, 40], &[41])?)?;
    assert!(other.bfv.ciphertext_from_bytes(&bytes).is_err());
    Ok(())
}
