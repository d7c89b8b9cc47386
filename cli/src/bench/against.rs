//! `ringforge bench --against`: repeats the measurements of records and prints the ratios, with their noise.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Serialize;

use super::Options;
use crate::record::{Measurement, Memory, Record};
use crate::selected::Selected;
use crate::session::Bench;
use crate::show;
use crate::suite::{Scope, SuiteKind};
use crate::suites::rings;

/// Number of times that each measurement is repeated. Each round goes over all measurements, so that clock drift
/// affects all alike.
const ROUNDS: usize = 5;

/// Identifies a measurement across records: suite, case, operation, variant, memory, threads and batch.
type Key = (String, String, String, String, Memory, Option<usize>, usize);

fn key(line: &Measurement) -> Key {
    let Measurement { suite, case, operation, variant, memory, threads, batch, .. } = line.clone();
    (suite, case, operation, variant, memory, threads, batch)
}

/// A measurement of the records, compared with its repetitions.
#[derive(Debug, Serialize)]
pub(super) struct Compared {
    suite: String,
    /// Case, operation, variant, memory and batch.
    line: String,
    /// Seconds per run in the records: the median over the records.
    before_seconds: f64,
    /// Seconds per run now: the median over the rounds.
    now_seconds: f64,
    /// `now_seconds / before_seconds`, above 1 if the operation is slower now.
    ratio: f64,
    /// The smallest and the largest ratio of a round to a record.
    noise: [f64; 2],
    right: bool,
}

impl Compared {
    fn new(lines: &[&Measurement], before: Vec<f64>, now: Vec<f64>) -> Self {
        let sorted = |mut seconds: Vec<f64>| {
            seconds.sort_by(f64::total_cmp);
            seconds
        };
        let (before, now) = (sorted(before), sorted(now));
        let median = |seconds: &[f64]| seconds[seconds.len() / 2];
        let [(least, most), (least_now, most_now)] = [&before, &now].map(|all| (all[0], all[all.len() - 1]));
        Self {
            suite: lines[0].suite.clone(),
            line: lines[0].title(),
            before_seconds: median(&before),
            now_seconds: median(&now),
            ratio: median(&now) / median(&before),
            noise: [least_now / most, most_now / least],
            right: lines.iter().all(|line| line.right),
        }
    }

    /// Returns "slower" or "faster", or "the same" if the range of the noise includes a ratio of 1.
    fn verdict(&self) -> &'static str {
        match self.noise {
            [least, _] if least > 1.0 => "slower",
            [_, most] if most < 1.0 => "faster",
            _ => "the same",
        }
    }
}

/// Reads the records of these files. Returns an error if one was made on a device other than `device`.
pub(super) fn read(paths: &[PathBuf], device: &str) -> Result<Vec<Record>> {
    let read = |path: &Path| {
        let record = Record::read(path)?;
        let of = &record.environment.device;
        ensure!(
            of == device,
            "{} was recorded on {of}, and this is {device}: compare with a record of the same device",
            path.display()
        );
        Ok(record)
    };
    paths.iter().map(|path| read(path)).collect()
}

/// Selects the cases and operations that the records contain.
pub(super) fn selected(records: &[Record], options: &Options, scope: &Scope) -> Result<Vec<Selected>> {
    let lines = || records.iter().flat_map(|record| &record.measurements);
    let has = |suite: &str, case: &str, operation: &str| {
        lines().any(|line| (&*line.suite, &*line.case, &*line.operation) == (suite, case, operation))
    };
    let is_in = |name: &str| lines().any(|line| line.suite == name);
    let mut selected = Vec::new();
    let mut own: Vec<_> = lines().filter(|line| line.suite == rings::OWN.name).map(key).collect();
    own.sort();
    own.dedup();
    for (_, ring, operation, .., batch) in own {
        selected.push(Selected::own(&ring, operation.parse()?, &options.shape, &[batch])?);
    }
    if lines().any(|line| line.suite != rings::OWN.name) {
        let suites = Selected::of(
            |suite| (suite.kind != SuiteKind::Own && is_in(suite.name)).then_some(0),
            scope,
            &options.filter,
        );
        for mut found in suites.context("no line of the records is measured by this program with these options")? {
            let (suite, case) = (found.suite.name, &found.case.name);
            found.wanted.0.retain(|operation| has(suite, case, operation));
            selected.extend((!found.wanted.0.is_empty()).then_some(found));
        }
    }
    Ok(selected)
}

