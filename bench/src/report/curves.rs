//! Which plots lines give: against the length of transforms, and against the batch.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use crate::bench::suites::{Figure, Suite};
use crate::record::{Measurement, Memory};

use super::plot::{Curve, Plot, Style};

/// Fewest points of a curve of ours: two say nothing.
const POINTS: usize = 3;
/// What measurements give, with room to spare; axes of what is not among these have no end.
const DRAWN: RangeInclusive<f64> = 1e-12..=1e15;

/// Curves by style and name, each with its points by first coordinate.
#[derive(Default)]
struct Curves(BTreeMap<(Style, String), BTreeMap<usize, f64>>);

impl Curves {
    fn add(&mut self, style: Style, name: String, x: usize, y: f64) {
        if DRAWN.contains(&y) {
            self.0.entry((style, name)).or_default().insert(x, y);
        }
    }

    /// The plot, if a measured curve has enough points.
    fn plot(self, title: String, across: &'static str, figure: Figure) -> Option<Plot> {
        let enough = |(style, _): &(Style, String), points: &BTreeMap<usize, f64>| {
            points.len() >= if *style == Style::Ours { POINTS } else { 2 }
        };
        let curves = self.0.into_iter().filter(|(key, points)| enough(key, points));
        let points = |points: BTreeMap<usize, f64>| points.into_iter().map(|(x, y)| (x as f64, y)).collect();
        let curves: Vec<Curve> =
            curves.map(|((style, name), all)| Curve { name, style, points: points(all) }).collect();
        curves.iter().any(|curve| curve.style == Style::Ours).then_some(Plot { title, across, figure, curves })
    }
}

/// The plots of a suite's lines.
pub(super) fn of(suite: &Suite, lines: &[&Measurement]) -> Vec<Plot> {
    let by_size = sizes(suite, lines).plot(format!("{}, by length", suite.title), "n", suite.figure);
    by_size.into_iter().chain(batches(lines)).collect()
}

/// The case without the length in it, as `2^16`.
fn series(line: &Measurement) -> String {
    let length = line.n.map_or(String::new(), |n| format!("2^{}", n.ilog2()));
    line.case.replace(&length, "").trim_matches([' ', ',']).replace("  ", " ")
}

/// Figures against the length, for the largest batch of each; floor and peers of the first operation.
fn sizes(suite: &Suite, lines: &[&Measurement]) -> Curves {
    let (mut curves, mut largest) = (Curves::default(), BTreeMap::new());
    for &line in lines.iter().filter(|line| line.n.is_some() && line.memory == Memory::Device) {
        let most = largest.entry((series(line), line.what(), line.n)).or_insert(line);
        if line.batch > most.batch {
            *most = line;
        }
    }
    for ((series, what, n), line) in largest {
        let name = [series.clone(), what].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
        let figure = |seconds: f64| suite.figure.number(line, seconds);
        let Some(n) = n else { continue };
        curves.add(Style::Ours, name, n, figure(1.0 / line.items_per_second));
        if lines.first().is_some_and(|first| first.operation == line.operation) && !series.contains("coset") {
            others(&mut curves, line, n, &figure);
        }
    }
    curves
}

/// Items a second against the batch, a plot for each case, or where there are several ways for each operation of it.
fn batches(lines: &[&Measurement]) -> Vec<Plot> {
    let mut plots: BTreeMap<String, Curves> = BTreeMap::new();
    let variants = |case: &str| {
        let of_case = lines.iter().filter(|line| line.case == case);
        of_case.map(|line| line.variant.as_str()).collect::<BTreeSet<_>>().len()
    };
    for &line in lines.iter().filter(|line| line.memory == Memory::Device) {
        let (title, name) = match variants(&line.case) {
            1 => (line.case.clone(), line.what()),
            _ => (format!("{}, {}", line.case, line.operation), line.variant.clone()),
        };
        let curves = plots.entry(title).or_default();
        let name = if name.is_empty() { "here".into() } else { name };
        curves.add(Style::Ours, name, line.batch, line.items_per_second);
        others(curves, line, line.batch, &|seconds| 1.0 / seconds);
    }
    let plot = |(title, curves): (String, Curves)| curves.plot(format!("{title}, by batch"), "batch", Figure::Rate);
    plots.into_iter().filter_map(plot).collect()
}

/// The floor and the peers of a line.
fn others(curves: &mut Curves, line: &Measurement, x: usize, figure: &dyn Fn(f64) -> f64) {
    let of =
        |name: &str| if line.operation.is_empty() { name.to_owned() } else { format!("{name}, {}", line.operation) };
    if let Some((seconds, _)) = line.floor.limit() {
        curves.add(Style::Floor, of("floor"), x, figure(seconds));
    }
    for peer in &line.peers {
        let quoted = if peer.source.is_some() { " (quoted)" } else { "" };
        curves.add(Style::Peer, of(&peer.name) + quoted, x, figure(peer.seconds));
    }
}
