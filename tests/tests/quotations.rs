//! Checks that code which the book quotes from a file is in that file.

use std::{fs, io};

use crate::sources::{pages, root};

/// Returns the lines of a text without their indentation. Empty lines at its start and end are left out.
fn trimmed(text: &str) -> Vec<&str> {
    text.trim_matches('\n').lines().map(str::trim).collect()
}

#[test]
fn quoted_code_is_up_to_date() -> io::Result<()> {
    let mut checked = 0;
    for (name, page) in pages()? {
        for block in page.split("\n```").skip(1).step_by(2) {
            let (head, quotation) = block.split_once('\n').unwrap_or_default();
            let Some((_, file)) = head.split_once(' ') else { continue };
            let (source, quotation) = (fs::read_to_string(root().join(file))?, trimmed(quotation));
            let found = trimmed(&source).windows(quotation.len()).any(|lines| lines == quotation);
            assert!(found, "{name}: {file} does not have:\n{}", quotation.join("\n"));
            checked += 1;
        }
    }
    assert!(checked > 30, "{checked} quotations were found");
    Ok(())
}
