//! Status of each item of a batch.

use core::error::Error;

use ringforge::kernels::Header;
use ringforge::run::AGAIN;

/// Status of an item without error. It is a magic number, so that uninitialised or stale memory is not mistaken for it.
pub const OK: u32 = 0x600d_f17e;
/// Status of an item that has no error so far and that a later step must complete. An item that keeps this status was
/// skipped by that step.
pub const PENDING: u32 = 0x9e2d_126a;
/// Like [`PENDING`], but written by the second of three steps.
pub const HALF_DONE: u32 = 0x3b75_d8c4;
/// Status of an item that no step has reached. The engine writes it before the first step.
pub const NOT_REACHED: u32 = 0;

/// CUDA header `kem_status.cuh` for the kernels of KEMs, with the same status words as this crate.
pub const STATUS: Header = Header { name: "kem_status.cuh", text: include_str!("kem_status.cuh") };

/// Errors of single items in a scheme, and the status words that its kernels write for them.
///
/// A status word has an error code from 1 to 255 in its low byte. The upper 24 bits hold a number, such as the index of
/// a bad coefficient.
///
/// ```
/// use ringforge_batch::{BatchStatus, OK, SchemeError, word};
///
/// #[derive(Debug, Clone, Copy, PartialEq, Eq)]
/// enum OwnError {
///     BadCoefficient { place: usize },
/// }
///
/// impl SchemeError for OwnError {
///     fn word(self) -> u32 {
///         let Self::BadCoefficient { place } = self;
///         word(2, place)
///     }
///
///     fn all(place: usize) -> impl IntoIterator<Item = Self> {
///         [Self::BadCoefficient { place }]
///     }
/// }
/// # impl std::error::Error for OwnError {}
/// # impl std::fmt::Display for OwnError {
/// #     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
/// #         write!(f, "{self:?}")
/// #     }
/// # }
///
/// let status = BatchStatus::<OwnError>::of(&[OK, 0x702, OK]);
/// assert_eq!(status.errors()[0].item, 1);
/// assert_eq!(status.errors()[0].kind, OwnError::BadCoefficient { place: 7 }.into());
/// ```
pub trait SchemeError: Error + Copy + Eq + Send + Sync + 'static {
    /// The status word of this error, made by [`word`].
    fn word(self) -> u32;

    /// Returns every error that the scheme's kernels can report; errors that carry a number get `number`.
    fn all(number: usize) -> impl IntoIterator<Item = Self>;
}

/// Returns the status word of an error: its code in the low byte, and its number in the upper 24 bits.
#[must_use]
pub const fn word(code: u8, number: usize) -> u32 {
    code as u32 | (number as u32) << u8::BITS
}

/// Returns the status of an item: [`OK`], or the word of its error. If that word is [`OK`], [`PENDING`], [`HALF_DONE`],
/// [`AGAIN`] or [`NOT_REACHED`], returns `u32::MAX` instead, which decodes to an unknown status.
#[must_use]
pub fn status(error: Option<impl SchemeError>) -> u32 {
    match error.map(SchemeError::word) {
        None => OK,
        Some(OK | PENDING | HALF_DONE | AGAIN | NOT_REACHED) => u32::MAX,
        Some(word) => word,
    }
}

/// Error of a single item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum ErrorKind<E> {
    /// An error defined by the scheme.
    #[error(transparent)]
    Scheme(#[from] E),
    /// At least one of the kernels that must process the item did not reach it.
    #[error("no kernel has finished the item")]
    NotReached,
    /// All attempts at the item's output have failed.
    #[error("all attempts have failed")]
    NoAttemptLeft,
    /// The status is a word that no kernel writes.
    #[error("unknown item status {status:#010x}")]
    UnknownStatus {
        /// The status word.
        status: u32,
    },
}

impl<E: SchemeError> ErrorKind<E> {
    /// Decodes a status word. Returns `None` only for [`OK`].
    fn of(status: u32) -> Option<Self> {
        let mut errors = E::all((status >> u8::BITS) as usize).into_iter();
        match status {
            OK => None,
            NOT_REACHED | PENDING | HALF_DONE => Some(Self::NotReached),
            AGAIN => Some(Self::NoAttemptLeft),
            _ => Some(errors.find(|e| e.word() == status).map_or(Self::UnknownStatus { status }, Self::Scheme)),
        }
    }
}

/// Error of one item of a batch. The outputs of that item are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[error("item {item}: {kind}")]
pub struct ItemError<E: SchemeError> {
    /// Index of the item in the batch, from 0.
    pub item: usize,
    /// The error.
    pub kind: ErrorKind<E>,
}

