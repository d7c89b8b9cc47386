//! Tests of batches on every device: vectors, invalid items, handles, corrupted ciphertexts, and many round trips.

use ringforge::{Device, Engine, Error, Limits};
use ringforge_batch::{BatchStatus, ItemError, KEY_SEED, OK, SharedKeys};
use ringforge_ctru_prime::{
    Batch, CtruPrime, CtruPrime653, CtruPrime761, CtruPrime1277, KeyError, OneKey, ParameterSet, is_canonical,
};
use ringforge_testkit::inject::unseen_steps;
use ringforge_testkit::{Random, Scheme, Target, bytes, devices, seed};
use sha3::{Digest, Sha3_256, Sha3_512};

use crate::kat::{File, hex, randomness};

type Outcomes = Result<(), Box<dyn std::error::Error>>;

/// Key pairs, ciphertexts and shared keys of a batch.
struct Trip {
    public_keys: Vec<u8>,
    secret_keys: Vec<u8>,
    ciphertexts: Vec<u8>,
    shared_keys: Vec<u8>,
}

impl Trip {
    fn empty<P: ParameterSet>(kem: &Batch<P>, batch: usize) -> Self {
        let sizes = kem.sizes();
        Self {
            public_keys: vec![1; batch * sizes.public_key],
            secret_keys: vec![1; batch * sizes.secret_key],
            ciphertexts: vec![1; batch * sizes.ciphertext],
            shared_keys: vec![1; batch * sizes.shared_key],
        }
    }

    fn from_seeds<P: ParameterSet>(kem: &Batch<P>, seeds: &[[u8; 96]]) -> Result<Self, Box<dyn std::error::Error>> {
        let mut trip = Self::empty(kem, seeds.len());
        let keys: Vec<u8> = seeds.iter().flat_map(|seed| seed[..KEY_SEED].to_vec()).collect();
        let encapsulations: Vec<u8> = seeds.iter().flat_map(|seed| seed[KEY_SEED..].to_vec()).collect();
        kem.generate_from(&keys, &mut trip.public_keys, &mut trip.secret_keys)?.into_result()?;
        kem.encapsulate_from(&encapsulations, &trip.public_keys, &mut trip.ciphertexts, &mut trip.shared_keys)?
            .into_result()?;
        Ok(trip)
    }

    fn random<P: ParameterSet>(kem: &Batch<P>, batch: usize) -> Result<Self, Box<dyn std::error::Error>> {
        let mut trip = Self::empty(kem, batch);
        kem.generate(&mut trip.public_keys, &mut trip.secret_keys)?.into_result()?;
        kem.encapsulate(&trip.public_keys, &mut trip.ciphertexts, &mut trip.shared_keys)?.into_result()?;
        Ok(trip)
    }

    fn decapsulated<P: ParameterSet>(&self, kem: &Batch<P>) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
        let mut shared_keys = vec![1; self.shared_keys.len()];
        kem.decapsulate(&self.secret_keys, &self.ciphertexts, &mut shared_keys)?.into_result()?;
        Ok(shared_keys)
    }
}

/// Checks the first `count` of a set's 100 digests of keys, ciphertext and shared keys, in one batch.
fn vectors<P: ParameterSet>(device: &Device, count: usize) -> Outcomes {
    let p = P::PARAMETERS;
    let kem = Batch::<P>::new(&Engine::on(device.clone()))?;
    let sizes = kem.sizes();
    let mut digests = File::of(p.name).digests;
    assert_eq!(digests.len(), 100);
    digests.truncate(count);
    let drawn: Vec<_> = (0..count).map(|record| randomness(p.name, record, sizes.ciphertext)).collect();
    let trip = Trip::from_seeds(&kem, &drawn.iter().map(|drawn| drawn.0).collect::<Vec<_>>())?;
    assert_eq!(trip.decapsulated(&kem)?, trip.shared_keys, "{} on {device}", p.name);

    let mut spoilt = trip.ciphertexts.clone();
    for (ciphertext, (_, byte, bit)) in spoilt.chunks_exact_mut(sizes.ciphertext).zip(&drawn) {
        ciphertext[*byte] ^= 1 << bit;
    }
    let mut rejections = vec![0; trip.shared_keys.len()];
    kem.decapsulate(&trip.secret_keys, &spoilt, &mut rejections)?.into_result()?;
    for (item, digest) in digests.iter().enumerate() {
        let part = |bytes: &[u8], size: usize| bytes[item * size..][..size].to_vec();
        let [pk, sk] = [part(&trip.public_keys, sizes.public_key), part(&trip.secret_keys, sizes.secret_key)];
        let ct = part(&trip.ciphertexts, sizes.ciphertext);
        assert!(is_canonical::<P>(&pk)?);
        let record = [pk, sk, ct, part(&trip.shared_keys, 32), part(&rejections, 32)].concat();
        assert_eq!(hex(&Sha3_256::digest(record)), *digest, "{} on {device}, item {item}", p.name);
    }
    Ok(())
}

