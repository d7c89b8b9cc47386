//! Signs a thousand digests at once and verifies them, on the best device of this machine.
//!
//! `cargo run --release -p ringforge-sm2 --example 05-sm2-batch`

use std::error::Error;

use ringforge::Engine;
use ringforge_sm2::{DEFAULT_ID, Identity, Mode, PrivateKey, PublicKey, Signature, Signer, Verifier, batch_status};

fn main() -> Result<(), Box<dyn Error>> {
    let engine = Engine::best();
    let device = engine.device();
    println!("on {device}");
    // `Throughput` looks up table entries at secret addresses, which is safe only if no one else uses the device;
    // `Scan` avoids such addresses
    let signer = Signer::new(&Engine::on(device.clone()), Mode::Throughput)?;
    let verifier = Verifier::new(&Engine::on(device.clone()))?;

    // host memory holds the items one after another: item i starts at byte i times the item size
    let batch = 1000;
    let (mut private_keys, mut public_keys) = (vec![0; 32 * batch], vec![0; 64 * batch]);
    signer.generate(&mut private_keys, &mut public_keys)?.into_result()?;

    // the digest to sign is SM3(Z_A ‖ message), where Z_A is a hash of the public key and its owner's identifier
    let mut digests = Vec::new();
    for (i, key) in public_keys.chunks_exact(64).enumerate() {
        let identity = Identity::new(&PublicKey::from_bytes(key.try_into()?)?, DEFAULT_ID)?;
        digests.extend(identity.digest(format!("message {i}").as_bytes()));
    }
    let mut signatures = vec![0; 64 * batch];
    signer.sign(&private_keys, &digests, &mut signatures)?.into_result()?;
    verifier.verify(&public_keys, &digests, &signatures)?.into_result()?;
    println!("{batch} signatures are valid");

    // a corrupted signature is reported and does not affect the others
    signatures[64 * 7] ^= 1;
    let found = verifier.verify(&public_keys, &digests, &signatures)?;
    println!("{}", found.errors()[0]);
    assert_eq!((found.errors().len(), found.errors()[0].item), (1, 7));

    // many signatures by few keys: verification with cached tables of the keys, all data in device memory
    let stream = device.stream()?;
    let cached = verifier.cache(&stream, &public_keys[..64 * 4], 64 << 20)?.map_err(|_| "a key is not on the curve")?;
    let keys: Vec<u8> = private_keys.chunks_exact(32).take(4).cycle().take(batch).flatten().copied().collect();
    let numbers = stream.upload(&(0..batch as u32).map(|i| i % 4).collect::<Vec<_>>())?;
    let digests_there = stream.upload(&digests)?;
    let (mut signed, mut statuses) = (device.buffer(64 * batch)?, device.buffer(4 * batch)?);
    signer.sign_on(&stream, &signer.prepare(&stream, &keys)?, &digests_there, &mut signed, &mut statuses)?;
    cached.verify_on(&stream, &numbers, &digests_there, &signed, &mut statuses)?;
    batch_status(&stream, &statuses)?.into_result()?;
    println!("{batch} more by {} keys, verified with their tables", cached.len());

    // a single signature on the CPU, encoded in DER for other programs
    let key = PrivateKey::from_bytes(private_keys[..32].try_into()?)?;
    let signature = key.sign_digest(digests[..32].try_into()?);
    let der = signature.to_der()?;
    key.public_key().verify_digest(digests[..32].try_into()?, &Signature::from_der(&der)?)?;
    println!("a signature is {} bytes of DER", der.len());
    Ok(())
}
