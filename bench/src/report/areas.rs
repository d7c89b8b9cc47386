//! Records by area: what both pages show of them, in the same tables.

use std::collections::{BTreeMap, BTreeSet};

use crate::bench::suites::{Kind, SUITES, Suite};
use crate::measure::ROTATED_BYTES;
use crate::record::{Measurement, Memory, Record};

use super::Named;

/// A suite and what is recorded of it.
pub(super) struct Area<'a> {
    pub(super) suite: &'static Suite,
    pub(super) parts: Vec<Part<'a>>,
}

/// A record's lines of one suite.
pub(super) struct Part<'a> {
    pub(super) name: &'a str,
    pub(super) record: &'a Record,
    pub(super) lines: Vec<&'a Measurement>,
}

/// Lines as a table: a row for each case, variant, batch and memory, a column for each operation.
pub(super) struct Table {
    pub(super) headings: Vec<String>,
    pub(super) rows: Vec<Vec<Cell>>,
}

/// What a table has in one place.
#[derive(Default)]
pub(super) struct Cell {
    pub(super) text: String,
    /// Figures of peers, and whether they are quoted.
    pub(super) peers: Vec<(String, bool)>,
    pub(super) wrong: bool,
}

/// What a row is about.
type Row<'a> = (&'a str, &'a str, usize, Memory);
/// A row, and a line for each of its columns.
type Lines<'a> = (Row<'a>, Vec<&'a Measurement>);

impl<'a> Area<'a> {
    /// All suites that something is recorded of.
    pub(super) fn all(records: &'a [Named]) -> Vec<Self> {
        let area = |suite: &&'static Suite| {
            let part = |(name, record): &'a Named| {
                let lines: Vec<_> = record.measurements.iter().filter(|line| line.suite == suite.name).collect();
                (!lines.is_empty()).then_some(Part { name, record, lines })
            };
            Area { suite, parts: records.iter().filter_map(part).collect() }
        };
        SUITES.iter().map(area).filter(|area| !area.parts.is_empty()).collect()
    }

    /// What links within a page go by.
    pub(super) fn anchor(&self) -> String {
        self.suite.name.replace(' ', "-")
    }

    /// The line that stands for the area: of the last record that has it, for its largest batch.
    pub(super) fn headline(&self) -> Option<&'a Measurement> {
        let (case, operation) = self.suite.headline.filter(|_| self.suite.kind == Kind::Area)?;
        let stands = |line: &&&Measurement| {
            line.case == case && line.operation == operation && line.variant.is_empty() && line.memory == Memory::Device
        };
        let found = self.parts.iter().filter_map(|part| {
            let line = part.lines.iter().filter(stands).max_by_key(|line| line.batch)?;
            Some((&part.record.environment.date, *line))
        });
        found.max_by_key(|(date, _)| *date).map(|(_, line)| line)
    }
}

