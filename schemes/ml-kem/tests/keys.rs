//! Keys in PKCS#8 and SPKI, exchanged with the crate `ml-kem`.

use ml_kem::{DecapsulationKey, EncapsulationKey};
use ringforge::Engine;
use ringforge_batch::Batch;
use ringforge_batch::keys::pkcs8::{DecodePrivateKey, EncodePrivateKey, LineEnding};
use ringforge_batch::keys::spki::{DecodePublicKey, EncodePublicKey};
use ringforge_batch::keys::{PublicKey, SecretKey};
use ringforge_ml_kem::{MlKem512, MlKem768, MlKem1024};

macro_rules! exchanged {
    ($($test:ident: $set:ident, $other:ident;)*) => {$(
        #[test]
        fn $test() -> Result<(), Box<dyn std::error::Error>> {
            let seeds: [u8; 64] = core::array::from_fn(|i| i as u8);
            let kem = Batch::<$set>::new(&Engine::cpu())?;
            let (mut public, mut secret) = (vec![0; kem.sizes().public_key], vec![0; kem.sizes().secret_key]);
            kem.generate_from(&seeds, &mut public, &mut secret)?.into_result()?;

            // theirs are read
            let theirs = DecapsulationKey::<ml_kem::$set>::from_seed(seeds.into());
            let key = SecretKey::<$set>::from_pkcs8_der(theirs.to_pkcs8_der()?.as_bytes())?;
            assert_eq!((key.seed(), key.expanded()), (Some(&seeds[..]), None));
            let der = theirs.encapsulation_key().to_public_key_der()?;
            assert_eq!(PublicKey::<$set>::from_public_key_der(der.as_bytes())?.as_bytes(), public);

            // ours are read there
            let ours = SecretKey::<$set>::new(Some(&seeds), None).ok_or("seeds")?;
            let read = DecapsulationKey::<ml_kem::$set>::from_pkcs8_der(ours.to_pkcs8_der()?.as_bytes())?;
            assert!(read.encapsulation_key() == theirs.encapsulation_key());
            let ours = PublicKey::<$set>::new(&public).ok_or("a key")?.to_public_key_der()?;
            let read = EncapsulationKey::<ml_kem::$set>::from_public_key_der(ours.as_bytes())?;
            assert!(read == *theirs.encapsulation_key());

            // the expanded key, and both; another set refuses them
            for seeds in [None, Some(&seeds[..])] {
                let key = SecretKey::<$set>::new(seeds, Some(&secret)).ok_or("a key")?;
                let pem = key.to_pkcs8_pem(LineEnding::LF)?;
                let read = SecretKey::<$set>::from_pkcs8_pem(&pem)?;
                assert_eq!((read.seed(), read.expanded()), (seeds, Some(&secret[..])));
                assert!(SecretKey::<$other>::from_pkcs8_pem(&pem).is_err());
            }
            assert!(PublicKey::<$other>::from_public_key_der(der.as_bytes()).is_err());
            Ok(())
        }
    )*};
}

exchanged! {
    keys_of_512: MlKem512, MlKem768;
    keys_of_768: MlKem768, MlKem1024;
    keys_of_1024: MlKem1024, MlKem512;
}
