//! The choice between the key that was agreed on and the one that hides a rejection.

use subtle::{Choice, ConditionallySelectable};

/// `a` where `choice` is true, else `b`, without a branch: the end of a Fujisaki–Okamoto decapsulation, in which
/// `choice` is whether the ciphertext came out again, compared by [`subtle::ConstantTimeEq`].
#[must_use]
pub fn select<const N: usize>(choice: Choice, a: &[u8; N], b: &[u8; N]) -> [u8; N] {
    core::array::from_fn(|i| u8::conditional_select(&b[i], &a[i], choice))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selects() {
        let (a, b) = ([1, 2, 3], [4, 5, 6]);
        assert_eq!((select(Choice::from(1), &a, &b), select(Choice::from(0), &a, &b)), (a, b));
    }
}
