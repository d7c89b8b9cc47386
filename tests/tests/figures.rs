//! Checks that the README's figures are those of `docs/performance.md`, which a test of `bench/` compares with the
//! records.

use std::path::PathBuf;
use std::{fs, io};

fn read(path: &str) -> io::Result<String> {
    fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(path))
}

/// The rows of the first table in a text, without its header.
fn first_table(text: &str) -> Vec<&str> {
    let rows = text.lines().skip_while(|line| !line.starts_with("| ---")).skip(1);
    rows.take_while(|line| line.starts_with('|')).collect()
}

/// If the README links to the page, it must have exactly the page's row for each area.
#[test]
fn figures_of_the_readme_match_the_page() -> io::Result<()> {
    let (readme, page) = (read("README.md")?, read("docs/performance.md")?);
    let areas = first_table(&page);
    assert!(areas.len() >= 10, "an area is missing: {areas:?}");
    if readme.contains("docs/performance.md") {
        let name = |row: &str| row.split('|').nth(1).map(|cell| cell.trim().to_owned());
        let names: Vec<_> = areas.iter().map(|row| name(row)).collect();
        let found: Vec<&str> =
            readme.lines().filter(|row| row.starts_with('|') && names.contains(&name(row))).collect();
        assert_eq!(found, areas);
    }
    Ok(())
}
