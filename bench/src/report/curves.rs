//! Which plots a record gives.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde_json::Value;

use super::plot::{Curve, Plot, Unit};
use super::record::{Record, at};

/// Fewest points of a curve.
const POINTS: usize = 2;
/// What measurements give, with room to spare; axes of what is not among these have no end.
const DRAWN: RangeInclusive<f64> = 1e-18..=1e18;

/// Curves by name, each with its points by first coordinate.
#[derive(Default)]
struct Curves(BTreeMap<(bool, String), Vec<(f64, f64)>>);

impl Curves {
    /// Adds a point, if there is one that can be drawn.
    fn add(&mut self, reference: bool, name: &str, x: Option<f64>, y: Option<f64>) {
        if let (Some(x), Some(y)) = (x, y)
            && DRAWN.contains(&x)
            && DRAWN.contains(&y)
        {
            self.0.entry((reference, name.to_owned())).or_default().push((x, y));
        }
    }

    /// The plot, if a measured curve has enough points.
    fn plot(self, title: String, across: &'static str, unit: Unit) -> Option<Plot> {
        let enough = self.0.into_iter().filter(|(_, points)| points.len() >= POINTS);
        let curves: Vec<Curve> = enough
            .map(|((reference, name), mut points)| {
                points.sort_by(|a, b| a.0.total_cmp(&b.0));
                Curve { name, points, reference }
            })
            .collect();
        curves.iter().any(|curve| !curve.reference).then_some(Plot { title, across, unit, curves })
    }
}

fn number(line: &Value, path: &str) -> Option<f64> {
    at(line, path).as_f64()
}

fn text<'a>(line: &'a Value, path: &str) -> &'a str {
    at(line, path).as_str().unwrap_or_default()
}

/// The most of the floor's parts, in seconds an item.
fn floor(line: &Value) -> Option<f64> {
    let parts = ["memory_seconds", "multiply_seconds", "logic_seconds"];
    parts.into_iter().filter_map(|part| number(&line["floor"], part)).reduce(f64::max)
}

/// All plots of a record.
pub(super) fn of(record: &Record) -> Vec<Plot> {
    let sizes = [zk(record), fhe(record)].into_iter().flatten();
    sizes.chain(batches(record, "lines")).chain(batches(record, "sm2_lines")).chain(seeds(record)).collect()
}

/// Time against size, beside sppark and the floor.
fn zk(record: &Record) -> Option<Plot> {
    let mut curves = Curves::default();
    for line in record.lines("zk_lines") {
        let size = number(line, "log_n").map(f64::exp2);
        let name = if line["coset"] == true { "coset, " } else { "" }.to_owned() + text(line, "op");
        curves.add(false, &name, size, number(line, "median_seconds"));
        if line["coset"] == false && line["op"] == "forward" {
            curves.add(true, "sppark, forward", size, number(line, "peer_seconds"));
            curves.add(true, "floor", size, floor(line));
        }
    }
    curves.plot("One transform of BLS12-381 Fr against its size".into(), "n", Unit::Seconds)
}

/// The same for 60-bit rows of many polynomials.
fn fhe(record: &Record) -> Option<Plot> {
    let mut curves = Curves::default();
    let batches = record.lines("fhe_lines").iter().filter(|line| line["unit"] == "limb");
    for line in batches.filter(|line| text(line, "name").ends_with("60 bits")) {
        let log_n = text(line, "name").split_once("2^").and_then(|(_, rest)| rest.split_once(','));
        let size = log_n.and_then(|(log_n, _)| log_n.parse().ok()).map(f64::exp2);
        let seconds = |path: &str| number(line, path).map(|nanoseconds| nanoseconds * 1e-9);
        curves.add(false, text(line, "op"), size, seconds("unit_ns"));
        if line["op"] == "forward" {
            curves.add(true, "best peer, forward", size, seconds("peer"));
            let limbs = number(line, "limbs");
            curves.add(true, "floor", size, floor(line).zip(limbs).map(|(seconds, limbs)| seconds / limbs));
        }
    }
    curves.plot("One row modulo a 60-bit prime against its size".into(), "N", Unit::Seconds)
}

/// Items a second against the batch, a plot for each name.
fn batches(record: &Record, kind: &str) -> Vec<Plot> {
    let mut by_name: BTreeMap<String, Curves> = BTreeMap::new();
    for line in record.lines(kind) {
        // lines about SM2 have the operation in the name
        let (name, op) = match line["op"].as_str() {
            Some(op) => (text(line, "name"), op),
            None => text(line, "name").split_once(' ').unwrap_or((text(line, "name"), "")),
        };
        let curves = by_name.entry(name.to_owned()).or_default();
        curves.add(false, op, number(line, "batch"), number(line, "items_per_second"));
    }
    let plot =
        |(name, curves): (String, Curves)| curves.plot(format!("{name} against the batch"), "batch", Unit::PerSecond);
    by_name.into_iter().filter_map(plot).collect()
}

/// The sources' experiments against the batch, a plot of throughput and one of latency for each suite and name.
fn seeds(record: &Record) -> Vec<Plot> {
    let mut by_name: BTreeMap<String, [Curves; 2]> = BTreeMap::new();
    for line in record.lines("seed_lines") {
        let [throughput, latency] =
            by_name.entry(format!("{}: {}", text(line, "suite"), text(line, "name"))).or_default();
        let variant = line["variant"].as_str().map(|variant| format!(", {variant}")).unwrap_or_default();
        let name = format!("{}{variant}", text(line, "op"));
        let batch = number(line, "batch");
        throughput.add(false, &name, batch, number(line, "items_per_second"));
        throughput.add(true, &format!("the source, {name}"), batch, number(line, "source_items_per_second"));
        latency.add(false, &name, batch, number(line, "median_seconds"));
    }
    let plots = by_name.into_iter().flat_map(|(name, [throughput, latency])| {
        [
            throughput.plot(format!("{name}, throughput"), "batch", Unit::PerSecond),
            latency.plot(format!("{name}, latency"), "batch", Unit::Seconds),
        ]
    });
    plots.flatten().collect()
}
