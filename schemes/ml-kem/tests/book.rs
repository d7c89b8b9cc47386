//! Tests that the code quoted in `docs/own-scheme.md` is in the files that the document names.

use std::fs;
use std::path::Path;

fn trimmed(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}

#[test]
fn quoted_code_is_up_to_date() -> std::io::Result<()> {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let book = fs::read_to_string(crate_folder.join("../../docs/own-scheme.md"))?;
    let mut checked = 0;
    for block in book.split("\n```").skip(1).step_by(2) {
        let (head, quotation) = block.split_once('\n').expect("a block has lines");
        let Some((_, file)) = head.split_once(' ') else { continue };
        let (text, quotation) = (fs::read_to_string(crate_folder.join(file))?, trimmed(quotation));
        let found = trimmed(&text).windows(quotation.len()).any(|lines| lines == quotation);
        assert!(found, "{file} does not have:\n{}", quotation.join("\n"));
        checked += 1;
    }
    assert!(checked > 15, "{checked} quotations were found");
    Ok(())
}
