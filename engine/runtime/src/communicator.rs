//! Communication between the devices of a group: messages, exchanges of data, and agreement.

#[cfg(feature = "cuda")]
mod control;
mod loopback;
#[cfg(feature = "cuda")]
mod nccl;

use core::fmt::Debug;
use core::time::Duration;
use std::time::Instant;

use crate::backend::BackendStream;
use crate::memory::{Memory, Read, Write};
use ringforge_math::error::{Error, Result};

#[cfg(feature = "cuda")]
pub use control::Control;
pub use loopback::Loopback;
#[cfg(feature = "cuda")]
pub use nccl::{Connection, Others, connect};

/// One rank's end of the connections between the devices of a group. All ranks make the same calls in the same order. A
/// failure on one rank ends the calls of all ranks with an error, and the communicator cannot be used afterwards.
pub trait Communicator: Debug + Send + Sync {
    /// Starts an exchange after earlier work on the stream. Each entry of `sends` is a destination rank and its piece.
    /// Each entry of `receives` is a source rank and the place for its next piece. A piece that a rank sends to itself
    /// is copied. The memory must not be used otherwise until [`Communicator::finish`] has returned.
    fn exchange(
        &self,
        queue: &BackendStream,
        sends: &[(usize, Read<'_>)],
        receives: Vec<(usize, Write<'_>)>,
    ) -> Result<()>;

    /// Zeroed memory of this rank's device with the fastest exchanges. `None` where any memory will do.
    fn memory(&self, bytes: usize) -> Result<Option<Memory>>;

    /// Waits until all work on the stream is done, exchanges included.
    fn finish(&self, queue: &BackendStream) -> Result<()>;

    /// Checks that all ranks passed the same `what`. If not, every rank gets an error.
    fn agree(&self, what: &str) -> Result<()>;

    /// Says that this rank stops, so that the others need not wait for it.
    fn abandon(&self);
}

/// The instant that is `time` from now, or a year from now if that is earlier, so that the sum does not overflow.
fn after(time: Duration) -> Instant {
    const YEAR: Duration = Duration::from_secs(365 * 86_400);
    Instant::now() + time.min(YEAR)
}

/// The error for a rank that passed something else to [`Communicator::agree`].
fn differs(rank: usize) -> Error {
    Error::Rank { rank, why: "was given a different ring, layout or number of rows".into() }
}
