//! [`Shared`]: the state of a server.

use std::hash::RandomState;

use event_listener::Event;

use crate::backends::Backends;
use crate::counters::Counters;
use crate::operation::{Operation, Shape};
use crate::pace::Pace;
use crate::queue::Queue;
use crate::reply::Outcome;

/// The most requests of a page.
pub(crate) const MOST_IN_PAGE: usize = 64;

/// The state that clients and workers share.
pub(crate) struct Shared<O: Operation> {
    pub(crate) queue: Queue<Outcome<O::Error>>,
    pub(crate) backends: Backends<O>,
    pub(crate) shape: Shape,
    pub(crate) pace: Pace,
    pub(crate) counters: Counters,
    /// Notified of places that become free.
    pub(crate) place: Event,
    pub(crate) hasher: RandomState,
}
