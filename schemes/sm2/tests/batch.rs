//! Tests signing, verification and hashing of batches on every device. Invalid items must not affect other items.

use crate::support::{bytes, pair, records, word};
use ringforge::{Device, Engine, Error, U256};
use ringforge_batch::ErrorKind;
use ringforge_sm2::{
    Digests, Identities, Identity, Mode, PrivateKey, PublicKey, Signature, Signer, Sm2Error, Verifier, batch_status,
    plans_in_blocks,
};
use ringforge_testkit::{Target, bytes as random_bytes, devices};
use serde_json::Value;

/// Items for verification: public keys, digests, signatures, and whether each item is valid.
#[derive(Default, Clone)]
struct Items {
    keys: Vec<u8>,
    digests: Vec<u8>,
    signatures: Vec<u8>,
    valid: Vec<bool>,
}

impl Items {
    fn push(&mut self, record: &Value) {
        self.keys.extend(pair(record, "x", "y"));
        self.digests.extend(word(record, "e"));
        self.signatures.extend(pair(record, "r", "s"));
        self.valid.push(record["result"] != "invalid");
    }

    /// Returns the indices of the items that a verifier reports as invalid.
    fn faults(&self, verifier: &Verifier) -> Vec<usize> {
        let outcome = verifier.verify(&self.keys, &self.digests, &self.signatures).expect("it runs");
        outcome.errors().iter().map(|fault| fault.item).collect()
    }

    fn bad(&self) -> Vec<usize> {
        (0..self.valid.len()).filter(|&i| !self.valid[i]).collect()
    }
}

fn of(lists: &[Value]) -> Items {
    let mut items = Items::default();
    lists.iter().for_each(|record| items.push(record));
    items
}

/// Returns all devices except the emulator, which is too slow for large batches.
fn fast_devices() -> Vec<Device> {
    [Target::Cpu, Target::Cuda].into_iter().filter_map(Target::device).collect()
}

/// Returns true if this is the emulator, which runs the CUDA source on the CPU and is too slow for large tables.
fn is_emulator(device: &Device) -> bool {
    device.to_string().contains("emulator")
}

#[test]
fn vectors_mixed_into_one_batch() {
    let (valid, invalid) = (records("verify_edge_valid", "tests"), records("verify_invalid", "tests"));
    // an invalid record after every two valid ones
    let mut mixed = Vec::new();
    let mut invalid = invalid.iter();
    for pair in valid.chunks(2) {
        mixed.extend(pair.iter().cloned());
        mixed.extend(invalid.next().cloned());
    }
    mixed.extend(invalid.cloned());
    let items = of(&mixed);
    let outcome =
        |verifier: &Verifier| verifier.verify(&items.keys, &items.digests, &items.signatures).expect("it runs");
    let on_cpu = outcome(&Verifier::new(&Engine::cpu()).expect("a CPU"));
    for device in devices() {
        let small = Verifier::small(&Engine::on(device.clone())).expect("it compiles");
        assert_eq!(items.faults(&small), items.bad(), "{device}, small tables");
        assert_eq!(outcome(&small), on_cpu, "{device}, reasons");
        if !is_emulator(&device) {
            assert_eq!(
                items.faults(&Verifier::new(&Engine::on(device.clone())).expect("it compiles")),
                items.bad(),
                "{device}"
            );
        }
    }
}

#[test]
fn invalid_items_have_the_right_error() {
    let invalid = records("verify_invalid", "tests");
    let items = of(&invalid);
    let verifier = Verifier::new(&Engine::cpu()).expect("a CPU");
    let outcome = verifier.verify(&items.keys, &items.digests, &items.signatures).expect("it runs");
    assert_eq!(outcome.errors().len(), invalid.len());
    for (fault, record) in outcome.errors().iter().zip(&invalid) {
        let flagged = |name: &str| record["flags"].as_array().is_some_and(|flags| flags.iter().any(|f| f == name));
        match fault.kind {
            ErrorKind::Scheme(Sm2Error::SignatureRange) => assert!(flagged("range"), "{record}"),
            ErrorKind::Scheme(Sm2Error::PublicKeyPoint) => {
                assert!(flagged("pk") || flagged("range") || flagged("non_canonical"), "{record}");
            }
            ErrorKind::Scheme(Sm2Error::SignatureWrong) => {}
            why => panic!("{why} for {record}"),
        }
    }
}

