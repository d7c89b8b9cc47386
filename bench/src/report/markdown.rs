//! The page of all suites in Markdown.

use ringforge_cli::record::Measurement;
use ringforge_cli::show;
use ringforge_cli::suite::{Suite, SuiteKind};

use super::Named;
use super::areas::{Area, Part};

const ABOUT: &str = "# Performance

`ringforge-bench report --markdown` makes this page from the records in [`bench/results`](../bench/results), and a \
test compares the two. Every line was checked in the run that measured it, and the record says how. Figures are \
medians, by the device's own clock on a GPU, and by the host's clock for data in host memory.

The share of the roofline bound is in brackets. The bound is the least time that bytes in and out, multiplications or \
logic allow, by the job's own formula. Figures of other implementations in *italics* are quoted, with their source \
below the table. All others were measured in the same run.
";

/// Makes the page.
pub(super) fn page(records: &[Named]) -> String {
    let areas: Vec<Area<'_>> =
        Area::all(records).into_iter().filter(|area| area.suite.kind == SuiteKind::Area).collect();
    let mut page = ABOUT.to_owned();
    page += "\nOne line of each area, beside the fastest other implementation:\n\n| area | what | here | best peer | of the roofline |\n";
    page += "| --- | --- | --- | --- | --- |\n";
    for line in areas.iter().filter_map(Area::headline) {
        let peer = line.peer.as_ref().map_or("–".into(), |(peer, text, _)| italics(text, peer.source.is_some()));
        let floor = line.floor.map_or("–".into(), |percent| format!("{percent:.0} %"));
        page += &format!("| {} | {} | {} | {peer} | {floor} |\n", line.area, escaped(&line.what), line.figure);
    }
    for area in &areas {
        page += &format!("\n## {}\n\n{}\n", area.suite.title, area.suite.about);
        for part in &area.parts {
            let (name, file) = (escaped(part.name), target(part.name));
            page += &format!("\nFrom [{name}](../bench/results/{file}): {}", escaped(&part.provenance()));
            page += &format!("{}\n{}", part.rotation(), tables(part, area.suite));
            let sources: Vec<String> = part.sources().into_iter().map(|source| italics(&source, true)).collect();
            if !sources.is_empty() {
                page += &format!("\n{}\n", sources.join("; "));
            }
        }
    }
    page
}

/// Measurements of several operations with the same case, variant, batch and memory.
type Row<'a> = Vec<&'a Measurement>;

/// One table per set of operations, with a row for each case, variant, batch and memory, and a column for each
/// operation.
fn tables(part: &Part<'_>, suite: &Suite) -> String {
    if part.lines.iter().all(|line| line.latency.is_some()) {
        return latencies(part, suite);
    }
    let mut rows: Vec<Row<'_>> = Vec::new();
    for line in &part.lines {
        let of = |line: &Measurement| (line.case.clone(), line.variant.clone(), line.batch, line.memory);
        match rows.iter_mut().find(|row| of(row[0]) == of(line)) {
            Some(row) => row.push(line),
            None => rows.push(vec![line]),
        }
    }
    let mut tables: Vec<Vec<Row<'_>>> = Vec::new();
    for row in rows {
        let same = |table: &&mut Vec<Row<'_>>| {
            table[0].iter().map(|line| &line.operation).eq(row.iter().map(|line| &line.operation))
        };
        match tables.iter_mut().find(same) {
            Some(table) => table.push(row),
            None => tables.push(vec![row]),
        }
    }
    tables.iter().map(|rows| table(rows, suite)).collect()
}

/// The table of calls whose latencies were measured.
fn latencies(part: &Part<'_>, suite: &Suite) -> String {
    let mut text = "\n| case | load | offered | answered | p50 | p99 | p99.9 | refused | not sent |\n".to_owned();
    text += "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
    for line in &part.lines {
        let Some(latency) = line.latency else { continue };
        let [p50, p99, p999] = [latency.p50, latency.p99, latency.p999].map(show::time);
        let [refused, unsent] = [latency.refused, latency.unsent].map(|part| match part {
            0.0 => "–".to_owned(),
            part => format!("{:.1} %", 100.0 * part),
        });
        let wrong = if line.right { "" } else { " **WRONG**" };
        let (case, load) = (escaped(&line.case), escaped(&line.operation));
        let (offered, answered) = (show::short(latency.offered_per_second), suite.figure.of(line));
        let offered = offered.trim_end();
        text += &format!(
            "| {case} | {load} | {offered} | {answered}{wrong} | {p50} | {p99} | {p999} | {refused} | {unsent} |\n"
        );
    }
    text
}

fn table(rows: &[Row<'_>], suite: &Suite) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    // if every batch is 1, the batch needs no column
    let has_batches = rows.iter().any(|row| row[0].batch != 1);
    let has_peers: Vec<bool> = (0..rows[0].len()).map(|i| rows.iter().any(|row| !row[i].peers.is_empty())).collect();
    let with_peers = |row: &Row<'_>, cell: &dyn Fn(&Measurement) -> String| {
        row.iter().zip(&has_peers).filter(|(_, has)| **has).map(|(line, _)| cell(line)).collect::<Vec<_>>()
    };
    let mut headings = vec!["case".to_owned()];
    headings.extend(has_batches.then(|| "batch".to_owned()));
    headings.extend(rows[0].iter().map(|line| match line.operation.as_str() {
        "" => suite.figure.heading().to_owned(),
        operation => escaped(operation),
    }));
    headings.extend(with_peers(&rows[0], &|line| match line.operation.as_str() {
        "" => "peers".to_owned(),
        operation => format!("{}: peers", escaped(operation)),
    }));
    let mut text = format!("\n{}|{}\n", line(headings.clone()), " --- |".repeat(headings.len()));
    for row in rows {
        let first = row[0];
        let parts = [&first.case, &first.variant, first.memory.words()].map(escaped);
        let mut cells = vec![parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")];
        cells.extend(has_batches.then(|| power(first.batch)));
        cells.extend(row.iter().map(|line| {
            let floor = line.percent_of_floor.map(|percent| format!(" ({percent:.*} %)", usize::from(percent < 9.5)));
            let wrong = if line.right { "" } else { " **WRONG**" };
            format!("{}{}{wrong}", suite.figure.of(line), floor.unwrap_or_default())
        }));
        cells.extend(with_peers(row, &|line| {
            let seconds = |seconds| suite.figure.show(suite.figure.number(line, seconds));
            let peers = line.peers.iter();
            let peers =
                peers.map(|peer| italics(&format!("{} {}", peer.name, seconds(peer.seconds)), peer.source.is_some()));
            peers.collect::<Vec<_>>().join(", ")
        }));
        text += &line(cells);
    }
    text
}

/// Formats a number: as 2^k if it is a power of two of at least 1024, else in decimal.
fn power(x: usize) -> String {
    if x.is_power_of_two() && x >= 1 << 10 { format!("2^{}", x.ilog2()) } else { x.to_string() }
}

fn italics(text: &str, quoted: bool) -> String {
    if quoted { format!("*{}*", escaped(text)) } else { escaped(text) }
}

/// Escapes text so that it contains neither markup nor line breaks.
fn escaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => plain += "&lt;",
            '&' => plain += "&amp;",
            '\\' | '`' | '|' | '*' | '[' | ']' => plain.extend(['\\', c]),
            _ if c.is_control() => plain.push(' '),
            _ => plain.push(c),
        }
    }
    plain
}

/// A file name as the target of a link.
fn target(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    name.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02x}") }).collect()
}
