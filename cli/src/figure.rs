//! Figures of merit, in which the measurements of a suite are reported.

use crate::record::{Measurement, Peer};
use crate::show;

/// The figure of merit that is customary in a suite's field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// Items per second.
    Rate,
    /// Time per item.
    Item,
    /// Time per limb.
    Limb,
}

impl Figure {
    /// Column heading for the figure.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Rate => "items a second",
            Self::Item => "time of an item",
            Self::Limb => "time of a limb",
        }
    }

    /// Returns true if a larger figure is better.
    pub fn is_rate(self) -> bool {
        self == Self::Rate
    }

    /// The figure of an item that takes this many seconds. `line` supplies the number of limbs.
    pub fn number(self, line: &Measurement, seconds: f64) -> f64 {
        match self {
            Self::Rate => 1.0 / seconds,
            Self::Item => seconds,
            Self::Limb => seconds / line.limbs.unwrap_or(1) as f64,
        }
    }

    /// Formats a figure for display.
    pub fn show(self, number: f64) -> String {
        if self.is_rate() { show::short(number).trim_end().to_owned() } else { show::time(number) }
    }

    /// The figure of a measurement, formatted.
    pub fn of(self, line: &Measurement) -> String {
        self.show(self.number(line, 1.0 / line.items_per_second))
    }

    /// The figure of another implementation, formatted, with its name and the source if it is quoted.
    pub fn of_peer(self, line: &Measurement, peer: &Peer) -> String {
        let source = peer.source.as_ref().map(|source| format!(" (quoted: {source})")).unwrap_or_default();
        format!("{}: {}{source}", peer.name, self.show(self.number(line, peer.seconds)))
    }
}
