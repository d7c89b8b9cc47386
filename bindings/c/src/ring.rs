//! Rings from their text.

use core::ffi::{CStr, c_char};
use std::ffi::CString;

use ringforge::PolyType;
use ringforge_bindings::depth;

use crate::code::{RingforgeCode, guarded, text};
use crate::pointer::{self, give, take_back};

/// A ring `Z_Q[x]/(f)`. Threads may share it.
#[derive(Debug)]
pub struct RingforgeRing {
    pub(crate) ring: PolyType,
    text: CString,
}

/// Makes the ring of a text such as `3457 : x^768 - x^384 + 1`; with several moduli, an RNS basis: `97,193 : x^16 + 1`.
///
/// An element is one row of `ringforge_ring_degree` words for each of `ringforge_ring_limbs` moduli, one after another, lowest
/// coefficient first. A word has `ringforge_ring_word_bytes` bytes (2, 4, 8 or 32), in this machine's order; one of 32 is four
/// words of 8, lowest first, and in Montgomery form (times 2^256) unless the text ends in `: plain`.
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

/// The ring as text, from which it can be made again; it stays as long as the ring, and of null it is empty.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_ring_text(ring: *const RingforgeRing) -> *const c_char {
    ring.as_ref().map_or(c"", |ring| -> &CStr { &ring.text }).as_ptr()
}

/// The degree of f; 0 for null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_ring_degree(ring: *const RingforgeRing) -> usize {
    ring.as_ref().map_or(0, |ring| ring.ring.degree())
}

/// How many rows an element has, one for each modulus of the basis; 0 for null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_ring_limbs(ring: *const RingforgeRing) -> usize {
    ring.as_ref().map_or(0, |ring| ring.ring.basis().len())
}

/// Bytes of a residue: 2, 4, 8 or 32; 0 for null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_ring_word_bytes(ring: *const RingforgeRing) -> usize {
    ring.as_ref().map_or(0, |ring| ring.ring.width().bytes())
}

/// Bytes of an element; 0 for null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_ring_element_bytes(ring: *const RingforgeRing) -> usize {
    ring.as_ref().map_or(0, |ring| ring.ring.bytes())
}

/// Layers of the deepest transform, for depths; negative for a ring without one, and for null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_ring_depth(ring: *const RingforgeRing) -> i32 {
    let depth = ring.as_ref().and_then(|ring| depth(&ring.ring));
    depth.and_then(|depth| i32::try_from(depth).ok()).unwrap_or(-1)
}

/// Ends a ring; null is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_ring_free(ring: *mut RingforgeRing) {
    take_back(ring);
}
