//! Errors of single items of a batch, without the error types of the schemes.

use ringforge_batch::{BatchStatus, ErrorKind, SchemeError};
use ringforge_ctru::KeyError;
use ringforge_ml_dsa::SignatureError;
use ringforge_sm2::Sm2Error;

/// Status of an item whose attempts at a signature have all failed.
pub const NO_ATTEMPT_LEFT: u32 = 253;
/// Status of an item that no kernel has finished. The status codes of schemes are lower.
pub const NOT_REACHED: u32 = 254;
/// Status of an item whose kernels wrote an undefined status word.
pub const UNKNOWN: u32 = 255;

/// An item that failed. Its outputs are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// Index of the item in the batch.
    pub item: usize,
    /// The status word, which is never 0. The low byte is the status code, distinct across schemes. The upper bits are
    /// a number, such as the index of a bad coefficient.
    pub status: u32,
}

impl Fault {
    /// The failed items of a batch, by ascending index.
    pub(crate) fn of<E: SchemeError>(status: &BatchStatus<E>) -> Vec<Self> {
        let faults = status.errors().iter().map(|error| Self {
            item: error.item,
            status: match error.kind {
                ErrorKind::Scheme(error) => error.word(),
                ErrorKind::NotReached => NOT_REACHED,
                ErrorKind::NoAttemptLeft => NO_ATTEMPT_LEFT,
                ErrorKind::UnknownStatus { .. } => UNKNOWN,
            },
        });
        faults.collect()
    }

    /// The error message for this status.
    #[must_use]
    pub fn message(&self) -> String {
        describe(self.status)
    }
}

/// Returns the message for an item's status; 0 means that the item is ok.
#[must_use]
pub fn describe(status: u32) -> String {
    fn found<E: SchemeError>(status: u32) -> Option<String> {
        let mut errors = E::all((status >> u8::BITS) as usize).into_iter();
        errors.find(|error| error.word() == status).map(|error| error.to_string())
    }
    match status {
        0 => "the item is ok".into(),
        NO_ATTEMPT_LEFT => ErrorKind::<KeyError>::NoAttemptLeft.to_string(),
        NOT_REACHED => ErrorKind::<KeyError>::NotReached.to_string(),
        UNKNOWN => "a kernel wrote an undefined status for the item".into(),
        _ => found::<KeyError>(status)
            .or_else(|| found::<ringforge_ml_kem::KeyError>(status))
            .or_else(|| found::<Sm2Error>(status))
            .or_else(|| found::<SignatureError>(status))
            .unwrap_or_else(|| ErrorKind::<KeyError>::UnknownStatus { status }.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct_across_schemes() {
        let keys = KeyError::all(5).into_iter().map(|error| (error.word(), error.to_string()));
        let others = ringforge_ml_kem::KeyError::all(5).into_iter().map(|error| (error.word(), error.to_string()));
        let signatures = Sm2Error::all(5).into_iter().map(|error| (error.word(), error.to_string()));
        let attempts = SignatureError::all(5).into_iter().map(|error| (error.word(), error.to_string()));
        let errors: Vec<(u32, String)> = keys.chain(others).chain(signatures).chain(attempts).collect();
        for (word, text) in &errors {
            assert_eq!(describe(*word), *text);
            assert!(word & 0xff < NO_ATTEMPT_LEFT);
        }
        assert_eq!(describe(1 << 31 | 77), "unknown item status 0x8000004d");
    }
}
