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
    /// A polynomial that is not valid.
    #[error("invalid polynomial: {why}")]
    Polynomial {
        /// Why the polynomial is not valid.
        why: String,
    },
    /// Two operands have different levels. Use `drop_to` to bring the operand with the higher level down.
    #[error("operands have different levels, {left} and {right}: bring the higher one down with `drop_to`")]
    Levels {
        /// The level of the first operand.
        left: usize,
        /// The level of the second operand.
        right: usize,
    },
    /// The level does not exist, or is above that of the operand.
    #[error("level {wanted} cannot be reached from level {from}: levels only go down, and end at 0")]
    NoLevel {
        /// The operand's level.
        from: usize,
        /// The requested or resulting level; negative if below level 0.
        wanted: i64,
    },
    /// The scales of two operands differ by more than a relative 2^-20. Use `rescale_to` to bring one operand to the
    /// scale of the other.
    #[error(
        "scales 2^{:.6} and 2^{:.6} differ too much to be added: bring one to the other's with `rescale_to`",
        left.log2(),
        right.log2()
    )]
    Scales {
        /// The scale of the first operand.
        left: f64,
        /// The scale of the second operand.
        right: f64,
    },
    /// The scale does not fit the level: it is below 1, or not below half of the modulus at this level. Even the number
    /// 1 could then not be represented.
    #[error(
        "scale 2^{:.1} does not fit level {level}, which allows 1 to 2^{bits:.1}: \
         rescale earlier, or encode at a smaller scale",
        scale.log2()
    )]
    Scale {
        /// The scale.
        scale: f64,
        /// The level.
        level: usize,
        /// Bits of half the modulus at this level.
        bits: f64,
    },
    /// The scale after rescaling would be below the rounding error of rescaling.
    #[error(
        "rescaling would leave a scale of 2^{:.1}, below the rounding error of 2^{:.1}: rescale only after a product",
        scale.log2(),
        least.log2()
    )]
    LowScale {
        /// The scale after rescaling.
        scale: f64,
        /// The standard deviation of the rounding error in a slot, multiplied by the scale.
        least: f64,
    },
    /// `rescale_to` found no integer factor that leads to the requested scale.
    #[error(
        "`rescale_to` from scale 2^{:.3} reaches only multiples of 2^{:.3}, not 2^{:.3}: \
         choose a scale nearer to a multiple",
        from.log2(),
        step.log2(),
        wanted.log2()
    )]
    NoFactor {
        /// The operand's scale.
        from: f64,
        /// The scale that rescaling alone would leave; only multiples of it can be reached.
        step: f64,
        /// The requested scale.
        wanted: f64,
    },
    /// Operands with different numbers of items. For an inner product: no terms, different numbers of ciphertexts and
    /// plaintexts, or a plaintext that does not have exactly one item.
    #[error("operands have {left} and {right} items: both need the same number, at least 1")]
    Batches {
        /// Number of items of the first operand; for an inner product, the number of ciphertexts, or the required 1.
        left: usize,
        /// Number of items of the second operand; for an inner product, the number of plaintexts or of a plaintext's
        /// items.
        right: usize,
    },
    /// More numbers than a plaintext has slots.
    #[error("{got} numbers do not fit a plaintext of {slots} slots")]
    Slots {
        /// Number of slots per plaintext.
        slots: usize,
        /// Number of numbers given.
        got: usize,
    },
    /// A matrix that is empty or not square, or whose size does not divide the number of slots.
    #[error("matrix of {rows} × {columns}: it must be square, and its size must divide the number of slots, {slots}")]
    Matrix {
        /// Number of rows.
        rows: usize,
        /// Length of the first row whose length differs from the number of rows. If there is no such row, the number of
        /// rows.
        columns: usize,
        /// Number of slots per plaintext.
        slots: usize,
    },
    /// A number that is not finite, or too large for the modulus at its scale.
    #[error("a number is not finite, or is too large for its scale and level: use a smaller scale or a higher level")]
    Number,
    /// The arguments of [`Flooding::new`](crate::Flooding::new) are invalid, or the noise is too large for the modulus.
    #[error("invalid flooding noise: {why}")]
    Flooding {
        /// Why the arguments or the noise are rejected.
        why: &'static str,
    },
}

impl From<ringforge_rlwe::Error> for Error {
    fn from(error: ringforge_rlwe::Error) -> Self {
        match error {
            ringforge_rlwe::Error::Engine(error) => Self::Engine(error),
            other => Self::Rlwe(other),
        }
    }
}
