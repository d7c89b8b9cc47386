//! One line of each area: ours, the best peer and the floor, in one chart.

use maud::{Markup, html};

use super::areas::Area;

/// An area by its headline.
pub(super) struct Line {
    pub(super) area: &'static str,
    pub(super) what: String,
    pub(super) figure: String,
    /// How many times as fast as ours the floor is.
    pub(super) floor: Option<f64>,
    /// The best peer as text, how many times as fast as ours it is, and whether it is quoted.
    pub(super) peer: Option<(String, f64, bool)>,
}

impl Line {
    /// The line of an area, if its headline was measured.
    pub(super) fn of(area: &Area<'_>) -> Option<Self> {
        let (line, figure) = (area.headline()?, area.suite.figure);
        let ours = 1.0 / line.items_per_second;
        let best = line.peers.iter().min_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let peer = best.map(|peer| {
            let text = format!("{} {}", peer.name, figure.show(figure.number(line, peer.seconds)));
            (text, ours / peer.seconds, peer.source.is_some())
        });
        let batch = if line.batch > 1 { format!(", batch {}", line.batch) } else { String::new() };
        let parts = [line.case.as_str(), &line.operation].into_iter().filter(|part| !part.is_empty());
        let what = format!("{}{batch}", parts.collect::<Vec<_>>().join(", "));
        let unit = if figure.is_rate() { "/s" } else { "" };
        let floor = line.percent_of_floor.map(|percent| 100.0 / percent);
        Some(Self { area: area.suite.title, what, figure: figure.of(line) + unit, floor, peer })
    }
}

/// Where the axis begins and ends, in times as fast as ours, and its ticks.
const ENDS: [f64; 2] = [1.0 / 200.0, 40.0];
const TICKS: [(f64, &str); 8] = [
    (0.005, "1/200"),
    (0.02, "1/50"),
    (0.1, "1/10"),
    (0.5, "1/2"),
    (1.0, "ours"),
    (2.0, "2×"),
    (10.0, "10×"),
    (40.0, "40×"),
];
const LEFT: f64 = 330.0;
const WIDTH: f64 = 960.0;
const ROW: f64 = 34.0;

fn x(ratio: f64) -> f64 {
    let [from, to] = ENDS.map(f64::ln);
    LEFT + (WIDTH - LEFT - 20.0) * ((ratio.clamp(ENDS[0], ENDS[1]).ln() - from) / (to - from))
}

/// The chart: speeds over ours.
pub(super) fn chart(areas: &[Area<'_>]) -> Markup {
    let lines: Vec<Line> = areas.iter().filter_map(Line::of).collect();
    let height = ROW * lines.len() as f64 + 60.0;
    html! {
        @if !lines.is_empty() {
            svg viewBox=(format!("0 0 {WIDTH} {height}")) role="img" aria-label="Speeds of the best peer and the floor over ours" {
                text.title x="0" y="16" { "Speed: ours ●, the best peer ◆ (◇ quoted), the floor ┃" }
                @for (ratio, label) in TICKS {
                    line.grid x1=(x(ratio)) x2=(x(ratio)) y1="30" y2=(height - 24.0) {}
                    text x=(x(ratio)) y=(height - 8.0) text-anchor="middle" { (label) }
                }
                @for (i, line) in lines.iter().enumerate() {
                    @let y = 48.0 + ROW * i as f64;
                    text x="0" y=(y) { (line.area) ": " (line.figure) }
                    text x="0" y=(y + 14.0) font-size="11" { (line.what) }
                    circle cx=(x(1.0)) cy=(y) r="6" fill="var(--c0)" {}
                    @if let Some(floor) = line.floor {
                        line x1=(x(floor)) x2=(x(floor)) y1=(y - 9.0) y2=(y + 9.0) stroke="currentColor" stroke-width="4" {
                            title { "the floor is " (format!("{floor:.2}")) " times as fast" }
                        }
                    }
                    @if let Some((text, ratio, quoted)) = &line.peer {
                        @let fill = if *quoted { "none" } else { "var(--c1)" };
                        path d=(format!("M{0} {1}l7 7l-7 7l-7 -7z", x(*ratio), y - 7.0)) fill=(fill) stroke="var(--c1)" stroke-width="2" {
                            title { (text) @if *quoted { " (quoted)" } }
                        }
                        text x=(x(*ratio)) y=(y + 18.0) font-size="11" text-anchor="middle" { (text) }
                    }
                }
            }
        }
    }
}
