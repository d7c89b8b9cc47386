//! Events on a stream, to measure time between them.

use core::fmt;
use std::time::Instant;

use crate::backend::BackendStream;
use ringforge_math::error::Result;

/// An event on a stream, to measure time. On a GPU it marks the moment when all earlier work of the stream is done, by
/// the GPU's own clock. On a CPU it is the time of the call that made it.
///
/// ```
/// # fn main() -> ringforge::Result<()> {
/// let stream = ringforge::Device::cpu().stream()?;
/// let before = stream.mark()?;
/// // start some work
/// let seconds = stream.mark()?.seconds_since(&before)?;
/// # assert!(seconds >= 0.0);
/// # Ok(())
/// # }
/// ```
pub struct Event(EventKind);

enum EventKind {
    Host(Instant),
    #[cfg(feature = "cuda")]
    Cuda(crate::cuda::TimedEvent),
}

impl Event {
    pub(crate) fn new(queue: &BackendStream) -> Result<Self> {
        Ok(Self(match queue {
            BackendStream::Immediate => EventKind::Host(Instant::now()),
            #[cfg(feature = "cuda")]
            BackendStream::Cuda(queue) => EventKind::Cuda(queue.mark()?),
        }))
    }

    /// Waits for the work before both events and returns the seconds from `earlier` to this event.
    ///
    /// # Errors
    /// [`Error::Mismatch`](ringforge_math::Error::Mismatch) if one event is of a CPU and the other of a GPU;
    /// [`Error::Unsupported`](ringforge_math::Error::Unsupported) if the driver is too old to measure time;
    /// [`Error::Driver`](ringforge_math::Error::Driver) if a driver call fails, or if the events are of two GPUs.
    pub fn seconds_since(&self, earlier: &Self) -> Result<f64> {
        match (&self.0, &earlier.0) {
            (EventKind::Host(later), EventKind::Host(earlier)) => {
                Ok(later.saturating_duration_since(*earlier).as_secs_f64())
            }
            #[cfg(feature = "cuda")]
            (EventKind::Cuda(later), EventKind::Cuda(earlier)) => later.seconds_since(earlier),
            #[cfg(feature = "cuda")]
            _ => Err(ringforge_math::error::Error::Mismatch {
                what: "the earlier event".into(),
                expected: "an event of the same device".into(),
                got: "an event of another device".into(),
            }),
        }
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            EventKind::Host(instant) => write!(f, "Event({instant:?})"),
            #[cfg(feature = "cuda")]
            EventKind::Cuda(_) => f.write_str("Event(on a GPU)"),
        }
    }
}
