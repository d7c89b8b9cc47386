//! Errors that the schemes share.

/// `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// Error of parameters, keys or bytes.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of the engine, for example out of memory or a failed driver call.
    #[error(transparent)]
    Engine(#[from] ringforge::Error),
    /// Parameters that are not valid.
    #[error("invalid parameters: {why}")]
    Parameters {
        /// Why the parameters are not valid.
        why: String,
    },
    /// More bits of modulus than 128-bit security allows at this degree; `Parameters::insecure` accepts them.
    #[error(
        "Q·P has {bits} bits, but 128-bit security at degree 2^{log_n} allows at most {most}: \
         use fewer bits, a larger degree or `Parameters::insecure`"
    )]
    Insecure {
        /// log₂ of the degree.
        log_n: u32,
        /// Bits of the product of all primes.
        bits: u32,
        /// The most bits that 128-bit security allows at this degree; 0 if `params.rs` has no bound for the degree.
        most: u32,
    },
    /// An argument that was made for parameters other than this scheme's.
    #[error("{what} was made for other parameters than this scheme's")]
    Foreign {
        /// The name of the argument.
        what: &'static str,
    },
    /// There is no key for a rotation by this many steps.
    #[error("no key for a rotation by {steps} steps: make one for {steps} with the rotation keys")]
    NoRotationKey {
        /// Steps of the rotation to the left, reduced to 0..N/2.
        steps: usize,
    },
    /// There is no key for x → x^-1: conjugation of CKKS, exchange of the rows of BFV.
    #[error("no key for conjugation or the exchange of rows: make one with the rotation keys")]
    NoConjugationKey,
    /// A key of [`trimmed_galois_keys`](crate::KeyGenerator::trimmed_galois_keys) that was made for fewer primes of Q than
    /// the ciphertext has, or that is to be serialised.
    #[error("the key is for the first {limbs} primes of Q only: it serves no other ciphertexts, and has no bytes")]
    Trimmed {
        /// Number of primes of the key.
        limbs: usize,
    },
    /// Bytes that do not encode the expected object, or are for parameters other than this scheme's.
    #[error("cannot decode the {what}: {why}")]
    Malformed {
        /// The expected object.
        what: &'static str,
        /// Why the bytes do not encode it.
        why: &'static str,
    },
}
