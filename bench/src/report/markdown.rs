//! The page of all areas in Markdown.

use crate::bench::suites::Kind;

use super::Named;
use super::areas::{Area, Cell};
use super::overview;

const ABOUT: &str = "# Performance

This page is made by `ringforge report --markdown` from the records in [`bench/results`](../bench/results), and a test \
compares it with them. Every line was checked in the run that measured it; the records say with what. Figures are medians, \
by the device's own clock on a GPU and by the wall's where data lies in host memory. In brackets is the share of the floor's \
speed: the least time that bytes in and out, multiplications or logic allow, by the job's own formula, whatever the kernels do. \
Peers in *italics* are quoted, with their source below the table; others were measured in the same run.
";

/// The page.
pub(super) fn page(records: &[Named]) -> String {
    let areas: Vec<Area<'_>> = Area::all(records).into_iter().filter(|area| area.suite.kind == Kind::Area).collect();
    let mut page = ABOUT.to_owned();
    page += "\nOne line of each area, beside the best peer:\n\n| area | what | here | best peer | of the floor |\n";
    page += "| --- | --- | --- | --- | --- |\n";
    for line in areas.iter().filter_map(overview::Line::of) {
        let peer = line.peer.as_ref().map_or("–".into(), |(text, _, quoted)| italics(text, *quoted));
        let floor = line.floor.map_or("–".into(), |ratio| format!("{:.0} %", 100.0 / ratio));
        page += &format!("| {} | {} | {} | {peer} | {floor} |\n", line.area, line.what, line.figure);
    }
    for area in &areas {
        page += &format!("\n## {}\n\n{}\n", area.suite.title, area.suite.about);
        for part in &area.parts {
            let rotation = part.rotation();
            page += &format!("\nFrom [`{0}`](../bench/results/{0}): {1}", part.name, part.provenance());
            page += &if rotation.is_empty() { "\n".into() } else { format!(" {rotation}\n") };
            for table in part.tables(area.suite) {
                page += &format!("\n| {} |\n|{}\n", table.headings.join(" | "), " --- |".repeat(table.headings.len()));
                for row in &table.rows {
                    page += &format!("| {} |\n", row.iter().map(cell).collect::<Vec<_>>().join(" | "));
                }
            }
            let sources: Vec<String> = part.sources().into_iter().map(|source| italics(&source, true)).collect();
            if !sources.is_empty() {
                page += &format!("\n{}\n", sources.join("; "));
            }
        }
    }
    page
}

fn cell(cell: &Cell) -> String {
    let mut text = escaped(&cell.text).replace("WRONG", "**WRONG**");
    for (i, (peer, quoted)) in cell.peers.iter().enumerate() {
        let comma = if i > 0 { ", " } else { "" };
        text += &format!("{comma}{}", italics(peer, *quoted));
    }
    text
}

fn italics(text: &str, quoted: bool) -> String {
    if quoted { format!("*{}*", escaped(text)) } else { escaped(text) }
}

/// Text that is no markup.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('*', "\\*")
}
