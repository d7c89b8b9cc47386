//! Tests of decryption with flooding noise: standard deviation, new noise in each decryption, errors, and equal noise
//! on every device.

use ringforge::Engine;
use ringforge_ckks::{Ckks, Complex64, Error, Flooding, Parameters, Randomness, Result};
use ringforge_testkit::Target;

#[test]
fn flooding_noise_has_the_requested_deviation() -> Result<()> {
    for (q, p) in [(&[60, 40, 40][..], &[60][..]), (&[31, 31, 31], &[31])] {
        let ckks = Ckks::new(&Engine::cpu(), Parameters::insecure(10, q, p)?)?;
        let mut random = Randomness::from_seed([1; 32]);
        let secret = ckks.keys().secret_key(&mut random)?;
        let public = ckks.keys().public_key(&secret, &mut random)?;
        let x = [vec![Complex64::new(0.5, -0.25); 512], vec![Complex64::I; 512]];
        let c = ckks.encrypt(&ckks.encode(&x, 1)?, &public, &mut random)?;
        // For an error bound ε = 2^-20, 16 decryptions and 10 bits, the deviation is √192·2^5·ε for a coefficient, and
        // √N = 32 times as large for a number.
        let flooding = Flooding::new(f64::exp2(-20.0), 16, 10)?;
        let said = flooding.deviation(ckks.parameters());
        assert!((said / (f64::exp2(-10.0) * 192f64.sqrt()) - 1.0).abs() < 1e-9);

        let exact = ckks.decrypt(&c, &secret)?;
        let mut squares = Vec::new();
        let mut last: Vec<Vec<Complex64>> = exact.clone();
        for _ in 0..16 {
            let found = ckks.decrypt_flooded(&c, &secret, &flooding, &mut random)?;
            let distance = |to: &[Vec<Complex64>], item: usize| {
                found[item].iter().zip(&to[item]).map(|(x, y)| (x - y).norm_sqr()).sum::<f64>() / 512.0
            };
            for item in 0..2 {
                squares.push(distance(&exact, item));
                // The noise must differ from that of the previous decryption and, in the next assertion, from that of
                // the other item.
                assert!(distance(&last, item) > said * said / 2.0);
            }
            let noise = |item: usize| found[item].iter().zip(&exact[item]).map(|(x, y)| x - y).collect::<Vec<_>>();
            let between: f64 = noise(0).iter().zip(noise(1)).map(|(a, b)| (a - b).norm_sqr()).sum();
            assert!(between > 512.0 * said * said);
            last = found;
        }
        let deviation = (squares.iter().sum::<f64>() / squares.len() as f64).sqrt();
        // The estimate is from 16384 numbers; its standard deviation is below 0.5 %, and the bounds leave over 1 %. The
        // actual noise may be an eighth larger than requested.
        assert!((0.985..1.14).contains(&(deviation / said)), "{deviation:e} of {said:e}");
    }
    Ok(())
}

#[test]
fn excessive_flooding_is_refused() -> Result<()> {
    let ckks = Ckks::new(&Engine::cpu(), Parameters::insecure(5, &[50, 40], &[50])?)?;
    let mut random = Randomness::from_seed([1; 32]);
    let secret = ckks.keys().secret_key(&mut random)?;
    let public = ckks.keys().public_key(&secret, &mut random)?;
    let c = ckks.encrypt(&ckks.encode(&[[Complex64::ONE; 16]], 0)?, &public, &mut random)?;
    for (error, decryptions, bits) in [(0.0, 1, 30), (f64::NAN, 1, 30), (-1.0, 1, 30), (1e-6, 0, 30), (1e-6, 1, 129)] {
        assert!(matches!(Flooding::new(error, decryptions, bits), Err(Error::Flooding { .. })), "{error}");
    }
    for flooding in [Flooding::new(1e-6, 1, 128)?, Flooding::new(1e300, u64::MAX, 128)?] {
        let refused = ckks.decrypt_flooded(&c, &secret, &flooding, &mut random);
        assert!(matches!(refused, Err(Error::Flooding { .. })));
    }
    Ok(())
}

fn same_noise_on(target: Target) -> Result<()> {
    let Some(device) = target.device() else { return Ok(()) };
    let numbers = |engine: &Engine| {
        let ckks = Ckks::new(engine, Parameters::insecure(5, &[50, 40], &[50])?)?;
        let mut random = Randomness::from_seed([2; 32]);
        let secret = ckks.keys().secret_key(&mut random)?;
        let public = ckks.keys().public_key(&secret, &mut random)?;
        let c = ckks.encrypt(&ckks.encode(&[[Complex64::ONE; 16]; 3], 1)?, &public, &mut random)?;
        ckks.decrypt_flooded(&c, &secret, &Flooding::new(1e-9, 4, 20)?, &mut random)
    };
    assert_eq!(numbers(&Engine::on(device))?, numbers(&Engine::cpu())?);
    Ok(())
}

#[test]
fn emulator() -> Result<()> {
    same_noise_on(Target::Emulator)
}

#[test]
fn cuda() -> Result<()> {
    same_noise_on(Target::Cuda)
}
