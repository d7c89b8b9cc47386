//! Errors by what their caller can do about them.

use ringforge::Error;

/// What an error is about. Its words are those of the [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An argument has the wrong size, is not aligned, or is of another ring or device.
    Argument,
    /// A residue is not below its modulus.
    NotReduced,
    /// No such ring, or none that can do this.
    Ring,
    /// The device cannot do this, or there is nothing of this name.
    Unsupported,
    /// There is no such GPU.
    NoDevice,
    /// A kernel cannot be compiled here.
    Compiler,
    /// Not enough memory.
    OutOfMemory,
    /// A call of the driver failed.
    Driver,
    /// A mistake of Ringforge's own.
    Internal,
}

impl Kind {
    /// That of an error.
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
