//! Tests of the comparison of ciphertexts and of the check of public keys, at their edges.

use ringforge::Engine;
use ringforge_batch::{Batch, ItemError, KemScheme};
use ringforge_ml_kem::{KeyError, MlKem512};
use ringforge_testkit::{devices, seed};
use shake::{ExtendableOutput, Shake256, Update, XofReader};

use crate::support::{Items, ORACLES};

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[test]
fn each_part_of_a_ciphertext_is_compared() -> Outcome {
    let Items { secret_keys, ciphertexts, .. } = Items::new(&ORACLES[0], seed(), 1);
    let places: Vec<usize> = (0..MlKem512::SIZES.ciphertext).step_by(5).collect();
    let changed = places.iter().map(|&place| {
        let mut ciphertext = ciphertexts.clone();
        ciphertext[place] ^= 1 << (place % 8);
        ciphertext
    });
    let changed: Vec<Vec<u8>> = changed.collect();
    // the key of a rejected ciphertext: SHAKE-256 of z, at the end of the secret key, and the ciphertext
    let rejected = |ciphertext: &Vec<u8>| {
        let mut key = vec![0; 32];
        let hash = Shake256::default().chain(&secret_keys[secret_keys.len() - 32..]).chain(ciphertext);
        hash.finalize_xof().read(&mut key);
        key
    };
    let wanted: Vec<u8> = changed.iter().flat_map(rejected).collect();
    for device in devices() {
        let kem = Batch::<MlKem512>::new(&Engine::on(device.clone()))?;
        let mut keys = vec![0; wanted.len()];
        kem.decapsulate(&secret_keys.repeat(places.len()), &changed.concat(), &mut keys)?.into_result()?;
        for (place, (key, wanted)) in places.iter().zip(keys.chunks(32).zip(wanted.chunks(32))) {
            assert!(key == wanted, "byte {place} on {device}");
        }
    }
    Ok(())
}

#[test]
fn coefficients_of_public_keys_are_below_q() -> Outcome {
    let Items { public_keys, .. } = Items::new(&ORACLES[0], seed(), 1);
    // the first coefficient, of 12 bits
    let keys: Vec<u8> = [3328u16, 3329, 4095]
        .iter()
        .flat_map(|value| {
            let mut key = public_keys.clone();
            (key[0], key[1]) = (*value as u8, key[1] & 0xf0 | (value >> 8) as u8);
            key
        })
        .collect();
    for device in devices() {
        let kem = Batch::<MlKem512>::new(&Engine::on(device))?;
        let (mut sent, mut shared) = (vec![0; 3 * MlKem512::SIZES.ciphertext], [0; 96]);
        let error = |item| ItemError { item, kind: KeyError::InvalidPublicKey { coefficient: 0 }.into() };
        assert_eq!(kem.encapsulate(&keys, &mut sent, &mut shared)?.errors(), [error(1), error(2)]);
    }
    Ok(())
}