macro_rules! vectors {
    ($($test:ident: $set:ty;)*) => { $(
        #[test]
        fn $test() -> Outcomes {
            // the emulator takes seconds per item, so it gets only slightly more items than a block has
            for (target, count) in [(Target::Cpu, 100), (Target::Emulator, 9), (Target::Cuda, 100)] {
                target.device().iter().try_for_each(|device| vectors::<$set>(device, count))?;
            }
            Ok(())
        }
    )* };
}

vectors! {
    vectors_of_653: CtruPrime653;
    vectors_of_761: CtruPrime761;
    vectors_of_1277: CtruPrime1277;
}

#[test]
fn bad_items_are_reported_and_isolated() -> Outcomes {
    for device in devices() {
        let kem = Batch::<CtruPrime761>::new(&Engine::on(device.clone()))?;
        let sizes = kem.sizes();
        let trip = Trip::random(&kem, 5)?;
        // invalid: coefficient 7 of item 3's secret key is 15, and so is the padding of item 1's
        let mut secret_keys = trip.secret_keys.clone();
        secret_keys[3 * sizes.secret_key + 3] |= 0xf0;
        secret_keys[sizes.secret_key + 380] |= 0xf0;
        let bad = [
            ItemError { item: 1, kind: KeyError::InvalidSecretKey { coefficient: 761 }.into() },
            ItemError { item: 3, kind: KeyError::InvalidSecretKey { coefficient: 7 }.into() },
        ];
        let mut received = vec![1; 5 * 32];
        let status = kem.decapsulate(&secret_keys, &trip.ciphertexts, &mut received)?;
        assert_eq!(status.errors(), bad);
        for item in 0..5 {
            let expected = if item % 2 == 1 { &[0; 32] } else { &trip.shared_keys[32 * item..][..32] };
            assert_eq!(received[32 * item..][..32], *expected, "{device}");
        }
        // keys imported to device memory give the same errors
        let stream = device.stream()?;
        let keys = kem.import_secret_keys(&stream, &secret_keys)?;
        assert_eq!(keys.status(&stream)?.errors(), bad);
        let shared = kem.decapsulate_on(&stream, &keys, &kem.import_ciphertexts(&stream, &trip.ciphertexts)?)?;
        let mut exported = vec![1; 5 * 32];
        assert_eq!(shared.export(&stream, &mut exported)?.errors(), bad);
        assert_eq!(exported, received);
    }
    Ok(())
}

#[test]
fn wrong_lengths_are_refused() -> Outcomes {
    for device in devices() {
        let kem = Batch::<CtruPrime653>::new(&Engine::on(device.clone()))?;
        let sizes = kem.sizes();
        let length = |status: ringforge::Result<BatchStatus<KeyError>>| {
            assert!(matches!(status, Err(Error::Length { .. } | Error::ArgumentSize { .. })), "{status:?}");
        };
        let (mut pk, mut sk) = (vec![0; 2 * sizes.public_key], vec![0; 2 * sizes.secret_key]);
        let (mut ct, mut ss) = (vec![0; 2 * sizes.ciphertext], vec![0; 2 * 32]);
        length(kem.generate(&mut pk[1..], &mut sk));
        length(kem.generate(&mut pk, &mut sk[..sizes.secret_key]));
        length(kem.generate_from(&[0; 127], &mut pk, &mut sk));
        length(kem.encapsulate(&pk, &mut ct[1..], &mut ss));
        length(kem.encapsulate(&pk[..sizes.public_key], &mut ct, &mut ss));
        length(kem.encapsulate_from(&[0; 65], &pk, &mut ct, &mut ss));
        length(kem.decapsulate(&sk[1..], &ct, &mut ss));
        length(kem.decapsulate(&sk, &ct, &mut ss[..32]));
        let stream = device.stream()?;
        assert!(matches!(kem.import_ciphertexts(&stream, &ct[1..]), Err(Error::Length { .. })));
        assert!(matches!(kem.import_public_keys(&stream, &pk[1..]), Err(Error::Length { .. })));
        assert!(matches!(kem.import_secret_keys(&stream, &sk[1..]), Err(Error::Length { .. })));
        // an empty batch is not an error
        kem.generate(&mut [], &mut [])?.into_result()?;
        kem.encapsulate(&[], &mut [], &mut [])?.into_result()?;
        kem.decapsulate(&[], &[], &mut [])?.into_result()?;
    }
    Ok(())
}

