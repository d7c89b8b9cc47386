//! Tests of bootstrapping: precision for numbers of every kind, its levels, and equal bits on every device.

use ringforge::Engine;
use ringforge_ckks::{
    BootstrapKeys, BootstrapPlan, Bootstrapper, Ciphertext, Ckks, Complex64, Error, Parameters, rlwe,
};
use ringforge_ckks::{PublicKey, Randomness, Result, SecretKey};
use ringforge_testkit::Target;

/// A scheme with bootstrapping, and its keys.
struct Case {
    ckks: Ckks,
    bootstrapper: Bootstrapper,
    keys: BootstrapKeys,
    secret: SecretKey,
    public: PublicKey,
    random: Randomness,
}

/// Parameters with these levels for users, which have 40 bits, and these from coefficients to slots.
fn parameters(log_n: u32, users: usize, to_slots: usize) -> Result<Parameters> {
    let q = [&[60][..], &vec![40; users], &[60; 8], &vec![57; to_slots]].concat();
    Parameters::insecure(log_n, &q, &[61; 5])?.with_scale(2f64.powi(40))
}

/// Primes of at most 31 bits, of which two make a level, and a scale of 54 bits.
fn short_primes(log_n: u32) -> Result<Parameters> {
    let q = [&[30; 2][..], &[27; 8], &[29; 16], &[28; 8]].concat();
    Parameters::insecure(log_n, &q, &[31; 6])?.rescaling_by(2)?.with_scale(2f64.powi(54))
}

impl Case {
    fn new(engine: &Engine, parameters: Parameters, plan: BootstrapPlan) -> Result<Self> {
        let (ckks, mut random) = (Ckks::new(engine, parameters)?, Randomness::from_seed([7; 32]));
        let secret = ckks.keys().secret_key(&mut random)?;
        let (public, bootstrapper) = (ckks.keys().public_key(&secret, &mut random)?, Bootstrapper::new(&ckks, plan)?);
        let keys = bootstrapper.keys(&secret, &mut random)?;
        Ok(Self { ckks, bootstrapper, keys, secret, public, random })
    }

    fn encrypted(&mut self, items: &[Vec<Complex64>], level: usize) -> Result<Ciphertext> {
        self.ckks.encrypt(&self.ckks.encode(items, level)?, &self.public, &mut self.random)
    }

    /// −log2 of the root mean square difference of a ciphertext's numbers from these.
    fn bits(&self, found: &Ciphertext, wanted: &[Vec<Complex64>]) -> Result<f64> {
        let found = self.ckks.decrypt(found, &self.secret)?;
        let errors = found.iter().zip(wanted).flat_map(|(a, b)| a.iter().zip(b)).map(|(a, b)| (a - b).norm_sqr());
        let (count, sum) = errors.fold((0.0, 0.0), |(count, sum), error| (count + 1.0, sum + error));
        Ok(-f64::log2(sum / count) / 2.0)
    }
}

/// Numbers in the unit square.
fn numbers(slots: usize) -> Vec<Complex64> {
    let part = |i: usize| (i * 7919 % 2003) as f64 / 1001.0 - 1.0;
    (0..slots).map(|i| Complex64::new(part(i), part(3 * i + 1))).collect()
}

