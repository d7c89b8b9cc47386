//! A chart with one row per suite: the speeds of the engine, of the fastest other implementation and of the roofline
//! bound.

use maud::{Markup, html};

use super::areas::Area;

/// Ticks of the axis: speeds relative to the engine's.
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
    let [from, to] = [TICKS[0].0, TICKS[TICKS.len() - 1].0];
    LEFT + (WIDTH - LEFT - 20.0) * (ratio.clamp(from, to) / from).ln() / (to / from).ln()
}

/// The chart of speeds relative to the engine's.
pub(super) fn of(areas: &[Area<'_>]) -> Markup {
    let lines: Vec<_> = areas.iter().filter_map(Area::headline).collect();
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
                    @if let Some(floor) = line.floor.map(|percent| x(100.0 / percent)) {
                        line x1=(floor) x2=(floor) y1=(y - 9.0) y2=(y + 9.0) stroke="currentColor" stroke-width="4" {}
                    }
                    @if let Some((peer, text, ratio)) = &line.peer {
                        @let fill = if peer.source.is_some() { "none" } else { "var(--c1)" };
                        path d=(format!("M{} {}l7 7l-7 7l-7 -7z", x(*ratio), y - 7.0)) fill=(fill) stroke="var(--c1)" stroke-width="2" {}
                        text x=(x(*ratio)) y=(y + 18.0) font-size="11" text-anchor="middle" { (text) }
                    }
                }
            }
        }
    }
}
