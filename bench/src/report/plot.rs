//! Plots of measurements against transform length and against batch size, with logarithmic axes and few, readable
//! ticks.

use core::ops::{Range, RangeInclusive};
use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};

use ringforge_cli::record::{Measurement, Memory};
use ringforge_cli::suite::{Figure, Suite};

/// The owner of a curve, which determines the CSS class of the curve's line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Style {
    Ours,
    Roofline,
    Peer,
}

/// Curves in one frame, by style and name. Each maps x coordinates to y coordinates.
#[derive(Default)]
struct Plot(BTreeMap<(Style, String), BTreeMap<usize, f64>>);

const WIDTH: f64 = 620.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 70.0;
const TOP: f64 = 44.0;
/// Height of a name in the legend below the frame.
const NAME: f64 = 18.0;
/// Maximum number of ticks per axis.
const TICKS: usize = 8;
const COLOURS: usize = 6;
/// Minimum number of points of a curve of the engine.
const POINTS: usize = 3;
/// The range of values that are plotted. It is wider than any real measurement, but keeps the axes finite.
const DRAWN: RangeInclusive<f64> = 1e-12..=1e15;

/// The plots of a suite's measurements.
pub(super) fn all(suite: &Suite, lines: &[&Measurement]) -> Vec<Markup> {
    if let Some(plot) = latencies(suite, lines) {
        return vec![plot];
    }
    let lines: Vec<&Measurement> = lines.iter().copied().filter(|line| line.memory == Memory::Device).collect();
    let by_length = lengths(suite, &lines).svg(&format!("{}, by length", suite.title), "n", suite.figure);
    by_length.into_iter().chain(batches(&lines)).collect()
}

/// The 99th percentile of latencies against the answers a second, for loads below and above the capacity.
fn latencies(suite: &Suite, lines: &[&Measurement]) -> Option<Markup> {
    let mut plot = Plot::default();
    for line in lines.iter().filter(|line| line.operation.contains('%')) {
        let curve = plot.0.entry((Style::Ours, line.case.clone())).or_default();
        curve.insert(line.items_per_second as usize, line.latency?.p99);
    }
    plot.svg(&format!("{}: 99th percentile of the latency", suite.title), "answers a second", Figure::Item)
}

/// Figures against transform length, from the largest batch of each length. The roofline bound and other
/// implementations are shown for the first operation only, and not for cosets.
fn lengths(suite: &Suite, lines: &[&Measurement]) -> Plot {
    let (mut plot, mut largest) = (Plot::default(), BTreeMap::new());
    for &line in lines {
        let Some(n) = line.n else { continue };
        // the name of the case without the length, such as `2^16`
        let series = line.case.replace(&format!("2^{}", n.ilog2()), "").replace("  ", " ");
        let name = [series.trim_matches([' ', ',']), &line.what()].map(str::to_owned).into_iter();
        let name = name.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
        let most = largest.entry((name, n)).or_insert(line);
        if line.batch > most.batch {
            *most = line;
        }
    }
    for ((name, n), line) in largest {
        let is_first = lines[0].operation == line.operation && !name.contains("coset");
        plot.add(name, line, n, is_first, &|seconds| suite.figure.number(line, seconds));
    }
    plot
}

/// Items per second against the batch size. There is a plot for each case, or for each operation of a case with several
/// variants.
fn batches(lines: &[&Measurement]) -> Vec<Markup> {
    let mut plots: BTreeMap<String, Plot> = BTreeMap::new();
    for &line in lines {
        let variants = lines.iter().filter(|other| other.case == line.case).map(|other| &other.variant);
        let (title, name) = match variants.collect::<BTreeSet<_>>().len() {
            1 => (line.case.clone(), line.what()),
            _ => (format!("{}, {}", line.case, line.operation), line.variant.clone()),
        };
        let name = if name.is_empty() { "here".into() } else { name };
        plots.entry(title).or_default().add(name, line, line.batch, true, &|seconds| 1.0 / seconds);
    }
    plots
        .into_iter()
        .filter_map(|(title, plot)| plot.svg(&format!("{title}, by batch"), "batch", Figure::Rate))
        .collect()
}

impl Plot {
    /// Adds a point of the engine and, if `others` is set, the points of the roofline bound and of other
    /// implementations.
    fn add(&mut self, name: String, line: &Measurement, x: usize, others: bool, figure: &dyn Fn(f64) -> f64) {
        let mut points = vec![(Style::Ours, name, 1.0 / line.items_per_second)];
        if others {
            let of = |name: &str| match line.operation.as_str() {
                "" => name.to_owned(),
                operation => format!("{name}, {operation}"),
            };
            points.extend(line.floor.limit().map(|(seconds, _)| (Style::Roofline, of("roofline bound"), seconds)));
            points.extend(line.peers.iter().map(|peer| {
                let quoted = if peer.source.is_some() { " (quoted)" } else { "" };
                (Style::Peer, of(&peer.name) + quoted, peer.seconds)
            }));
        }
        for (style, name, seconds) in points {
            let y = figure(seconds);
            if DRAWN.contains(&y) {
                self.0.entry((style, name)).or_default().insert(x, y);
            }
        }
    }

