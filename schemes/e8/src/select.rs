//! Constant-time selection.

use subtle::{Choice, ConditionallySelectable};

/// Returns `a` if `choice` is true, else `b`, without a branch. In Fujisaki–Okamoto decapsulation, `choice` is whether
/// the re-encrypted ciphertext matches, compared with [`subtle::ConstantTimeEq`].
#[must_use]
pub fn select<const N: usize>(choice: Choice, a: &[u8; N], b: &[u8; N]) -> [u8; N] {
    core::array::from_fn(|i| u8::conditional_select(&b[i], &a[i], choice))
}

/// Index of the first nonzero number. For validity checks of secrets: whether and where an error occurs becomes public,
/// and timing reveals nothing else.
#[must_use]
pub fn first_nonzero(numbers: impl IntoIterator<Item = u16, IntoIter: Clone>) -> Option<usize> {
    let mut numbers = numbers.into_iter();
    // First combines all numbers, which vectorises and suffices if all are zero.
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
