//! Checks that null handles, null memory and oversized batches are rejected with the argument's name, without ending
//! the process.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};

use ringforge_capi::{
    RingforgeCode, RingforgeEngine, RingforgeKem, RingforgeRing, RingforgeSm2, ringforge_bases_free,
    ringforge_bases_new, ringforge_bases_point_words, ringforge_engine_cpu, ringforge_engine_cuda,
    ringforge_engine_device, ringforge_engine_free, ringforge_engine_trim, ringforge_forward, ringforge_forward_on,
    ringforge_groth16_quotient, ringforge_inverse_on, ringforge_item_message, ringforge_kem_are_canonical,
    ringforge_kem_decapsulate, ringforge_kem_encapsulate, ringforge_kem_free, ringforge_kem_generate,
    ringforge_kem_name, ringforge_kem_new, ringforge_kem_sizes, ringforge_message, ringforge_msm, ringforge_mul,
    ringforge_mul_on, ringforge_pinned_data, ringforge_pinned_free, ringforge_pinned_new, ringforge_point_mul,
    ringforge_point_mul_on, ringforge_ring_degree, ringforge_ring_free, ringforge_ring_new, ringforge_ring_text,
    ringforge_sm2_digest, ringforge_sm2_free, ringforge_sm2_generate, ringforge_sm2_new, ringforge_sm2_sign,
    ringforge_sm2_verify,
};

fn message() -> String {
    // SAFETY: the message stays valid until this thread's next failure.
    unsafe { CStr::from_ptr(ringforge_message()) }.to_string_lossy().into_owned()
}

/// Asserts that a call returned `RingforgeCode::Argument` with this error message.
fn refused(code: RingforgeCode, words: &str) {
    assert_eq!((code, message().as_str()), (RingforgeCode::Argument, words));
}

fn engine_and_ring() -> (*mut RingforgeEngine, *mut RingforgeRing) {
    let (mut engine, mut ring) = (null_mut(), null_mut());
    // SAFETY: the pointers are valid, and the text is NUL-terminated.
    unsafe {
        assert_eq!(ringforge_engine_cpu(&raw mut engine), RingforgeCode::Ok);
        assert_eq!(ringforge_ring_new(c"17 : x^4 + 1".as_ptr(), &raw mut ring), RingforgeCode::Ok);
    }
    (engine, ring)
}

#[test]
fn null_is_rejected_or_ignored() {
    let (engine, ring) = engine_and_ring();
    // SAFETY: handles and memory are valid or null.
    unsafe {
        refused(ringforge_engine_cpu(null_mut()), "engine: is null");
        refused(ringforge_engine_trim(null()), "engine: is null");
        refused(ringforge_ring_new(null(), &mut null_mut()), "text: is null");
        refused(ringforge_ring_new(c"17 : x^4 + 1".as_ptr(), null_mut()), "ring: is null");
        refused(ringforge_ring_new(c"\xff".as_ptr(), &mut null_mut()), "text: is not UTF-8");
        refused(ringforge_forward(null(), ring, 0, -1, null(), null_mut(), 1), "engine: is null");
        refused(ringforge_forward(engine, null(), 0, -1, null(), null_mut(), 1), "ring: is null");
        refused(ringforge_forward(engine, ring, 0, -1, null(), null_mut(), 1), "to: is null");
        let mut element = [0u16; 4];
        let to: *mut c_void = element.as_mut_ptr().cast();
        refused(ringforge_forward(engine, ring, 0, -1, null(), to, 1), "from: is null");
        refused(
            ringforge_forward(engine, ring, 2, -1, to, to, 1),
            "order: expected RINGFORGE_DIGIT_REVERSED_ORDER or RINGFORGE_NATURAL_ORDER, got 2",
        );
        refused(
            ringforge_point_mul(engine, ring, -1, -1, null(), null(), null_mut(), 0),
            "order: expected RINGFORGE_DIGIT_REVERSED_ORDER or RINGFORGE_NATURAL_ORDER, got -1",
        );
        refused(ringforge_mul(engine, ring, to, null(), null_mut(), 1), "product: is null");
        refused(ringforge_mul(engine, ring, to, to, to, usize::MAX / 8), "product: the batch is too large to address");
        refused(ringforge_mul_on(engine, ring, null_mut(), to, to, to, usize::MAX), "batch: is too large to address");
        refused(ringforge_kem_new(engine, null(), &mut null_mut()), "name: is null");
        refused(ringforge_kem_sizes(null(), null_mut()), "kem: is null");
        refused(ringforge_kem_generate(null(), 1, null_mut(), null_mut(), null_mut()), "kem: is null");
        refused(ringforge_sm2_new(null(), false, &mut null_mut()), "engine: is null");
        refused(ringforge_pinned_new(engine, 16, null_mut()), "pinned: is null");
        let (curve, none) = (c"bn254:g1".as_ptr(), &mut null_mut());
        refused(ringforge_bases_new(null(), curve, null(), 1, true, true, 0, none), "engine: is null");
        refused(ringforge_bases_new(engine, null(), null(), 1, true, true, 0, none), "curve: is null");
        refused(ringforge_bases_new(engine, curve, null(), 1, true, true, 0, none), "points: is null");
        refused(
            ringforge_bases_new(engine, curve, null(), usize::MAX / 9, true, true, 0, none),
            "points: the batch is too large to address",
        );
        refused(ringforge_msm(null(), null(), 1, 1, false, null_mut()), "bases: is null");
        let (curve, element, to) = (c"bn254".as_ptr(), [0u64; 4], null_mut());
        let x = element.as_ptr();
        refused(ringforge_groth16_quotient(null(), curve, 0, false, x, x, x, to), "engine: is null");
        refused(ringforge_groth16_quotient(engine, null(), 0, false, x, x, x, to), "curve: is null");
        refused(ringforge_groth16_quotient(engine, curve, 0, false, x, null(), x, to), "h: is null");
        refused(ringforge_groth16_quotient(engine, curve, 29, false, x, x, x, to), "log_n: is larger than 28");
        assert_eq!(ringforge_bases_point_words(null()), 0);
        ringforge_bases_free(null_mut());

        assert_eq!(CStr::from_ptr(ringforge_engine_device(null())), c"");
        assert_eq!(CStr::from_ptr(ringforge_ring_text(null())), c"");
        assert_eq!((ringforge_ring_degree(null()), ringforge_pinned_data(null())), (0, null_mut()));
        assert!(ringforge_kem_name(usize::MAX).is_null());
        ringforge_engine_free(null_mut());
        ringforge_ring_free(null_mut());
        ringforge_kem_free(null_mut());
        ringforge_sm2_free(null_mut());
        ringforge_pinned_free(null_mut());
        // an empty batch needs no memory
        assert_eq!(ringforge_forward(engine, ring, 1, -1, null(), null_mut(), 0), RingforgeCode::Ok);
        ringforge_ring_free(ring);
        ringforge_engine_free(engine);
    }
}

