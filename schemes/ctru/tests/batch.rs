//! Tests of batches on every device: vectors, invalid items, handles, corrupted ciphertexts, and many round trips.

use ringforge::{Device, Engine, Error, Limits};
use ringforge_batch::{BatchStatus, ENCAPSULATION_SEED, ItemError, KEY_SEED, OK};
use ringforge_ctru::{Batch, Cntr512, Cntr768, Cntr1024, Ctru, Ctru512, Ctru768, Ctru1024, KeyError, ParameterSet};
use ringforge_testkit::inject::unseen_steps;
use ringforge_testkit::{Random, Scheme, Target, bytes, devices, seed};
use sha3::{Digest, Sha3_256, Sha3_512};
use shake::XofReader;

use crate::kat::{File, Record, from_hex, hex};

type Outcomes = Result<(), Box<dyn std::error::Error>>;

/// Returns the randomness of a record: the seeds d and z of its key pair, then the seed of its encapsulation.
fn randomness(set: &str, record: usize) -> [u8; 96] {
    let mut drawn = [0; 96];
    crate::kat::randomness(set, record).read(&mut drawn);
    drawn
}

/// Key pairs, ciphertexts and shared keys of a batch, with the status of key generation.
struct Trip {
    public_keys: Vec<u8>,
    secret_keys: Vec<u8>,
    ciphertexts: Vec<u8>,
    shared_keys: Vec<u8>,
    status: BatchStatus<KeyError>,
}

impl Trip {
    fn empty<P: ParameterSet>(kem: &Batch<P>, batch: usize) -> Self {
        let sizes = kem.sizes();
        Self {
            public_keys: vec![1; batch * sizes.public_key],
            secret_keys: vec![1; batch * sizes.secret_key],
            ciphertexts: vec![1; batch * sizes.ciphertext],
            shared_keys: vec![1; batch * sizes.shared_key],
            status: BatchStatus::new(vec![]),
        }
    }

