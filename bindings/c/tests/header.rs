//! Checks that `include/ringforge.h` equals the output of cbindgen. With `RINGFORGE_BLESS=1`, writes the file first.

use std::path::Path;
use std::{env, fs};

/// Source files, in the order of the header.
const SOURCES: [&str; 11] =
    ["code", "engine", "ring", "elements", "device", "pinned", "items", "kem", "sm2", "msm", "groth16"];

#[test]
fn header_matches_the_sources() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    let sources = SOURCES.iter().map(|name| folder.join(format!("src/{name}.rs")));
    let builder =
        sources.fold(cbindgen::Builder::new().with_config(config), |builder, source| builder.with_src(source));
    let mut made = Vec::new();
    builder.generate().unwrap().write(&mut made);
    let (made, path) = (String::from_utf8(made).unwrap(), folder.join("include/ringforge.h"));
    if env::var_os("RINGFORGE_BLESS").is_some() {
        fs::write(&path, &made).unwrap();
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    assert!(there == made, "include/ringforge.h differs from cbindgen's output: RINGFORGE_BLESS=1 writes it");
}
