//! Tests that every device computes the same bits, decrypted numbers included.

use ringforge::Engine;
use ringforge_ckks::{Ckks, Complex64, Parameters, Randomness, Result};
use ringforge_cpu::level::{self, Level};
use ringforge_testkit::Target;

/// Runs a short computation, and returns its public key, decrypted numbers and ciphertexts as bytes.
fn life(engine: &Engine, parameters: Parameters) -> Result<Vec<Vec<u8>>> {
    let ckks = Ckks::new(engine, parameters)?;
    let mut random = Randomness::from_seed([3; 32]);
    let secret = ckks.keys().secret_key(&mut random)?;
    let public = ckks.keys().public_key(&secret, &mut random)?;
    let key = ckks.keys().relinearisation_key(&secret, &mut random)?;
    let turn = ckks.keys().galois_keys(&secret, &[1, -2], true, &mut random)?;
    let top = ckks.parameters().top_level();
    let items: Vec<Vec<Complex64>> = (1..4).map(|i| vec![Complex64::from(1.0 / f64::from(i)); 5]).collect();
    let a = ckks.encrypt(&ckks.encode(&items, top)?, &public, &mut random)?;
    let b = ckks.encrypt(&ckks.encode(&items, top)?, &public, &mut random)?;
    let product = ckks.multiply_rescale(&a, &b, &key)?;
    let other = ckks.rescale(&ckks.multiply(&a, &b, &key)?)?;
    let numbers = ckks.decrypt(&product, &secret)?.concat();
    let mut all = ckks.rotations(&product, &[1, -2], &turn)?;
    all.push(ckks.conjugate(&other, &turn)?);
    all.push(ckks.sub(&product, &other)?);
    all.push(ckks.add_number(&product, -0.3)?);
    all.push(ckks.encrypt(&ckks.encode_exact(&items, top, ckks.parameters().scale())?, &public, &mut random)?);
    all.push(ckks.multiply_number(&a, 0.7)?);
    all.extend([a, product, other]);
    let mut bytes = vec![ckks.keys().public_key_to_bytes(&public)?];
    bytes.push(numbers.iter().flat_map(|z| [z.re, z.im]).flat_map(f64::to_le_bytes).collect());
    bytes.extend(all.iter().map(|c| ckks.ciphertext_to_bytes(c)).collect::<Result<Vec<_>>>()?);
    Ok(bytes)
}

fn check(target: Target, log_n: u32) -> Result<()> {
    let Some(device) = target.device() else { return Ok(()) };
    let engine = Engine::on(device);
    for (q, p, drop) in [
        (&[55, 40, 40][..], &[56][..], 1),
        (&[60, 50, 60, 50, 45], &[60, 60], 1),
        (&[30, 30, 26, 26, 30], &[30, 30], 2),
        (&[31, 31, 27], &[31], 1),
    ] {
        let parameters = || Parameters::insecure(log_n, q, p)?.rescaling_by(drop);
        assert!(life(&engine, parameters()?)? == life(&Engine::cpu(), parameters()?)?, "{q:?} on {}", engine.device());
    }
    Ok(())
}

/// Tests that a CPU computes the same bits with its fastest instructions, with AVX2, and without SIMD butterflies.
#[test]
#[allow(unsafe_code)]
fn instructions_of_the_cpu() -> Result<()> {
    let outcome = || life(&Engine::cpu(), Parameters::insecure(9, &[60, 50, 60, 50, 45], &[60, 60])?);
    let wanted = outcome()?;
    let mut levels = vec![Level::Baseline];
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("adx")
    {
        levels.push(Level::Avx2);
    }
    for level in levels {
        // SAFETY: the CPU has the instructions; other tests give the same results with them.
        unsafe { level::set(level) };
        let found = outcome();
        // SAFETY: these are the instructions that the CPU reports.
        unsafe { level::set(Level::Detected) };
        assert!(found? == wanted, "{level:?}");
    }
    Ok(())
}

#[test]
fn emulator() -> Result<()> {
    check(Target::Emulator, 5)
}

#[test]
fn cuda() -> Result<()> {
    check(Target::Cuda, 5)?;
    check(Target::Cuda, 13)
}
