//! Checks that the figures in the README are those of `docs/performance.md`. A test of `bench/` compares that page with
//! the recorded measurements.

use std::path::PathBuf;
use std::{fs, io};

fn read(path: &str) -> io::Result<String> {
    fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(path))
}

/// Returns the rows of the first table in a text, without its header.
fn first_table(text: &str) -> Vec<&str> {
    let rows = text.lines().skip_while(|line| !line.starts_with("| ---")).skip(1);
    rows.take_while(|line| line.starts_with('|')).collect()
}

/// If the README links to `docs/performance.md`, the README must have exactly that page's table row for each area.
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