    fn from_seeds<P: ParameterSet>(kem: &Batch<P>, seeds: &[[u8; 96]]) -> ringforge::Result<Self> {
        let mut trip = Self::empty(kem, seeds.len());
        let keys: Vec<u8> = seeds.iter().flat_map(|seed| seed[..KEY_SEED].to_vec()).collect();
        let encapsulations: Vec<u8> = seeds.iter().flat_map(|seed| seed[KEY_SEED..].to_vec()).collect();
        assert_eq!(encapsulations.len(), seeds.len() * ENCAPSULATION_SEED);
        trip.status = kem.generate_from(&keys, &mut trip.public_keys, &mut trip.secret_keys)?;
        kem.encapsulate_from(&encapsulations, &trip.public_keys, &mut trip.ciphertexts, &mut trip.shared_keys)?
            .into_result()
            .expect("keys, or zeros, which pass for one");
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

/// Checks the 100 digests of a set and the records of its vector file, all in one batch. For each record that tests a
/// retry, a seed that gives no key is inserted at item 50.
fn vectors<P: ParameterSet>(device: &Device, file: &str) -> Outcomes {
    let file = File::of(file);
    let name = P::PARAMETERS.name;
    let kem = Batch::<P>::new(&Engine::on(device.clone()))?;
    let sizes = kem.sizes();

    let mut counts: Vec<usize> = (0..100).collect();
    let mut seeds: Vec<[u8; 96]> = counts.iter().map(|&count| randomness(name, count)).collect();
    let mut digests = file.digests_0_to_99;
    let mut without_key = Vec::new();
    for Record { count, keygen_seed, z, encaps_seed, digest, .. } in file.records {
        let named = [keygen_seed, z, encaps_seed].map(|digits| from_hex(&digits)).concat();
        counts.push(count);
        seeds.push(named.try_into().expect("96 bytes"));
        digests.push(digest);
        if count > 4 {
            // records numbered above 4 test retries: the first seed of their randomness gives no key
            without_key.push(50);
            counts.insert(50, count);
            seeds.insert(50, randomness(name, count));
            digests.insert(50, String::new());
        }
    }
    let trip = Trip::from_seeds(&kem, &seeds)?;
    let fault = |&item: &usize| ItemError { item, kind: KeyError::NotInvertible.into() };
    assert_eq!(trip.status.errors(), without_key.iter().map(fault).collect::<Vec<_>>());
    assert_eq!(trip.decapsulated(&kem)?.len(), trip.shared_keys.len());

    let mut spoilt = trip.ciphertexts.clone();
    for (ciphertext, &count) in spoilt.chunks_exact_mut(sizes.ciphertext).zip(&counts) {
        ciphertext[(131 * count + 7) % sizes.ciphertext] ^= 1 << (count % 8);
    }
    let mut rejections = vec![0; trip.shared_keys.len()];
    kem.decapsulate(&trip.secret_keys, &spoilt, &mut rejections)?.into_result()?;
    let received = trip.decapsulated(&kem)?;
    for (item, digest) in digests.iter().enumerate() {
        let part = |bytes: &[u8], size: usize| bytes[item * size..][..size].to_vec();
        let (public_key, secret_key) =
            (part(&trip.public_keys, sizes.public_key), part(&trip.secret_keys, sizes.secret_key));
        if without_key.contains(&item) {
            assert!(public_key.iter().chain(&secret_key).all(|&byte| byte == 0), "{name} on {device}");
            continue;
        }
        assert_eq!(part(&received, 32), part(&trip.shared_keys, 32), "{name} on {device}, item {item}");
        let ciphertext = part(&trip.ciphertexts, sizes.ciphertext);
        let record = [public_key, secret_key, ciphertext, part(&received, 32), part(&rejections, 32)].concat();
        assert_eq!(hex(&Sha3_256::digest(record)), *digest, "{name} on {device}, item {item}");
    }
    Ok(())
}

macro_rules! vectors {
    ($($test:ident: $set:ty, $file:literal;)*) => { $(
        #[test]
        fn $test() -> Outcomes {
            devices().iter().try_for_each(|device| vectors::<$set>(device, $file))
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

#[test]
fn bad_items_are_reported_and_isolated() -> Outcomes {
    for device in devices() {
        let kem = Batch::<Ctru768>::new(&Engine::on(device.clone()))?;
        let sizes = kem.sizes();
        let trip = Trip::random(&kem, 5)?;
        // invalid: evaluation 5 of item 1's public key is 4095, and coefficient 7 of item 3's secret key is 15
        let mut public_keys = trip.public_keys.clone();
        public_keys[sizes.public_key + 7] |= 0xf0;
        public_keys[sizes.public_key + 8] = 0xff;
        let mut secret_keys = trip.secret_keys.clone();
        secret_keys[3 * sizes.secret_key + 3] |= 0xf0;
        // invalid: evaluation 5 of the public key within item 4's secret key is 4095
        secret_keys[4 * sizes.secret_key + 384 + 7] |= 0xf0;
        secret_keys[4 * sizes.secret_key + 384 + 8] = 0xff;
        let bad_public = ItemError { item: 1, kind: KeyError::InvalidPublicKey { coefficient: 5 }.into() };
        let bad_secret = [
            ItemError { item: 3, kind: KeyError::InvalidSecretKey { coefficient: 7 }.into() },
            ItemError { item: 4, kind: KeyError::InvalidPublicKey { coefficient: 5 }.into() },
        ];

        let (mut ciphertexts, mut shared_keys) = (vec![1; 5 * sizes.ciphertext], vec![1; 5 * 32]);
        let status = kem.encapsulate(&public_keys, &mut ciphertexts, &mut shared_keys)?;
        assert_eq!(status.errors(), [bad_public]);
        assert_eq!(status.into_result(), Err(bad_public));
        assert!(ciphertexts[sizes.ciphertext..][..sizes.ciphertext].iter().all(|&byte| byte == 0));
        assert_eq!(shared_keys[32..64], [0; 32]);
        let mut received = vec![1; 5 * 32];
        kem.decapsulate(&trip.secret_keys, &ciphertexts, &mut received)?.into_result()?;
        for item in [0, 2, 3, 4] {
            assert_eq!(received[32 * item..][..32], shared_keys[32 * item..][..32]);
        }

        let status = kem.decapsulate(&secret_keys, &trip.ciphertexts, &mut received)?;
        assert_eq!(status.errors(), bad_secret);
        assert_eq!(received[..96], trip.shared_keys[..96]);
        assert_eq!(received[96..], [0; 64]);

        // keys imported to device memory give the same errors
        let stream = device.stream()?;
        let keys = kem.import_public_keys(&stream, &public_keys)?;
        assert_eq!(keys.status(&stream)?.errors(), [bad_public]);
        let (sent, shared) = kem.encapsulate_on(&stream, &keys)?;
        assert_eq!((sent.len(), shared.len()), (5, 5));
        assert_eq!(shared.status(&stream)?.errors(), [bad_public]);
        let keys = kem.import_secret_keys(&stream, &secret_keys)?;
        assert_eq!(keys.status(&stream)?.errors(), bad_secret);
        let shared = kem.decapsulate_on(&stream, &keys, &kem.import_ciphertexts(&stream, &trip.ciphertexts)?)?;
        assert_eq!(shared.export(&stream, &mut received)?.errors(), bad_secret);
        assert_eq!(received[..96], trip.shared_keys[..96]);
    }
    Ok(())
}

#[test]
fn wrong_lengths_are_refused() -> Outcomes {
    for device in devices() {
        let kem = Batch::<Cntr512>::new(&Engine::on(device.clone()))?;
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
        let kem = Batch::<Cntr768>::new(&Engine::on(device.clone()))?;
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

/// Checks that decapsulation returns the encapsulated keys, for 1000 items on the CPU and `on_gpu` items on a GPU.
fn round_trips<P: ParameterSet>(on_gpu: usize) -> Outcomes {
    for (device, mut left) in [(Target::Cpu.device(), 1000), (Target::Cuda.device(), on_gpu)] {
        let Some(device) = device else { continue };
        let kem = Batch::<P>::new(&Engine::on(device.clone()))?;
        while left > 0 {
            let batch = left.min(100_000);
            let trip = Trip::random(&kem, batch)?;
            assert!(trip.decapsulated(&kem)? == trip.shared_keys, "{} on {device}", P::PARAMETERS.name);
            left -= batch;
        }
    }
    Ok(())
}

#[test]
fn round_trips_all_agree() -> Outcomes {
    round_trips::<Ctru768>(1_000_000)?;
    round_trips::<Cntr768>(1_000_000)?;
    round_trips::<Ctru512>(100_000)?;
    round_trips::<Ctru1024>(100_000)?;
    round_trips::<Cntr512>(100_000)?;
    round_trips::<Cntr1024>(100_000)
}

/// Flips one bit in each ciphertext. Checks that each decapsulated key is the rejection key: the first half of
/// SHA3-512(identity ‖ z ‖ ciphertext).
fn flipped<P: ParameterSet>(on_gpu: usize) -> Outcomes {
    for (device, batch) in [(Target::Cpu.device(), 1000), (Target::Cuda.device(), on_gpu)] {
        let Some(device) = device else { continue };
        let kem = Batch::<P>::new(&Engine::on(device.clone()))?;
        let sizes = kem.sizes();
        let mut trip = Trip::random(&kem, batch)?;
        let mut random = Random::new(seed());
        for (item, ciphertext) in trip.ciphertexts.chunks_exact_mut(sizes.ciphertext).enumerate() {
            // the first items cover every bit of a ciphertext, the others flip random bits
            let bits = 8 * sizes.ciphertext;
            let bit = if item < bits { item } else { random.below(bits) };
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
    flipped::<Ctru768>(100_000)?;
    flipped::<Cntr768>(100_000)?;
    flipped::<Ctru512>(20_000)?;
    flipped::<Ctru1024>(20_000)?;
    flipped::<Cntr512>(20_000)?;
    flipped::<Cntr1024>(20_000)
}

/// Tests that arbitrary bytes as ciphertexts decapsulate without error, to the same keys on every device.
#[test]
fn arbitrary_ciphertexts_are_decapsulated() -> Outcomes {
    let mut first = None;
    for device in devices() {
        let kem = Batch::<Ctru1024>::new(&Engine::on(device.clone()))?;
        let seeds: Vec<[u8; 96]> = (0..4).map(|record| randomness("any", record)).collect();
        let mut trip = Trip::from_seeds(&kem, &seeds)?;
        trip.ciphertexts = bytes(1, trip.ciphertexts.len());
        let received = trip.decapsulated(&kem)?;
        assert_eq!(*first.get_or_insert_with(|| received.clone()), received, "{device}");
    }
    Ok(())
}

#[test]
fn skipped_items_are_never_ok() {
    for named in Ctru::plans(&Limits::cpu()).expect("plans") {
        if named.plan.arg("statuses").is_none_or(|arg| !arg.status) {
            continue;
        }
        let unseen = unseen_steps(&named, OK, 2, 5).expect("runs");
        let names: Vec<_> =
            unseen.iter().filter_map(|&step| named.plan.kernels().nth(step)).map(|k| k.name()).collect();
        // a skipped `random_block` leaves arbitrary bytes as seeds, which are valid; `ctru_retry` has nothing to do for most
        // items
        assert!(names.iter().all(|name| ["random_block", "ctru_retry"].contains(name)), "{}: {names:?}", named.name);
    }
}
