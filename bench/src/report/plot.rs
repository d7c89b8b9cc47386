//! Curves as SVG, both axes logarithmic, with few ticks that can be read.

use core::ops::Range;

use maud::{Markup, html};

use crate::bench::suites::Figure;

/// Whose curve it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Style {
    Ours,
    Floor,
    Peer,
}

/// Points that belong together.
#[derive(Debug)]
pub(super) struct Curve {
    pub(super) name: String,
    pub(super) style: Style,
    /// By ascending first coordinate, both positive.
    pub(super) points: Vec<(f64, f64)>,
}

/// Curves in one frame.
#[derive(Debug)]
pub(super) struct Plot {
    pub(super) title: String,
    /// What the horizontal axis has.
    pub(super) across: &'static str,
    /// What the vertical axis has.
    pub(super) figure: Figure,
    pub(super) curves: Vec<Curve>,
}

const WIDTH: f64 = 620.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 70.0;
const TOP: f64 = 44.0;
/// Height of a name below the frame.
const NAME: f64 = 18.0;
/// Most ticks of an axis.
const TICKS: usize = 8;
const COLOURS: usize = 6;

/// The range of these values.
fn range(values: impl Iterator<Item = f64>) -> Range<f64> {
    let (least, most) = values.fold((f64::INFINITY, 0.0f64), |(least, most), x| (least.min(x), most.max(x)));
    least / 1.25..most * 1.25
}

/// Powers of two in a range, evenly thinned out.
fn powers(range: &Range<f64>) -> Vec<f64> {
    let exponents: Vec<i32> = (range.start.log2().ceil() as i32..=range.end.log2().floor() as i32).collect();
    let step = exponents.len().div_ceil(TICKS).max(1);
    exponents.into_iter().step_by(step).map(|exponent| f64::from(exponent).exp2()).collect()
}

/// Powers of ten in a range, evenly thinned out; where there are few, 2 and 5 times these as well.
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

/// The plot as an SVG element. There is at least one point.
pub(super) fn svg(plot: &Plot) -> Markup {
    let points = || plot.curves.iter().flat_map(|curve| &curve.points);
    let (across, down) = (range(points().map(|point| point.0)), range(points().map(|point| point.1)));
    let place = |x: f64, range: &Range<f64>| (x / range.start).ln() / (range.end / range.start).ln();
    let x = |value: f64| LEFT + (WIDTH - LEFT - 10.0) * place(value, &across);
    let y = |value: f64| TOP + HEIGHT * (1.0 - place(value, &down));
    let path = |curve: &Curve| {
        let mut path = String::new();
        for (i, &(a, b)) in curve.points.iter().enumerate() {
            path += &format!("{}{:.1} {:.1}", if i == 0 { "M" } else { "L" }, x(a), y(b));
        }
        path
    };
    let power = |x: f64| if x >= 1024.0 { format!("2^{}", x.log2()) } else { x.to_string() };
    let below = TOP + HEIGHT + 40.0;
    let height = below + NAME * plot.curves.len() as f64;
    let class = |style: Style| match style {
        Style::Ours => "line",
        Style::Floor => "line floor",
        Style::Peer => "line peer",
    };
    let colour = |i: usize, style: Style| match style {
        Style::Floor => "var(--c6)".to_owned(),
        _ => format!("var(--c{})", i % COLOURS),
    };
    html! {
        svg viewBox=(format!("0 0 {WIDTH} {height}")) role="img" aria-label=(plot.title) {
            text.title x="0" y="16" { (plot.title) }
            text x="0" y="34" { (plot.figure.heading()) }
            @for tick in powers(&across) {
                line.grid x1=(x(tick)) x2=(x(tick)) y1=(TOP) y2=(TOP + HEIGHT) {}
                text x=(x(tick)) y=(TOP + HEIGHT + 18.0) text-anchor="middle" { (power(tick)) }
            }
            text x=(WIDTH - 10.0) y=(TOP + HEIGHT + 34.0) text-anchor="end" { (plot.across) }
            @for tick in decades(&down) {
                line.grid x1=(LEFT) x2=(WIDTH - 10.0) y1=(y(tick)) y2=(y(tick)) {}
                text x=(LEFT - 6.0) y=(y(tick) + 4.0) text-anchor="end" { (plot.figure.show(tick)) }
            }
            @for (i, curve) in plot.curves.iter().enumerate() {
                @let name = below + NAME * i as f64;
                path class=(class(curve.style)) stroke=(colour(i, curve.style)) d=(path(curve)) {}
                @if curve.style == Style::Ours {
                    @for point in &curve.points { circle cx=(x(point.0)) cy=(y(point.1)) r="3" fill=(colour(i, curve.style)) {} }
                }
                path class=(class(curve.style)) stroke=(colour(i, curve.style)) d=(format!("M{LEFT} {}h28", name + 6.0)) {}
                text x=(LEFT + 36.0) y=(name + 10.0) { (curve.name) }
            }
        }
    }
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
