//! Known-answer tests on every device. NIST's ACVP vectors are those of `kat/README.md`. The accumulated vectors of Go's
//! `crypto/mlkem` together cover all residues modulo q. The seeds of C2SP/CCTV lead to matrices that take unusually long
//! to sample.

use ringforge::{Device, Engine};
use ringforge_batch::{Batch, KemScheme};
use ringforge_ml_kem::{MlKem512, MlKem768, MlKem1024};
use ringforge_testkit::Target;
use sha3::{Digest, Sha3_256};
use shake::{ExtendableOutput, Shake128, Update, XofReader};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Results of a round trip from seeds d ‖ z and messages: key pairs, ciphertexts, and the shared keys on which both
/// parties agree.
struct Trip {
    public_keys: Vec<u8>,
    secret_keys: Vec<u8>,
    ciphertexts: Vec<u8>,
    shared_keys: Vec<u8>,
}

impl Trip {
    fn new<M: KemScheme>(kem: &Batch<M>, seeds: &[u8], messages: &[u8]) -> Result<Self, Box<dyn std::error::Error>> {
        let (sizes, batch) = (kem.sizes(), seeds.len() / 64);
        let mut trip = Self {
            public_keys: vec![0; batch * sizes.public_key],
            secret_keys: vec![0; batch * sizes.secret_key],
            ciphertexts: vec![0; batch * sizes.ciphertext],
            shared_keys: vec![0; batch * sizes.shared_key],
        };
        kem.generate_from(seeds, &mut trip.public_keys, &mut trip.secret_keys)?.into_result()?;
        kem.encapsulate_from(messages, &trip.public_keys, &mut trip.ciphertexts, &mut trip.shared_keys)?
            .into_result()?;
        assert_eq!(decapsulate(kem, &trip.secret_keys, &trip.ciphertexts)?, trip.shared_keys);
        Ok(trip)
    }
}

fn decapsulate<M: KemScheme>(
    kem: &Batch<M>,
    secret_keys: &[u8],
    ciphertexts: &[u8],
) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let mut shared_keys = vec![0; secret_keys.len() / kem.sizes().secret_key * 32];
    kem.decapsulate(secret_keys, ciphertexts, &mut shared_keys)?.into_result()?;
    Ok(shared_keys)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(digits: &str) -> Vec<u8> {
    let byte = |i| u8::from_str_radix(&digits[i..i + 2], 16).expect("hexadecimal digits");
    (0..digits.len()).step_by(2).map(byte).collect()
}

/// Runs all cases in one batch. Seeds, messages and random ciphertexts come from one SHAKE-128 stream; all results are
/// hashed with SHAKE-128, and the digest is returned.
fn accumulated<M: KemScheme>(device: &Device, cases: usize) -> Result<String, Box<dyn std::error::Error>> {
    let kem = Batch::<M>::new(&Engine::on(device.clone()))?;
    let sizes = kem.sizes();
    let mut stream = Shake128::default().finalize_xof();
    let (mut seeds, mut messages, mut random) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..cases {
        for (bytes, size) in [(&mut seeds, 64), (&mut messages, 32), (&mut random, sizes.ciphertext)] {
            let start = bytes.len();
            bytes.resize(start + size, 0);
            stream.read(&mut bytes[start..]);
        }
    }
    let trip = Trip::new(&kem, &seeds, &messages)?;
    let rejections = decapsulate(&kem, &trip.secret_keys, &random)?;
    let mut results = Shake128::default();
    for case in 0..cases {
        let parts = [
            (&trip.public_keys, sizes.public_key),
            (&trip.ciphertexts, sizes.ciphertext),
            (&trip.shared_keys, 32),
            (&rejections, 32),
        ];
        parts.iter().for_each(|(bytes, size)| results.update(&bytes[case * size..][..*size]));
    }
    let mut digest = [0; 32];
    results.finalize_xof().read(&mut digest);
    Ok(hex(&digest))
}

/// Expects the digest `after_100` for 100 cases on the CPU and the emulator, and `after_10000` for 10000 cases on a
/// GPU.
fn check_accumulated<M: KemScheme>(after_100: &str, after_10000: &str) -> Outcome {
    for (target, cases, expected) in
        [(Target::Cpu, 100, after_100), (Target::Emulator, 100, after_100), (Target::Cuda, 10_000, after_10000)]
    {
        if let Some(device) = target.device() {
            assert_eq!(accumulated::<M>(&device, cases)?, expected, "{} on {device}", M::NAME);
        }
    }
    Ok(())
}

#[test]
fn accumulated_512() -> Outcome {
    check_accumulated::<MlKem512>(
        "86b1b4703b8ffef6f7f3290c6dbce4ad954498a0673ded401a94828e8c519a59",
        "e0112db334d4240ca6feed5b0beab1318925edd4ff7d840c2ebe6d61971fc14c",
    )
}

#[test]
fn accumulated_768() -> Outcome {
    check_accumulated::<MlKem768>(
        "1114b1b6699ed191734fa339376afa7e285c9e6acf6ff0177d346696ce564415",
        "8a518cc63da366322a8e7a818c7a0d63483cb3528d34a4cf42f35d5ad73f22fc",
    )
}