#[test]
fn handles_agree_with_host_memory() -> Outcomes {
    for device in devices() {
        let kem = Batch::<CtruPrime1277>::new(&Engine::on(device.clone()))?;
        let sizes = kem.sizes();
        let stream = device.stream()?;
        let (public_keys, secret_keys) = kem.generate_on(&stream, 7)?;
        let (ciphertexts, shared_keys) = kem.encapsulate_on(&stream, &public_keys)?;
        let received = kem.decapsulate_on(&stream, &secret_keys, &ciphertexts)?;
        let (mut sent, mut got) = ([0; 7 * 32], [1; 7 * 32]);
        shared_keys.export(&stream, &mut sent)?.into_result()?;
        received.export(&stream, &mut got)?.into_result()?;
        assert_eq!(sent, got);
        let (mut keys, mut texts) = (vec![0; 7 * sizes.secret_key], vec![0; 7 * sizes.ciphertext]);
        secret_keys.export(&stream, &mut keys)?.into_result()?;
        ciphertexts.export(&stream, &mut texts)?.into_result()?;
        let mut again = [0; 7 * 32];
        kem.decapsulate(&keys, &texts, &mut again)?.into_result()?;
        assert_eq!(sent, again);
        assert!(sent.chunks_exact(32).all(|key| sent.chunks_exact(32).filter(|other| *other == key).count() == 1));
    }
    Ok(())
}

/// Tests `OneKey`: with one key for all items, encapsulated and decapsulated keys agree, and a corrupted ciphertext
/// changes only its own shared key.
#[test]
fn one_key_serves_a_whole_batch() -> Outcomes {
    for device in devices() {
        let (kem, one) = (
            Batch::<CtruPrime761>::new(&Engine::on(device.clone()))?,
            OneKey::<CtruPrime761>::new(&Engine::on(device.clone()))?,
        );
        let sizes = kem.sizes();
        let stream = device.stream()?;
        let trip = Trip::random(&kem, 1)?;
        let to = one.public_key(&stream, &trip.public_keys)?;
        let with = one.secret_key(&stream, &trip.secret_keys)??;
        let exported = |shared_keys: SharedKeys<CtruPrime761>| -> Result<_, Box<dyn std::error::Error>> {
            let mut bytes = [1; 5 * 32];
            shared_keys.export(&stream, &mut bytes)?.into_result()?;
            Ok(bytes)
        };
        let (ciphertexts, shared_keys) = one.encapsulate(&stream, &to, 5)?;
        let sent = exported(shared_keys)?;
        assert_eq!(exported(one.decapsulate(&stream, &with, &ciphertexts)?)?, sent, "{device}");

        // a batch with a copy of the key per item gives the same shared keys, also for a corrupted ciphertext
        let mut texts = vec![0; 5 * sizes.ciphertext];
        ciphertexts.export(&stream, &mut texts)?.into_result()?;
        texts[2 * sizes.ciphertext + 9] ^= 4;
        let mut single = vec![1; 5 * 32];
        kem.decapsulate(&trip.secret_keys.repeat(5), &texts, &mut single)?.into_result()?;
        let received = one.decapsulate(&stream, &with, &kem.import_ciphertexts(&stream, &texts)?)?;
        assert_eq!(exported(received)?, *single, "{device}");
        assert_eq!(single[..64], sent[..64]);
        assert!(single[64..96] != sent[64..96] && single[96..] == sent[96..]);

        assert!(matches!(one.public_key(&stream, &trip.public_keys[1..]), Err(Error::Length { .. })));
        assert!(matches!(one.secret_key(&stream, &trip.secret_keys[1..]), Err(Error::Length { .. })));
        // an invalid secret key is reported as in a batch
        let mut spoilt = trip.secret_keys.clone();
        spoilt[3] |= 0xf0;
        let why = one.secret_key(&stream, &spoilt)?.err();
        assert_eq!(why, Some(KeyError::InvalidSecretKey { coefficient: 7 }), "{device}");
        assert!(matches!(kem.import_ciphertexts(&stream, &texts[1..]), Err(Error::Length { .. })));
    }
    Ok(())
}

