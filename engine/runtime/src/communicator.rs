//! What the devices of a group say and send to one another.

#[cfg(feature = "cuda")]
mod control;
mod loopback;
#[cfg(feature = "cuda")]
mod nccl;

use core::fmt::Debug;
use core::time::Duration;
use std::time::Instant;

use crate::backend::Queue;
use crate::memory::{Memory, Read, Write};
use ringforge_math::error::{Error, Result};

#[cfg(feature = "cuda")]
pub use control::Control;
pub use loopback::Loopback;
#[cfg(feature = "cuda")]
pub use nccl::{Connection, Others, connect};

/// One rank's end of the connections between the devices of a group. All ranks make the same calls in the same order; what
/// fails on one ends them all with an error, after which the communicator is of no more use.
pub trait Communicator: Debug + Send + Sync {
    /// Starts an exchange, after earlier work on the queue: each piece is sent to the rank beside it, and each place takes
    /// the next piece that comes from its rank. What a rank sends itself is copied. The memory is the exchange's until
    /// [`Communicator::finish`] has returned.
    fn exchange(&self, queue: &Queue, sends: &[(usize, Read<'_>)], receives: Vec<(usize, Write<'_>)>) -> Result<()>;

    /// Memory of this rank's device from and to which pieces go faster than to any other, all zero; None where any will do.
    fn memory(&self, bytes: usize) -> Result<Option<Memory>>;

    /// Waits until all work on the queue is done, exchanges included.
    fn finish(&self, queue: &Queue) -> Result<()>;

    /// Whether all ranks were given the same: if not, an error on each.
    fn agree(&self, what: &str) -> Result<()>;

    /// Says that this rank goes no further, so that the others need not wait for it.
    fn abandon(&self);
}

/// When so much time is over; a year from now where that is too far away for a clock.
fn after(time: Duration) -> Instant {
    const YEAR: Duration = Duration::from_secs(365 * 86_400);
    Instant::now() + time.min(YEAR)
}

/// What is said of a rank that disagrees.
fn differs(rank: usize) -> Error {
    Error::Rank { rank, why: "it was given another ring, layout or number of rows".into() }
}