/// Tests that an invalid record is reported alone, wherever it is among valid records, in batches of several sizes.
#[test]
fn invalid_items_affect_no_others() {
    let (valid, invalid) = (records("verify_edge_valid", "tests"), records("verify_invalid", "tests"));
    for device in fast_devices() {
        let verifier = Verifier::new(&Engine::on(device.clone())).expect("it compiles");
        for (i, bad) in invalid.iter().enumerate() {
            for batch in [1, 2, 33, 130, if device.limits().is_cpu() { 150 } else { 2049 }] {
                let place = i * 37 % batch;
                let mut batch: Vec<Value> = valid.iter().cycle().skip(i).take(batch).cloned().collect();
                batch[place] = bad.clone();
                assert_eq!(of(&batch).faults(&verifier), [place], "{device}: {bad}");
            }
        }
        // one invalid item, at every position of a batch of 129 items
        let good = of(&valid.iter().cycle().take(129).cloned().collect::<Vec<_>>());
        for place in 0..129 {
            let mut items = good.clone();
            let (bad, one) = (of(&invalid[place % invalid.len()..][..1]), place);
            items.keys[64 * one..][..64].copy_from_slice(&bad.keys);
            items.digests[32 * one..][..32].copy_from_slice(&bad.digests);
            items.signatures[64 * one..][..64].copy_from_slice(&bad.signatures);
            assert_eq!(items.faults(&verifier), [place], "{device}");
        }
    }
}

#[test]
fn cached_keys_give_the_same_answers() {
    let records: Vec<_> =
        records("verify_edge_valid", "tests").into_iter().chain(records("verify_invalid", "tests")).collect();
    // only records with valid keys
    let good = records.iter().filter(|record| PublicKey::from_bytes(&pair(record, "x", "y")).is_ok());
    let good: Vec<Value> = good.take(230).cloned().collect();
    let items = of(&good);
    for device in fast_devices() {
        let verifier = Verifier::new(&Engine::on(device.clone())).expect("it compiles");
        let stream = device.stream().expect("a stream");
        let cached = verifier.cache(&stream, &items.keys, 1 << 30).expect("it runs").expect("all are keys");
        assert_eq!((cached.len(), cached.is_empty()), (good.len(), false));
        let numbers: Vec<u32> = (0..good.len() as u32).collect();
        let run = |numbers: &[u32]| {
            let [numbers, digests, signatures] =
                [bytemuck::cast_slice(numbers), &items.digests, &items.signatures].map(|b| stream.upload(b));
            let mut statuses = device.buffer(4 * good.len()).expect("memory");
            let (numbers, digests) = (numbers.expect("memory"), digests.expect("memory"));
            let signatures = signatures.expect("memory");
            cached.verify_on(&stream, &numbers, &digests, &signatures, &mut statuses).expect("it runs");
            batch_status(&stream, &statuses).expect("statuses")
        };
        let faults: Vec<usize> = run(&numbers).errors().iter().map(|fault| fault.item).collect();
        assert_eq!(faults, items.bad(), "{device}");
        // numbers past the last key give the error of an invalid key
        let beyond: Vec<u32> = numbers.iter().map(|number| number + good.len() as u32).collect();
        let outcome = run(&beyond);
        assert!(outcome.errors().len() == good.len() && outcome.errors()[0].kind == Sm2Error::PublicKeyPoint.into());
        // a key off the curve is reported, and more keys than the budget holds are an error
        let mut bad = items.keys.clone();
        bad[64 * 3 + 63] ^= 1;
        let refused = verifier.cache(&stream, &bad, 1 << 30).expect("it runs").expect_err("it is refused");
        assert_eq!((refused.errors().len(), refused.errors()[0].item), (1, 3));
        // two tables of 256 KiB fill a budget of 512 KiB
        let two = &items.keys[..2 * 64];
        assert_eq!(verifier.cache(&stream, two, 1 << 19).expect("it fits").expect("keys").len(), 2);
        let refused = verifier.cache(&stream, two, (1 << 19) - 1).expect_err("it does not fit");
        assert!(matches!(refused, Error::TooLarge { limit: 1, got: 2, .. }), "{refused}");
        assert!(verifier.cache(&stream, &[], 0).expect("nothing").expect("no keys").is_empty());
    }
}

