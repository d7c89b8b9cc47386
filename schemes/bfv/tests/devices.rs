//! Tests that every device computes the same bits.

use ringforge::Engine;
use ringforge_bfv::{Parameters, Result};
use ringforge_testkit::{Random, Target};

use crate::scheme::Scheme;

/// Runs a short computation, and returns its ciphertexts as bytes, and then the decrypted integers of one.
fn life(engine: &Engine, parameters: Parameters, batch: usize) -> Result<Vec<Vec<u8>>> {
    let mut scheme = Scheme::new(engine, parameters)?;
    let mut random = Random::new(3);
    let [x, y] = [0, 1].map(|_| scheme.integers(&mut random, batch));
    let (a, b, bfv) = (scheme.encrypt(&x)?, scheme.encrypt(&y)?, scheme.bfv.clone());
    let plain = bfv.encode(&y[..1])?;
    let product = bfv.multiply(&a, &b, &scheme.relinearise)?;
    let mut all = vec![bfv.square(&b, &scheme.relinearise)?, bfv.rotate_rows(&product, -3, &scheme.turn)?];
    all.push(bfv.rotate_columns(&a, &scheme.turn)?);
    all.push(bfv.sub(&bfv.add_plain(&a, &plain)?, &bfv.multiply_plain(&b, &plain)?)?);
    all.push(product);
    let mut bytes = all.iter().map(|c| bfv.ciphertext_to_bytes(c)).collect::<Result<Vec<_>>>()?;
    bytes.push(bfv.decrypt(&all[4], &scheme.secret)?.concat().iter().flat_map(|x| x.to_le_bytes()).collect());
    Ok(bytes)
}

fn check(target: Target, log_n: u32, batch: usize) -> Result<()> {
    let Some(device) = target.device() else { return Ok(()) };
    let engine = Engine::on(device);
    let large = Parameters::plain_modulus(log_n, 60)?;
    for (t, q, p) in [
        (65537, &[55, 55, 55][..], &[56][..]),
        (large, &[60; 5], &[61, 61]),
        (65537, &[31, 31, 30, 29], &[31, 31]),
        (65537, &[50; 4], &[51]),
    ] {
        let parameters = || Parameters::insecure(log_n, t, q, p);
        let same = life(&engine, parameters()?, batch)? == life(&Engine::cpu(), parameters()?, batch)?;
        assert!(same, "{q:?} on {}", engine.device());
    }
    Ok(())
}

#[test]
fn emulator() -> Result<()> {
    check(Target::Emulator, 5, 3)
}

#[test]
fn cuda() -> Result<()> {
    check(Target::Cuda, 5, 9)?;
    check(Target::Cuda, 13, 2)
}
