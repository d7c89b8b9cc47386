//! Tests of batches on every device: interoperability with the crate `ml-kem`, errors of single items, handles.

use ringforge::{Device, Engine, Error};
use ringforge_batch::{Batch, ItemError, KemScheme};
use ringforge_ml_kem::{KeyError, MlKem512, MlKem768, MlKem1024};
use ringforge_testkit::{devices, seed};

use crate::support::{Items, ORACLES, Oracle};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Tests that this crate and the crate `ml-kem` decapsulate each other's ciphertexts to the same shared keys.
fn both_directions<M: KemScheme>(device: &Device, oracle: &Oracle, batch: usize) -> Outcome {
    let kem = Batch::<M>::new(&Engine::on(device.clone()))?;
    let sizes = kem.sizes();
    let (mut public_keys, mut secret_keys) = (vec![0; batch * sizes.public_key], vec![0; batch * sizes.secret_key]);
    kem.generate(&mut public_keys, &mut secret_keys)?.into_result()?;
    let (mut ciphertexts, mut shared_keys) = (vec![0; batch * sizes.ciphertext], vec![0; batch * 32]);
    kem.encapsulate(&public_keys, &mut ciphertexts, &mut shared_keys)?.into_result()?;
    for item in 0..batch {
        let part = |bytes: &[u8], size: usize| bytes[item * size..][..size].to_vec();
        let received =
            (oracle.decapsulate)(&part(&secret_keys, sizes.secret_key), &part(&ciphertexts, sizes.ciphertext));
        assert_eq!(received, Some(part(&shared_keys, 32)), "{} on {device}, item {item}", M::NAME);
    }

    let theirs = Items::new(oracle, seed(), batch);
    kem.decapsulate(&theirs.secret_keys, &theirs.ciphertexts, &mut shared_keys)?.into_result()?;
    assert_eq!(shared_keys, theirs.shared_keys, "{} on {device}", M::NAME);
    Ok(())
}

#[test]
fn keys_and_ciphertexts_interoperate() -> Outcome {
    for device in devices() {
        both_directions::<MlKem512>(&device, &ORACLES[0], 5)?;
        both_directions::<MlKem768>(&device, &ORACLES[1], 33)?;
        both_directions::<MlKem1024>(&device, &ORACLES[2], 6)?;
    }
    Ok(())
}

#[test]
fn bad_items_are_reported_and_isolated() -> Outcome {
    for device in devices() {
        let kem = Batch::<MlKem768>::new(&Engine::on(device.clone()))?;
        let sizes = kem.sizes();
        let Items { mut public_keys, mut secret_keys, ciphertexts, shared_keys } = Items::new(&ORACLES[1], seed(), 4);
        // In item 1's public key, coefficients 5 and 767 become 4095. In item 2's secret key, one bit of the public key
        // flips.
        let bad = &mut public_keys[sizes.public_key..][..sizes.public_key];
        (bad[7], bad[8], bad[1150], bad[1151]) = (bad[7] | 0xf0, 0xff, bad[1150] | 0xf0, 0xff);
        secret_keys[2 * sizes.secret_key + 1152] ^= 1;
        let bad_public = ItemError { item: 1, kind: KeyError::InvalidPublicKey { coefficient: 5 }.into() };
        let bad_secret = ItemError { item: 2, kind: KeyError::WrongHash.into() };

        let (mut sent, mut keys) = (vec![1; 4 * sizes.ciphertext], vec![1; 4 * 32]);
        assert_eq!(kem.encapsulate(&public_keys, &mut sent, &mut keys)?.errors(), [bad_public]);
        assert!(sent[sizes.ciphertext..][..sizes.ciphertext].iter().chain(&keys[32..64]).all(|&byte| byte == 0));
        assert!(keys.chunks(32).enumerate().all(|(item, key)| (item == 1) == (key == [0; 32])));

        assert_eq!(kem.decapsulate(&secret_keys, &ciphertexts, &mut keys)?.errors(), [bad_secret]);
        assert_eq!(keys[64..96], [0; 32]);
        assert_eq!((&keys[..64], &keys[96..]), (&shared_keys[..64], &shared_keys[96..]));

        // Device handles must report the same errors. A handle also reports the errors of the items from which it was
        // made.
        let stream = device.stream()?;
        let public = kem.import_public_keys(&stream, &public_keys)?;
        assert_eq!(public.status(&stream)?.errors(), [bad_public]);
        let (from_bad, _) = kem.encapsulate_on(&stream, &public)?;
        let secret = kem.import_secret_keys(&stream, &secret_keys)?;
        let received = kem.decapsulate_on(&stream, &secret, &from_bad)?;
        assert_eq!(received.export(&stream, &mut keys)?.errors(), [bad_public, bad_secret]);
        assert!(keys.chunks(32).enumerate().all(|(item, key)| [1, 2].contains(&item) == (key == [0; 32])));
    }
    Ok(())
}

#[test]
fn handles_agree() -> Outcome {
    for device in devices() {
        let kem = Batch::<MlKem512>::new(&Engine::on(device.clone()))?;
        let stream = device.stream()?;
        for batch in [0, 1, 40] {
            let (public, secret) = kem.generate_on(&stream, batch)?;
            let (ciphertexts, sent) = kem.encapsulate_on(&stream, &public)?;
            let received = kem.decapsulate_on(&stream, &secret, &ciphertexts)?;
            let (mut ours, mut theirs) = (vec![1; 32 * batch], vec![2; 32 * batch]);
            sent.export(&stream, &mut ours)?.into_result()?;
            received.export(&stream, &mut theirs)?.into_result()?;
            assert_eq!(ours, theirs);
        }
        let (_, own) = kem.generate_on(&stream, 3)?;
        let (ciphertexts, _) = kem.encapsulate_on(&stream, &kem.generate_on(&stream, 2)?.0)?;
        assert!(matches!(kem.decapsulate_on(&stream, &own, &ciphertexts), Err(Error::ArgumentSize { .. })));
        assert!(kem.import_ciphertexts(&stream, &[0; 5]).is_err());
        assert!(!format!("{own:?} {kem:?}").contains('['));
    }
    Ok(())
}