#[test]
fn given_nonces_in_batches() {
    let tests = records("sign_fixed_k", "tests");
    let retries = records("sign_fixed_k", "retry");
    let rejected = records("sign_fixed_k", "private_keys_to_reject");
    let (mut keys, mut digests, mut nonces, mut expected) = (vec![], vec![], vec![], vec![]);
    let mut push = |d: [u8; 32], e: [u8; 32], k: Vec<u8>, signature: Result<[u8; 64], Sm2Error>| {
        keys.extend(d);
        digests.extend(e);
        nonces.extend(k);
        expected.push(signature);
    };
    for (i, record) in tests.iter().enumerate() {
        push(word(record, "d"), word(record, "e"), bytes(record, "k"), Ok(pair(record, "r", "s")));
        if let Some(record) = retries.get(i) {
            let nonce = |at: usize| crate::support::hex(record["k_sequence"][at].as_str().expect("digits"));
            push(word(record, "d"), word(record, "e"), nonce(0), Err(Sm2Error::NonceRefused));
            push(word(record, "d"), word(record, "e"), nonce(1), Ok(pair(record, "r", "s")));
        }
        if let Some(record) = rejected.get(i) {
            push(word(record, "d"), [7; 32], vec![9; 32], Err(Sm2Error::PrivateKeyRange));
        }
    }
    // nonces for which the last addition has equal points: 2 d 2^(w i) - n, where d is the digit of the last row i, for
    // windows of w = 16, 8 and 5 bits
    for nonce in [
        "fffe0001000000000000000000000000 8dfc2094de39fad4ac440bf6c62abedd",
        "fe000001000000000000000000000000 8dfc2094de39fad4ac440bf6c62abedd",
        "00000001000000000000000000000000 8dfc2094de39fad4ac440bf6c62abedd",
    ] {
        let nonce = crate::support::hex(&nonce.replace(' ', ""));
        let (key, digest) = ([5; 32], [6; 32]);
        let signature = PrivateKey::from_bytes(&key).expect("a key");
        let given = nonce.clone().try_into().expect("32 bytes");
        let signature = signature.sign_digest_with_nonce(&digest, &given).expect("a good nonce");
        push(key, digest, nonce, Ok(signature.to_bytes()));
    }
    for device in devices() {
        for mode in [Mode::Scan, Mode::Throughput] {
            let signer = if is_emulator(&device) {
                Signer::small(&Engine::on(device.clone()), mode)
            } else {
                Signer::new(&Engine::on(device.clone()), mode)
            };
            let signer = signer.expect("it compiles");
            let mut signatures = vec![1; 64 * expected.len()];
            let outcome = signer.sign_with_nonces(&keys, &digests, &nonces, &mut signatures).expect("it runs");
            let mut faults = outcome.errors().iter();
            for (i, (expected, found)) in expected.iter().zip(signatures.chunks_exact(64)).enumerate() {
                match expected {
                    Ok(signature) => assert_eq!(found, signature, "{device}, item {i}"),
                    Err(why) => {
                        let fault = faults.next().expect("a fault");
                        assert_eq!((fault.item, fault.kind), (i, (*why).into()), "{device}");
                        assert_eq!(found, [0; 64], "{device}, item {i}");
                    }
                }
            }
            assert_eq!(faults.next(), None, "{device}");
        }
    }
}

#[test]
fn signatures_verify() {
    for device in fast_devices() {
        let batch = if device.limits().is_cpu() { 300 } else { 5000 };
        let verifier = Verifier::new(&Engine::on(device.clone())).expect("it compiles");
        for mode in [Mode::Throughput, Mode::Scan] {
            let signer = Signer::new(&Engine::on(device.clone()), mode).expect("it compiles");
            let (mut private, mut public) = (vec![0; 32 * batch], vec![0; 64 * batch]);
            signer.generate(&mut private, &mut public).expect("it runs").into_result().expect("keys");
            let mut again = vec![0; 64 * batch];
            signer.public_keys(&private, &mut again).expect("it runs").into_result().expect("keys");
            assert_eq!(again, public, "{device}");
            let (digests, mut signatures) = (random_bytes(3, 32 * batch), vec![0; 64 * batch]);
            signer.sign(&private, &digests, &mut signatures).expect("it runs").into_result().expect("signatures");
            verifier.verify(&public, &digests, &signatures).expect("it runs").into_result().expect("they are valid");
            let mut other = vec![0; 64 * batch];
            signer.sign(&private[..32], &digests, &mut other).expect("it runs").into_result().expect("signatures");
            // the signatures are valid for the crate sm2, too, and no r (so no nonce) repeats
            for i in 0..batch.min(64) {
                let key = sm2_key(&public[..64]);
                verify_with_sm2(&key, &digests[32 * i..][..32], &other[64 * i..][..64]);
            }
            let mut first: Vec<&[u8]> = signatures.chunks(64).chain(other.chunks(64)).map(|s| &s[..32]).collect();
            first.sort_unstable();
            assert!(first.windows(2).all(|pair| pair[0] != pair[1]), "{device}: equal r");
        }
    }
}

