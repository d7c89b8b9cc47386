//! Profiling: when each piece of a transform ran on each device.

use std::time::Instant;

use ringforge_math::error::Result;
use ringforge_runtime::event::Event;

use super::worker::Worker;

/// One piece of a transform's work on one device. Times are in seconds since the profile began on that device.
/// Exchanges run on one stream and all other work on another stream; a piece counts as started while it waits for the
/// other stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// The rank of the device.
    pub rank: usize,
    /// A description of the piece.
    pub what: String,
    /// When the host enqueued the piece, by the host's clock.
    pub asked: f64,
    /// When the piece's stream had finished all earlier work, by the device's clock.
    pub start: f64,
    /// When the piece was done, by the device's clock.
    pub end: f64,
}

/// Records when each piece of a transform was enqueued, and an event before and after the piece.
pub(super) struct Watch {
    began: (Instant, Event),
    noted: Vec<(String, f64, [Event; 2])>,
}

impl Watch {
    pub(super) fn new(worker: &Worker) -> Result<Self> {
        Ok(Self { began: (Instant::now(), worker.work.mark()?), noted: Vec::new() })
    }

    pub(super) fn note(&mut self, what: String, before: Event, after: Event) {
        self.noted.push((what, self.began.0.elapsed().as_secs_f64(), [before, after]));
    }

    pub(super) fn spans(self, rank: usize) -> Result<Vec<Span>> {
        let seconds = |event: &Event| event.seconds_since(&self.began.1);
        let span = |(what, asked, [before, after]): &(String, f64, [Event; 2])| {
            Ok(Span { rank, what: what.clone(), asked: *asked, start: seconds(before)?, end: seconds(after)? })
        };
        self.noted.iter().map(span).collect()
    }
}
