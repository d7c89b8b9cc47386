//! Checks the relative links of all Markdown pages, and that the book lists its pages.

use std::path::Path;
use std::{fs, io};

use crate::sources::{pages, root};

/// Returns the lines of a page outside blocks of code.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    page.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// Returns the targets of all links of a page outside code.
fn links(page: &str) -> Vec<String> {
    let target = |rest: &str| rest.split([')', ' ']).next().map(str::to_owned);
    let of_line = |line: &str| {
        let text: String = line.split('`').step_by(2).collect();
        text.split("](").skip(1).filter_map(target).collect::<Vec<_>>()
    };
    prose(page).flat_map(of_line).collect()
}

/// Returns the anchor of a heading, as mdBook and GitHub make it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>().to_lowercase()
}

/// Returns true if a page has a heading or an element with this anchor.
fn has_anchor(page: &str, wanted: &str) -> bool {
    let mut headings = prose(page).filter(|line| line.starts_with('#'));
    headings.any(|line| anchor(line.trim_start_matches('#')) == wanted) || page.contains(&format!("id=\"{wanted}\""))
}

#[test]
fn links_resolve() -> io::Result<()> {
    assert_eq!(links("a [`b`](c.md) `d](e)`\n```\n[e](f)\n```\n[g](h.md#i)"), ["c.md", "h.md#i"]);
    assert!(has_anchor("```\n# a\n```\n## Levels, and `scales` of a-b", "levels-and-scales-of-a-b"));
    assert!(!has_anchor("```\n# a\n```", "a"));
    let pages = pages()?;
    assert!(pages.len() > 40, "{} pages", pages.len());
    let mut wrong = Vec::new();
    for (name, page) in &pages {
        for link in links(page).into_iter().filter(|link| !link.contains("://")) {
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let folder = root().join(Path::new(name).parent().unwrap_or(Path::new("")));
            let target = if path.is_empty() { root().join(name) } else { folder.join(path) };
            if !target.exists() || !anchor.is_empty() && !has_anchor(&fs::read_to_string(&target)?, anchor) {
                wrong.push(format!("{name}: {link}"));
            }
        }
    }
    assert!(wrong.is_empty(), "these links lead to no page or heading: {wrong:#?}");
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