/// Measures the selected cases in rounds and prints the comparison. Returns true if every result is right.
pub(super) fn run(bench: &Bench, records: &[Record], selected: &[Selected], json: bool) -> Result<bool> {
    let mut now = bench.record(None);
    let bar = show::progress(ROUNDS * selected.len());
    for _ in 0..ROUNDS {
        for selected in selected {
            bar.set_message(selected.title());
            selected.measure(bench, &mut now)?;
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    let (compared, missing) = compare(records, &now.measurements);
    ensure!(!compared.is_empty(), "no line of the records was measured again: {}", missing.join("; "));
    if json {
        show::print_json(&compared)?;
    } else {
        print(&compared, &missing)?;
    }
    Ok(compared.iter().all(|line| line.right))
}

/// Compares the measurements of the records with their repetitions, in the order of the records. Also returns the
/// titles of measurements that were not repeated.
fn compare(records: &[Record], now: &[Measurement]) -> (Vec<Compared>, Vec<String>) {
    let seconds = |lines: &[&Measurement]| lines.iter().map(|line| line.times.median_seconds).collect::<Vec<_>>();
    let (mut compared, mut missing, mut seen) = (Vec::new(), Vec::new(), Vec::new());
    for line in records.iter().flat_map(|record| &record.measurements) {
        let key_of = key(line);
        if seen.contains(&key_of) {
            continue;
        }
        let same = |other: &&Measurement| key(other) == key_of;
        let before: Vec<_> = records.iter().flat_map(|record| &record.measurements).filter(same).collect();
        let again: Vec<_> = now.iter().filter(same).collect();
        if again.is_empty() {
            missing.push(line.title());
        } else {
            compared.push(Compared::new(&again, seconds(&before), seconds(&again)));
        }
        seen.push(key_of);
    }
    (compared, missing)
}

fn print(compared: &[Compared], missing: &[String]) -> Result<()> {
    let mut table =
        show::table(&["suite", "line", "before", "now", "now / before", "noise", "is", "right"], &[2, 3, 4, 5]);
    for line in compared {
        let [least, most] = line.noise;
        table.add_row([
            line.suite.clone(),
            line.line.clone(),
            show::time(line.before_seconds),
            show::time(line.now_seconds),
            format!("{:.3}", line.ratio),
            format!("{least:.3} to {most:.3}"),
            line.verdict().into(),
            show::yes_or_no(line.right),
        ]);
    }
    show::print(&table.to_string())?;
    missing.iter().try_for_each(|line| show::print(&format!("not measured again: {line}")))
}

#[cfg(test)]
mod tests {
    use ringforge::Device;

    use super::*;
    use crate::environment::Environment;
    use crate::measure::Times;

    fn record(lines: &[(&str, f64)]) -> Record {
        let line = |&(case, seconds): &(&str, f64)| {
            Measurement::new(case, "forward", 8, Times::of(vec![seconds], 1, 1)).checked("nothing", true)
        };
        Record {
            environment: Environment::of(&Device::cpu()),
            tuning: None,
            copy_bytes_per_second: 1e9,
            measurements: lines.iter().map(line).collect(),
            unsupported: Vec::new(),
        }
    }

    #[test]
    fn ratios_have_the_noise_of_all_runs() {
        let before = [record(&[("a", 1.0), ("b", 1.0), ("gone", 1.0)]), record(&[("a", 1.1), ("b", 1.0)])];
        let now = record(&[("a", 1.05), ("b", 1.3), ("a", 0.95), ("b", 1.2), ("new", 1.0), ("b", 1.1)]);
        let (compared, missing) = compare(&before, &now.measurements);
        let [a, b] = &compared[..] else { panic!("{compared:?}") };
        assert_eq!(
            (a.verdict(), b.verdict(), &missing[..]),
            ("the same", "slower", &["gone forward, batch 8".into()][..])
        );
        assert_eq!((b.ratio, b.noise, b.line.as_str()), (1.2, [1.1, 1.3], "b forward, batch 8"));
        assert_eq!(a.noise, [0.95 / 1.1, 1.05]);
    }

    #[test]
    fn records_of_other_devices_are_refused() -> Result<()> {
        let file = tempfile::NamedTempFile::new()?;
        record(&[("a", 1.0)]).write(file.path())?;
        let path = [file.path().to_path_buf()];
        assert!(read(&path, &Device::cpu().to_string()).is_ok() && read(&path, "an H200").is_err());
        Ok(())
    }
}
