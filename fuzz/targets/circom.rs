//! Fuzzes the readers of proving keys of snarkjs and of witnesses of circom. Sections are given to them whole as well, so
//! that inputs reach the code after the checks of lengths.
#![no_main]

use ark_bn254::{Bn254, Fr};
use libfuzzer_sys::fuzz_target;
use ringforge_arkworks::{Zkey, read_wtns};

fn file(kind: &[u8; 4], version: u32, sections: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = [&kind[..], &version.to_le_bytes(), &(sections.len() as u32).to_le_bytes()].concat();
    for (id, section) in sections {
        bytes.extend(u32::from(id % 16).to_le_bytes());
        bytes.extend((section.len() as u64).to_le_bytes());
        bytes.extend(section);
    }
    bytes
}

fuzz_target!(|parts: (bool, bool, Vec<u8>, Vec<(u8, Vec<u8>)>)| {
    let (is_key, whole, bytes, sections) = parts;
    let kind = if is_key { b"zkey" } else { b"wtns" };
    let bytes = if whole { file(kind, if is_key { 1 } else { 2 }, &sections) } else { bytes };
    if is_key {
        if let Ok(key) = Zkey::<Bn254>::new(&bytes) {
            assert!(key.variables() > 0 && key.points() > 0);
        }
    } else if let Ok(witness) = read_wtns::<Fr>(&bytes) {
        assert!(32 * witness.len() <= bytes.len());
    }
});