/// Tests that repeated randomness, as in two copies of a virtual machine, gives independent nonces for different keys
/// or digests.
#[test]
fn nonces_are_hedged_with_key_and_digest() {
    let device = Device::cpu();
    let plans = plans_in_blocks(device.limits(), 128).expect("plans");
    let [prepare, sign, _] = plans.map(|plan| device.compile(&plan).expect("a CPU"));
    // returns r - e, which is the x coordinate of k G modulo n, and so identifies the nonce k
    let nonce = |random_key: u8, key: u8, digest: u8| {
        let ([random_key, key], digest) = ([random_key, key].map(|byte| [byte; 32]), [digest; 32]);
        let (mut prepared, mut signature, mut status) = ([0u64; 4], [0u8; 64], [1u32]);
        let call = prepare.on_host(1).input("private keys", &key).output("prepared keys", &mut prepared);
        call.run().expect("it runs");
        let call = sign
            .on_host(1)
            .input("prepared keys", &prepared)
            .input("digests", &digest)
            .input("random_key", &random_key);
        call.output("signatures", &mut signature).output("statuses", &mut status).run().expect("it runs");
        let key = PrivateKey::from_bytes(&key).expect("in range");
        assert_eq!(key.public_key().verify_digest(&digest, &Signature::from_bytes(&signature)), Ok(()));
        let n = U256::from_be_hex("fffffffeffffffffffffffffffffffff7203df6b21c6052b53bbf40939d54123");
        let [r, e] = [&signature[..32], &digest].map(U256::from_be_slice);
        if r >= e { r.wrapping_sub(&e) } else { r.wrapping_add(&n).wrapping_sub(&e) }
    };
    let one = nonce(1, 2, 3);
    assert_eq!(nonce(1, 2, 3), one);
    for (random_key, key, digest) in [(9, 2, 3), (1, 9, 3), (1, 2, 9)] {
        assert_ne!(nonce(random_key, key, digest), one, "draws {random_key}, key {key}, digest {digest}");
    }
}

fn sm2_key(key: &[u8]) -> sm2::dsa::VerifyingKey {
    let key = [&[4], key].concat();
    sm2::dsa::VerifyingKey::from_sec1_bytes("1234567812345678", &key).expect("a key")
}

fn verify_with_sm2(key: &sm2::dsa::VerifyingKey, digest: &[u8], signature: &[u8]) {
    use sm2::dsa::signature::hazmat::PrehashVerifier;
    let signature = sm2::dsa::Signature::from_slice(signature).expect("in range");
    key.verify_prehash(digest, &signature).expect("it is valid");
}

#[test]
fn wrong_lengths_are_refused() {
    let device = Device::cpu();
    let (signer, verifier) = (
        Signer::new(&Engine::on(device.clone()), Mode::Scan).expect("a CPU"),
        Verifier::new(&Engine::on(device.clone())).expect("a CPU"),
    );
    let cut = |result: Result<_, Error>| assert!(matches!(result, Err(Error::Length { .. })), "{result:?}");
    let uneven = |result: Result<_, Error>| assert!(matches!(result, Err(Error::ArgumentSize { .. })), "{result:?}");
    cut(signer.sign(&[0; 33], &[0; 32], &mut [0; 64]));
    uneven(signer.sign(&[0; 64], &[0; 32], &mut [0; 64]));
    uneven(signer.sign(&[0; 32], &[0; 32], &mut [0; 63]));
    uneven(signer.generate(&mut [0; 32], &mut [0; 65]));
    cut(signer.public_keys(&[0; 31], &mut [0; 64]));
    uneven(verifier.verify(&[0; 64], &[0; 32], &[0; 65]));
    uneven(verifier.verify(&[0; 128], &[0; 32], &[0; 64]));
    assert_eq!(verifier.verify(&[], &[], &[]).map(|outcome| outcome.into_result()), Ok(Ok(())));
    assert_eq!(Signature::from_bytes(&[3; 64]).to_bytes(), [3; 64]);
}