/// Checks that decapsulation returns the encapsulated keys, for 100 items on the CPU and 100 000 items on a GPU.
fn round_trips<P: ParameterSet>() -> Outcomes {
    for (device, batch) in [(Target::Cpu.device(), 100), (Target::Cuda.device(), 100_000)] {
        let Some(device) = device else { continue };
        let kem = Batch::<P>::new(&Engine::on(device.clone()))?;
        let trip = Trip::random(&kem, batch)?;
        assert!(trip.decapsulated(&kem)? == trip.shared_keys, "{} on {device}", P::PARAMETERS.name);
    }
    Ok(())
}

#[test]
fn round_trips_all_agree() -> Outcomes {
    round_trips::<CtruPrime653>()?;
    round_trips::<CtruPrime761>()?;
    round_trips::<CtruPrime1277>()
}

/// Flips one bit in each ciphertext. Checks that each decapsulated key is the rejection key: the first half of
/// SHA3-512(identity ‖ z ‖ ciphertext).
fn flipped<P: ParameterSet>() -> Outcomes {
    for (device, batch) in [(Target::Cpu.device(), 100), (Target::Cuda.device(), 20_000)] {
        let Some(device) = device else { continue };
        let kem = Batch::<P>::new(&Engine::on(device.clone()))?;
        let sizes = kem.sizes();
        let mut trip = Trip::random(&kem, batch)?;
        let mut random = Random::new(seed());
        for (item, ciphertext) in trip.ciphertexts.chunks_exact_mut(sizes.ciphertext).enumerate() {
            // the first items flip the bits of a ciphertext from the last one (padding) to the first, the others flip
            // random bits
            let bits = 8 * sizes.ciphertext;
            let bit = if item < 16.max(bits.min(batch)) { bits - 1 - item } else { random.below(bits) };
            ciphertext[bit / 8] ^= 1 << (bit % 8);
        }
        let received = trip.decapsulated(&kem)?;
        let keys = trip.secret_keys.chunks_exact(sizes.secret_key).zip(trip.ciphertexts.chunks_exact(sizes.ciphertext));
        for (item, ((key, ciphertext), received)) in keys.zip(received.chunks_exact(32)).enumerate() {
            let id = sizes.secret_key - 32 - sizes.public_key;
            let hash = Sha3_512::new()
                .chain_update(&key[id..id + 33])
                .chain_update(&key[sizes.secret_key - 32..])
                .chain_update(ciphertext);
            assert!(hash.finalize()[..32] == *received, "{} on {device}, item {item}", P::PARAMETERS.name);
        }
    }
    Ok(())
}

#[test]
fn every_flipped_bit_is_rejected() -> Outcomes {
    flipped::<CtruPrime653>()?;
    flipped::<CtruPrime761>()?;
    flipped::<CtruPrime1277>()
}

/// Tests that arbitrary bytes as public keys and ciphertexts give keys without error, the same ones on every device.
#[test]
fn arbitrary_bytes_are_valid_inputs() -> Outcomes {
    let mut first = None;
    for device in devices() {
        let kem = Batch::<CtruPrime1277>::new(&Engine::on(device.clone()))?;
        let seeds: Vec<[u8; 96]> = (0..4).map(|record| randomness("any", record, 1).0).collect();
        let mut trip = Trip::from_seeds(&kem, &seeds)?;
        let public_keys = bytes(2, trip.public_keys.len());
        let (mut ciphertexts, mut shared_keys) = (vec![0; trip.ciphertexts.len()], vec![0; 4 * 32]);
        kem.encapsulate_from(&bytes(3, 4 * 32), &public_keys, &mut ciphertexts, &mut shared_keys)?.into_result()?;
        trip.ciphertexts = bytes(1, trip.ciphertexts.len());
        let made = [ciphertexts, shared_keys, trip.decapsulated(&kem)?];
        assert_eq!(*first.get_or_insert_with(|| made.clone()), made, "{device}");
    }
    Ok(())
}

#[test]
fn skipped_items_are_never_ok() {
    for named in CtruPrime::plans(&Limits::cpu()).expect("plans") {
        if named.plan.arg("statuses").is_none() {
            continue;
        }
        let unseen = unseen_steps(&named, OK, 2, 5).expect("runs");
        let names: Vec<_> = unseen.iter().filter_map(|&step| Some(named.plan.kernels().nth(step)?.name())).collect();
        assert!(names.is_empty(), "{}: {names:?}", named.name);
    }
}
