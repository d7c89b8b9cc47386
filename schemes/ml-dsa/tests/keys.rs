//! Keys in PKCS#8 and SPKI, exchanged with the crate `ml-dsa`.

use ml_dsa::signature::Keypair;
use ml_dsa::{Seed, SigningKey, VerifyingKey};
use ringforge::Engine;
use ringforge_batch::keys::pkcs8::{DecodePrivateKey, EncodePrivateKey, LineEnding};
use ringforge_batch::keys::spki::{DecodePublicKey, EncodePublicKey};
use ringforge_batch::keys::{EncodedKeys, PublicKey, SecretKey};
use ringforge_batch::{SignatureScheme, Signatures};
use ringforge_ml_dsa::{MlDsa44, MlDsa65, MlDsa87};

type Outcome = Result<(), Box<dyn std::error::Error>>;

macro_rules! exchanged {
    ($($test:ident: $set:ident;)*) => {$(
        #[test]
        fn $test() -> Outcome {
            let seed = [7; 32];
            let dsa = Signatures::<$set>::new(&Engine::cpu())?;
            let (mut public, mut secret) = (vec![0; dsa.sizes().public_key], vec![0; dsa.sizes().secret_key]);
            dsa.generate_from(&seed, &mut public, &mut secret)?.into_result()?;

            // theirs are read
            let theirs = SigningKey::<ml_dsa::$set>::from_seed(&Seed::from(seed));
            let key = SecretKey::<$set>::from_pkcs8_der(theirs.to_pkcs8_der()?.as_bytes())?;
            assert_eq!((key.seed(), key.expanded()), (Some(&seed[..]), None));
            let read = PublicKey::<$set>::from_public_key_pem(&theirs.verifying_key().to_public_key_pem(LineEnding::LF)?)?;
            assert_eq!(read.as_bytes(), public);

            // ours are read there: the seed, and the public key
            let ours = SecretKey::<$set>::new(Some(&seed), None).ok_or("a seed")?;
            assert_eq!(ours.to_pkcs8_der()?.as_bytes(), theirs.to_pkcs8_der()?.as_bytes());
            let ours = PublicKey::<$set>::new(&public).ok_or("a key")?;
            let read = VerifyingKey::<ml_dsa::$set>::from_public_key_der(ours.to_public_key_der()?.as_bytes())?;
            assert!(read == theirs.verifying_key());

            // the expanded key, and both
            for seed in [None, Some(&seed[..])] {
                let key = SecretKey::<$set>::new(seed, Some(&secret)).ok_or("a key")?;
                let read = SecretKey::<$set>::from_pkcs8_pem(&key.to_pkcs8_pem(LineEnding::LF)?)?;
                assert_eq!((read.seed(), read.expanded()), (seed, Some(&secret[..])));
            }
            hostile::<$set>(&seed, &secret)
        }
    )*};
}

exchanged! {
    keys_of_44: MlDsa44;
    keys_of_65: MlDsa65;
    keys_of_87: MlDsa87;
}

/// Keys of another set, of wrong lengths, cut off, or with other bytes in their structure are refused.
fn hostile<M: EncodedKeys + SignatureScheme>(seed: &[u8], secret: &[u8]) -> Outcome {
    assert!(SecretKey::<M>::new(None, None).is_none() && SecretKey::<M>::new(Some(&seed[1..]), None).is_none());
    assert!(SecretKey::<M>::new(Some(seed), Some(&secret[1..])).is_none() && PublicKey::<M>::new(seed).is_none());
    let key = SecretKey::<M>::new(Some(seed), None).ok_or("a seed")?;
    let der = key.to_pkcs8_der()?.as_bytes().to_vec();
    assert!((0..der.len()).all(|length| SecretKey::<M>::from_pkcs8_der(&der[..length]).is_err()));
    assert!(SecretKey::<M>::from_pkcs8_der(&[&der[..], &[0]].concat()).is_err());
    // each changed byte is refused, or is one of the seed
    for place in 0..der.len() {
        let mut changed = der.clone();
        changed[place] ^= 0x21;
        let read = SecretKey::<M>::from_pkcs8_der(&changed);
        assert!(read.is_err() || read?.seed() != Some(seed), "{}: byte {place}", M::NAME);
    }
    // an algorithm with the parameter NULL
    let mut with_null = der.clone();
    let algorithm = der.windows(2).position(|bytes| bytes == [0x30, 0x0b]).ok_or("an algorithm")?;
    with_null.splice(algorithm + 13..algorithm + 13, [5, 0]);
    (with_null[algorithm + 1], with_null[1]) = (0x0d, der[1] + 2);
    assert!(SecretKey::<M>::from_pkcs8_der(&with_null).is_err());
    assert!(!format!("{key:?}").contains("7, 7"));
    Ok(())
}
