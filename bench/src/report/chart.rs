//! Charts with one row per suite and marks on a logarithmic axis of relative speeds.

use maud::{Markup, PreEscaped, html};

use super::areas::Area;
use super::style;

/// Ticks of the axis. Those outside the chart's range are left out.
const TICKS: [(f64, &str); 10] = [
    (0.001, "1/1000"),
    (0.005, "1/200"),
    (0.02, "1/50"),
    (0.1, "1/10"),
    (0.5, "1/2"),
    (1.0, "1×"),
    (2.0, "2×"),
    (10.0, "10×"),
    (40.0, "40×"),
    (200.0, "200×"),
];

/// Distance from an edge below which a centred label might be cut.
const EDGE: f64 = 80.0;

/// The dimensions of a chart.
#[derive(Clone, Copy)]
struct Layout {
    /// Class of the SVG element, for the style sheet.
    class: &'static str,
    width: f64,
    /// X coordinate of the left end of the axis.
    left: f64,
    /// Height of a row.
    row: f64,
    /// Distance from a row's text down to its marks.
    below: f64,
}

/// Text to the left of the marks.
const WIDE: Layout = Layout { class: "wide", width: 960.0, left: 330.0, row: 34.0, below: 0.0 };
/// Text above the marks, for narrow screens.
const NARROW: Layout = Layout { class: "narrow", width: 420.0, left: 10.0, row: 72.0, below: 32.0 };

/// A chart: a title and rows.
struct Chart {
    title: String,
    rows: Vec<Row>,
}

/// A row: two lines of text on the left, and marks.
struct Row {
    name: String,
    detail: String,
    marks: Vec<Mark>,
}

/// A relative speed.
struct Mark {
    ratio: f64,
    shape: Shape,
    label: String,
}

#[derive(Clone, Copy)]
enum Shape {
    Dot,
    Bar,
    Diamond { filled: bool },
}

/// An axis that shows all marks.
struct Axis {
    from: f64,
    to: f64,
    layout: Layout,
}

impl Axis {
    fn of(rows: &[Row], layout: Layout) -> Self {
        let ratios = || rows.iter().flat_map(|row| &row.marks).map(|mark| mark.ratio);
        Self { from: ratios().fold(0.4, f64::min) / 1.3, to: ratios().fold(2.5, f64::max) * 1.3, layout }
    }

    fn x(&self, ratio: f64) -> f64 {
        let Self { from, to, layout } = self;
        layout.left + (layout.width - layout.left - 20.0) * (ratio / from).ln() / (to / from).ln()
    }
}

impl Chart {
    /// The chart for wide and for narrow screens.
    fn both(&self) -> Markup {
        html! { (self.svg(WIDE)) (self.svg(NARROW)) }
    }

    /// The chart as SVG; nothing without rows.
    fn svg(&self, layout: Layout) -> Markup {
        let Layout { class, width, row: row_height, below, .. } = layout;
        let (height, axis) = (row_height * self.rows.len() as f64 + 60.0, Axis::of(&self.rows, layout));
        let ticks = TICKS.iter().filter(|(ratio, _)| (axis.from..axis.to).contains(ratio));
        html! {
            @if !self.rows.is_empty() {
                svg class=(class) xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {width} {height}")) role="img" aria-label=(self.title) {
                    text.title x="0" y="16" { (self.title) }
                    @for (ratio, label) in ticks {
                        line.grid x1=(axis.x(*ratio)) x2=(axis.x(*ratio)) y1="30" y2=(height - 24.0) {}
                        text x=(axis.x(*ratio)) y=(height - 8.0) text-anchor="middle" { (label) }
                    }
                    @for (i, row) in self.rows.iter().enumerate() {
                        @let y = 48.0 + row_height * i as f64;
                        text x="0" y=(y) { (row.name) }
                        text x="0" y=(y + 14.0) font-size="11" { (row.detail) }
                        @for mark in &row.marks { (mark.svg(axis.x(mark.ratio), y + below, width)) }
                    }
                }
            }
        }
    }
}

