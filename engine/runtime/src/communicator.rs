//! Communication between the devices of a group: messages between ranks (the devices, numbered from 0), and checks that
//! all ranks agree.

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

/// One rank's end of the connections between the devices of a group. All ranks must make the same calls in the same
/// order. After a failure on one rank, the calls of all ranks return an error, and the communicator cannot be used any
/// more.
pub trait Communicator: Debug + Send + Sync {
    /// Starts to send and receive messages, after earlier work on the stream. Each entry of `sends` is a destination
    /// rank and the bytes for it. Each entry of `receives` is a source rank and the memory for the next message from
    /// it. A message from a rank to itself is copied. Nothing else may use the memory until [`Communicator::finish`]
    /// has returned.
    fn exchange(
        &self,
        queue: &BackendStream,
        sends: &[(usize, Read<'_>)],
        receives: Vec<(usize, Write<'_>)>,
    ) -> Result<()>;

    /// Allocates zeroed memory on this rank's device with which exchanges are fastest. Returns `None` if they are
    /// equally fast with any memory.
    fn memory(&self, bytes: usize) -> Result<Option<Memory>>;

    /// Waits until all work on the stream is done, including exchanges.
    fn finish(&self, queue: &BackendStream) -> Result<()>;

    /// Checks that all ranks passed the same string `what`, which describes what they are going to compute. If they did
    /// not, every rank gets an error.
    fn agree(&self, what: &str) -> Result<()>;

    /// Tells the other ranks that this rank has stopped, so that they do not wait for it.
    fn abandon(&self);
}

/// The instant that is `time` from now, but at most a year from now, so that the sum does not overflow.
fn after(time: Duration) -> Instant {
    const YEAR: Duration = Duration::from_secs(365 * 86_400);
    Instant::now() + time.min(YEAR)
}

/// The error if rank `rank` passed another string to [`Communicator::agree`] than this rank.
fn differs(rank: usize) -> Error {
    Error::Rank { rank, why: "was given a different ring, layout or number of rows".into() }
}
