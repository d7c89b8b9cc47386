//! NIST's ACVP vectors (`kat/README.md`): key generation, signing and verification of every parameter set.

use ringforge::Engine;
use ringforge_batch::{OK, SignatureScheme, Signatures};
use ringforge_ml_dsa::{MlDsa44, MlDsa65, MlDsa87};
use ringforge_testkit::Target;
use serde_json::Value;
use sha3::{Digest, Sha3_256};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// The records of one parameter set.
struct Records(Vec<Value>);

impl Records {
    fn of<M: SignatureScheme>(text: &str) -> Result<Self, serde_json::Error> {
        let mut all: Vec<Value> = serde_json::from_str(text)?;
        all.retain(|record| record["set"] == M::NAME);
        Ok(Self(all))
    }

    /// The bytes of a field of all records, one after another. Records without it have none.
    fn bytes(&self, field: &str) -> Vec<u8> {
        let digits = self.0.iter().filter_map(|record| record[field].as_str()).flat_map(str::bytes);
        let digits: Vec<u32> = digits.filter_map(|digit| char::from(digit).to_digit(16)).collect();
        digits.chunks_exact(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
    }
}

/// SHA3-256 of each item, which takes its bytes from every list.
fn digests(count: usize, lists: &[&[u8]]) -> Vec<u8> {
    let item = |i: usize| {
        let mut hash = Sha3_256::new();
        lists.iter().for_each(|list| hash.update(&list[i * list.len() / count..][..list.len() / count]));
        hash.finalize()
    };
    (0..count).flat_map(item).collect()
}

fn check<M: SignatureScheme>() -> Outcome {
    for target in [Target::Cpu, Target::Cuda] {
        let Some(device) = target.device() else { continue };
        let dsa = Signatures::<M>::new(&Engine::on(device.clone()))?;
        let (sizes, stream) = (dsa.sizes(), device.stream()?);

        let records = Records::of::<M>(include_str!("kat/keygen.json"))?;
        let count = records.0.len();
        let [mut public_keys, mut secret_keys] = [sizes.public_key, sizes.secret_key].map(|size| vec![0; count * size]);
        dsa.generate_from(&records.bytes("seed"), &mut public_keys, &mut secret_keys)?.into_result()?;
        let found = digests(count, &[&public_keys, &secret_keys]);
        assert!(count == 25 && found == records.bytes("keys"), "{}: keys on {device}", M::NAME);

        let records = Records::of::<M>(include_str!("kat/siggen.json"))?;
        let count = records.0.len();
        let keys = dsa.signing_keys(&stream, &records.bytes("secret_key"))?;
        let representatives = stream.upload(&records.bytes("representative"))?;
        let seeds = stream.upload_secret(&records.bytes("random"))?;
        let [signatures, statuses] = dsa.sign_on_from(&stream, &seeds, &keys, &representatives)?;
        assert!(stream.download::<u32>(&statuses)?.iter().all(|status| *status == OK));
        let found = digests(count, &[&stream.download(&signatures)?]);
        assert!(count == 8 && found == records.bytes("signature"), "{}: signatures on {device}", M::NAME);

        let records = Records::of::<M>(include_str!("kat/sigver.json"))?;
        let key = dsa.verifying_keys(&stream, &records.bytes("public_key"))?;
        let representatives = stream.upload(&records.bytes("representative"))?;
        let signatures = stream.upload(&records.bytes("signature"))?;
        let statuses = stream.download::<u32>(&dsa.verify_on(&stream, &key, &representatives, &signatures)?)?;
        assert_eq!(statuses.len(), 15);
        for (record, status) in records.0.iter().zip(statuses) {
            assert_eq!(record["passed"], status == OK, "{}, {}: on {device}", M::NAME, record["reason"]);
        }
    }
    Ok(())
}

#[test]
fn vectors_of_44() -> Outcome {
    check::<MlDsa44>()
}

#[test]
fn vectors_of_65() -> Outcome {
    check::<MlDsa65>()
}

#[test]
fn vectors_of_87() -> Outcome {
    check::<MlDsa87>()
}
