//! Rings, parsed from text.

use core::ffi::{CStr, c_char};
use std::ffi::CString;

use ringforge::PolyType;
use ringforge_bindings::depth;

use crate::code::{RingforgeCode, guarded, text};
use crate::pointer::{self, give, take_back};

/// A ring `Z_Q[x]/(f)`, where Q is the product of the moduli and f a polynomial. Threads may share a handle.
#[derive(Debug)]
pub struct RingforgeRing {
    pub(crate) ring: PolyType,
    text: CString,
}

/// Parses a ring from text such as `3457 : x^768 - x^384 + 1`. Several moduli are an RNS basis: `97,193 : x^16 + 1`.
///
/// An element has `ringforge_ring_limbs` contiguous limbs, one for each modulus. A limb has `ringforge_ring_degree`
/// words, lowest coefficient first. A word has `ringforge_ring_word_bytes` bytes (2, 4, 8 or 32) in native byte order.
/// A word of 32 bytes is four 64-bit words, least significant first, in Montgomery form (times 2^256) unless the text
/// ends in `: plain`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_ring_new(text: *const c_char, ring: *mut *mut RingforgeRing) -> RingforgeCode {
    guarded(|| {
        give("ring", ring, || {
            let ring: PolyType = pointer::text("text", text)?.parse()?;
            let text = self::text(format!("{ring:#}"));
            Ok(RingforgeRing { ring, text })
        })
    })
}

/// Returns the ring as text that `ringforge_ring_new` parses. The string is valid until the ring is freed, and empty
/// for null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_ring_text(ring: *const RingforgeRing) -> *const c_char {
    ring.as_ref().map_or(c"", |ring| -> &CStr { &ring.text }).as_ptr()
}

/// Returns the degree of the ring's polynomial f; 0 for null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_ring_degree(ring: *const RingforgeRing) -> usize {
    ring.as_ref().map_or(0, |ring| ring.ring.degree())
}

/// Returns the number of limbs of an element, one for each modulus; 0 for null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_ring_limbs(ring: *const RingforgeRing) -> usize {
    ring.as_ref().map_or(0, |ring| ring.ring.basis().len())
}

/// Returns the number of bytes of a residue: 2, 4, 8 or 32; 0 for null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_ring_word_bytes(ring: *const RingforgeRing) -> usize {
    ring.as_ref().map_or(0, |ring| ring.ring.width().bytes())
}

/// Returns the number of bytes of an element; 0 for null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_ring_element_bytes(ring: *const RingforgeRing) -> usize {
    ring.as_ref().map_or(0, |ring| ring.ring.bytes())
}

/// Returns the largest valid `depth`, which is the number of layers of the ring's deepest transform. Negative for null
/// and for a ring without a transform.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_ring_depth(ring: *const RingforgeRing) -> i32 {
    let depth = ring.as_ref().and_then(|ring| depth(&ring.ring));
    depth.and_then(|depth| i32::try_from(depth).ok()).unwrap_or(-1)
}

/// Frees a ring; null is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_ring_free(ring: *mut RingforgeRing) {
    take_back(ring);
}
