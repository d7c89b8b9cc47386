//! Generates a thousand key pairs, encapsulates and decapsulates in one batch, with CTRU-768 on the best device.
//!
//! `cargo run --release -p ringforge-ctru --example 04-batch-kem`

use std::error::Error;

use ringforge::Engine;
use ringforge_ctru::{Batch, Ctru768};

fn main() -> Result<(), Box<dyn Error>> {
    let engine = Engine::best();
    let device = engine.device();
    println!("on {device}");
    let kem = Batch::<Ctru768>::new(&engine)?;
    let sizes = kem.sizes();

    // host memory holds the items one after another: item i starts at byte i times the item size
    let batch = 1000;
    let (mut public_keys, mut secret_keys) = (vec![0; batch * sizes.public_key], vec![0; batch * sizes.secret_key]);
    kem.generate(&mut public_keys, &mut secret_keys)?.into_result()?;
    println!("{batch} key pairs of {} and {} bytes", sizes.public_key, sizes.secret_key);

    let (mut ciphertexts, mut sent) = (vec![0; batch * sizes.ciphertext], vec![0; batch * sizes.shared_key]);
    kem.encapsulate(&public_keys, &mut ciphertexts, &mut sent)?.into_result()?;
    println!("{batch} shared keys of {} bytes in ciphertexts of {}", sizes.shared_key, sizes.ciphertext);

    let mut received = vec![0; batch * sizes.shared_key];
    kem.decapsulate(&secret_keys, &ciphertexts, &mut received)?.into_result()?;
    assert_eq!(sent, received);
    println!("both ends have the same keys");

    // decapsulating a corrupted ciphertext is no error: it gives a pseudorandom key, and the other keys are unaffected
    ciphertexts[0] ^= 1;
    kem.decapsulate(&secret_keys, &ciphertexts, &mut received)?.into_result()?;
    assert_ne!(sent[..sizes.shared_key], received[..sizes.shared_key]);
    assert_eq!(sent[sizes.shared_key..], received[sizes.shared_key..]);

    // the `_on` methods return handles: keys stay in device memory until they are exported
    let stream = device.stream()?;
    let (public_keys, secret_keys) = kem.generate_on(&stream, batch)?;
    let (ciphertexts, shared_keys) = kem.encapsulate_on(&stream, &public_keys)?;
    let received_keys = kem.decapsulate_on(&stream, &secret_keys, &ciphertexts)?;
    shared_keys.export(&stream, &mut sent)?.into_result()?;
    received_keys.export(&stream, &mut received)?.into_result()?;
    assert_eq!(sent, received);
    println!("{} more, made from keys that never left the device", received_keys.len());
    Ok(())
}
