//! Permutations of 64-bit words in two AVX-512 registers of eight words each.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use super::vectors::{Order, in_order, zipped};

/// For each lane, the node to which its word belongs after [`unzip`] has been applied repeatedly, down to nodes with
/// halves of k words.
pub(super) const fn order(k: usize) -> Order<8> {
    match k {
        1 => [0, 1, 4, 5, 2, 3, 6, 7],
        2 => [0, 0, 2, 2, 1, 1, 3, 3],
        _ => [0, 0, 0, 0, 1, 1, 1, 1],
    }
}

/// Returns the words of a register pair at the given positions, 0 to 15.
///
/// # Safety
/// The CPU must have AVX-512F. This holds for all functions of this module.
#[inline(always)]
pub(super) unsafe fn pick([a, b]: [__m512i; 2], places: &[u64; 8]) -> __m512i {
    // SAFETY: the pointer comes from a reference to the eight words that are loaded.
    unsafe { _mm512_permutex2var_epi64(a, _mm512_loadu_si512(places.as_ptr().cast()), b) }
}

/// See [`Lanes::unzip`](super::vectors::Lanes::unzip).
///
/// # Safety
/// The CPU must have AVX-512F.
#[inline(always)]
pub(super) unsafe fn unzip<const K: usize>([a, b]: [__m512i; 2]) -> [__m512i; 2] {
    // SAFETY: the caller guarantees AVX-512F.
    unsafe {
        match K {
            1 => [_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b)],
            2 => [_mm512_shuffle_i64x2::<0x88>(a, b), _mm512_shuffle_i64x2::<0xdd>(a, b)],
            _ => [_mm512_shuffle_i64x2::<0x44>(a, b), _mm512_shuffle_i64x2::<0xee>(a, b)],
        }
    }
}

/// The inverse of [`unzip`].
///
/// # Safety
/// The CPU must have AVX-512F.
#[inline(always)]
pub(super) unsafe fn zip<const K: usize>(halves: [__m512i; 2]) -> [__m512i; 2] {
    let places = const { [zipped(in_order(2), 2, 0), zipped(in_order(2), 2, 8)] };
    // SAFETY: the caller guarantees AVX-512F.
    unsafe {
        match K {
            2 => [pick(halves, &places[0]), pick(halves, &places[1])],
            // for 1 and 4, `unzip` is its own inverse
            _ => unzip::<K>(halves),
        }
    }
}