#[test]
fn rejected_calls_set_statuses_to_not_reached() {
    let (engine, ring) = engine_and_ring();
    let (mut kem, mut sm2): (*mut RingforgeKem, *mut RingforgeSm2) = (null_mut(), null_mut());
    // SAFETY: handles and memory are valid or null; `statuses` has a word for each item.
    unsafe {
        assert_eq!(ringforge_kem_new(engine, c"CTRU-512".as_ptr(), &raw mut kem), RingforgeCode::Ok);
        let mut statuses = [0u32; 2];
        let code = ringforge_kem_encapsulate(kem, 2, null(), null_mut(), null_mut(), statuses.as_mut_ptr());
        refused(code, "ciphertexts: is null");
        assert_eq!(statuses, [254; 2]);
        // without the handle the size of the keys is unknown: `statuses` might overlap them, so it must not be written
        let mut untouched = [7u32; 2];
        let code =
            ringforge_kem_decapsulate(null(), 2, untouched.as_ptr().cast(), null(), null_mut(), untouched.as_mut_ptr());
        refused(code, "kem: is null");
        assert_eq!(untouched, [7; 2]);
        let mut canonical = [true];
        let key = [0xffu8; 1 << 12];
        assert_eq!(ringforge_kem_are_canonical(kem, 1, key.as_ptr(), canonical.as_mut_ptr()), RingforgeCode::Ok);
        assert_eq!(canonical, [false]);
        assert_eq!(CStr::from_ptr(ringforge_item_message(statuses[0])).to_str(), Ok("no kernel has finished the item"));
        assert_eq!(ringforge_sm2_new(engine, false, &raw mut sm2), RingforgeCode::Ok);
        refused(ringforge_sm2_verify(sm2, 2, null(), null(), null(), statuses.as_mut_ptr()), "public_keys: is null");
        refused(ringforge_sm2_generate(sm2, 1, null_mut(), null_mut(), null_mut()), "public_keys: is null");
        let mut same = [0u8; 96];
        let place = same.as_mut_ptr();
        refused(ringforge_sm2_generate(sm2, 1, place, place.add(31), null_mut()), "public_keys: overlaps private_keys");
        // statuses that overlap a key must be rejected, because writing them would overwrite the key
        let mut words = [7u64; 32];
        let (keys, status) = (words.as_mut_ptr().cast::<u8>(), words.as_mut_ptr().cast::<u32>());
        for (at, in_keys, in_signing) in [(4, "private_keys", "private_keys"), (20, "public_keys", "digests")] {
            let code = ringforge_sm2_generate(sm2, 1, keys, keys.add(32), status.add(at));
            refused(code, &format!("statuses: overlaps {in_keys}"));
            let code = ringforge_sm2_sign(sm2, 1, keys, 1, keys.add(64), keys.add(128), status.add(at));
            refused(code, &format!("statuses: overlaps {in_signing}"));
        }
        let mut lengths = [5usize, 0, 0, 0];
        let digests = lengths.as_mut_ptr().cast::<u8>();
        let code = ringforge_sm2_digest(1, keys, 1, null(), 0, keys.add(64), digests.cast(), digests, null_mut());
        refused(code, "digests: overlaps lengths");
        assert_eq!((words, lengths), ([7; 32], [5, 0, 0, 0]), "nothing was written");
        ringforge_sm2_free(sm2);
        ringforge_kem_free(kem);
        ringforge_ring_free(ring);
        ringforge_engine_free(engine);
    }
}

#[test]
fn device_memory_is_unsupported_on_a_cpu() {
    let (engine, ring) = engine_and_ring();
    let at = |address: usize| std::ptr::without_provenance_mut::<c_void>(address);
    // SAFETY: the calls are rejected before any address is used.
    unsafe {
        for code in [
            ringforge_forward_on(engine, ring, 0, -1, null_mut(), at(256), at(512), 1),
            ringforge_inverse_on(engine, ring, 0, -1, null_mut(), at(256), at(256), 1),
            ringforge_point_mul_on(engine, ring, 0, -1, null_mut(), at(256), at(256), at(512), 1),
        ] {
            assert_eq!(code, RingforgeCode::Unsupported);
        }
        assert!(message().contains("foreign memory"), "{}", message());
        let mut none = engine;
        assert_eq!(ringforge_engine_cuda(usize::MAX, &raw mut none), RingforgeCode::NoDevice);
        assert!(none.is_null());
        ringforge_ring_free(ring);
        ringforge_engine_free(engine);
    }
}
