//! Reads the test vectors in this folder.
#![allow(dead_code, reason = "each test takes a part")]

use std::path::Path;

use serde::Deserialize;
use shake::{ExtendableOutput, Shake256, Shake256Reader, Update};

#[derive(Deserialize)]
pub(crate) struct File {
    pub(crate) records: Vec<Record>,
    pub(crate) digests_0_to_99: Vec<String>,
}

#[derive(Deserialize)]
pub(crate) struct Record {
    pub(crate) count: usize,
    pub(crate) keygen_seed: String,
    pub(crate) z: String,
    pub(crate) encaps_seed: String,
    pub(crate) pk: String,
    pub(crate) sk: String,
    pub(crate) ct: String,
    pub(crate) ss: String,
    pub(crate) ss_bad_ct: String,
    pub(crate) digest: String,
}

impl File {
    pub(crate) fn of(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kat").join(name);
        let file: Self = serde_json::from_slice(&std::fs::read(path).expect("the file")).expect("its records");
        assert!(file.digests_0_to_99.len() == 100 && !file.records.is_empty());
        file
    }
}

/// Returns the randomness of a record as a SHAKE-256 stream, in the order in which the scheme consumes it.
pub(crate) fn randomness(set: &str, record: usize) -> Shake256Reader {
    Shake256::default().chain(format!("CTRU-KAT-v1|S|{set}|{record}")).finalize_xof()
}

pub(crate) fn from_hex(digits: &str) -> Vec<u8> {
    let byte = |i| u8::from_str_radix(&digits[i..i + 2], 16).expect("hexadecimal digits");
    (0..digits.len()).step_by(2).map(byte).collect()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
