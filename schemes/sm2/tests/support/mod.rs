//! Reads the test vectors in `tests/kat`.

use std::path::Path;

use serde_json::Value;

/// Reads a vector file.
pub(crate) fn file(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kat").join(name).with_extension("json");
    serde_json::from_str(&std::fs::read_to_string(path).expect("the vectors are there")).expect("they are JSON")
}

/// Returns the records of a list in a file. Panics if the list is empty.
pub(crate) fn records(name: &str, list: &str) -> Vec<Value> {
    let records = file(name)[list].as_array().expect("a list").clone();
    assert!(!records.is_empty(), "{name} has no {list}");
    records
}

/// Returns a hexadecimal field as bytes.
pub(crate) fn bytes(record: &Value, field: &str) -> Vec<u8> {
    hex(record[field].as_str().unwrap_or_else(|| panic!("{record} has no {field}")))
}

/// Returns a hexadecimal field of 32 bytes.
pub(crate) fn word(record: &Value, field: &str) -> [u8; 32] {
    bytes(record, field).try_into().expect("32 bytes")
}

/// Returns two hexadecimal fields of 32 bytes, concatenated.
pub(crate) fn pair(record: &Value, first: &str, second: &str) -> [u8; 64] {
    [bytes(record, first), bytes(record, second)].concat().try_into().expect("64 bytes")
}

pub(crate) fn hex(digits: &str) -> Vec<u8> {
    let digits = digits.as_bytes().chunks_exact(2).map(|pair| std::str::from_utf8(pair).expect("ASCII"));
    digits.map(|pair| u8::from_str_radix(pair, 16).expect("hexadecimal digits")).collect()
}
