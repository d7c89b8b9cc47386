//! The crate `ml-kem` as the oracle for single items, and sample keys and ciphertexts.

#![allow(deprecated)] // the crate `ml-kem` deprecates expanded secret keys in favour of seeds

use ml_kem::array::Array;
use ml_kem::kem::{Decapsulate, KeyExport};
use ml_kem::{DecapsulationKey, EncapsulationKey, ExpandedKeyEncoding, MlKem512, MlKem768, MlKem1024};
use ringforge_ml_kem::Parameters;
use ringforge_testkit::bytes;

/// A public and a secret key, or a ciphertext and a shared key.
pub(crate) type Pair = [Vec<u8>; 2];

/// One parameter set of the crate `ml-kem`, with keys and ciphertexts as bytes.
#[derive(Clone, Copy)]
pub(crate) struct Oracle {
    pub(crate) parameters: Parameters,
    /// d ‖ z → public key, secret key.
    pub(crate) generate: fn(&[u8]) -> Pair,
    /// Public key, message → ciphertext, shared key; `None` if the key is invalid.
    pub(crate) encapsulate: fn(&[u8], &[u8]) -> Option<Pair>,
    /// Secret key, ciphertext → shared key; `None` if the key is invalid.
    pub(crate) decapsulate: fn(&[u8], &[u8]) -> Option<Vec<u8>>,
}

macro_rules! oracle {
    ($own:ty, $theirs:ty) => {
        Oracle {
            parameters: <$own>::PARAMETERS,
            generate: |seeds| {
                let key = DecapsulationKey::<$theirs>::from_seed(array(seeds));
                [key.encapsulation_key().to_bytes().to_vec(), key.to_expanded_bytes().to_vec()]
            },
            encapsulate: |public_key, message| {
                let key = EncapsulationKey::<$theirs>::new(&array(public_key)).ok()?;
                let (ciphertext, shared_key) = key.encapsulate_deterministic(&array(message));
                Some([ciphertext.to_vec(), shared_key.to_vec()])
            },
            decapsulate: |secret_key, ciphertext| {
                let key = DecapsulationKey::<$theirs>::from_expanded_bytes(&array(secret_key)).ok()?;
                Some(key.decapsulate(&array(ciphertext)).to_vec())
            },
        }
    };
}

fn array<N: ml_kem::ArraySize>(bytes: &[u8]) -> Array<u8, N> {
    Array::try_from(bytes).expect("as many bytes as the crate wants")
}

/// The oracles of all parameter sets.
pub(crate) const ORACLES: [Oracle; 3] = [
    oracle!(ringforge_ml_kem::MlKem512, MlKem512),
    oracle!(ringforge_ml_kem::MlKem768, MlKem768),
    oracle!(ringforge_ml_kem::MlKem1024, MlKem1024),
];

/// Sample keys, ciphertexts and shared keys, made by the crate `ml-kem`. One in three ciphertexts has a flipped bit,
/// and one in three is random.
pub(crate) struct Items {
    pub(crate) public_keys: Vec<u8>,
    pub(crate) secret_keys: Vec<u8>,
    pub(crate) ciphertexts: Vec<u8>,
    pub(crate) shared_keys: Vec<u8>,
}

impl Items {
    pub(crate) fn new(oracle: &Oracle, seed: u64, batch: usize) -> Self {
        let (seeds, messages) = (bytes(seed, 64 * batch), bytes(seed ^ 1, 32 * batch));
        let noise = bytes(seed ^ 2, oracle.parameters.sizes().ciphertext);
        let mut items = Self { public_keys: vec![], secret_keys: vec![], ciphertexts: vec![], shared_keys: vec![] };
        for (i, (seed, message)) in seeds.chunks_exact(64).zip(messages.chunks_exact(32)).enumerate() {
            let [public_key, secret_key] = (oracle.generate)(seed);
            let [mut ciphertext, _] = (oracle.encapsulate)(&public_key, message).expect("a valid key");
            let place = (131 * i + usize::from(seed[0])) % ciphertext.len();
            match (batch + i) % 3 {
                1 => ciphertext[place] ^= 1 << (i % 8),
                2 => ciphertext.copy_from_slice(&noise),
                _ => {}
            }
            items.shared_keys.extend((oracle.decapsulate)(&secret_key, &ciphertext).expect("a valid key"));
            items.public_keys.extend(public_key);
            items.secret_keys.extend(secret_key);
            items.ciphertexts.extend(ciphertext);
        }
        items
    }
}
