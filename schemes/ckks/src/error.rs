//! What can go wrong, as data.

/// `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// What went wrong.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The engine's own: no memory, no kernel, a driver's fault.
    #[error(transparent)]
    Engine(#[from] ringforge::Error),
    /// Parameters that no scheme can have.
    #[error("these parameters cannot be: {why}")]
    Parameters {
        /// What is wrong with them.
        why: String,
    },
    /// More bits of modulus than 128-bit security allows at this degree; `Parameters::insecure` takes them by name.
    #[error(
        "Q and P have {bits} bits, and 128-bit security at degree 2^{log_n} allows {most}: `Parameters::insecure` takes them"
    )]
    Insecure {
        /// The degree as a power of two.
        log_n: u32,
        /// Bits of the product of all primes.
        bits: u32,
        /// The most that the bound allows; 0 where it has no row for the degree.
        most: u32,
    },
    /// Something that was made for other parameters.
    #[error("{what} is of other parameters than the scheme")]
    Foreign {
        /// What it is.
        what: &'static str,
    },
    /// Two operands of different levels: `drop_to` brings the higher one down.
    #[error("operands have levels {left} and {right}: `drop_to` brings the higher one down")]
    Levels {
        /// The level of the first.
        left: usize,
        /// The level of the second.
        right: usize,
    },
    /// A level that is not there, or not below the one that an operand has.
    #[error("level {wanted} cannot be reached from level {from}")]
    NoLevel {
        /// The operand's level.
        from: usize,
        /// The level that was wanted, or would be left; negative below the last.
        wanted: i64,
    },
    /// Two operands whose scales differ by more than one part in 2^20: `rescale_to` brings one to the other's.
    #[error("scales 2^{:.6} and 2^{:.6} differ too much to be added: `rescale_to` brings one to the other's", left.log2(), right.log2())]
    Scales {
        /// The scale of the first.
        left: f64,
        /// The scale of the second.
        right: f64,
    },
    /// A scale below 1, or not below half of what is left of the modulus, so that the number 1 would be lost.
    #[error(
        "a scale of 2^{:.1} does not fit level {level}, which takes 1 to 2^{bits:.1}: rescale earlier, or encode at a smaller scale",
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
    /// A scale that rescaling would leave, below the error of its rounding.
    #[error(
        "rescaling would leave a scale of 2^{:.1}, below its rounding error of 2^{:.1}: rescale after a product",
        scale.log2(),
        least.log2()
    )]
    LowScale {
        /// The scale that would be left.
        scale: f64,
        /// The standard deviation of the rounding error in a slot, times the scale.
        least: f64,
    },
    /// A scale that no integer leads to.
    #[error(
        "rescaling from a scale of 2^{:.3} leads to multiples of 2^{:.3}, not to 2^{:.3}: choose one nearer to a multiple",
        from.log2(),
        step.log2(),
        wanted.log2()
    )]
    NoFactor {
        /// The operand's scale.
        from: f64,
        /// The scale that rescaling alone would leave.
        step: f64,
        /// The scale that was wanted.
        wanted: f64,
    },
    /// Batches of different sizes.
    #[error("batches of {left} and {right}")]
    Batches {
        /// Items of the first.
        left: usize,
        /// Items of the second.
        right: usize,
    },
    /// No key for a rotation by so many steps.
    #[error("there is no key for a rotation by {steps}")]
    NoRotationKey {
        /// The steps, to the left, from 0 to the number of slots.
        steps: usize,
    },
    /// No key for conjugation.
    #[error("there is no key for conjugation")]
    NoConjugationKey,
    /// More numbers than there are slots.
    #[error("{got} numbers for {slots} slots")]
    Slots {
        /// Slots of a plaintext.
        slots: usize,
        /// Numbers that came.
        got: usize,
    },
    /// A matrix of a size that products cannot have.
    #[error("a matrix of {rows} × {columns}: it must be square, and its size must divide the {slots} slots")]
    Matrix {
        /// Rows.
        rows: usize,
        /// Numbers of the first row that has not as many as there are rows; else as many.
        columns: usize,
        /// Slots of a plaintext.
        slots: usize,
    },
    /// A number that is not finite, or that the scale makes too large for the modulus.
    #[error("a number is not finite, or too large for its scale and level")]
    Number,
    /// Noise for decrypted numbers that cannot be.
    #[error("no such noise can be added: {why}")]
    Flooding {
        /// What is wrong with it.
        why: &'static str,
    },
    /// Bytes that are no such thing, or not of these parameters.
    #[error("these bytes are no {what}: {why}")]
    Malformed {
        /// What was expected.
        what: &'static str,
        /// What is wrong with them.
        why: &'static str,
    },
}