#[test]
fn numbers_of_every_kind_are_kept() -> Result<()> {
    for (parameters, least) in [(parameters(10, 5, 4)?, 24.5), (short_primes(10)?, 24.5)] {
        let mut case = Case::new(&Engine::cpu(), parameters, BootstrapPlan::default())?;
        let slots = case.ckks.parameters().slots();
        let part = |f: fn(Complex64) -> Complex64| numbers(slots).into_iter().map(f).collect::<Vec<_>>();
        let mut one = vec![Complex64::ZERO; slots];
        one[3] = Complex64::I;
        let items = [
            numbers(slots),
            vec![Complex64::ONE; slots],
            vec![Complex64::new(-1.0, 1.0); slots],
            vec![Complex64::ZERO; slots],
            one,
            part(|x| x.re.into()),
            part(|x| Complex64::I * x.im),
        ];
        let a = case.encrypted(&items, 3)?;
        let before = case.ckks.decrypt(&a, &case.secret)?;
        let found = case.bootstrapper.run(&a, &case.keys)?;
        assert_eq!((found.level(), found.scale(), found.batch()), (case.bootstrapper.output_level(), a.scale(), 7));
        for (i, wanted) in before.iter().enumerate() {
            let of_item = case.ckks.decrypt(&found, &case.secret)?[i].clone();
            let errors = of_item.iter().zip(wanted).map(|(a, b)| (a - b).norm_sqr()).sum::<f64>() / slots as f64;
            assert!(-errors.log2() / 2.0 > least, "item {i}: {} bits", -errors.log2() / 2.0);
        }
        // numbers of any size below a quarter of the message ratio are kept, with the distortion of the sine
        let large = [numbers(slots).into_iter().map(|x| x * 64.0).collect::<Vec<_>>()];
        let a = case.encrypted(&large, 3)?;
        assert!(case.bits(&case.bootstrapper.run(&a, &case.keys)?, &large)? > 7.5);
    }
    Ok(())
}

/// Tests other levels and scales of the input, real numbers, and numbers that are bootstrapped again and again.
#[test]
fn inputs_and_results_are_ordinary_ciphertexts() -> Result<()> {
    let mut case = Case::new(&Engine::cpu(), parameters(9, 6, 4)?, BootstrapPlan::default())?;
    let slots = case.ckks.parameters().slots();
    let items = [numbers(slots), vec![Complex64::new(0.5, -0.5); slots], numbers(slots)];
    let mut again = case.encrypted(&items, 6)?;
    for _ in 0..4 {
        again = case.bootstrapper.run(&again, &case.keys)?;
        assert_eq!((again.level(), again.batch()), (6, 3));
    }
    assert!(case.bits(&again, &items)? > 23.5, "{}", case.bits(&again, &items)?);
    // a product of a result is what it is of other ciphertexts
    let key = case.ckks.keys().relinearisation_key(&case.secret, &mut case.random)?;
    let square = case.ckks.multiply_rescale(&again, &again, &key)?;
    let squares = items.clone().map(|item| item.iter().map(|x| x * x).collect::<Vec<_>>());
    assert!(case.bits(&square, &squares)? > 22.0);

    for factor in [0.25, 8.0] {
        let scale = case.ckks.parameters().scale() * factor;
        let plain = case.ckks.encode_at(&items, 4, scale)?;
        let a = case.ckks.encrypt(&plain, &case.public, &mut case.random)?;
        let found = case.bootstrapper.run(&a, &case.keys)?;
        assert_eq!(found.scale(), scale);
        assert!(case.bits(&found, &items)? > 19.5, "{factor}: {}", case.bits(&found, &items)?);
    }
    let real = [numbers(slots).iter().map(|x| x.re.into()).collect::<Vec<_>>()];
    let a = case.encrypted(&real, 3)?;
    assert!(case.bits(&case.bootstrapper.run_real(&a, &case.keys)?, &real)? > 23.5);

    let low = case.encrypted(&items, 2)?;
    assert!(matches!(case.bootstrapper.run(&low, &case.keys), Err(Error::NoLevel { from: 2, wanted: 3 })));
    let other = Case::new(&Engine::cpu(), parameters(9, 5, 4)?, BootstrapPlan::default())?;
    assert!(matches!(other.bootstrapper.run(&a, &case.keys), Err(Error::Rlwe(rlwe::Error::Foreign { .. }))));
    assert!(matches!(
        other.bootstrapper.keys(&case.secret, &mut case.random),
        Err(Error::Rlwe(rlwe::Error::Foreign { .. }))
    ));
    Ok(())
}

