//! Errors of multi-scalar multiplication.

use thiserror::Error;

/// Why a multiplication failed, or why bases were refused.
#[derive(Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum MsmError {
    /// An error of the engine, such as too little memory.
    #[error(transparent)]
    Engine(#[from] ringforge::Error),
    /// A curve cannot be used.
    #[error("the curve {name} cannot be used: {why}")]
    Curve {
        /// The name that the caller gave it.
        name: String,
        /// The reason.
        why: &'static str,
    },
    /// A scalar is not below the order of the points. The field is its index among all scalars.
    #[error("scalar {0} is not below the order of the points")]
    Scalar(usize),
    /// A point is not on the curve, or a coordinate is not below the prime. The field is its index.
    #[error("point {0} is not on the curve")]
    Point(usize),
    /// There are more scalars than bases.
    #[error("there are {scalars} scalars for {bases} bases")]
    TooManyScalars {
        /// The number of scalars of a multiplication.
        scalars: usize,
        /// The number of bases.
        bases: usize,
    },
    /// Bases that share scalars are on curves of different orders.
    #[error("bases that share scalars must have the same order")]
    Order,
    /// The bytes of points or scalars are not whole points or scalars, or not whole multiplications.
    #[error("{what} has {got} bytes, but must have a multiple of {expected}")]
    Length {
        /// The argument.
        what: &'static str,
        /// The size of one element in bytes.
        expected: usize,
        /// The size of the argument in bytes.
        got: usize,
    },
}

/// Returns the number of elements of this size, or an error unless all are whole.
pub(crate) fn elements(what: &'static str, bytes: &[u8], size: usize) -> Result<usize, MsmError> {
    match bytes.len().is_multiple_of(size) {
        true => Ok(bytes.len() / size),
        false => Err(MsmError::Length { what, expected: size, got: bytes.len() }),
    }
}