#[test]
fn accumulated_1024() -> Outcome {
    check_accumulated::<MlKem1024>(
        "800018fec3e2723f73f1d657fe239b4d5d8782efaade297e8cd448e54cc2ac00",
        "f1a3925c9cf8538bb104c56efb2f5ecb74cc3df25087460b73f6c873e96bcb6a",
    )
}

/// Tests an item whose matrix takes more than 575 bytes of a SHAKE-128 stream to sample, between two ordinary items.
fn unlucky<M: KemScheme>(d: &str, shared_key: &str) -> Outcome {
    let z = "8476013560151d986dc7834dcb57c75f845f8d7ee71558d0955f3f4feb723cf2";
    let message = "e48f74ad416e99631003ded1478aec62a02c245d88ed7f2fae92aedf13ca03b3";
    for target in [Target::Cpu, Target::Emulator, Target::Cuda] {
        let Some(device) = target.device() else { continue };
        let seeds = [vec![7; 64], from_hex(d), from_hex(z), vec![9; 64]].concat();
        let messages = [vec![1; 32], from_hex(message), vec![2; 32]].concat();
        let trip = Trip::new(&Batch::<M>::new(&Engine::on(device.clone()))?, &seeds, &messages)?;
        // The shared key is a hash of the message and the public key, so it depends on the whole matrix.
        assert_eq!(hex(&trip.shared_keys[32..64]), shared_key, "{} on {device}", M::NAME);
    }
    Ok(())
}

#[test]
fn unlucky_samples() -> Outcome {
    unlucky::<MlKem512>(
        "2d391adbf4f7e004b09449c48dca574e590c59bd1c8e8095c942b7dd99f7b5da",
        "1fbae951c9bc549639ea851d44e21da5fb9bd25407e09c1a888a309ca00b5f43",
    )?;
    unlucky::<MlKem768>(
        "82c4a361586b9715c2375a45fb85c32d04be7fe6e26acd820ec5d4080093afe1",
        "4f7cc64c040fc4e335a539691f4638caf8b1bf5da6455754afe699e41813801b",
    )?;
    unlucky::<MlKem1024>(
        "9526e27d918ae2379c067c81c59eca33fcd7045ea098c6ea6ed7d8aaea511cb6",
        "984b648fda1cc7ff5fb01d89387f1827ffd43f0bd6c12b157b8b6101273a01ee",
    )
}

/// NIST's ACVP vectors of a parameter set, on the CPU and on a GPU.
fn acvp<M: KemScheme>() -> Outcome {
    let records = |text: &str| -> Result<Vec<serde_json::Value>, serde_json::Error> {
        let mut all: Vec<serde_json::Value> = serde_json::from_str(text)?;
        all.retain(|record| record["set"] == M::NAME);
        Ok(all)
    };
    let bytes = |records: &[serde_json::Value], field: &str| -> Vec<u8> {
        records.iter().filter_map(|record| record[field].as_str()).flat_map(from_hex).collect()
    };
    let digest = |parts: &[&[u8]]| hex(&Sha3_256::digest(parts.concat()));
    for target in [Target::Cpu, Target::Cuda] {
        let Some(device) = target.device() else { continue };
        let kem = Batch::<M>::new(&Engine::on(device.clone()))?;
        let sizes = kem.sizes();

        let made = records(include_str!("kat/keygen.json"))?;
        let [mut public_keys, mut secret_keys] = [sizes.public_key, sizes.secret_key].map(|size| vec![0; 25 * size]);
        kem.generate_from(&bytes(&made, "seeds"), &mut public_keys, &mut secret_keys)?.into_result()?;
        let keys = public_keys.chunks_exact(sizes.public_key).zip(secret_keys.chunks_exact(sizes.secret_key));
        assert_eq!(made.len(), 25);
        for (record, (public_key, secret_key)) in made.iter().zip(keys) {
            assert_eq!(record["keys"], digest(&[public_key, secret_key]), "{} on {device}", M::NAME);
        }

        let sent = records(include_str!("kat/encapsulate.json"))?;
        let [mut ciphertexts, mut shared_keys] = [sizes.ciphertext, sizes.shared_key].map(|size| vec![0; 8 * size]);
        let (messages, public_keys) = (bytes(&sent, "message"), bytes(&sent, "public_key"));
        kem.encapsulate_from(&messages, &public_keys, &mut ciphertexts, &mut shared_keys)?.into_result()?;
        assert_eq!((sent.len(), shared_keys), (8, bytes(&sent, "shared_key")));
        for (record, ciphertext) in sent.iter().zip(ciphertexts.chunks_exact(sizes.ciphertext)) {
            assert_eq!(record["ciphertext"], digest(&[ciphertext]), "{} on {device}", M::NAME);
        }

        let received = records(include_str!("kat/decapsulate.json"))?;
        let secret_keys = bytes(&received, "secret_key").repeat(received.len());
        let shared_keys = decapsulate(&kem, &secret_keys, &bytes(&received, "ciphertext"))?;
        assert_eq!((received.len(), shared_keys), (10, bytes(&received, "shared_key")), "{} on {device}", M::NAME);
    }
    Ok(())
}

#[test]
fn acvp_512() -> Outcome {
    acvp::<MlKem512>()
}

#[test]
fn acvp_768() -> Outcome {
    acvp::<MlKem768>()
}

#[test]
fn acvp_1024() -> Outcome {
    acvp::<MlKem1024>()
}
