//! Constant-time selection between words that may be secret, without a branch on the condition.
//!
//! A comparison whose result selects a word lets the compiler choose between a conditional move and a branch. This
//! holds for `if a < b { x } else { y }`, `a.min(b)`, `x * u64::from(bit)` and `core::hint::select_unpredictable`. The
//! functions of this module select with masks. [`opaque`] hides from the compiler that a mask has only two possible
//! values, so it cannot turn a mask back into a branch. Combine masks rather than booleans, because `a | b` on booleans
//! may become a branch on `a`.

/// Returns a mask: all ones if `bit` is set, else 0.
#[inline(always)]
#[must_use]
pub fn mask(bit: bool) -> u64 {
    opaque(u64::from(bit).wrapping_neg())
}

/// Returns x mod m, for x < 2m. `x` may be secret; `m` must not be.
#[inline(always)]
#[must_use]
pub fn sub_once(x: u64, m: u64) -> u64 {
    let (less, borrow) = x.overflowing_sub(m);
    less.wrapping_add(m & mask(borrow))
}

/// Returns true if a < b. Both numbers have the same number of limbs, least significant first.
#[inline(always)]
#[must_use]
pub fn is_below(a: &[u64], b: &[u64]) -> bool {
    a.iter().zip(b).fold(false, |borrow, (a, b)| a.borrowing_sub(*b, borrow).1)
}

/// Returns `x` and hides its value from the optimiser.
#[inline(always)]
#[must_use]
pub fn opaque(x: u64) -> u64 {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    {
        let mut x = x;
        // SAFETY: the assembly contains no instruction.
        #[allow(unsafe_code)]
        unsafe {
            core::arch::asm!("/* {x} */", x = inlateout(reg) x, options(pure, nomem, nostack, preserves_flags));
        }
        x
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    core::hint::black_box(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_right() {
        assert_eq!([mask(false), mask(true)], [0, u64::MAX]);
        for m in [1, 97, 1 << 63] {
            assert_eq!([0, m - 1, m, m + (m - 1)].map(|x| sub_once(x, m)), [0, m - 1, 0, m - 1]);
        }
        let (a, b) = ([1, 2, 3, u64::MAX], [5, 0, 7, 8]);
        assert_eq!([is_below(&a, &b), is_below(&b, &a), is_below(&a, &a)], [false, true, false]);
    }
}
