//! Tests single keys of all parameter sets against test vectors, byte for byte. `kat/README.md` describes the files.

use std::convert::Infallible;

use kem::{Decapsulate, Decapsulator, Encapsulate, Generate, KeyExport};
use rand_core::{TryCryptoRng, TryRng};
use ringforge_ctru::{Cntr512, Cntr768, Cntr1024, Ctru512, Ctru768, Ctru1024, DecapsulationKey, ParameterSet};
use sha3::{Digest, Sha3_256};
use shake::{Shake256Reader, XofReader};

use crate::kat::{File, Record, from_hex, hex, randomness};

/// A random generator that returns the randomness of a record, in the order in which the scheme consumes it.
struct Randomness(Shake256Reader);

impl TryRng for Randomness {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes).map(|()| u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes).map(|()| u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.read(bytes);
        Ok(())
    }
}

impl TryCryptoRng for Randomness {}

/// Computes a record: public key, secret key, ciphertext, shared key, and the rejection key for the ciphertext with one
/// bit flipped.
fn record<P: ParameterSet>(count: usize) -> [Vec<u8>; 5] {
    let mut randomness = Randomness(randomness(P::PARAMETERS.name, count));
    let key = DecapsulationKey::<P>::generate_from_rng(&mut randomness);
    let public_key = key.encapsulation_key();
    let (mut ciphertext, shared_key) = public_key.encapsulate_with_rng(&mut randomness);
    assert_eq!(key.decapsulate(&ciphertext), shared_key, "{} {count}", P::PARAMETERS.name);

    let sound = ciphertext.to_vec();
    let place = (131 * count + 7) % sound.len();
    ciphertext[place] ^= 1 << (count % 8);
    let rejection = key.decapsulate(&ciphertext);
    [public_key.to_bytes().to_vec(), key.to_bytes().to_vec(), sound, shared_key.to_vec(), rejection.to_vec()]
}

fn digest(parts: &[Vec<u8>]) -> String {
    hex(&Sha3_256::digest(parts.concat()))
}

fn agrees<P: ParameterSet>(file: &str) {
    let file = File::of(file);
    for wanted in &file.records {
        let made = record::<P>(wanted.count);
        let Record { pk, sk, ct, ss, ss_bad_ct, .. } = wanted;
        assert_eq!(made.each_ref().map(|bytes| hex(bytes)), [pk, sk, ct, ss, ss_bad_ct].map(String::clone));
        assert_eq!(digest(&made), wanted.digest);
        seeds_lead_to_the_same::<P>(wanted);
    }
    for (count, wanted) in file.digests_0_to_99.iter().enumerate() {
        assert_eq!(digest(&record::<P>(count)), *wanted, "record {count}");
    }
}

/// Checks that the functions that take explicit seeds return the keys and ciphertext of a record.
fn seeds_lead_to_the_same<P: ParameterSet>(wanted: &Record) {
    let seed = |digits: &str| <[u8; 32]>::try_from(from_hex(digits)).expect("32 bytes");
    let key = DecapsulationKey::<P>::generate_from(&seed(&wanted.keygen_seed), &seed(&wanted.z)).expect("a key");
    assert_eq!(hex(&key.to_bytes()), wanted.sk);
    let (ciphertext, shared_key) = key.encapsulation_key().encapsulate_from(&seed(&wanted.encaps_seed));
    assert_eq!((hex(&ciphertext), hex(&shared_key)), (wanted.ct.clone(), wanted.ss.clone()));

    // records numbered above 4 test retries: the first seed of their randomness gives no key
    let mut first = [0; 32];
    randomness(P::PARAMETERS.name, wanted.count).read(&mut first);
    let there = DecapsulationKey::<P>::generate_from(&first, &first).is_some();
    assert_eq!(there, wanted.count < 5, "{} {}", P::PARAMETERS.name, wanted.count);
}

macro_rules! vectors {
    ($($test:ident: $set:ty, $file:literal;)*) => { $(
        #[test]
        fn $test() {
            agrees::<$set>($file);
        }
    )* };
}

vectors! {
    ctru_512: Ctru512, "ctru-512-sha3.json";
    ctru_768: Ctru768, "ctru-768-sha3.json";
    ctru_1024: Ctru1024, "ctru-1024-sha3.json";
    cntr_512: Cntr512, "cntr-512-sha3.json";
    cntr_768: Cntr768, "cntr-768-sha3.json";
    cntr_1024: Cntr1024, "cntr-1024-sha3.json";
}
