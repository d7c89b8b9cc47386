//! Tests of polynomials and sums over slots: their values, levels and scales, and equal bits on every device.

use ringforge::Engine;
use ringforge_ckks::{Ciphertext, Ckks, Complex64, Error, GaloisKeys, Parameters, Polynomial, Randomness};
use ringforge_ckks::{RelinearisationKey, Result, SecretKey, rlwe};
use ringforge_testkit::Target;

/// A scheme, its keys, and encrypted numbers in an interval.
struct Case {
    ckks: Ckks,
    secret: SecretKey,
    key: RelinearisationKey,
    turn: GaloisKeys,
    numbers: Vec<f64>,
    encrypted: Ciphertext,
}

fn case(engine: &Engine, parameters: Parameters, [from, to]: [f64; 2], scale: f64, turns: &[i64]) -> Result<Case> {
    let ckks = Ckks::new(engine, parameters)?;
    let mut random = Randomness::from_seed([9; 32]);
    let secret = ckks.keys().secret_key(&mut random)?;
    let (public, key) =
        (ckks.keys().public_key(&secret, &mut random)?, ckks.keys().relinearisation_key(&secret, &mut random)?);
    let turn = ckks.keys().galois_keys(&secret, turns, false, &mut random)?;
    let slots = ckks.parameters().slots();
    // both ends of the interval, and numbers between
    let numbers: Vec<f64> =
        (0..slots).map(|i| from + (to - from) * (i * 37 % slots) as f64 / (slots - 1) as f64).collect();
    let items = [numbers.iter().map(|&x| x.into()).collect::<Vec<Complex64>>(), vec![from.into(); slots]];
    let plain = ckks.encode_at(&items, ckks.parameters().top_level(), scale)?;
    let encrypted = ckks.encrypt(&plain, &public, &mut random)?;
    Ok(Case { ckks, secret, key, turn, numbers, encrypted })
}

fn parameters(log_n: u32) -> Result<Parameters> {
    Parameters::insecure(log_n, &[60, 50, 50, 50, 50, 50, 50], &[60, 60])
}

impl Case {
    /// Evaluates a polynomial, checks level, scale and numbers, and returns the largest error.
    fn error(&self, polynomial: &Polynomial) -> Result<f64> {
        let found = self.ckks.evaluate(polynomial, &self.encrypted, &self.key)?;
        assert_eq!(found.level(), self.encrypted.level() - polynomial.levels());
        assert_eq!(found.scale(), self.ckks.parameters().scale());
        let found = &self.ckks.decrypt(&found, &self.secret)?[0];
        let wrong = self.numbers.iter().zip(found).map(|(&x, found)| (found - polynomial.value(x)).norm());
        Ok(wrong.fold(0.0, f64::max))
    }
}

/// Coefficients of either parity, or all.
fn coefficients(degree: usize, step: usize) -> Vec<f64> {
    (0..=degree)
        .map(|i| if (degree - i).is_multiple_of(step) { ((i * 23 + 5) % 17) as f64 / 17.0 - 0.5 } else { 0.0 })
        .collect()
}