    /// The plot as an SVG element. Returns `None` if no curve of the engine has enough points.
    fn svg(mut self, title: &str, across: &str, figure: Figure) -> Option<Markup> {
        self.0.retain(|(style, _), points| points.len() >= if *style == Style::Ours { POINTS } else { 2 });
        if !self.0.keys().any(|(style, _)| *style == Style::Ours) {
            return None;
        }
        let points = || self.0.values().flatten();
        let (wide, high) = (range(points().map(|(x, _)| *x as f64)), range(points().map(|(_, y)| *y)));
        let place = |x: f64, range: &Range<f64>| (x / range.start).ln() / (range.end / range.start).ln();
        let x = |value: f64| LEFT + (WIDTH - LEFT - 10.0) * place(value, &wide);
        let y = |value: f64| TOP + HEIGHT * (1.0 - place(value, &high));
        let path = |points: &BTreeMap<usize, f64>| {
            let places: Vec<_> = points.iter().map(|(a, b)| format!("{:.1} {:.1}", x(*a as f64), y(*b))).collect();
            format!("M{}", places.join("L"))
        };
        let below = TOP + HEIGHT + 40.0;
        let height = below + NAME * self.0.len() as f64;
        let look = |i: usize, style: Style| match style {
            Style::Ours => ("line", format!("var(--c{})", i % COLOURS)),
            Style::Roofline => ("line floor", "var(--c6)".into()),
            Style::Peer => ("line peer", format!("var(--c{})", i % COLOURS)),
        };
        let power = |x: f64| if x >= 1024.0 { format!("2^{}", x.log2()) } else { x.to_string() };
        Some(html! {
            svg viewBox=(format!("0 0 {WIDTH} {height}")) role="img" aria-label=(title) {
                text.title x="0" y="16" { (title) }
                text x="0" y="34" { (figure.heading()) }
                @for tick in powers(&wide) {
                    line.grid x1=(x(tick)) x2=(x(tick)) y1=(TOP) y2=(TOP + HEIGHT) {}
                    text x=(x(tick)) y=(TOP + HEIGHT + 18.0) text-anchor="middle" { (power(tick)) }
                }
                text x=(WIDTH - 10.0) y=(TOP + HEIGHT + 34.0) text-anchor="end" { (across) }
                @for tick in decades(&high) {
                    line.grid x1=(LEFT) x2=(WIDTH - 10.0) y1=(y(tick)) y2=(y(tick)) {}
                    text x=(LEFT - 6.0) y=(y(tick) + 4.0) text-anchor="end" { (figure.show(tick)) }
                }
                @for (i, ((style, name), points)) in self.0.iter().enumerate() {
                    @let (below, (class, colour)) = (below + NAME * i as f64, look(i, *style));
                    path class=(class) stroke=(colour) d=(path(points)) {}
                    @if *style == Style::Ours {
                        @for (a, b) in points { circle cx=(x(*a as f64)) cy=(y(*b)) r="3" fill=(colour) {} }
                    }
                    path class=(class) stroke=(colour) d=(format!("M{LEFT} {}h28", below + 6.0)) {}
                    text x=(LEFT + 36.0) y=(below + 10.0) { (name) }
                }
            }
        })
    }
}

/// The range of these values, with a margin of a factor 1.25 at both ends.
fn range(values: impl Iterator<Item = f64>) -> Range<f64> {
    let (least, most) = values.fold((f64::INFINITY, 0.0f64), |(least, most), x| (least.min(x), most.max(x)));
    least / 1.25..most * 1.25
}

/// Powers of two in a range, thinned out evenly to at most `TICKS`.
fn powers(range: &Range<f64>) -> Vec<f64> {
    let exponents: Vec<i32> = (range.start.log2().ceil() as i32..=range.end.log2().floor() as i32).collect();
    let step = exponents.len().div_ceil(TICKS).max(1);
    exponents.into_iter().step_by(step).map(|exponent| f64::from(exponent).exp2()).collect()
}

/// Powers of ten in a range, thinned out evenly. If they are few, 2 and 5 times these powers are included.
fn decades(range: &Range<f64>) -> Vec<f64> {
    let exponents: Vec<i32> = (range.start.log10().floor() as i32..=range.end.log10().ceil() as i32).collect();
    let within = |x: &f64| range.contains(x);
    let fine = |exponent: &i32| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(*exponent));
    let ticks: Vec<f64> = exponents.iter().flat_map(fine).filter(within).collect();
    if ticks.len() <= TICKS {
        return ticks;
    }
    let step = exponents.len().div_ceil(TICKS);
    exponents.into_iter().step_by(step).map(|exponent| 10f64.powi(exponent)).filter(within).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_few_and_round() {
        assert_eq!(powers(&(100.0..1100.0)), [128.0, 256.0, 512.0, 1024.0]);
        assert!(powers(&(1.0..1e9)).len() <= TICKS && decades(&(1e-6..1e6)).len() <= TICKS);
        assert_eq!(decades(&(90.0..600.0)), [100.0, 200.0, 500.0]);
        assert_eq!(decades(&(1.1..1.9)), Vec::<f64>::new());
    }
}
