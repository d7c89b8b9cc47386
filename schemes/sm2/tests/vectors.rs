//! Tests single operations on the CPU against published and constructed vectors. `kat/README.md` names their sources.

use crate::support::{bytes, file, pair, records, word};
use ringforge_sm2::{Identity, PrivateKey, PublicKey, Signature, Sm2Error};

fn key(record: &serde_json::Value) -> Result<PublicKey, Sm2Error> {
    PublicKey::from_bytes(&pair(record, "x", "y"))
}

fn verify(record: &serde_json::Value) -> Result<(), Sm2Error> {
    key(record)?.verify_digest(&word(record, "e"), &Signature::from_bytes(&pair(record, "r", "s")))
}

#[test]
fn multiples_of_the_base_point() {
    let mut keys = 0;
    for record in records("params", "multiples_of_G") {
        if let Ok(key) = PrivateKey::from_bytes(&word(&record, "k")) {
            assert_eq!(key.public_key().to_bytes(), pair(&record, "x", "y"), "{record}");
            keys += 1;
        }
    }
    assert!(keys > 0, "no multiple belongs to a key");
}

#[test]
fn given_nonces() {
    for record in records("sign_fixed_k", "tests") {
        let key = PrivateKey::from_bytes(&word(&record, "d")).expect("a key");
        assert_eq!(key.public_key().to_bytes(), pair(&record, "x", "y"), "{record}");
        let signature = key.sign_digest_with_nonce(&word(&record, "e"), &word(&record, "k"));
        assert_eq!(signature.map(|s| s.to_bytes()), Ok(pair(&record, "r", "s")), "{record}");
    }
    for record in records("sign_fixed_k", "retry") {
        let key = PrivateKey::from_bytes(&word(&record, "d")).expect("a key");
        let nonces = record["k_sequence"].as_array().expect("nonces");
        let sign = |nonce: &serde_json::Value| {
            let nonce = crate::support::hex(nonce.as_str().expect("digits")).try_into().expect("32 bytes");
            key.sign_digest_with_nonce(&word(&record, "e"), &nonce)
        };
        assert_eq!(sign(&nonces[0]), Err(Sm2Error::NonceRefused), "{record}");
        assert_eq!(sign(&nonces[1]).map(|s| s.to_bytes()), Ok(pair(&record, "r", "s")), "{record}");
    }
    for record in records("sign_fixed_k", "private_keys_to_reject") {
        assert_eq!(PrivateKey::from_bytes(&word(&record, "d")).err(), Some(Sm2Error::PrivateKeyRange), "{record}");
    }
}

#[test]
fn deterministic_nonces() {
    for record in records("sign_deterministic_rfc6979_sm3", "tests") {
        let key = PrivateKey::from_bytes(&word(&record, "d")).expect("a key");
        let identity = Identity::new(key.public_key(), &bytes(&record, "id")).expect("a short identifier");
        let digest = identity.digest(&bytes(&record, "msg"));
        assert_eq!(digest, word(&record, "e"), "{record}");
        assert_eq!(key.sign_digest(&digest).to_bytes(), pair(&record, "r", "s"), "{record}");
    }
}

#[test]
fn random_signatures() {
    for record in records("random_valid", "tests") {
        let key = PrivateKey::from_bytes(&word(&record, "d")).expect("a key");
        assert_eq!(key.public_key().to_bytes(), pair(&record, "x", "y"));
        let identity = Identity::new(key.public_key(), &bytes(&record, "id")).expect("not too long");
        assert_eq!(*identity.as_bytes(), word(&record, "za"));
        let digest = identity.digest(&bytes(&record, "msg"));
        let signature = key.sign_digest_with_nonce(&digest, &word(&record, "k")).expect("a good nonce");
        assert_eq!(signature.to_bytes(), pair(&record, "r", "s"));
        key.public_key().verify_digest(&digest, &signature).expect("it is valid");
    }
}

#[test]
fn standard_examples() {
    for record in records("standard_examples", "digest_level") {
        assert_eq!(verify(&record), Ok(()), "{record}");
    }
    let examples = records("standard_examples", "message_level");
    let ours = examples.iter().filter(|record| record.get("p").is_none() && record["curve"] != "test");
    let mut verified = 0;
    for record in ours {
        let Ok(key) = key(record) else { continue }; // skips the example over another curve
        let identity = Identity::new(&key, &bytes(record, "id")).expect("a short identifier");
        let signature = Signature::from_bytes(&pair(record, "r", "s"));
        key.verify_digest(&identity.digest(&bytes(record, "msg")), &signature).expect("it is valid");
        verified += 1;
    }
    assert!(verified > 0, "no example is over this curve");
}

#[test]
fn edge_cases_are_valid() {
    for record in records("verify_edge_valid", "tests") {
        assert_eq!(verify(&record), Ok(()), "{record}");
    }
}

#[test]
fn invalid_signatures_are_refused() {
    for record in records("verify_invalid", "tests") {
        assert!(verify(&record).is_err(), "{record}");
    }
}

#[test]
fn messages_and_identifiers() {
    for record in records("message_invalid", "tests") {
        let valid = record["result"] == "valid";
        let digest = |key: &PublicKey| match record.get("e") {
            Some(_) => word(&record, "e"),
            None => Identity::new(key, &bytes(&record, "id")).expect("not too long").digest(&bytes(&record, "msg")),
        };
        let signature = Signature::from_bytes(&pair(&record, "r", "s"));
        let verdict = key(&record).and_then(|key| key.verify_digest(&digest(&key), &signature));
        assert_eq!(verdict.is_ok(), valid, "{record}");
    }
    let vectors = file("params");
    let key = PublicKey::from_bytes(&pair(&vectors, "gx", "gy")).expect("G is a key");
    assert!(Identity::new(&key, &[0; 8191]).is_ok());
    assert!(Identity::new(&key, &[0; 8192]).is_err());
    assert_ne!(Identity::new(&key, b""), Identity::new(&key, ringforge_sm2::DEFAULT_ID));
}
