//! Errors of the scheme.

/// `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// Error of the scheme.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of the engine, for example out of memory or a failed driver call.
    #[error(transparent)]
    Engine(#[from] ringforge::Error),
    /// An error of parameters, keys or bytes.
    #[error(transparent)]
    Rlwe(ringforge_rlwe::Error),
    /// More integers than a plaintext has slots.
    #[error("{got} integers do not fit a plaintext of {slots} slots")]
    Slots {
        /// Number of slots per plaintext.
        slots: usize,
        /// Number of integers given.
        got: usize,
    },
    /// An integer that the plaintext modulus cannot represent.
    #[error("an integer does not fit the plaintext modulus t = {modulus}: it must be {}", range(*.signed))]
    Number {
        /// The plaintext modulus t.
        modulus: u64,
        /// Whether the integers were to be from −(t − 1)/2 to (t − 1)/2, not from 0 to t − 1.
        signed: bool,
    },
    /// Operands with different numbers of items.
    #[error("operands have {left} and {right} ciphertexts: both need the same number")]
    Batches {
        /// Number of items of the first operand.
        left: usize,
        /// Number of items of the second operand.
        right: usize,
    },
    /// The noise of a ciphertext leaves less than one bit, so its integers are lost.
    #[error(
        "the noise budget of ciphertext {item} is spent, {budget:.2} bits are left: use more bits of Q, a smaller \
         plaintext modulus or fewer products"
    )]
    Noise {
        /// Index of the first such ciphertext in the batch.
        item: usize,
        /// The bits that are left.
        budget: f64,
    },
}

fn range(signed: bool) -> &'static str {
    if signed { "from -(t - 1)/2 to (t - 1)/2" } else { "from 0 to t - 1" }
}

impl From<ringforge_rlwe::Error> for Error {
    fn from(error: ringforge_rlwe::Error) -> Self {
        match error {
            ringforge_rlwe::Error::Engine(error) => Self::Engine(error),
            other => Self::Rlwe(other),
        }
    }
}
