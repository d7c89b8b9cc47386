//! Tests encodings in both directions, against vectors, OpenSSL and the crate `sm2`.

use std::path::Path;
use std::process::Command;

use crate::support::{bytes, file, pair, records, word};
use pkcs8::{DecodePrivateKey, EncodePrivateKey, LineEnding};
use rand::{Rng, SeedableRng, rngs::StdRng};
use ringforge_sm2::{DEFAULT_ID, Identity, PrivateKey, PublicKey, Signature, SigningKey, VerifyingKey};
use signature::{Keypair, RandomizedSigner, Signer, Verifier};
use spki::{DecodePublicKey, EncodePublicKey};

#[test]
fn der_signatures_are_strict() {
    let vectors = file("signature_encoding");
    let key = PublicKey::from_bytes(&pair(&vectors, "x", "y")).expect("a key");
    let digest = Identity::new(&key, &bytes(&vectors, "id")).expect("short").digest(&bytes(&vectors, "msg"));
    for record in records("signature_encoding", "der_tests") {
        let der = bytes(&record, "der");
        let signature = Signature::from_der(&der);
        let accepted = signature.is_ok_and(|signature| key.verify_digest(&digest, &signature).is_ok());
        assert_eq!(accepted, record["result"] == "valid", "{record}");
        if let (true, Ok(signature)) = (accepted, signature) {
            assert_eq!(signature.to_der().expect("DER"), der);
            assert_eq!(signature.to_bytes()[..32], word(&record, "r"));
        }
    }
    for record in records("signature_encoding", "raw_tests") {
        let signature = Signature::try_from(bytes(&record, "raw").as_slice());
        let accepted = signature.is_ok_and(|signature| key.verify_digest(&digest, &signature).is_ok());
        assert_eq!(accepted, record["result"] == "valid", "{record}");
    }
    // the shortest encoding has 8 bytes, and a number of 33 bytes is rejected
    assert_eq!(Signature::from_der(&[0x30, 6, 2, 1, 0, 2, 1, 0]), Ok(Signature::from_bytes(&[0; 64])));
    let long = [&[0x30, 0x26, 2, 0x21, 1][..], &[0; 32], &[2, 1, 1]].concat();
    assert!(Signature::from_der(&long).is_err());
}

#[test]
fn public_keys_as_sec1() {
    for record in records("public_key_encoding", "tests") {
        let octets = bytes(&record, "octets");
        let key = PublicKey::from_sec1_bytes(&octets);
        assert_eq!(key.is_ok(), record["result"] == "valid", "{record}");
        if let Ok(key) = key {
            assert_eq!(key.to_bytes(), pair(&record, "x", "y"), "{record}");
            assert_eq!(key.to_sec1_bytes(octets.len() == 33), octets);
        }
    }
}

#[test]
fn keys_round_trip_through_pkcs8_spki_and_sec1() {
    let key = PrivateKey::generate(&mut StdRng::seed_from_u64(7)).expect("random numbers");
    let again = PrivateKey::from_pkcs8_der(key.to_pkcs8_der().expect("DER").as_bytes()).expect("our own");
    assert_eq!(again.to_bytes(), key.to_bytes());
    let sec1 = key.to_sec1_der().expect("DER");
    assert_eq!(PrivateKey::from_sec1_der(&sec1).expect("our own").to_bytes(), key.to_bytes());
    let public = key.public_key();
    assert_eq!(PublicKey::from_public_key_der(public.to_public_key_der().expect("DER").as_bytes()), Ok(*public));
    // a public key that does not match, and another curve, are rejected
    let mut spoilt = sec1.to_vec();
    *spoilt.last_mut().expect("bytes") ^= 1;
    assert!(PrivateKey::from_sec1_der(&spoilt).is_err());
    let curve = sec1.windows(4).position(|bytes| bytes == [0x82, 0x2d, 0x06, 0x08]).map(|at| at + 3);
    let mut other = sec1.to_vec();
    let oid = sec1.windows(5).position(|bytes| bytes == [0x81, 0x1c, 0xcf, 0x55, 0x01]).expect("the curve's name");
    other[oid + 6] ^= 1;
    assert!(curve.is_none() && PrivateKey::from_sec1_der(&other).is_err());
}

/// The traits for digests sign and verify what the methods do, and take 32 bytes only.
#[test]
fn digests_are_signed_by_the_traits() {
    use signature::hazmat::{PrehashSigner, PrehashVerifier, RandomizedPrehashSigner};
    let key = PrivateKey::from_bytes(&[5; 32]).expect("a key");
    let public = key.public_key();
    let digest: [u8; 32] = core::array::from_fn(|i| i as u8);
    let signature = key.sign_prehash(&digest).expect("a signature");
    assert_eq!(signature, key.sign_digest(&digest));
    let hedged = key.sign_prehash_with_rng(&mut StdRng::seed_from_u64(3), &digest).expect("a signature");
    assert_ne!(hedged, signature);
    for signature in [signature, hedged] {
        public.verify_prehash(&digest, &signature).expect("it is valid");
        assert!(public.verify_prehash(&[7; 32], &signature).is_err());
        for wrong in [&digest[..31], &[0; 33], &[]] {
            assert!(public.verify_prehash(wrong, &signature).is_err() && key.sign_prehash(wrong).is_err());
        }
    }
}

