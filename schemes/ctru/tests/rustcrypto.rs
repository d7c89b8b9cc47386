//! Tests single keys with the traits of the crate `kem`, and rejection of invalid keys and ciphertexts.

use kem::{Ciphertext, Decapsulate, Decapsulator, Encapsulate, Generate, Key, KeyExport, TryKeyInit};
use rand::SeedableRng;
use rand::rngs::StdRng;
use ringforge_ctru::{
    Cntr512, Cntr768, Cntr1024, Ctru512, Ctru768, Ctru1024, DecapsulationKey, EncapsulationKey, KeyError, ParameterSet,
};

/// Calls a generic function with every parameter set.
macro_rules! for_all_sets {
    ($run:ident) => {
        $run::<Ctru512>();
        $run::<Ctru768>();
        $run::<Ctru1024>();
        $run::<Cntr512>();
        $run::<Cntr768>();
        $run::<Cntr1024>();
    };
}

/// Tests that both ends of a key encapsulation agree, using only the traits of the crate `kem`.
fn agree<K: kem::Kem<DecapsulationKey: Decapsulate + KeyExport + TryKeyInit>>() {
    let mut rng = StdRng::seed_from_u64(1);
    let (key, public_key) = K::generate_keypair_from_rng(&mut rng);
    assert_eq!(*key.encapsulation_key(), public_key);
    let public_key = K::EncapsulationKey::new_from_slice(&public_key.to_bytes()).unwrap();
    let key = K::DecapsulationKey::new(&key.to_bytes()).unwrap();
    let (ciphertext, sent) = public_key.encapsulate_with_rng(&mut rng);
    assert_eq!(key.decapsulate(&ciphertext), sent);
    assert_eq!(key.decapsulate_slice(&ciphertext).unwrap(), sent);
    assert_ne!(public_key.encapsulate_with_rng(&mut rng).1, sent);
}

#[test]
fn both_ends_agree() {
    for_all_sets!(agree);
}

/// Tests implicit rejection: each of several corrupted ciphertexts gives its own key, the same one every time.
fn reject<P: ParameterSet>() {
    let mut rng = StdRng::seed_from_u64(2);
    let key = DecapsulationKey::<P>::generate_from_rng(&mut rng);
    let (ciphertext, sent) = key.encapsulation_key().encapsulate_with_rng(&mut rng);
    let mut seen = vec![sent];
    let ends = [Ciphertext::<P>::default(), ciphertext.iter().map(|byte| !byte).collect()];
    let changes = (0..ciphertext.len()).step_by(97).map(|place| {
        let mut changed = ciphertext.clone();
        changed[place] ^= 0x80;
        changed
    });
    for ciphertext in ends.into_iter().chain(changes) {
        let rejection = key.decapsulate(&ciphertext);
        assert_eq!(rejection, key.decapsulate(&ciphertext));
        assert!(!seen.contains(&rejection));
        seen.push(rejection);
    }
}

#[test]
fn rejection_is_implicit() {
    for_all_sets!(reject);
}

/// Sets number `place` of packed little-endian numbers of `width` bits.
fn set(bytes: &mut [u8], width: usize, place: usize, value: usize) {
    for bit in 0..width {
        let at = place * width + bit;
        bytes[at / 8] = bytes[at / 8] & !(1 << (at % 8)) | ((value >> bit & 1) as u8) << (at % 8);
    }
}

/// Tests that keys are accepted exactly if all packed numbers are in range, and that the first bad one is reported.
fn refuse<P: ParameterSet>() {
    let (n, width) = (P::PARAMETERS.n, P::PARAMETERS.key_width() as usize);
    let largest = P::PARAMETERS.largest_field() as usize;
    let key = DecapsulationKey::<P>::generate_from_rng(&mut StdRng::seed_from_u64(3));
    let (secret, public) = (key.to_bytes(), key.encapsulation_key().to_bytes());
    let public_place = secret.len() - 32 - public.len();

    for place in [0, 1, n / 2, n - 1] {
        for value in [0, 3456, 3457, 4095] {
            let expected = if value < 3457 { Ok(()) } else { Err(KeyError::InvalidPublicKey { coefficient: place }) };
            let mut bad: Key<EncapsulationKey<P>> = public.clone();
            set(&mut bad, 12, place, value);
            set(&mut bad, 12, n - 1, value);
            assert_eq!(EncapsulationKey::<P>::from_bytes(&bad).map(drop), expected);
            assert_eq!(EncapsulationKey::<P>::new(&bad).is_err(), expected.is_err());

            let mut bad: Key<DecapsulationKey<P>> = secret.clone();
            set(&mut bad[public_place..], 12, place, value);
            assert_eq!(DecapsulationKey::<P>::from_bytes(&bad).map(drop), expected);
        }
        for value in [0, largest, largest + 1, (1 << width) - 1] {
            let expected =
                if value <= largest { Ok(()) } else { Err(KeyError::InvalidSecretKey { coefficient: place }) };
            let mut bad = secret.clone();
            set(&mut bad, width, place, value);
            assert_eq!(DecapsulationKey::<P>::from_bytes(&bad).map(drop), expected);
            assert_eq!(DecapsulationKey::<P>::new(&bad).is_err(), expected.is_err());
        }
    }
    for len in [0, 1, public.len() - 1, public.len() + 1, secret.len() - 1, secret.len() + 1] {
        assert!(EncapsulationKey::<P>::new_from_slice(&vec![0; len]).is_err());
        assert!(DecapsulationKey::<P>::new_from_slice(&vec![0; len]).is_err());
    }
}

#[test]
fn malformed_keys_are_refused() {
    for_all_sets!(refuse);
}

#[test]
fn secrets_are_not_printed() {
    let key = DecapsulationKey::<Ctru768>::generate_from_rng(&mut StdRng::seed_from_u64(4));
    assert_eq!(format!("{key:?}"), "DecapsulationKey(CTRU-768)");
}