/// Copies each text to a slot of `slot` bytes. Returns the slots, and the lengths of the texts.
fn in_slots(texts: impl Iterator<Item = Vec<u8>>, slot: usize) -> (Vec<u8>, Vec<u32>) {
    let (mut slots, mut lengths) = (vec![], vec![]);
    for text in texts {
        lengths.push(text.len() as u32);
        slots.extend(text);
        slots.resize(slot * lengths.len(), 0xee);
    }
    (slots, lengths)
}

/// Returns a field of all records, concatenated.
fn all(records: &[&Value], field: &str) -> Vec<u8> {
    records.iter().flat_map(|record| bytes(record, field)).collect()
}

#[test]
fn identities_in_batches() {
    let tests = records("random_valid", "tests");
    let mut tests: Vec<Value> = tests.into_iter().chain(records("standard_examples", "message_level")).collect();
    tests.retain(|record| record["curve"].is_null() || record["curve"] == "sm2p256v1");
    let count = tests.len();
    for (slot, wanted) in [(16, 100), (256, 190), (8192, count)] {
        let fitting: Vec<&Value> = tests.iter().filter(|record| bytes(record, "id").len() <= slot).collect();
        assert!(fitting.len() >= wanted && count > 200);
        let (ids, lengths) = in_slots(fitting.iter().map(|record| bytes(record, "id")), slot);
        let keys: Vec<u8> = fitting.iter().flat_map(|record| pair(record, "x", "y")).collect();
        let expected = all(&fitting, "za");
        for device in devices() {
            let identities = Identities::new(&Engine::on(device.clone()), slot).expect("it compiles");
            let mut found = vec![0; expected.len()];
            identities.identify(&ids, &lengths, &keys, &mut found).expect("it runs");
            assert_eq!(found, expected, "{device}, slots of {slot} bytes");
            // one identifier for all keys
            identities.identify(&ids[..slot], &lengths[..1], &keys, &mut found).expect("it runs");
            let id = bytes(fitting[0], "id");
            for (key, found) in keys.chunks_exact(64).zip(found.chunks_exact(32)) {
                let key = PublicKey::from_bytes(key.try_into().expect("64 bytes")).expect("a key");
                assert_eq!(found, Identity::new(&key, &id).expect("short").as_bytes(), "{device}");
            }
        }
    }
    let cpu = Device::cpu();
    assert!(
        Identities::new(&Engine::on(cpu.clone()), 6).is_err() && Identities::new(&Engine::on(cpu.clone()), 0).is_err()
    );
    assert!(Identities::new(&Engine::on(cpu.clone()), 8196).is_err());
    let identities = Identities::new(&Engine::on(cpu.clone()), 4).expect("a CPU");
    let refused = |result| assert!(matches!(result, Err(Error::ArgumentSize { .. })), "{result:?}");
    refused(identities.identify(&[0; 4], &[1, 1], &[0; 128], &mut [0; 64]));
    refused(identities.identify(&[0; 12], &[1; 3], &[0; 128], &mut [0; 64]));
    refused(identities.identify(&[0; 8], &[1; 2], &[0; 128], &mut [0; 32]));
    // a length above the slot size is clamped to it
    let (mut found, mut all) = ([0; 32], [0; 32]);
    identities.identify(&[1; 4], &[5], &[2; 64], &mut found).expect("it runs");
    identities.identify(&[1; 4], &[4], &[2; 64], &mut all).expect("it runs");
    assert_eq!(found, all);
}

