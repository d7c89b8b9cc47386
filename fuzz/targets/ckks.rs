//! Fuzzes the decoding of ciphertexts of CKKS and BFV, and of their keys. Bytes that are accepted must encode to the same
//! bytes again.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use ringforge::Engine;
use ringforge_bfv::Bfv;
use ringforge_ckks::{Ckks, Parameters};

static CKKS: LazyLock<Ckks> = LazyLock::new(|| {
    let parameters = Parameters::insecure(4, &[40, 30], &[41]).expect("parameters");
    Ckks::new(&Engine::cpu(), parameters).expect("a scheme")
});

static BFV: LazyLock<Bfv> = LazyLock::new(|| {
    let parameters = ringforge_bfv::Parameters::insecure(4, 97, &[40, 30], &[41]).expect("parameters");
    Bfv::new(&Engine::cpu(), parameters).expect("a scheme")
});

fuzz_target!(|bytes: &[u8]| {
    if let Ok(ciphertext) = CKKS.ciphertext_from_bytes(bytes) {
        assert_eq!(CKKS.ciphertext_to_bytes(&ciphertext).expect("bytes"), bytes);
    }
    if let Ok(ciphertext) = BFV.ciphertext_from_bytes(bytes) {
        assert_eq!(BFV.ciphertext_to_bytes(&ciphertext).expect("bytes"), bytes);
    }
    if let Ok(key) = CKKS.keys().public_key_from_bytes(bytes) {
        assert_eq!(CKKS.keys().public_key_to_bytes(&key).expect("bytes"), bytes);
    }
    if let Ok(key) = CKKS.keys().relinearisation_key_from_bytes(bytes) {
        assert_eq!(CKKS.keys().relinearisation_key_to_bytes(&key).expect("bytes"), bytes);
    }
    if let Ok(keys) = CKKS.keys().galois_keys_from_bytes(bytes) {
        assert_eq!(CKKS.keys().galois_keys_to_bytes(&keys).expect("bytes"), bytes);
    }
    let _ = CKKS.keys().secret_key_from_bytes(bytes);
});
