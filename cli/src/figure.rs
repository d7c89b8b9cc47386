//! How lines are read.

use crate::record::{Measurement, Peer};
use crate::show;

/// The figure that people in a suite's field go by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// Items a second.
    Rate,
    /// The time of an item.
    Item,
    /// The time of a limb.
    Limb,
}

impl Figure {
    /// What it is.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Rate => "items a second",
            Self::Item => "time of an item",
            Self::Limb => "time of a limb",
        }
    }

    /// Whether more is better.
    pub fn is_rate(self) -> bool {
        self == Self::Rate
    }

    /// The figure of a line whose item takes so many seconds.
    pub fn number(self, line: &Measurement, seconds: f64) -> f64 {
        match self {
            Self::Rate => 1.0 / seconds,
            Self::Item => seconds,
            Self::Limb => seconds / line.limbs.unwrap_or(1) as f64,
        }
    }

    /// A number of this figure as people read it.
    pub fn show(self, number: f64) -> String {
        if self.is_rate() { show::short(number).trim_end().to_owned() } else { show::time(number) }
    }

    /// The figure of a line.
    pub fn of(self, line: &Measurement) -> String {
        self.show(self.number(line, 1.0 / line.items_per_second))
    }

    /// The figure of a peer beside a line, with where it comes from if it was not measured there.
    pub fn of_peer(self, line: &Measurement, peer: &Peer) -> String {
        let source = peer.source.as_ref().map(|source| format!(" (quoted: {source})")).unwrap_or_default();
        format!("{}: {}{source}", peer.name, self.show(self.number(line, peer.seconds)))
    }
}
