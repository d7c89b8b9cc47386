//! The code on pages runs: as a doc test, or in the file that the listing names.

use std::fs;
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Each line of a listing stands in its file, in their order.
#[test]
fn listings_are_code_of_the_files_that_they_name() {
    let mut listings = 0;
    for page in fs::read_dir(repository().join("docs")).expect("pages").map(|page| page.expect("a page").path()) {
        let Some(text) = page.extension().filter(|kind| *kind == "md").map(|_| fs::read_to_string(&page)) else {
            continue;
        };
        let text = text.expect("text");
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let Some(file) = line.strip_prefix("```rust,ignore") else { continue };
            let source = fs::read_to_string(repository().join(file.trim()));
            let source = source.unwrap_or_else(|error| panic!("{}: {line}: {error}", page.display()));
            let mut own = source.lines().map(str::trim);
            for line in lines.by_ref().take_while(|line| *line != "```").map(str::trim) {
                assert!(line.is_empty() || own.any(|own| own == line), "{}, {file}: {line}", page.display());
            }
            listings += 1;
        }
    }
    assert!(listings > 2, "the listings were not found");
}

/// The first homomorphic multiplication takes few lines.
#[test]
fn the_guide_to_ckks_is_short() {
    let page = fs::read_to_string(repository().join("docs/fhe.md")).expect("the page");
    let listing = page.split("```rust,ignore schemes/ckks/tests/guide.rs\n").nth(1).expect("the listing");
    let lines = listing.lines().take_while(|line| *line != "```").count();
    assert!((10..=25).contains(&lines), "{lines} lines");
}