impl Mark {
    fn svg(&self, x: f64, y: f64, width: f64) -> Markup {
        // labels near an edge grow towards the middle
        let anchor = match x {
            x if x < EDGE => "start",
            x if x > width - EDGE => "end",
            _ => "middle",
        };
        html! {
            @match self.shape {
                Shape::Dot => { circle cx=(x) cy=(y) r="6" fill="var(--c0)" {} }
                Shape::Bar => { line x1=(x) x2=(x) y1=(y - 9.0) y2=(y + 9.0) stroke="currentColor" stroke-width="4" {} }
                Shape::Diamond { filled } => {
                    @let fill = if filled { "var(--c1)" } else { "none" };
                    path d=(format!("M{x} {}l7 7l-7 7l-7 -7z", y - 7.0)) fill=(fill) stroke="var(--c1)" stroke-width="2" {}
                }
            }
            @if !self.label.is_empty() { text x=(x) y=(y + 18.0) font-size="11" text-anchor=(anchor) { (self.label) } }
        }
    }
}

/// Speeds of the fastest other implementation and of the roofline bound, relative to the engine's, for each suite.
pub(super) fn of(areas: &[Area<'_>]) -> Markup {
    overview(areas).both()
}

fn overview(areas: &[Area<'_>]) -> Chart {
    let row = |area: &Area<'_>| {
        let line = area.headline()?;
        let mut marks = vec![Mark { ratio: 1.0, shape: Shape::Dot, label: String::new() }];
        if let Some(percent) = line.floor.filter(|percent| *percent > 0.0) {
            marks.push(Mark { ratio: 100.0 / percent, shape: Shape::Bar, label: String::new() });
        }
        if let Some((peer, label, ratio)) = line.peer {
            marks.push(Mark { ratio, shape: Shape::Diamond { filled: peer.source.is_none() }, label });
        }
        Some(Row { name: format!("{}: {}", line.area, line.figure), detail: line.what, marks })
    };
    let title = "Speed: ours ●, fastest other ◆ (◇ quoted), roofline bound ┃".into();
    Chart { title, rows: areas.iter().filter_map(row).collect() }
}

/// The speeds of one record relative to those of another, for each suite that both measured: the geometric mean over
/// pairs of measurements with equal case, operation, variant, batch and memory.
pub(super) fn against(areas: &[Area<'_>], ours: &str, theirs: &str) -> Markup {
    let row = |area: &Area<'_>| {
        let lines = |name: &str| area.parts.iter().find(|part| part.name == name).map(|part| &part.lines);
        let (ours, theirs) = (lines(ours)?, lines(theirs)?);
        let logs = ours.iter().filter_map(|line| {
            let same = theirs.iter().find(|other| {
                (&line.case, &line.operation, &line.variant, line.batch)
                    == (&other.case, &other.operation, &other.variant, other.batch)
                    && line.memory == other.memory
            })?;
            Some((line.items_per_second / same.items_per_second).ln())
        });
        let logs: Vec<f64> = logs.filter(|log| log.is_finite()).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let marks = vec![Mark { ratio: mean.exp(), shape: Shape::Dot, label: format!("{:.2}", mean.exp()) }];
        let detail = format!("{} measurements", logs.len());
        (!logs.is_empty()).then_some(Row { name: area.suite.title.into(), detail, marks })
    };
    let title = format!("Speed of {ours} relative to {theirs}");
    Chart { title, rows: areas.iter().filter_map(row).collect() }.both()
}

/// The chart of [`of`] as a file of its own, for light and dark colour schemes.
pub(super) fn file(areas: &[Area<'_>]) -> String {
    let svg = overview(areas).svg(WIDE).into_string();
    let style = html! { style { (PreEscaped(style::SVG)) } }.into_string();
    svg.replacen('>', &format!(">{style}"), 1) + "\n"
}
