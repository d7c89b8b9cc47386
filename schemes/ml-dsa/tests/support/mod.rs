//! The crate `ml-dsa` as the oracle for single items, and sample keys and signatures.

use ml_dsa::{ExpandedSigningKey, MlDsa44, MlDsa65, MlDsa87, Signature, VerifyingKey};
use ringforge_ml_dsa::Parameters;
use ringforge_testkit::bytes;

type Sign = fn(&[u8], &[u8], &[u8]) -> Vec<u8>;

/// One parameter set of the crate `ml-dsa`, with keys and signatures as bytes. A message is M' of FIPS 204, which begins
/// with the context.
#[derive(Clone, Copy)]
pub(crate) struct Oracle {
    pub(crate) parameters: Parameters,
    /// Seed → public key, secret key.
    pub(crate) generate: fn(&[u8]) -> [Vec<u8>; 2],
    /// Secret key, message, randomness → signature.
    pub(crate) sign: Sign,
    /// Public key, message, signature → whether it is valid.
    pub(crate) verify: fn(&[u8], &[u8], &[u8]) -> bool,
}

macro_rules! oracle {
    ($own:ty, $theirs:ty) => {
        Oracle {
            parameters: <$own>::PARAMETERS,
            generate: |seed| {
                let key = ExpandedSigningKey::<$theirs>::from_seed(&seed.try_into().expect("32 bytes"));
                #[allow(deprecated)]
                let expanded = key.to_expanded();
                [key.verifying_key().encode().to_vec(), expanded.to_vec()]
            },
            sign: |secret_key, message, random| {
                #[allow(deprecated)]
                let key = ExpandedSigningKey::<$theirs>::from_expanded(&secret_key.try_into().expect("a whole key"));
                key.sign_internal(&[message], &random.try_into().expect("32 bytes")).encode().to_vec()
            },
            verify: |public_key, message, signature| {
                let key = VerifyingKey::<$theirs>::decode(&public_key.try_into().expect("a whole key"));
                let signature = Signature::<$theirs>::decode(&signature.try_into().expect("a whole signature"));
                signature.is_some_and(|signature| key.verify_internal(message, &signature))
            },
        }
    };
}

/// The oracles of all parameter sets.
pub(crate) const ORACLES: [Oracle; 3] = [
    oracle!(ringforge_ml_dsa::MlDsa44, MlDsa44),
    oracle!(ringforge_ml_dsa::MlDsa65, MlDsa65),
    oracle!(ringforge_ml_dsa::MlDsa87, MlDsa87),
];

/// Key pairs of the crate `ml-dsa`: all public keys, then all secret keys.
pub(crate) fn keys(oracle: &Oracle, seed: u64, count: usize) -> [Vec<u8>; 2] {
    let mut keys = [vec![], vec![]];
    for seed in bytes(seed, 32 * count).chunks_exact(32) {
        keys.iter_mut().zip((oracle.generate)(seed)).for_each(|(all, key)| all.extend(key));
    }
    keys
}

/// The bytes that are signed for a message in a context: M' of FIPS 204.
pub(crate) fn in_context(context: &[u8], message: &[u8]) -> Vec<u8> {
    [&[0, context.len() as u8], context, message].concat()
}

/// Changes a signature in one of several ways, and leaves every fourth as it is.
pub(crate) fn damage(parameters: &Parameters, kind: usize, signature: &mut [u8]) {
    let Parameters { k, omega, .. } = *parameters;
    let (length, hints) = (signature.len(), signature.len() - omega - k);
    match kind % 8 {
        1 => signature[kind % 32] ^= 4,                          // the challenge
        2 => signature[parameters.lambda / 4 + kind % 999] ^= 1, // z
        3 => signature[hints - 1] ^= 0xff,                       // z, perhaps beyond its bound
        5 if signature[hints] != signature[hints + 1] => signature.swap(hints, hints + 1), // hints that descend
        5 => signature[hints] ^= 1,
        6 => signature[length - 1] = 255,    // the end of the last hints
        7 => signature[length - k - 1] ^= 9, // a byte after the last hint
        _ => {}
    }
}
