//! Why a request is refused or fails.

use ringforge::Error;
use ringforge_batch::{ErrorKind, SchemeError};

/// Why a server does not take a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// Too many requests of this client are waiting. [`Client::call_in_turn`](crate::Client::call_in_turn) waits for a
    /// place.
    #[error("too many requests are waiting")]
    Full,
    /// The server is being shut down.
    #[error("the server takes no more requests")]
    Closed,
    /// The request has another number of parts.
    #[error("the request has {got} parts instead of {expected}")]
    Parts {
        /// The number of parts of a request.
        expected: usize,
        /// The actual number.
        got: usize,
    },
    /// A part of the request has a wrong size.
    #[error("part {part} of the request has {got} bytes instead of {}{expected}", if *.at_most { "at most " } else { "" })]
    Size {
        /// The number of the part, from 0.
        part: usize,
        /// The number of bytes of that part.
        expected: usize,
        /// Whether the part may have fewer bytes.
        at_most: bool,
        /// The actual number.
        got: usize,
    },
}

/// Why a request that was taken has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure<E: SchemeError> {
    /// The request is invalid.
    #[error(transparent)]
    Item(ErrorKind<E>),
    /// The batch failed on every device.
    #[error(transparent)]
    Run(Error),
    /// The operation panicked while it ran the batch.
    #[error("the operation panicked")]
    Lost,
}