impl Part<'_> {
    /// What was measured on, and when.
    pub(super) fn provenance(&self) -> String {
        let environment = &self.record.environment;
        let driver = environment.driver.as_ref().map(|driver| format!(", driver {driver}")).unwrap_or_default();
        let commit = environment.commit.as_deref().unwrap_or("unknown");
        let day = environment.date.get(..10).unwrap_or(&environment.date);
        let threads: BTreeSet<usize> = self.lines.iter().filter_map(|line| line.threads).collect();
        let of_cpu = |threads: &str| format!("{}, threads: {threads}", environment.cpu);
        let device = match environment.device.as_str() {
            _ if !threads.is_empty() => {
                of_cpu(&threads.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and "))
            }
            "CPU" => of_cpu(&environment.cpu_threads.to_string()),
            device => format!("{device}{driver}"),
        };
        format!("{device}, commit {}, {day}.", commit.get(..12).unwrap_or(commit))
    }

    /// Whether runs rotate among more memory than caches hold; nothing where that is not known.
    pub(super) fn rotation(&self) -> &'static str {
        let known = self.lines.iter().filter(|line| line.times.buffer_bytes > 0 && line.threads.is_none());
        let rotates: BTreeSet<bool> = known.map(|line| line.times.buffer_bytes >= ROTATED_BYTES).collect();
        match (self.record.environment.device.as_str(), rotates.iter().collect::<Vec<_>>()[..].as_ref()) {
            ("CPU", _) | (_, []) => "",
            (_, [true]) => "Runs go over more memory than the caches hold.",
            (_, [false]) => "Buffers are so small that the caches may hold them, or much of them.",
            _ => {
                "Runs go over more memory than the caches hold, but for small cases, whose buffers the caches may hold."
            }
        }
    }

    /// Where quoted figures come from.
    pub(super) fn sources(&self) -> Vec<String> {
        let mut sources: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for peer in self.lines.iter().flat_map(|line| &line.peers) {
            if let Some(source) = &peer.source {
                sources.entry(source).or_default().insert(&peer.name);
            }
        }
        let named = |(source, names): (&str, BTreeSet<&str>)| {
            format!("{}: {source}", names.into_iter().collect::<Vec<_>>().join(", "))
        };
        sources.into_iter().map(named).collect()
    }

    /// The lines' tables, one for each set of operations.
    pub(super) fn tables(&self, suite: &Suite) -> Vec<Table> {
        let mut rows: Vec<Lines<'_>> = Vec::new();
        for line in &self.lines {
            let row = (line.case.as_str(), line.variant.as_str(), line.batch, line.memory);
            match rows.iter_mut().find(|(other, _)| *other == row) {
                Some((_, lines)) => lines.push(line),
                None => rows.push((row, vec![line])),
            }
        }
        let mut tables: Vec<(Vec<&str>, Vec<Lines<'_>>)> = Vec::new();
        for (row, lines) in rows {
            let operations: Vec<&str> = lines.iter().map(|line| line.operation.as_str()).collect();
            match tables.iter_mut().find(|(others, _)| *others == operations) {
                Some((_, rows)) => rows.push((row, lines)),
                None => tables.push((operations, vec![(row, lines)])),
            }
        }
        tables.into_iter().map(|(operations, rows)| table(suite, &operations, &rows)).collect()
    }
}

fn table(suite: &Suite, operations: &[&str], rows: &[Lines<'_>]) -> Table {
    let named =
        |operation: &str| if operation.is_empty() { suite.figure.heading().into() } else { operation.to_owned() };
    // what every run does once needs no column
    let has_batches = rows.iter().any(|((.., batch, _), _)| *batch != 1);
    let with_peers: Vec<usize> =
        (0..operations.len()).filter(|&i| rows.iter().any(|(_, lines)| !lines[i].peers.is_empty())).collect();
    let mut headings = vec!["case".to_owned()];
    headings.extend(has_batches.then(|| "batch".to_owned()));
    headings.extend(operations.iter().map(|operation| named(operation)));
    headings.extend(with_peers.iter().map(|&i| match operations[i] {
        "" => "peers".to_owned(),
        operation => format!("{operation}: peers"),
    }));
    let text = |text: String| Cell { text, ..Cell::default() };
    let row = |((case, variant, batch, memory), lines): &Lines<'_>| {
        let memory = match memory {
            Memory::Device => "",
            Memory::Pinned => "from pinned host memory",
            Memory::Pageable => "from pageable host memory",
        };
        let parts = [*case, *variant, memory].into_iter().filter(|part| !part.is_empty());
        let mut cells = vec![text(parts.collect::<Vec<_>>().join(", "))];
        cells.extend(has_batches.then(|| text(power(*batch))));
        cells.extend(lines.iter().map(|line| {
            let floor = line.percent_of_floor.map(|percent| format!(" ({percent:.*} %)", usize::from(percent < 9.5)));
            let wrong = if line.right { "" } else { " WRONG" };
            let text = format!("{}{}{wrong}", suite.figure.of(line), floor.unwrap_or_default());
            Cell { text, wrong: !line.right, ..Cell::default() }
        }));
        cells.extend(with_peers.iter().map(|&i| {
            let peer = |peer: &crate::record::Peer| {
                let seconds = suite.figure.show(suite.figure.number(lines[i], peer.seconds));
                (format!("{} {seconds}", peer.name), peer.source.is_some())
            };
            Cell { peers: lines[i].peers.iter().map(peer).collect(), ..Cell::default() }
        }));
        cells
    };
    Table { headings, rows: rows.iter().map(row).collect() }
}

/// A number, as a power of two where it is a large one.
fn power(x: usize) -> String {
    if x.is_power_of_two() && x >= 1 << 10 { format!("2^{}", x.ilog2()) } else { x.to_string() }
}