/// Status of all items of a batch, as the list of the items with errors; all other items are ok. A rejected ciphertext
/// is not an error, because implicit rejection must stay invisible.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "some items may have failed: check `into_result` or `errors`"]
pub struct BatchStatus<E: SchemeError> {
    errors: Vec<ItemError<E>>,
}

impl<E: SchemeError> BatchStatus<E> {
    /// Creates a status from a list of errors in any order. If an item has several errors, the first one in the list
    /// counts. Items without an error in the list are ok.
    pub fn new(mut errors: Vec<ItemError<E>>) -> Self {
        errors.sort_by_key(|error| error.item);
        errors.dedup_by_key(|error| error.item);
        Self { errors }
    }

    /// Decodes the status words of a batch, one per item.
    pub fn of(statuses: &[u32]) -> Self {
        let error = |(item, &status): (usize, &u32)| Some(ItemError { item, kind: ErrorKind::of(status)? });
        Self { errors: statuses.iter().enumerate().filter_map(error).collect() }
    }

    /// Errors, at most one per item, in ascending order of items.
    #[must_use]
    pub fn errors(&self) -> &[ItemError<E>] {
        &self.errors
    }

    /// Zeroes the memory of all items that have errors. `bytes` holds the items, `size` bytes each.
    pub(crate) fn clear(&self, bytes: &mut [u8], size: usize) {
        self.errors.iter().for_each(|error| bytes[error.item * size..][..size].fill(0));
    }

    /// Returns `Ok` only if all items are ok.
    ///
    /// # Errors
    /// Returns the [`ItemError`] of the first item that has an error.
    pub fn into_result(self) -> Result<(), ItemError<E>> {
        self.errors.first().map_or(Ok(()), |error| Err(*error))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
    pub(crate) enum OwnError {
        #[error("the seed gives no key")]
        NoKey,
        #[error("coefficient {place} is not below the modulus")]
        Coefficient { place: usize },
        #[error("the status word is that of ok items")]
        Taken,
    }

    impl SchemeError for OwnError {
        fn word(self) -> u32 {
            match self {
                Self::NoKey => word(1, 0),
                Self::Coefficient { place } => word(2, place),
                Self::Taken => OK,
            }
        }

        fn all(place: usize) -> impl IntoIterator<Item = Self> {
            [Self::NoKey, Self::Coefficient { place }]
        }
    }

    fn kind(status: u32) -> Option<ErrorKind<OwnError>> {
        BatchStatus::of(&[status]).errors.first().map(|error| error.kind)
    }

    #[test]
    fn status_words_decode_to_errors() {
        let errors = [
            None,
            Some(OwnError::NoKey),
            Some(OwnError::Coefficient { place: 0 }),
            None,
            Some(OwnError::Coefficient { place: 1276 }),
            Some(OwnError::Coefficient { place: 0xff_ffff }),
        ];
        let told = BatchStatus::of(&errors.map(status));
        let wanted = errors.iter().enumerate().filter_map(|(item, error)| Some((item, ErrorKind::Scheme((*error)?))));
        assert!(told.errors.iter().map(|error| (error.item, error.kind)).eq(wanted));
        assert_eq!(status(Some(OwnError::Coefficient { place: 5 })), 0x502);
        assert_eq!(status(Some(OwnError::Taken)), u32::MAX, "an error never has the status of ok items");
    }

    #[test]
    fn only_one_status_word_is_ok() {
        assert_eq!(kind(OK), None);
        assert_eq!(kind(0), Some(ErrorKind::NotReached), "initial memory");
        for status in [PENDING, HALF_DONE] {
            assert_eq!(kind(status), Some(ErrorKind::NotReached), "left by an earlier step");
        }
        assert_eq!(kind(AGAIN), Some(ErrorKind::NoAttemptLeft));
        let others = (0..32).map(|bit| OK ^ 1 << bit);
        let others = others.chain([3, 9, 10, 255, 0x101, 0x104, 0x1_0001, u32::MAX, 0xa5a5_a5a5]);
        others.for_each(|status| assert_eq!(kind(status), Some(ErrorKind::UnknownStatus { status }), "{status:#x}"));
    }

    #[test]
    fn errors_name_their_item() {
        assert_eq!(BatchStatus::<OwnError>::new(vec![]).into_result(), Ok(()));
        let second = ItemError { item: 7, kind: OwnError::NoKey.into() };
        let first = ItemError { item: 2, kind: OwnError::Coefficient { place: 9 }.into() };
        let hidden = ItemError { item: 7, kind: ErrorKind::NotReached };
        let status = BatchStatus::new(vec![second, first, hidden]);
        assert_eq!(status.errors(), [first, second]);
        assert_eq!(status.into_result(), Err(first));
        assert_eq!(first.to_string(), "item 2: coefficient 9 is not below the modulus");
        assert_eq!(hidden.to_string(), "item 7: no kernel has finished the item");
    }
}
