//! Kinds of errors, by what the caller can do about them.

use ringforge::Error;

/// The kind of an [`Error`]. The error itself holds the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// An argument is invalid, for example misaligned, of the wrong size, or of a ring, order or device other than the
    /// operation's.
    Argument,
    /// A residue is not below its modulus.
    NotReduced,
    /// The ring is invalid, or does not support the operation.
    Ring,
    /// The device does not support the operation, an incomplete transform needs a depth, there is no KEM of this name,
    /// or this process was forked after work had begun.
    Unsupported,
    /// The GPU does not exist or is not usable.
    NoDevice,
    /// A kernel could not be compiled or loaded.
    Compiler,
    /// Out of memory.
    OutOfMemory,
    /// A driver call failed.
    Driver,
    /// Any other error: a bug in Ringforge.
    Internal,
}

impl ErrorKind {
    /// The kind of this error.
    #[must_use]
    pub fn of(error: &Error) -> Self {
        match error {
            Error::Argument { error, .. } => Self::of(error),
            Error::NotReduced { .. } => Self::NotReduced,
            Error::Length { .. }
            | Error::ArgumentSize { .. }
            | Error::Arguments { .. }
            | Error::TooLarge { .. }
            | Error::Alignment { .. }
            | Error::Mismatch { .. }
            | Error::ForeignDevice { .. }
            | Error::Unwritten { .. } => Self::Argument,
            Error::Modulus { .. }
            | Error::NotPrime { .. }
            | Error::NoRoot { .. }
            | Error::Ring { .. }
            | Error::Inexact { .. } => Self::Ring,
            Error::Unsupported { .. } => Self::Unsupported,
            Error::NoDevice(_) => Self::NoDevice,
            Error::NoCompiler { .. } | Error::Compile { .. } | Error::Bundle { .. } => Self::Compiler,
            Error::OutOfMemory { .. } => Self::OutOfMemory,
            Error::Driver { .. } => Self::Driver,
            _ => Self::Internal,
        }
    }
}