#[test]
fn messages_in_batches() {
    let tests = records("random_valid", "tests");
    // slots fit all messages except the longest ones
    let slot = 512;
    let fitting: Vec<&Value> = tests.iter().filter(|record| bytes(record, "msg").len() <= slot).collect();
    assert!(fitting.len() > 50);
    let (messages, lengths) = in_slots(fitting.iter().map(|record| bytes(record, "msg")), slot);
    let (identities, expected) = (all(&fitting, "za"), all(&fitting, "e"));
    for device in devices() {
        let hash = Digests::new(&Engine::on(device.clone()), slot).expect("it compiles");
        let mut digests = vec![0; expected.len()];
        hash.digest(&identities, &messages, &lengths, &mut digests).expect("it runs");
        assert_eq!(digests, expected, "{device}");
        // a single Z_A for all messages changes the digests of all messages with another Z_A
        hash.digest(&identities[..32], &messages, &lengths, &mut digests).expect("it runs");
        assert_eq!(digests[..32], expected[..32], "{device}");
        assert_ne!(digests[32..64], expected[32..64], "{device}");
    }
    let cpu = Device::cpu();
    assert!(Digests::new(&Engine::on(cpu.clone()), 6).is_err() && Digests::new(&Engine::on(cpu.clone()), 0).is_err());
    let hash = Digests::new(&Engine::on(cpu.clone()), 4).expect("a CPU");
    assert!(matches!(hash.digest(&[0; 64], &[0; 4], &[1], &mut [0; 32]), Err(Error::ArgumentSize { .. })));
}

/// Hashing, signing and verifying on buffers of a device give what the methods for host memory give.
#[test]
fn buffers_of_a_device_give_the_same_answers() {
    for device in fast_devices() {
        let (engine, stream) = (Engine::on(device.clone()), device.stream().expect("a stream"));
        let upload = |bytes: &[u8]| stream.upload(bytes).expect("memory");
        let buffer = |bytes| device.buffer(bytes).expect("memory");
        let signer = Signer::new(&engine, Mode::Scan).expect("it compiles");
        let (mut private, mut public) = (vec![0; 3 * 32], vec![0; 3 * 64]);
        signer.generate(&mut private, &mut public).expect("it runs").into_result().expect("keys");

        let (ids, lengths) = (b"first...second..", [5u32, 6]);
        let (mut identities, identify) = (buffer(2 * 32), Identities::new(&engine, 8).expect("it compiles"));
        let on_device = [upload(ids), upload(bytemuck::cast_slice(&lengths)), upload(&public[..2 * 64])];
        let [on_ids, on_lengths, on_keys] = &on_device;
        identify.identify_on(&stream, on_ids, on_lengths, on_keys, &mut identities).expect("it runs");
        let mut expected = vec![0; 2 * 32];
        identify.identify(ids, &lengths, &public[..2 * 64], &mut expected).expect("it runs");
        assert_eq!(stream.download::<u8>(&identities).expect("bytes"), expected);
        // one identifier for two keys
        identify
            .identify_on(&stream, &upload(&ids[..8]), &upload(&5u32.to_le_bytes()), on_keys, &mut identities)
            .expect("it runs");
        identify.identify(&ids[..8], &lengths[..1], &public[..2 * 64], &mut expected).expect("it runs");
        assert_eq!(stream.download::<u8>(&identities).expect("bytes"), expected);

        let (mut digests, hash) = (buffer(2 * 32), Digests::new(&engine, 8).expect("it compiles"));
        for count in [2, 1] {
            let of = &expected[..count * 32];
            hash.digest_on(&stream, &upload(of), on_ids, on_lengths, &mut digests).expect("it runs");
            let mut expected = vec![0; 2 * 32];
            hash.digest(of, ids, &lengths, &mut expected).expect("it runs");
            assert_eq!(stream.download::<u8>(&digests).expect("bytes"), expected);
        }

        let verifier = Verifier::new(&engine).expect("it compiles");
        let (digests, mut statuses) = (upload(&random_bytes(5, 3 * 32)), buffer(3 * 4));
        for count in [3, 1] {
            let keys = signer.prepare(&stream, &private[..count * 32]).expect("it runs");
            assert_eq!((keys.len(), keys.is_empty()), (count, false));
            let mut signatures = buffer(3 * 64);
            signer.sign_on(&stream, &keys, &digests, &mut signatures, &mut statuses).expect("it runs");
            batch_status(&stream, &statuses).expect("statuses").into_result().expect("signatures");
            verifier.verify_on(&stream, &upload(&public), &digests, &signatures, &mut statuses).expect("it runs");
            let wrong = batch_status(&stream, &statuses).expect("statuses");
            let items: Vec<usize> = wrong.errors().iter().map(|error| error.item).collect();
            assert_eq!(items, (count..3).collect::<Vec<_>>(), "{device}: one key signed all");
        }
    }
}

