//! Reads the test vectors in this folder.
#![allow(dead_code, reason = "each test takes a part")]

use std::path::Path;

use serde::Deserialize;
use shake::{ExtendableOutput, Shake256, Update, XofReader};

#[derive(Deserialize)]
pub(crate) struct File {
    pub(crate) records: Vec<Record>,
    pub(crate) digests: Vec<String>,
    pub(crate) accepted_but_odd: Vec<Odd>,
}

#[derive(Deserialize)]
pub(crate) struct Record {
    pub(crate) d: String,
    pub(crate) z: String,
    pub(crate) seed: String,
    pub(crate) pk: String,
    pub(crate) sk: String,
    pub(crate) ct: String,
    pub(crate) ss: String,
    pub(crate) bad_ct_flip: Flip,
    pub(crate) ss_bad_ct: String,
}

#[derive(Deserialize)]
pub(crate) struct Flip {
    pub(crate) byte: usize,
    pub(crate) bit: u32,
}

#[derive(Deserialize)]
pub(crate) struct Odd {
    pub(crate) pk: Option<String>,
    pub(crate) ct: String,
    pub(crate) ss: String,
}

impl File {
    /// Reads the vector file of a parameter set.
    pub(crate) fn of(set: &str) -> Self {
        let name = format!("tests/kat/{}.json", set.to_lowercase());
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        serde_json::from_slice(&std::fs::read(path).expect("the file")).expect("its records")
    }
}

/// Returns the randomness of a record: the seeds d and z of the key pair and s of the encapsulation, then the byte and
/// bit of the ciphertext to flip.
pub(crate) fn randomness(set: &str, record: usize, ciphertext_bytes: usize) -> ([u8; 96], usize, u32) {
    let mut drawn = [0; 99];
    let name = format!("CTRU-Prime-KAT-v1|{set}|{record}");
    Shake256::default().chain(name).finalize_xof().read(&mut drawn);
    let byte = usize::from(u16::from_le_bytes([drawn[96], drawn[97]])) % ciphertext_bytes;
    (core::array::from_fn(|i| drawn[i]), byte, u32::from(drawn[98] & 7))
}

pub(crate) fn from_hex(digits: &str) -> Vec<u8> {
    let byte = |i| u8::from_str_radix(&digits[i..i + 2], 16).expect("hexadecimal digits");
    (0..digits.len()).step_by(2).map(byte).collect()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
