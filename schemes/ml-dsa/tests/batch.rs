//! Tests of batches on every device: agreement with the crate `ml-dsa` in both directions, errors of single items,
//! prepared keys, messages of all lengths.

use std::env;

use ringforge::{Device, Engine, Error, Limits};
use ringforge_batch::{ItemError, Messages, OK, PreHash, SignatureScheme, Signatures};
use ringforge_ml_dsa::{MlDsa44, MlDsa65, MlDsa87, SignatureError};
use ringforge_testkit::inject::unseen_steps;
use ringforge_testkit::{Scheme, Target, bytes, devices, seed};

use crate::sets::Sets;
use crate::support::{ORACLES, Oracle, damage, in_context, keys};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Tests that signatures are those of the crate `ml-dsa` for the same randomness, that each accepts what the other has
/// signed, and that both refuse the same damaged signatures.
fn agrees<M: SignatureScheme>(device: &Device, oracle: &Oracle, batch: usize, one_key: bool) -> Outcome {
    let dsa = Signatures::<M>::new(&Engine::on(device.clone()))?;
    let sizes = dsa.sizes();
    let [public_keys, secret_keys] = keys(oracle, seed(), if one_key { 1 } else { batch });
    let (context, random) = (bytes(seed() ^ 1, batch % 200), bytes(seed() ^ 2, 32 * batch));
    let texts: Vec<Vec<u8>> = (0..batch).map(|item| bytes(item as u64, item * item * 7 % 700)).collect();
    let texts: Vec<&[u8]> = texts.iter().map(|text| &**text).collect();
    let messages = Messages::new(&texts).with_context(&context)?;
    let mut signatures = vec![1; batch * sizes.signature];
    dsa.sign_from(&random, &secret_keys, &messages, &mut signatures)?.into_result()?;
    let key = |keys: &[u8], size: usize, item| keys[if one_key { 0 } else { item } * size..][..size].to_vec();
    for (item, signature) in signatures.chunks_exact(sizes.signature).enumerate() {
        let message = in_context(&context, texts[item]);
        let theirs = (oracle.sign)(&key(&secret_keys, sizes.secret_key, item), &message, &random[32 * item..][..32]);
        assert!(signature == theirs, "{} on {device}, item {item} of {batch}", M::NAME);
    }
    dsa.verify(&public_keys, &messages, &signatures)?.into_result()?;

    // hedged signatures differ from one another
    let mut hedged = vec![1; batch * sizes.signature];
    dsa.sign(&secret_keys, &messages, &mut hedged)?.into_result()?;
    assert_ne!(hedged, signatures);
    let mut expected = vec![];
    for (item, signature) in hedged.chunks_exact_mut(sizes.signature).enumerate() {
        damage(&oracle.parameters, item, signature);
        let public_key = key(&public_keys, sizes.public_key, item);
        if !(oracle.verify)(&public_key, &in_context(&context, texts[item]), signature) {
            expected.push(ItemError { item, kind: SignatureError::Invalid.into() });
        }
    }
    assert_eq!(dsa.verify(&public_keys, &messages, &hedged)?.errors().len(), expected.len());
    let found: Vec<usize> = dsa.verify(&public_keys, &messages, &hedged)?.errors().iter().map(|e| e.item).collect();
    assert_eq!(found, expected.iter().map(|e: &ItemError<SignatureError>| e.item).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn signatures_are_those_of_another_implementation() -> Outcome {
    for device in devices() {
        for one_key in [false, true] {
            agrees::<MlDsa44>(&device, &ORACLES[0], 9, one_key)?;
            agrees::<MlDsa65>(&device, &ORACLES[1], 17, one_key)?;
            agrees::<MlDsa87>(&device, &ORACLES[2], 10, one_key)?;
        }
    }
    Ok(())
}

#[test]
fn generated_keys_sign() -> Outcome {
    for device in devices() {
        let dsa = Signatures::<MlDsa65>::new(&Engine::on(device.clone()))?;
        let sizes = dsa.sizes();
        for batch in [0, 1, 5] {
            let mut public_keys = vec![1; batch * sizes.public_key];
            let mut secret_keys = vec![1; batch * sizes.secret_key];
            dsa.generate(&mut public_keys, &mut secret_keys)?.into_result()?;
            let texts = vec![&b"text"[..]; batch];
            let messages = Messages::new(&texts);
            let mut signatures = vec![1; batch * sizes.signature];
            dsa.sign(&secret_keys, &messages, &mut signatures)?.into_result()?;
            dsa.verify(&public_keys, &messages, &signatures)?.into_result()?;
            let other = Messages::new(&texts).with_context(b"other")?;
            assert_eq!(dsa.verify(&public_keys, &other, &signatures)?.errors().len(), batch);
        }
    }
    Ok(())
}

#[test]
fn prepared_keys_stay_on_the_device() -> Outcome {
    for device in devices() {
        let dsa = Signatures::<MlDsa44>::new(&Engine::on(device.clone()))?;
        let stream = device.stream()?;
        let [public_keys, secret_keys] = keys(&ORACLES[0], seed(), 1);
        let (signing, verifying) =
            (dsa.signing_keys(&stream, &secret_keys)?, dsa.verifying_keys(&stream, &public_keys)?);
        let texts = [&b"a"[..], b"b", b"c"];
        let messages = Messages::new(&texts);
        let representatives = dsa.represent_on(&stream, &verifying, &messages)?;
        let of_signer = dsa.represent_on(&stream, &signing, &messages)?;
        assert_eq!(stream.download::<u8>(&representatives)?, stream.download::<u8>(&of_signer)?);
        let [signatures, statuses] = dsa.sign_on(&stream, &signing, &representatives)?;
        assert_eq!(stream.download::<u32>(&statuses)?, [OK; 3]);
        let verified = dsa.verify_on(&stream, &verifying, &representatives, &signatures)?;
        assert_eq!(stream.download::<u32>(&verified)?, [OK; 3]);
        // the keys of verification do not sign
        assert!(matches!(dsa.sign_on(&stream, &verifying, &representatives), Err(Error::Arguments { .. })));
        assert!(!format!("{signing:?} {dsa:?}").contains('['));
    }
    Ok(())
}

#[test]
fn signatures_of_digests_are_those_of_another_implementation() -> Outcome {
    // HashML-DSA with SHA-512 in the context "ab": M' of FIPS 204, algorithm 4
    let digest = [5; 64];
    let identifier = [0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x03];
    let whole = [&[1, 2, b'a', b'b'][..], &identifier, &digest].concat();
    let [public_key, secret_key] = keys(&ORACLES[1], seed(), 1);
    for device in devices() {
        let dsa = Signatures::<MlDsa65>::new(&Engine::on(device))?;
        let digests = Messages::of_digests(PreHash::Sha512, &[&digest])?.with_context(b"ab")?;
        let mut signature = vec![0; dsa.sizes().signature];
        dsa.sign_from(&[3; 32], &secret_key, &digests, &mut signature)?.into_result()?;
        assert!(signature == (ORACLES[1].sign)(&secret_key, &whole, &[3; 32]));
        dsa.verify(&public_key, &digests, &signature)?.into_result()?;
        // it is no signature of the digest as a message
        let message = Messages::new(&[&digest]).with_context(b"ab")?;
        assert_eq!(dsa.verify(&public_key, &message, &signature)?.errors().len(), 1);
    }
    Ok(())
}

#[test]
fn sizes_that_do_not_fit_are_refused() -> Outcome {
    let dsa = Signatures::<MlDsa44>::new(&Engine::cpu())?;
    let sizes = dsa.sizes();
    let texts = [&b"a"[..], b"b", b"c"];
    let messages = Messages::new(&texts);
    let mut signatures = vec![1; 3 * sizes.signature];
    let two_keys = vec![0; 2 * sizes.secret_key];
    assert!(matches!(dsa.sign(&two_keys, &messages, &mut signatures), Err(Error::ArgumentSize { .. })));
    assert!(matches!(dsa.sign(&two_keys[1..], &messages, &mut signatures), Err(Error::Length { .. })));
    let key = &two_keys[..sizes.secret_key];
    assert!(matches!(dsa.sign(key, &messages, &mut signatures[1..]), Err(Error::ArgumentSize { .. })));
    assert!(matches!(dsa.sign_from(&[0; 95], key, &messages, &mut signatures), Err(Error::ArgumentSize { .. })));
    Ok(())
}

/// Signatures of a GPU by one key, `RINGFORGE_SIGNATURES` of them: 2^20 unless it says otherwise. Our verification accepts
/// each, and so does the crate `ml-dsa`: each of up to 2^20, and otherwise one in a thousand.
#[test]
#[ignore = "takes half a minute on a GPU: scripts/gpu-check.sh runs it"]
fn many_signatures_are_accepted() -> Outcome {
    const BATCH: usize = 1 << 16;
    let Some(device) = Target::Cuda.device() else { return Ok(()) };
    let count = env::var("RINGFORGE_SIGNATURES").ok().and_then(|count| count.parse().ok()).unwrap_or(1 << 20);
    let (dsa, stream) = (Signatures::<MlDsa65>::new(&Engine::on(device.clone()))?, device.stream()?);
    let (sizes, oracle) = (dsa.sizes(), &ORACLES[1]);
    let [public_key, secret_key] = keys(oracle, seed(), 1);
    let (signing, verifying) = (dsa.signing_keys(&stream, &secret_key)?, dsa.verifying_keys(&stream, &public_key)?);
    for first in (0..count).step_by(BATCH) {
        let texts: Vec<[u8; 8]> = (first..first + BATCH).map(|item| (item as u64).to_le_bytes()).collect();
        let texts: Vec<&[u8]> = texts.iter().map(|text| &text[..]).collect();
        let representatives = dsa.represent_on(&stream, &signing, &Messages::new(&texts))?;
        let [signatures, statuses] = dsa.sign_on(&stream, &signing, &representatives)?;
        assert!(stream.download::<u32>(&statuses)?.iter().all(|&status| status == OK), "from {first} on");
        let statuses = dsa.verify_on(&stream, &verifying, &representatives, &signatures)?;
        assert!(stream.download::<u32>(&statuses)?.iter().all(|&status| status == OK), "from {first} on");
        let signatures: Vec<u8> = stream.download(&signatures)?;
        let step = if count > 1 << 20 { 1000 } else { 1 };
        let items: Vec<usize> = (0..BATCH).step_by(step).collect();
        let threads = std::thread::available_parallelism()?.get();
        std::thread::scope(|scope| {
            for items in items.chunks(items.len().div_ceil(threads)) {
                let (signatures, texts, public_key) = (&signatures, &texts, &public_key);
                scope.spawn(move || {
                    for &item in items {
                        let signature = &signatures[item * sizes.signature..][..sizes.signature];
                        let is_valid = (oracle.verify)(public_key, &in_context(b"", texts[item]), signature);
                        assert!(is_valid, "signature {}", first + item);
                    }
                });
            }
        });
    }
    Ok(())
}

#[test]
fn skipped_items_are_never_ok() {
    let plans = Sets::plans(&Limits::cpu()).expect("plans");
    // steps on a key that all items share have no item to skip
    let of_verification = plans.iter().filter(|named| named.name.contains("Verif") && named.name.contains("PerItem"));
    for named in of_verification {
        // for the first item whose signature is not damaged
        assert_eq!(unseen_steps(named, OK, 3, 5).expect("runs"), [0; 0], "{}", named.name);
    }
}
