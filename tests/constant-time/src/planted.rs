//! Functions with deliberate defects, such as divisions of secrets and branches on secrets, which the machine-code test
//! must find.

#[inline(never)]
pub(crate) fn divides(secret: u32, q: u32) -> u32 {
    remainder(secret, q) + 1
}

#[inline(never)]
fn remainder(secret: u32, q: u32) -> u32 {
    secret % q.max(1)
}

#[inline(never)]
pub(crate) fn divides_wide(secret: u128, q: u128) -> u128 {
    secret % q.max(1)
}

#[inline(never)]
pub(crate) fn divides_double(secret: f64, q: f64) -> f64 {
    secret / q
}

#[cfg(target_arch = "x86_64")]
#[inline(never)]
pub(crate) fn leaves(secret: &[f64; 2]) -> i32 {
    use std::arch::x86_64::{_mm_movemask_pd, _mm_set_pd};
    // SAFETY: every x86-64 CPU has SSE2.
    #[allow(unsafe_code)]
    unsafe {
        _mm_movemask_pd(_mm_set_pd(secret[0], secret[1]))
    }
}

#[inline(never)]
pub(crate) fn branches(secret: u8) {
    if secret == 1 {
        println!("one");
    }
}

/// Divides a secret in a closure that is called by the standard library.
#[inline(never)]
pub(crate) fn divides_within(secrets: &mut [u32], q: u32) {
    secrets.sort_by_key(|secret| secret % q.max(1));
}

#[inline(never)]
pub(crate) fn divides_somewhere(secret: u32, q: u32, how: fn(u32, u32) -> u32) -> u32 {
    how(secret, q) + 1
}