#[test]
fn polynomials_have_their_values_at_least_depth() -> Result<()> {
    let case = case(&Engine::cpu(), parameters(9)?, [-1.0, 1.0], 2f64.powi(50), &[])?;
    for degree in (0..=17).chain([31, 40, 63]) {
        for step in [1, 2] {
            let all = coefficients(degree, step);
            for polynomial in [Polynomial::monomials(&all)?, Polynomial::chebyshev(&all, -1.0..=1.0)?] {
                let error = case.error(&polynomial)?;
                // the derivative of T_n is up to n²
                let most = 1e-11 * ((degree + 1) * (degree + 1)) as f64;
                assert!(error < most, "{error}: {polynomial:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn intervals_and_scales_are_those_of_the_caller() -> Result<()> {
    for [from, to] in [[2.0, 5.0], [-3.0, -1.0], [0.0, 0.5], [-8.0, 8.0]] {
        for scale in [2f64.powi(46), 1e15] {
            let case = case(&Engine::cpu(), parameters(8)?, [from, to], scale, &[])?;
            let wave = Polynomial::interpolate(f64::sin, from..=to, 15)?;
            let error = case.error(&wave)?;
            assert!(error < 1e-8, "{error} on {from} to {to}, scale {scale}");
            let other = case.ckks.evaluate_to(&wave, &case.encrypted, 2f64.powi(45), &case.key)?;
            assert_eq!(other.scale(), 2f64.powi(45));
            let found = case.ckks.decrypt(&other, &case.secret)?[0][1];
            assert!((found - wave.value(case.numbers[1])).norm() < 1e-8);
        }
    }
    Ok(())
}

#[test]
fn short_primes_are_dropped_together() -> Result<()> {
    let parameters = Parameters::insecure(8, &[30; 12], &[30; 3])?.rescaling_by(2)?;
    let case = case(&Engine::cpu(), parameters, [-1.0, 1.0], 2f64.powi(60), &[])?;
    let error = case.error(&Polynomial::chebyshev(&coefficients(13, 1), -1.0..=1.0)?)?;
    assert!(error < 1e-9, "{error}");
    Ok(())
}

#[test]
fn what_cannot_be_evaluated_is_refused() -> Result<()> {
    let case = case(&Engine::cpu(), parameters(6)?, [-1.0, 1.0], 2f64.powi(50), &[1])?;
    let evaluate = |polynomial: &Polynomial, a: &Ciphertext| case.ckks.evaluate(polynomial, a, &case.key);
    let long = Polynomial::monomials(&coefficients(64, 1))?;
    assert!(matches!(evaluate(&long, &case.encrypted), Err(Error::NoLevel { from: 6, wanted: -1 })));
    let large = Polynomial::monomials(&[0.0, 1e100])?;
    assert!(matches!(evaluate(&large, &case.encrypted), Err(Error::Number)));
    let refused = case.ckks.evaluate_to(&Polynomial::monomials(&[1.0, 1.0])?, &case.encrypted, 1e300, &case.key);
    assert!(matches!(refused, Err(Error::Scale { .. })), "{refused:?}");
    let above = Parameters::insecure(6, &[60, 50, 50], &[60])?.with_scale(2f64.powi(49))?;
    let other = self::case(&Engine::cpu(), above, [-1.0, 1.0], 2f64.powi(50), &[])?;
    let refused = other.ckks.evaluate(&Polynomial::monomials(&[1.0, 1.0])?, &other.encrypted, &other.key);
    assert!(matches!(refused, Err(Error::Scales { .. })), "{refused:?}");
    let refused = case.ckks.sum_slots(&case.encrypted, 1, 4, &case.turn);
    assert!(matches!(refused, Err(Error::Rlwe(rlwe::Error::NoRotationKey { steps: 2 }))), "{refused:?}");
    Ok(())
}

#[test]
fn slots_are_summed() -> Result<()> {
    for (stride, count) in [(1, 1), (1, 2), (1, 7), (3, 8), (2, 13), (1, 32)] {
        let turns = Ckks::sum_rotations(stride, count);
        let case = case(&Engine::cpu(), parameters(6)?, [-1.0, 1.0], 2f64.powi(50), &turns)?;
        let sums = case.ckks.sum_slots(&case.encrypted, stride, count, &case.turn)?;
        let squares = case.ckks.multiply_rescale(&case.encrypted, &case.encrypted, &case.key)?;
        let squares = case.ckks.sum_slots(&squares, stride, count, &case.turn)?;
        let [sums, squares] = [&sums, &squares].map(|sums| case.ckks.decrypt(sums, &case.secret));
        let (sums, squares, slots) = (&sums?[0], &squares?[0], case.numbers.len());
        for slot in 0..slots {
            let all = (0..count).map(|i| case.numbers[(slot + i * stride as usize) % slots]);
            let wrong = [
                (sums[slot] - all.clone().sum::<f64>()).norm(),
                (squares[slot] - all.map(|x| x * x).sum::<f64>()).norm(),
            ];
            assert!(wrong.iter().all(|wrong| *wrong < 1e-9), "{wrong:?} in slot {slot} of {stride} x {count}");
        }
    }
    Ok(())
}

fn check(target: Target, log_n: u32) -> Result<()> {
    let Some(device) = target.device() else { return Ok(()) };
    let polynomials = [Polynomial::interpolate(f64::exp, -1.0..=1.5, 13)?, Polynomial::monomials(&coefficients(6, 1))?];
    let bytes = |engine: &Engine| -> Result<Vec<Vec<u8>>> {
        let case = case(engine, parameters(log_n)?, [-1.0, 1.5], 2f64.powi(50), &Ckks::sum_rotations(1, 3))?;
        let evaluate = |polynomial: &Polynomial| case.ckks.evaluate(polynomial, &case.encrypted, &case.key);
        let mut all = polynomials.iter().map(evaluate).collect::<Result<Vec<_>>>()?;
        all.push(case.ckks.sum_slots(&case.encrypted, 1, 3, &case.turn)?);
        all.iter().map(|c| case.ckks.ciphertext_to_bytes(c)).collect()
    };
    assert!(bytes(&Engine::on(device))? == bytes(&Engine::cpu())?, "{target:?}");
    Ok(())
}

#[test]
fn emulator() -> Result<()> {
    check(Target::Emulator, 5)
}

#[test]
fn cuda() -> Result<()> {
    check(Target::Cuda, 12)
}
