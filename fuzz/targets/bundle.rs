//! Fuzzes the loading of kernel bundles, which are files of compiled kernels. A bundle contains a hash of its header.
//! For some inputs, the fuzz target computes this hash, so that they reach the code after the hash check.
#![no_main]

use std::cell::RefCell;
use std::fs;

use libfuzzer_sys::fuzz_target;
use ringforge::cuda::Bundle;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

thread_local! {
    static FOLDER: RefCell<Option<TempDir>> = const { RefCell::new(None) };
}

const VERSION: &[u8] = b"0.1.0";

fuzz_target!(|parts: (bool, Vec<u8>, Vec<u8>)| {
    let (whole, head, entries) = parts;
    let bytes = if whole {
        let head = [&(VERSION.len() as u64).to_le_bytes(), VERSION, &head].concat();
        let length = (head.len() as u64).to_le_bytes();
        [b"RFBNDL01", &length[..], &Sha256::digest(&head), &head, &entries].concat()
    } else {
        [b"RFBNDL01", &head[..], &entries].concat()
    };
    FOLDER.with_borrow_mut(|folder| {
        let folder = folder.get_or_insert_with(|| tempfile::tempdir().expect("a folder"));
        let (read, written) = (folder.path().join("read"), folder.path().join("written"));
        fs::write(&read, &bytes).expect("a file");
        if let Ok(bundle) = Bundle::load(&read) {
            bundle.save(&written).expect("a file");
            assert_eq!(fs::read(&written).expect("a file"), bytes);
        }
    });
});