/// Tests 10^8 signatures on the GPU, and verifies 10^6 of them also with the crate `sm2`. The test needs 10^8
/// signatures to reach rare carries in the arithmetic, which have a probability of about 2^-32.
#[test]
#[ignore = "half a minute of a GPU alone"]
fn a_hundred_million_signatures() {
    use rayon::prelude::*;
    let Some(device) = Target::Cuda.device() else { return };
    const BATCH: usize = 1 << 20;
    let stream = device.stream().expect("a stream");
    let verifier = Verifier::new(&Engine::on(device.clone())).expect("it compiles");
    let signers =
        [Mode::Throughput, Mode::Scan].map(|mode| Signer::new(&Engine::on(device.clone()), mode).expect("it compiles"));
    let (mut private, mut public) = (vec![0; 32 * BATCH], vec![0; 64 * BATCH]);
    signers[0].generate(&mut private, &mut public).expect("it runs").into_result().expect("keys");
    let prepared = signers[0].prepare(&stream, &private).expect("it runs");
    let keys = stream.upload(&public).expect("memory");
    let cached = verifier.cache(&stream, &public[..64 * 256], 1 << 30).expect("it runs").expect("keys");
    let one = signers[0].prepare(&stream, &private[..32]).expect("it runs");
    let numbers = stream.upload(&vec![0u32; BATCH]).expect("memory");
    let mut signatures = device.buffer(64 * BATCH).expect("memory");
    let mut statuses = device.buffer(4 * BATCH).expect("memory");
    let rounds = 100_000_000 / BATCH + 1;
    for round in 0..rounds {
        let digests = random_bytes(round as u64, 32 * BATCH);
        let on_device = stream.upload(&digests).expect("memory");
        let signer = &signers[usize::from(round % 4 == 3)];
        let by_one = round % 2 == 1;
        let key = if by_one { &one } else { &prepared };
        signer.sign_on(&stream, key, &on_device, &mut signatures, &mut statuses).expect("it runs");
        batch_status(&stream, &statuses).expect("statuses").into_result().expect("signatures");
        if by_one {
            cached.verify_on(&stream, &numbers, &on_device, &signatures, &mut statuses).expect("it runs");
        } else {
            verifier.verify_on(&stream, &keys, &on_device, &signatures, &mut statuses).expect("it runs");
        }
        batch_status(&stream, &statuses).expect("statuses").into_result().expect("they are valid");
        if round + 2 > rounds {
            let signatures: Vec<u8> = stream.download(&signatures).expect("bytes");
            (0..1_000_000).into_par_iter().for_each(|i| {
                let key = sm2_key(&public[64 * if by_one { 0 } else { i }..][..64]);
                verify_with_sm2(&key, &digests[32 * i..][..32], &signatures[64 * i..][..64]);
            });
        }
    }
}

/// Tests the digest kernel with the SM3 vectors: the first 32 bytes of a vector's input are passed as Z_A. Vectors with
/// shorter inputs are skipped.
#[test]
fn digests_are_sm3() {
    let repeated =
        |record: &Value| bytes(record, "pattern").repeat(record["repeat"].as_u64().expect("a count") as usize);
    let of = |list, input: &dyn Fn(&Value) -> Vec<u8>| -> Vec<(Vec<u8>, [u8; 32])> {
        let vectors = records("sm3", list);
        let inputs = vectors.iter().map(|record| (input(record), word(record, "digest")));
        inputs.filter(|(input, _)| input.len() >= 32).collect()
    };
    for inputs in [of("tests", &|record| bytes(record, "msg")), of("repeated", &repeated)] {
        assert!(inputs.len() >= 3);
        let longest = inputs.iter().map(|(input, _)| input.len() - 32).max().unwrap_or(0);
        let slot = longest.next_multiple_of(4);
        let (messages, lengths) = in_slots(inputs.iter().map(|(input, _)| input[32..].to_vec()), slot);
        let identities: Vec<u8> = inputs.iter().flat_map(|(input, _)| input[..32].to_vec()).collect();
        let expected: Vec<u8> = inputs.iter().flat_map(|(_, digest)| *digest).collect();
        for device in devices() {
            let mut found = vec![0; expected.len()];
            let hash = Digests::new(&Engine::on(device.clone()), slot).expect("it compiles");
            hash.digest(&identities, &messages, &lengths, &mut found).expect("it runs");
            assert_eq!(found, expected, "{device}, slots of {slot} bytes");
        }
    }
}
