//! Measurements grouped by suite, for the HTML page and the Markdown page.

use std::collections::{BTreeMap, BTreeSet};

use ringforge::Limits;

use ringforge_cli::measure::ROTATED_BYTES;
use ringforge_cli::record::{Measurement, Memory, Peer, Record};
use ringforge_cli::suite::{Suite, SuiteKind};

use super::Named;
use crate::suites::SUITES;

/// A suite and its measurements in all records.
pub(super) struct Area<'a> {
    pub(super) suite: &'static Suite,
    pub(super) parts: Vec<Part<'a>>,
}

/// The measurements of one suite in one record.
pub(super) struct Part<'a> {
    pub(super) name: &'a str,
    pub(super) record: &'a Record,
    pub(super) lines: Vec<&'a Measurement>,
}

/// The measurement that represents a suite in overviews.
pub(super) struct Headline<'a> {
    pub(super) area: &'static str,
    pub(super) what: String,
    pub(super) figure: String,
    /// Speed in percent of the roofline bound.
    pub(super) floor: Option<f64>,
    /// The fastest other implementation, its figure as text, and its speed divided by the engine's.
    pub(super) peer: Option<(&'a Peer, String, f64)>,
}

impl<'a> Area<'a> {
    /// All suites with recorded measurements.
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

    /// The target of links within the page.
    pub(super) fn anchor(&self) -> String {
        self.suite.name.replace(' ', "-")
    }

    /// The measurement that represents the suite: the largest batch in the latest record with the suite's headline
    /// case. Records of the GPU that plans are made for by default take precedence, then those of any GPU.
    pub(super) fn headline(&self) -> Option<Headline<'a>> {
        let (case, operation) = self.suite.headline.filter(|_| self.suite.kind == SuiteKind::Area)?;
        let stands = |line: &&&Measurement| {
            line.case == case && line.operation == operation && line.variant.is_empty() && line.memory == Memory::Device
        };
        let usual = Limits::h200().name;
        let found = self.parts.iter().filter_map(|part| {
            let environment = &part.record.environment;
            let line = part.lines.iter().filter(stands).max_by_key(|line| line.batch)?;
            Some(((environment.device == usual, environment.device != "CPU", &environment.date), *line))
        });
        let (line, figure) = (found.max_by_key(|(key, _)| *key)?.1, self.suite.figure);
        let best = line.peers.iter().min_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let peer = best.map(|peer| {
            let text = format!("{} {}", peer.name, figure.show(figure.number(line, peer.seconds)));
            (peer, text, 1.0 / line.items_per_second / peer.seconds)
        });
        let batch =
            if line.batch > 1 && line.latency.is_none() { format!("batch {}", line.batch) } else { String::new() };
        let parts = [line.case.as_str(), &line.operation, &batch].into_iter().filter(|part| !part.is_empty());
        Some(Headline {
            area: self.suite.title,
            what: parts.collect::<Vec<_>>().join(", "),
            figure: figure.of(line) + if figure.is_rate() { "/s" } else { "" },
            floor: line.percent_of_floor,
            peer,
        })
    }
}

impl Part<'_> {
    /// The device, driver, commit and day of the measurements, as text.
    pub(super) fn provenance(&self) -> String {
        let environment = &self.record.environment;
        let driver = environment.driver.as_ref().map(|driver| format!(", driver {driver}")).unwrap_or_default();
        let commit = environment.commit.as_deref().unwrap_or("unknown");
        let day = environment.date.get(..10).unwrap_or(&environment.date);
        let mut threads: BTreeSet<usize> = self.lines.iter().filter_map(|line| line.threads).collect();
        if threads.is_empty() && environment.device == "CPU" {
            threads.insert(environment.cpu_threads);
        }
        let device = if threads.is_empty() {
            format!("{}{driver}", environment.device)
        } else {
            let threads = threads.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ");
            format!("{}, threads: {threads}", environment.cpu)
        };
        format!("{device}, commit {}, {day}.", commit.get(..12).unwrap_or(commit))
    }

    /// Returns a sentence that says whether runs rotate through more memory than the caches hold; empty if that is
    /// unknown.
    pub(super) fn rotation(&self) -> &'static str {
        let known = self.lines.iter().filter(|line| line.times.buffer_bytes > 0 && line.threads.is_none());
        let known = known.filter(|_| self.record.environment.device != "CPU");
        let rotates: BTreeSet<bool> = known.map(|line| line.times.buffer_bytes >= ROTATED_BYTES).collect();
        match (rotates.contains(&true), rotates.contains(&false)) {
            (true, true) => {
                " Runs go over more memory than the caches hold, but for small cases, whose buffers the caches may hold."
            }
            (true, false) => " Runs go over more memory than the caches hold.",
            (false, true) => " Buffers are so small that the caches may hold them, or much of them.",
            (false, false) => "",
        }
    }

    /// The sources of quoted figures, each with the names of the quoted implementations.
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
}
