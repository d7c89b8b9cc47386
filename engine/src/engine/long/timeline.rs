//! When a transform's pieces of work were done.

use std::time::Instant;

use ringforge_math::error::Result;
use ringforge_runtime::event::Event;

use super::worker::Worker;

/// A piece of a transform's work on one device. Times are seconds since the device began, by its own clock; one stream has the
/// exchanges, another all else, and a piece that waits for the other stream has begun.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// The device's number among all.
    pub rank: usize,
    /// In words.
    pub what: String,
    /// When the host had it started.
    pub asked: f64,
    /// When the stream was done with what was before it.
    pub start: f64,
    /// When it was done.
    pub end: f64,
}

/// What was started when.
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
