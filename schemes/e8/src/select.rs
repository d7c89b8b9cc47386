//! Constant-time selection.

use subtle::{Choice, ConditionallySelectable};

/// Returns `a` if `choice` is true, else `b`, without a branch. Fujisaki–Okamoto decapsulation selects the shared key
/// this way, by whether the re-encrypted ciphertext matches ([`subtle::ConstantTimeEq`]).
#[must_use]
pub fn select<const N: usize>(choice: Choice, a: &[u8; N], b: &[u8; N]) -> [u8; N] {
    core::array::from_fn(|i| u8::conditional_select(&b[i], &a[i], choice))
}

/// Returns the index of the first nonzero number, or `None` if all are zero. Validity checks of secrets use this
/// function: the index of an error becomes public, and timing reveals nothing else.
#[must_use]
pub fn first_nonzero(numbers: impl IntoIterator<Item = u16, IntoIter: Clone>) -> Option<usize> {
    let mut numbers = numbers.into_iter();
    // The OR of all numbers comes first: it vectorises, and it suffices if all are zero.
    match numbers.clone().fold(0, |any, x| any | x) {
        0 => None,
        _ => numbers.position(|x| x != 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_nonzero_is_found() {
        assert_eq!([vec![], vec![0; 3]].map(first_nonzero), [None, None]);
        assert_eq!([[0, 0, 9], [0, 1, 2], [u16::MAX, 0, 1]].map(first_nonzero), [Some(2), Some(1), Some(0)]);
    }

    #[test]
    fn select_returns_the_chosen_array() {
        let (a, b) = ([1, 2, 3], [4, 5, 6]);
        assert_eq!((select(Choice::from(1), &a, &b), select(Choice::from(0), &a, &b)), (a, b));
    }
}
