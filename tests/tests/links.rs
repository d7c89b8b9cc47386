//! Checks the relative links of all Markdown pages, and that the book lists its pages.

use std::path::Path;
use std::{fs, io};

use crate::sources::{pages, root};

/// Returns the targets of all links of a page outside code.
fn links(page: &str) -> Vec<String> {
    let mut is_code = false;
    let mut found = Vec::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            let text: String = line.split('`').step_by(2).collect();
            found.extend(text.split("](").skip(1).filter_map(|rest| Some(rest.split([')', ' ']).next()?.to_owned())));
        }
    }
    found
}

#[test]
fn links_resolve() -> io::Result<()> {
    assert_eq!(links("a [`b`](c.md) `d](e)`\n```\n[e](f)\n```\n[g](h.md#i)"), ["c.md", "h.md#i"]);
    let pages = pages()?;
    assert!(pages.len() > 40, "{} pages", pages.len());
    for (name, page) in &pages {
        for link in links(page).into_iter().filter(|link| !link.starts_with('#') && !link.contains("://")) {
            let path = link.split('#').next().unwrap_or_default();
            let folder = Path::new(name).parent().unwrap_or(Path::new(""));
            assert!(root().join(folder).join(path).exists(), "{name}: the link to {link} leads nowhere");
        }
    }
    Ok(())
}

#[test]
fn the_book_lists_its_pages() -> io::Result<()> {
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md"))?;
    for (name, _) in pages()?.iter().filter(|(name, _)| name.starts_with("docs/") && name != "docs/SUMMARY.md") {
        let page = name.trim_start_matches("docs/");
        assert!(summary.contains(&format!("({page})")), "docs/SUMMARY.md does not list {page}");
    }
    Ok(())
}
