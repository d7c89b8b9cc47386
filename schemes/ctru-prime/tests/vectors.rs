//! Tests single operations of all parameter sets against test vectors. `kat/README.md` describes the files.

use std::convert::Infallible;

use rand_core::{TryCryptoRng, TryRng};
use ringforge::Error;
use ringforge_ctru_prime::{
    CtruPrime653, CtruPrime761, CtruPrime1277, KeyError, ParameterSet, check_secret_key, decapsulate, encapsulate,
    generate, is_canonical,
};
use ringforge_testkit::{Random, bytes, seed};
use sha3::{Digest, Sha3_256, Sha3_512};

use crate::kat::{File, Record, from_hex, hex, randomness};

/// A random generator that returns the given bytes, in order.
struct Bytes<'a>(&'a [u8]);

impl TryRng for Bytes<'_> {
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
        let (taken, rest) = self.0.split_at(bytes.len());
        bytes.copy_from_slice(taken);
        self.0 = rest;
        Ok(())
    }
}

impl TryCryptoRng for Bytes<'_> {}

/// Computes a record: public key, secret key, ciphertext, shared key, and the rejection key for the ciphertext with one
/// bit flipped.
fn record<P: ParameterSet>(randomness: &[u8; 96], byte: usize, bit: u32) -> [Vec<u8>; 5] {
    let rng = &mut Bytes(randomness);
    let (public_key, secret_key) = generate::<P>(rng).unwrap();
    let (mut ciphertext, shared_key) = encapsulate::<P>(&public_key, rng).unwrap();
    assert_eq!(decapsulate::<P>(&secret_key, &ciphertext).unwrap(), shared_key);
    assert!(is_canonical::<P>(&public_key).unwrap());
    assert_eq!(check_secret_key::<P>(&secret_key), Ok(None));
    let sound = ciphertext.clone();
    ciphertext[byte] ^= 1 << bit;
    let rejection = decapsulate::<P>(&secret_key, &ciphertext).unwrap();
    [public_key, secret_key.to_vec(), sound, shared_key.to_vec(), rejection.to_vec()]
}

fn agrees<P: ParameterSet>() {
    let p = P::PARAMETERS;
    let file = File::of(p.name);
    assert!(!file.records.is_empty());
    for wanted in &file.records {
        let Record { d, z, seed, pk, sk, ct, ss, bad_ct_flip: flip, ss_bad_ct } = wanted;
        let randomness = [d, z, seed].map(|hex| from_hex(hex)).concat().try_into().unwrap();
        let made = record::<P>(&randomness, flip.byte, flip.bit);
        assert_eq!(made.map(|bytes| hex(&bytes)), [pk, sk, ct, ss, ss_bad_ct].map(String::clone));
    }
    assert_eq!(file.digests.len(), 100);
    for (count, wanted) in file.digests.iter().enumerate() {
        let (randomness, byte, bit) = randomness(p.name, count, p.sizes().ciphertext);
        let made = record::<P>(&randomness, byte, bit).concat();
        assert_eq!(hex(&Sha3_256::digest(made)), *wanted, "{}, record {count}", p.name);
    }

    // a ciphertext with a nonzero padding bit, which is rejected implicitly, and a public key that is not canonical
    let [padded, key] = &file.accepted_but_odd[..] else { panic!("two odd ones") };
    let secret_key = from_hex(&file.records[0].sk);
    let found = decapsulate::<P>(&secret_key, &from_hex(&padded.ct)).unwrap();
    assert_eq!(hex(&*found), padded.ss);
    let public_key = from_hex(key.pk.as_ref().unwrap());
    assert!(!is_canonical::<P>(&public_key).unwrap());
    let seed: Vec<u8> = (0..32).collect();
    let (ciphertext, shared_key) = encapsulate::<P>(&public_key, &mut Bytes(&seed)).unwrap();
    assert_eq!((hex(&ciphertext), hex(&*shared_key)), (key.ct.clone(), key.ss.clone()));
}

/// Checks the values in section 2.11 of the specification: SHA3-256 hashes of public key, secret key and ciphertext,
/// then the shared key and the rejection key.
fn agrees_with_the_text<P: ParameterSet>(wanted: [&str; 5]) {
    let randomness: Vec<u8> = (0..96).collect();
    let [pk, sk, ct, ss, rejection] = record::<P>(&randomness.try_into().unwrap(), 0, 0);
    let [pk, sk, ct] = [pk, sk, ct].map(|bytes| hex(&Sha3_256::digest(bytes)));
    assert_eq!([pk, sk, ct, hex(&ss), hex(&rejection)], wanted);
}

