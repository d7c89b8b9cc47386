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

/// Formats measurements of a suite as a table of this width, or else as wide as the terminal. The profiles of
/// measurements that have one follow.
pub fn text(suite: &Suite, lines: &[&Measurement], width: Option<u16>) -> String {
    let headings =
        ["case", "operation", "batch", "a run", "p95", suite.figure.heading(), "of the floor", "peers", "right"];
    let mut table = show::table(&headings, &[2, 3, 4, 5, 6]);
    for line in lines {
        let floor = line.percent_of_floor.zip(line.floor.limit());
        table.add_row([
            line.case.clone(),
            line.what(),
            line.batch.to_string(),
            show::time(line.times.median_seconds),
            show::time(line.times.p95_seconds),
            suite.figure.of(line),
            floor.map_or("–".into(), |(percent, (_, by))| format!("{percent:.0} % ({by})")),
            line.peers.iter().map(|peer| suite.figure.of_peer(line, peer)).collect::<Vec<_>>().join("\n"),
            show::yes_or_no(line.right),
        ]);
    }
    let sized = |mut table: Table| {
        if let Some(width) = width {
            table.set_width(width);
        }
        table.to_string()
    };
    let kernels = lines.iter().filter(|line| !line.steps.is_empty());
    let kernels = kernels.map(|line| format!("\n{}\n{}", line.title(), sized(steps::table(line))));
    sized(table) + &kernels.collect::<String>()
}
