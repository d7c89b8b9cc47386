//! Curves as SVG.

use std::ops::Range;

use anyhow::Result;
use plotters::prelude::*;

use crate::show;

/// What the vertical axis has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Seconds,
    PerSecond,
}

/// Points that belong together.
#[derive(Debug)]
pub(super) struct Curve {
    pub(super) name: String,
    /// By ascending first coordinate, both positive.
    pub(super) points: Vec<(f64, f64)>,
    /// Whether it is a figure to compare with, and not one that was measured here.
    pub(super) reference: bool,
}

/// Curves in one frame, both axes logarithmic.
#[derive(Debug)]
pub(super) struct Plot {
    pub(super) title: String,
    /// What the horizontal axis has.
    pub(super) across: &'static str,
    pub(super) unit: Unit,
    pub(super) curves: Vec<Curve>,
}

/// Colours that are told apart by most eyes (Okabe and Ito's).
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(90, 90, 90),
];
const SIZE: (u32, u32) = (620, 400);
const FONT: &str = "sans-serif";

/// The range of these values with room below and above.
fn range(values: impl Iterator<Item = f64> + Clone, below: f64, above: f64) -> Range<f64> {
    let least = values.clone().fold(f64::INFINITY, f64::min);
    let most = values.fold(0.0, f64::max);
    least / below..most * above
}

/// A power of two; marks between them have no label.
fn across(x: &f64) -> String {
    let log = x.log2();
    match (log - log.round()).abs() < 1e-9 {
        true if log > 9.5 => format!("2^{log:.0}"),
        true => format!("{x:.0}"),
        false => String::new(),
    }
}

/// The plot as an SVG element. There is at least one point.
pub(super) fn svg(plot: &Plot) -> Result<String> {
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        let points = plot.curves.iter().flat_map(|curve| &curve.points);
        let x = range(points.clone().map(|point| point.0), 1.4, 1.4);
        // names stand above
        let y = range(points.map(|point| point.1), 1.8, 6.0);
        let mut chart = ChartBuilder::on(&root)
            .caption(&plot.title, (FONT, 18))
            .margin(10)
            .x_label_area_size(44)
            .y_label_area_size(76)
            .build_cartesian_2d(x.log_scale().base(2.0), y.log_scale())?;
        let down = match plot.unit {
            Unit::Seconds => |y: &f64| show::time(*y),
            Unit::PerSecond => |y: &f64| show::short(*y),
        };
        chart
            .configure_mesh()
            .light_line_style(BLACK.mix(0.04))
            .bold_line_style(BLACK.mix(0.12))
            .label_style((FONT, 14))
            .x_desc(plot.across)
            .y_desc(if plot.unit == Unit::Seconds { "time" } else { "items a second" })
            .x_label_formatter(&across)
            .y_label_formatter(&down)
            .draw()?;
        for (curve, colour) in plot.curves.iter().zip(COLOURS.iter().cycle()) {
            let line = colour.stroke_width(if curve.reference { 1 } else { 2 });
            let series = LineSeries::new(curve.points.iter().copied(), line);
            chart
                .draw_series(series)?
                .label(&curve.name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], line));
            if !curve.reference {
                chart.draw_series(curve.points.iter().map(|&point| Circle::new(point, 3, colour.filled())))?;
            }
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .label_font((FONT, 14))
            .background_style(WHITE.mix(0.85))
            .border_style(BLACK.mix(0.2))
            .draw()?;
        root.present()?;
    }
    Ok(text)
}