/// Checks that corrupted secret keys are reported, and that any bytes as public key or ciphertext give a key.
fn bears_anything<P: ParameterSet>() {
    let p = P::PARAMETERS;
    let randomness: Vec<u8> = (0..96).collect();
    let [pk, sk, ct, ..] = record::<P>(&randomness.try_into().unwrap(), 0, 0);
    let bad = |place: usize, byte: u8| {
        let mut sk = sk.clone();
        sk[place] = byte;
        check_secret_key::<P>(&sk).unwrap()
    };
    let at = |coefficient| Some(KeyError::InvalidSecretKey { coefficient });
    let legal = 2 * p.eta as u8 + 1;
    assert_eq!(bad(0, legal << 4 | 1), at(0)); // f_0 is odd, so it is packed as an even number
    assert_eq!(bad(0, 14), at(usize::from(4 * p.eta >= 14)));
    assert_eq!(bad(7, legal << 4 | 2), at(14));
    assert_eq!(bad(7, 0xf0 | legal), at(15));
    assert_eq!(bad(p.sizes().pke_key - 1, 0x10 | legal), at(p.n));
    let mut random = Random::new(seed());
    for _ in 0..20 {
        let public_key = bytes(random.bits(), pk.len());
        encapsulate::<P>(&public_key, &mut Bytes(&[7; 32])).unwrap();
        let (secret_key, ciphertext) = (bytes(random.bits(), sk.len()), bytes(random.bits(), ct.len()));
        decapsulate::<P>(&secret_key, &ciphertext).unwrap();
        let found = decapsulate::<P>(&sk, &ciphertext).unwrap();
        let z = &sk[sk.len() - 32..];
        let rejection = Sha3_512::new().chain_update(&pk[..33]).chain_update(z).chain_update(&ciphertext).finalize();
        assert_eq!(found[..], rejection[..32]);
    }
    assert!(matches!(encapsulate::<P>(&pk[1..], &mut Bytes(&[7; 32])), Err(Error::Length { .. })));
    assert!(matches!(decapsulate::<P>(&sk[1..], &ct), Err(Error::Length { .. })));
    assert!(matches!(decapsulate::<P>(&sk, &ct[1..]), Err(Error::Length { .. })));
    assert!(matches!(is_canonical::<P>(&pk[1..]), Err(Error::Length { .. })));
    assert!(matches!(check_secret_key::<P>(&pk), Err(Error::Length { .. })));
}

macro_rules! sets {
    ($($set:ident: $vectors:ident, $text:ident, $anything:ident, $wanted:expr;)*) => { $(
        #[test]
        fn $vectors() {
            agrees::<$set>();
        }

        #[test]
        fn $text() {
            agrees_with_the_text::<$set>($wanted);
        }

        #[test]
        fn $anything() {
            bears_anything::<$set>();
        }
    )* };
}

sets! {
    CtruPrime653: vectors_of_653, text_of_653, anything_in_653, [
        "b8f434b950f3747dbc06acf261cad4a84d17df7d042d87491a2297cd366bf4a4",
        "be113540a5a79fa4410c785d21bc155b59b2b836835c32002a546041b1b2e2f3",
        "04239f111efadbf632d3b02caa92dcd8b85b45687e250c393ccbbf64012fdbcf",
        "cdd4dc9f3bd633f601c3cad50c763aee6261f754303118d4af0046e3f503877c",
        "abd5933dcbbf6d55879574d1271c6d8b5e01e182617ac0b5b393a9c36e108a6b",
    ];
    CtruPrime761: vectors_of_761, text_of_761, anything_in_761, [
        "efd84a58ef513cf49a1ca02853b50552289d8dd61464edebed33c1809ed64af2",
        "39f52e73e8ad012ab51075056f1a69de53005974a10379dd7c53e26a818e52da",
        "c055356abc3a322ebd96d615fd41deb46e6a5f381dca0fdb653bcb227b69ff23",
        "f4066027010daddb848ff4151a3e8050fb6b8e640a7d9f63c5c74f4ece39c780",
        "7fad877dcad3e5ab30f71705ad0b90f9c632cedc1d627599165d7d1ff5d918f6",
    ];
    CtruPrime1277: vectors_of_1277, text_of_1277, anything_in_1277, [
        "92f8fe6947f85df70deafd95d057f648c165cf3818ef740f6020b3bc5d6b39c9",
        "5f6a4b4c2a95a40cea6181e60a75e84225b770d3bd876e7e7754067ed7681467",
        "b31375c1a2d6043f79cce2d65762b5127055cfbb0288095ba2ffa50b60e8ca50",
        "89431a736d487862271ba0d38c2bba90157bd991917b0f2a77793834a27a218d",
        "2e0db6771a7ed1d5a79ab2b30a743997229cddd428ce2cfaa075cd4bb93c68da",
    ];
}