/// Tests every number of linear maps, among them those that do not divide the number of layers.
#[test]
fn any_number_of_linear_maps_will_do() -> Result<()> {
    let layers = 5;
    for to_slots in 1..=layers {
        for to_coefficients in 1..=layers {
            let plan = BootstrapPlan {
                slots_to_coefficients: to_coefficients,
                coefficients_to_slots: to_slots,
                ..BootstrapPlan::default()
            };
            let parameters = parameters(layers as u32 + 1, to_coefficients, to_slots)?;
            let mut case = Case::new(&Engine::cpu(), parameters, plan)?;
            let items = [numbers(1 << layers)];
            let a = case.encrypted(&items, to_coefficients)?;
            let found = case.bootstrapper.run(&a, &case.keys)?;
            let bits = case.bits(&found, &items)?;
            assert_eq!(found.level(), to_coefficients);
            assert!(bits > 23.5, "{bits} bits with {to_coefficients} and {to_slots} maps");
        }
    }
    Ok(())
}

#[test]
fn parameters_that_do_not_fit_are_refused() -> Result<()> {
    let refused = |parameters: Parameters, plan| -> Result<String> {
        match Bootstrapper::new(&Ckks::new(&Engine::cpu(), parameters)?, plan) {
            Err(Error::Rlwe(rlwe::Error::Parameters { why })) => Ok(why),
            other => panic!("expected an error, got {other:?}"),
        }
    };
    let plan = BootstrapPlan::default();
    // too few levels; no map; more maps than layers
    assert!(refused(parameters(6, 2, 4)?, plan)?.contains("the top level is 14"));
    for (slots_to_coefficients, coefficients_to_slots) in [(0, 4), (3, 0), (6, 4), (3, 6)] {
        let plan = BootstrapPlan { slots_to_coefficients, coefficients_to_slots, ..plan };
        refused(parameters(6, 20, 4)?, plan)?;
    }
    // a P that is shorter than the two primes of q_0
    let short = Parameters::insecure(6, &[30; 34], &[31])?.rescaling_by(2)?;
    assert!(refused(short, plan)?.contains("a P with the bits of q_0"));
    Ok(())
}

/// Tests that a secure set is refused if its key for the sparse secret has too many bits.
#[test]
fn long_keys_for_the_sparse_secret_are_refused() -> Result<()> {
    let q = [&[45][..], &[31; 5], &[55; 8], &[52; 2]].concat();
    let plan = BootstrapPlan { slots_to_coefficients: 2, coefficients_to_slots: 2, ..BootstrapPlan::default() };
    let ckks = Ckks::new(&Engine::cpu(), Parameters::new(15, &q, &[56; 2])?)?;
    let refused = Bootstrapper::new(&ckks, plan);
    assert!(
        matches!(&refused, Err(Error::Rlwe(rlwe::Error::Parameters { why })) if why.contains("101 bits")),
        "{refused:?}"
    );
    Ok(())
}

fn check(target: Target, log_n: u32) -> Result<()> {
    let Some(device) = target.device() else { return Ok(()) };
    let results = |engine: &Engine, parameters: Parameters| -> Result<[Vec<u8>; 2]> {
        let mut case = Case::new(engine, parameters, BootstrapPlan::default())?;
        let a = case.encrypted(&[numbers(1 << (log_n - 1)), vec![Complex64::ONE]], 3)?;
        let found = [case.bootstrapper.run(&a, &case.keys)?, case.bootstrapper.run_real(&a, &case.keys)?];
        let [complex, real] = found.map(|found| case.ckks.ciphertext_to_bytes(&found));
        Ok([complex?, real?])
    };
    let engine = Engine::on(device);
    for parameters in [parameters(log_n, 3, 4), short_primes(log_n)] {
        let parameters = parameters?;
        let (found, wanted) = (results(&engine, parameters.clone())?, results(&Engine::cpu(), parameters)?);
        assert!(found == wanted, "{}", engine.device());
    }
    Ok(())
}

#[test]
fn emulator() -> Result<()> {
    check(Target::Emulator, 6)
}

#[test]
fn cuda() -> Result<()> {
    check(Target::Cuda, 6)?;
    check(Target::Cuda, 11)
}
