//! How the items of a batch fared.

use core::error::Error;

use ringforge::kernels::Header;

/// The status of an item that is fine: a word that nothing holds by accident.
pub const FINE: u32 = 0x600d_f17e;
/// The status of an item that is fine so far, where a later step has the last word. One that is left with it was not
/// reached by that step.
pub const PENDING: u32 = 0x9e2d_126a;
/// The same after a second step, where a third one has the last word.
pub const HALFWAY: u32 = 0x3b75_d8c4;
/// The status of an item before the first step, from the engine.
pub const NOT_REACHED: u32 = 0;

/// The text for kernels of key encapsulation mechanisms: the same words, and those of their errors.
pub const STATUS: Header = Header { name: "kem_status.cuh", text: include_str!("kem_status.cuh") };

/// What a scheme finds wrong with single items: its own errors, and the words by which its kernels tell them.
///
/// A word has a code from 1 to 255 in its low byte, and above it a number, such as the place of a bad coefficient.
///
/// ```
/// use ringforge_batch::{BatchStatus, FINE, SchemeError, word};
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
/// let status = BatchStatus::<OwnError>::of(&[FINE, 0x702, FINE]);
/// assert_eq!(status.errors()[0].item, 1);
/// assert_eq!(status.errors()[0].kind, OwnError::BadCoefficient { place: 7 }.into());
/// ```
pub trait SchemeError: Error + Copy + Eq + Send + Sync + 'static {
    /// The word of this error, made by [`word`].
    fn word(self) -> u32;

    /// All errors that kernels tell, those that have a number with this one.
    fn all(number: usize) -> impl IntoIterator<Item = Self>;
}

/// A word that says an error.
#[must_use]
pub const fn word(code: u8, number: usize) -> u32 {
    code as u32 | (number as u32) << u8::BITS
}

/// The status of an item: [`FINE`], or the word of what is wrong. An error whose word is taken is an unknown status.
#[must_use]
pub fn status(error: Option<impl SchemeError>) -> u32 {
    match error.map(SchemeError::word) {
        None => FINE,
        Some(FINE | PENDING | HALFWAY | NOT_REACHED) => u32::MAX,
        Some(word) => word,
    }
}

/// What is wrong with an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum ErrorKind<E> {
    /// What the scheme says.
    #[error(transparent)]
    Scheme(#[from] E),
    /// No kernel came to the item, or not all that must.
    #[error("no kernel has finished the item")]
    NotReached,
    /// The status is a word that no kernel should write.
    #[error("{status:#010x} is no status of an item")]
    UnknownStatus {
        /// The word.
        status: u32,
    },
}

impl<E: SchemeError> ErrorKind<E> {
    /// What a status tells of; none if the item is fine, which is one word of all.
    fn of(status: u32) -> Option<Self> {
        let mut errors = E::all((status >> u8::BITS) as usize).into_iter();
        match status {
            FINE => None,
            NOT_REACHED | PENDING | HALFWAY => Some(Self::NotReached),
            _ => Some(errors.find(|e| e.word() == status).map_or(Self::UnknownStatus { status }, Self::Scheme)),
        }
    }
}

/// An item that came to nothing: its outputs are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[error("item {item}: {kind}")]
pub struct ItemError<E: SchemeError> {
    /// The item's number in the batch, from 0.
    pub item: usize,
    /// What is wrong with it.
    pub kind: ErrorKind<E>,
}

/// How the items of a batch fared: all well, but for those with errors. A rejected ciphertext is no error: by design nobody
/// learns of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "items may have come to nothing: see `into_result` and `errors`"]
pub struct BatchStatus<E: SchemeError> {
    errors: Vec<ItemError<E>>,
}

impl<E: SchemeError> BatchStatus<E> {
    /// All items fared well but for these, in any order. Of several errors of an item, the first one counts.
    pub fn new(mut errors: Vec<ItemError<E>>) -> Self {
        errors.sort_by_key(|error| error.item);
        errors.dedup_by_key(|error| error.item);
        Self { errors }
    }

    /// What these statuses tell of, one status an item.
    pub fn of(statuses: &[u32]) -> Self {
        let error = |(item, &status): (usize, &u32)| Some(ItemError { item, kind: ErrorKind::of(status)? });
        Self { errors: statuses.iter().enumerate().filter_map(error).collect() }
    }

    /// What is wrong, one error an item, by ascending item.
    #[must_use]
    pub fn errors(&self) -> &[ItemError<E>] {
        &self.errors
    }

    /// Makes items with errors zero, in bytes of items of this size.
    pub(crate) fn clear(&self, bytes: &mut [u8], size: usize) {
        self.errors.iter().for_each(|error| bytes[error.item * size..][..size].fill(0));
    }

    /// Whether all items fared well, for callers who accept nothing less.
    ///
    /// # Errors
    /// The first [`ItemError`].
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
        #[error("its word is that of fine items")]
        Taken,
    }

    impl SchemeError for OwnError {
        fn word(self) -> u32 {
            match self {
                Self::NoKey => word(1, 0),
                Self::Coefficient { place } => word(2, place),
                Self::Taken => FINE,
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
    fn statuses_tell_errors() {
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
        assert_eq!(status(Some(OwnError::Taken)), u32::MAX, "no error is fine");
    }

    #[test]
    fn only_one_word_is_fine() {
        assert_eq!(kind(FINE), None);
        assert_eq!(kind(0), Some(ErrorKind::NotReached), "what memory holds at first");
        for status in [PENDING, HALFWAY] {
            assert_eq!(kind(status), Some(ErrorKind::NotReached), "what an earlier step leaves");
        }
        let others = (0..32).map(|bit| FINE ^ 1 << bit);
        let others = others.chain([3, 9, 10, 255, 0x101, 0x104, 0x1_0001, u32::MAX, 0xa5a5_a5a5]);
        others.for_each(|status| assert_eq!(kind(status), Some(ErrorKind::UnknownStatus { status }), "{status:#x}"));
    }

    #[test]
    fn items_are_named() {
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
