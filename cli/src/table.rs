//! Records as text tables.

use anyhow::Result;
use comfy_table::Table;

use crate::environment::Environment;
use crate::record::{Measurement, Record};
use crate::show;
use crate::steps;
use crate::suite::{Suite, Suites};

/// Prints a record, with one table per suite.
pub fn print(record: &Record, suites: Suites) -> Result<()> {
    let Environment { device, cpu, cpu_threads, commit, date, .. } = &record.environment;
    let commit = commit.as_deref().unwrap_or("unknown");
    show::print(&format!("{device} ({cpu}, {cpu_threads} threads), commit {commit}, {date}"))?;
    show::print(&format!("copy, read + written: {}B/s", show::short(record.copy_bytes_per_second)))?;
    for suite in suites {
        let lines: Vec<_> = record.measurements.iter().filter(|line| line.suite == suite.name).collect();
        if !lines.is_empty() {
            show::print(&format!("\n{} ({})\n{}", suite.title, suite.name, suite.about))?;
            show::print(&text(suite, &lines, None))?;
        }
    }
    record.unsupported.iter().try_for_each(|line| show::print(line))
}

/// Number of columns.
const COLUMNS: usize = 9;

/// The headings of a suite's table.
pub fn headings(suite: &Suite) -> [&'static str; COLUMNS] {
    ["case", "operation", "batch", "a run", "p95", suite.figure.heading(), "of the roofline", "peers", "right"]
}

/// The cells of a measurement, each with its number if the cell shows a number.
pub fn cells(suite: &Suite, line: &Measurement) -> [(String, Option<f64>); COLUMNS] {
    let bound = line.percent_of_floor.zip(line.floor.limit());
    [
        (line.case.clone(), None),
        (line.what(), None),
        (line.batch.to_string(), Some(line.batch as f64)),
        (show::time(line.times.median_seconds), Some(line.times.median_seconds)),
        (show::time(line.times.p95_seconds), Some(line.times.p95_seconds)),
        (suite.figure.of(line), Some(suite.figure.number(line, 1.0 / line.items_per_second))),
        (
            bound.map_or("–".into(), |(percent, (_, by))| format!("{percent:.0} % ({by})")),
            bound.map(|(percent, _)| percent),
        ),
        (line.peers.iter().map(|peer| suite.figure.of_peer(line, peer)).collect::<Vec<_>>().join("\n"), None),
        (show::yes_or_no(line.right), None),
    ]
}

/// Formats measurements of a suite as a table of this width, or of the terminal's width for `None`. Appends the
/// profiles of those measurements that have one.
pub fn text(suite: &Suite, lines: &[&Measurement], width: Option<u16>) -> String {
    let mut table = show::table(&headings(suite), &[2, 3, 4, 5, 6]);
    for line in lines {
        table.add_row(cells(suite, line).map(|(text, _)| text));
    }
    sized(table, width) + &profiles(lines, width)
}

/// Formats the profiles of measurements that have one.
pub fn profiles(lines: &[&Measurement], width: Option<u16>) -> String {
    let profiled = lines.iter().filter(|line| !line.steps.is_empty());
    profiled.map(|line| format!("\n{}\n{}", line.title(), sized(steps::table(line), width))).collect()
}

fn sized(mut table: Table, width: Option<u16>) -> String {
    if let Some(width) = width {
        table.set_width(width);
    }
    table.to_string()
}
