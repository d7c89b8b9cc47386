//! Runs the example of `docs/guides/encrypted.md` on ciphertexts, and checks that they stay in device memory.

use ringforge_ckks::ringforge::Engine;
use ringforge_ckks::{Ckks, Complex64, Parameters, Randomness, Result};

#[test]
fn product_rescale_and_rotation() -> Result<()> {
    let ckks = Ckks::new(&Engine::best(), Parameters::new(13, &[50, 38, 38, 38], &[50])?)?;
    let mut random = Randomness::system();
    let secret = ckks.keys().secret_key(&mut random)?;
    let public = ckks.keys().public_key(&secret, &mut random)?;
    let relinearise = ckks.keys().relinearisation_key(&secret, &mut random)?;
    let rotate = ckks.keys().galois_keys(&secret, &[1], false, &mut random)?;

    let top = ckks.parameters().top_level();
    let numbers = |factor: f64| (0..4096).map(|i| Complex64::from(f64::from(i) * factor)).collect::<Vec<_>>();
    let a = ckks.encrypt(&ckks.encode(&[numbers(0.001)], top)?, &public, &mut random)?;
    let b = ckks.encrypt(&ckks.encode(&[numbers(0.002)], top)?, &public, &mut random)?;
    let product = ckks.rescale(&ckks.multiply(&a, &b, &relinearise)?)?;
    let rotated = ckks.rotate(&product, 1, &rotate)?;
    let found = ckks.decrypt(&rotated, &secret)?; // the first copy to the host
    assert!((found[0][99].re - 0.1 * 0.2).abs() < 1e-5); // slot 100 of the product

    // All ciphertexts are still in device memory.
    let device = ckks.engine().device();
    for ciphertext in [&a, &b, &product, &rotated] {
        assert_eq!(ciphertext.buffer().device().to_string(), device.to_string());
        assert_eq!(ciphertext.buffer().len(), ckks.parameters().ciphertext_bytes(ciphertext.level()));
    }
    Ok(())
}