/// Returns messages from empty to several SM3 blocks long.
fn messages() -> Vec<Vec<u8>> {
    let mut rng = StdRng::seed_from_u64(11);
    [0, 1, 55, 64, 300].map(|length| (0..length).map(|_| rng.next_u32() as u8).collect()).into()
}

#[test]
fn signatures_match_the_crate_sm2() {
    use sm2::dsa::signature::{Signer as _, Verifier as _};
    let mut rng = StdRng::seed_from_u64(5);
    for message in messages() {
        let ours = PrivateKey::generate(&mut rng).expect("random numbers");
        let secret = sm2::SecretKey::from_slice(&*ours.to_bytes()).expect("a key");
        let id = "1234567812345678";
        let theirs = sm2::dsa::SigningKey::new(id, &secret).expect("an identifier");
        assert_eq!(theirs.verifying_key().to_sec1_bytes()[..], ours.public_key().to_sec1_bytes(false));
        let ours = SigningKey::new(ours, DEFAULT_ID).expect("an identifier");
        let signature: sm2::dsa::Signature = theirs.sign(&message);
        let deterministic = ours.sign(&message);
        assert_eq!(signature.to_bytes()[..], deterministic.to_bytes());
        let hedged = ours.sign_with_rng(&mut rng, &message);
        assert_ne!(hedged, deterministic);
        ours.verifying_key().verify(&message, &hedged).expect("it is valid");
        let hedged = sm2::dsa::Signature::from_slice(&hedged.to_bytes()).expect("in range");
        theirs.verifying_key().verify(&message, &hedged).expect("it is valid");
        assert!(ours.verifying_key().verify(b"another", &deterministic).is_err());
    }
}

/// Runs `openssl` in a folder. Returns true if it succeeded.
fn openssl(folder: &Path, args: &[&str]) -> bool {
    let output = Command::new("openssl").args(args).current_dir(folder).output().expect("openssl runs");
    output.status.success()
}

#[test]
fn signatures_and_keys_interoperate_with_openssl() {
    if Command::new("openssl").arg("version").output().is_err() {
        let is_required = std::env::var_os("RINGFORGE_REQUIRE_OPENSSL").is_some_and(|value| value == "1");
        assert!(!is_required, "RINGFORGE_REQUIRE_OPENSSL=1, but openssl is not on this machine");
        eprintln!("skipped: openssl is not on this machine");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let id = ["-pkeyopt", "distid:1234567812345678"];
    let digest = ["-rawin", "-digest", "sm3"];
    for (i, message) in messages().iter().enumerate().skip(1) {
        std::fs::write(at("message"), message).expect("a file");
        // OpenSSL verifies our signature with our key
        let key = PrivateKey::generate(&mut StdRng::seed_from_u64(i as u64)).expect("random numbers");
        key.write_pkcs8_pem_file(at("ours.pem"), LineEnding::LF).expect("a file");
        key.public_key().write_public_key_pem_file(at("ours.pub"), LineEnding::LF).expect("a file");
        let signer = SigningKey::new(key, DEFAULT_ID).expect("an identifier");
        std::fs::write(at("ours.sig"), signer.sign(message).to_der().expect("DER")).expect("a file");
        let verify = ["pkeyutl", "-verify", "-pubin", "-inkey", "ours.pub", "-in", "message", "-sigfile", "ours.sig"];
        assert!(openssl(folder.path(), &[&verify[..], &digest, &id].concat()), "OpenSSL refuses ours");
        // OpenSSL signs with our key, and we verify
        let sign = ["pkeyutl", "-sign", "-inkey", "ours.pem", "-in", "message", "-out", "theirs.sig"];
        assert!(openssl(folder.path(), &[&sign[..], &digest, &id].concat()), "OpenSSL cannot sign with our key");
        let signature = Signature::from_der(&std::fs::read(at("theirs.sig")).expect("a file")).expect("DER");
        signer.verifying_key().verify(message, &signature).expect("theirs is valid");
        // OpenSSL signs with its own key, and we verify
        assert!(openssl(folder.path(), &["genpkey", "-algorithm", "SM2", "-out", "theirs.pem"]));
        assert!(openssl(folder.path(), &["pkey", "-in", "theirs.pem", "-pubout", "-out", "theirs.pub"]));
        let key = PrivateKey::read_pkcs8_pem_file(at("theirs.pem")).expect("their key");
        let public = PublicKey::read_public_key_pem_file(at("theirs.pub")).expect("their public key");
        assert_eq!(*key.public_key(), public);
        let sign = ["pkeyutl", "-sign", "-inkey", "theirs.pem", "-in", "message", "-out", "theirs.sig"];
        assert!(openssl(folder.path(), &[&sign[..], &digest, &id].concat()));
        let signature = Signature::from_der(&std::fs::read(at("theirs.sig")).expect("a file")).expect("DER");
        let verifier = VerifyingKey::new(public, DEFAULT_ID).expect("an identifier");
        verifier.verify(message, &signature).expect("theirs is valid");
        assert!(verifier.verify(b"another", &signature).is_err());
    }
}
