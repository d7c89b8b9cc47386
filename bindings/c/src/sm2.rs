//! SM2 signatures in batches.

use ringforge_bindings::{DEFAULT_ID, Sm2};

use crate::code::{RingforgeCode, guarded};
use crate::engine::RingforgeEngine;
use crate::items::with_statuses;
use crate::pointer::{Memory, give, reference, take_back};

/// Bytes of an SM2 private key, big-endian.
pub const RINGFORGE_SM2_PRIVATE_KEY: usize = 32;
/// Bytes of an SM2 public key: x, then y, big-endian.
pub const RINGFORGE_SM2_PUBLIC_KEY: usize = 64;
/// Bytes of a digest that SM2 signs.
pub const RINGFORGE_SM2_DIGEST: usize = 32;
/// Bytes of an SM2 signature: r, then s, big-endian.
pub const RINGFORGE_SM2_SIGNATURE: usize = 64;

/// SM2 signatures (GB/T 32918), compiled for an engine's device. Threads may share it.
#[derive(Debug)]
pub struct RingforgeSm2(Sm2);

/// Compiles SM2 signing and verification. With `lookups`, signing reads tables at secret-dependent addresses, which is
/// faster, but safe only on a device that no attacker shares. Without `lookups`, timing and memory accesses reveal
/// nothing about keys and nonces.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_sm2_new(
    engine: *const RingforgeEngine,
    lookups: bool,
    sm2: *mut *mut RingforgeSm2,
) -> RingforgeCode {
    guarded(|| give("sm2", sm2, || Ok(RingforgeSm2(Sm2::new(&reference("engine", engine)?.engine, lookups)?))))
}

/// Generates `batch` key pairs from the system's randomness. Item i of an array begins at i times the item's size.
/// `statuses` is null or receives one word per item: see `RingforgeItem`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_sm2_generate(
    sm2: *const RingforgeSm2,
    batch: usize,
    private_keys: *mut u8,
    public_keys: *mut u8,
    statuses: *mut u32,
) -> RingforgeCode {
    guarded(|| {
        let private = Memory::new("private_keys", private_keys, batch, RINGFORGE_SM2_PRIVATE_KEY);
        let public = Memory::new("public_keys", public_keys, batch, RINGFORGE_SM2_PUBLIC_KEY);
        with_statuses(statuses, batch, Ok([private, public]), |[private, public]| {
            let public = public.apart_from([private])?;
            Ok(reference("sm2", sm2)?.0.generate(private.write()?, public.write()?))
        })
    })
}

/// Computes the digest to sign, SM3(Z || message), for each of `batch` messages. Z is the hash of the signer's
/// identifier and public key. The messages are concatenated; message i has `lengths[i]` bytes. `public_key_count` is
/// `batch`, or 1 if all messages have the same signer. All signers have the same identifier `id` of `id_bytes` bytes; a
/// null `id` is the standard's default. Runs on the CPU. `statuses` is as for `ringforge_sm2_generate`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_sm2_digest(
    batch: usize,
    public_keys: *const u8,
    public_key_count: usize,
    id: *const u8,
    id_bytes: usize,
    messages: *const u8,
    lengths: *const usize,
    digests: *mut u8,
    statuses: *mut u32,
) -> RingforgeCode {
    guarded(|| {
        let public = Memory::new("public_keys", public_keys, public_key_count, RINGFORGE_SM2_PUBLIC_KEY);
        let (use_default, id) = (id.is_null(), Memory::new("id", id, if id.is_null() { 0 } else { id_bytes }, 1));
        let digests = Memory::new("digests", digests, batch, RINGFORGE_SM2_DIGEST);
        let lengths = Memory::new("lengths", lengths, batch, 1);
        let memory = lengths.read().map(|numbers| {
            let bytes = numbers.iter().fold(0usize, |bytes, length| bytes.saturating_add(*length));
            [public, id, Memory::new("messages", messages, bytes, 1), lengths.bytes(), digests]
        });
        with_statuses(statuses, batch, memory, |[public, id, text, numbers, digests]| {
            let digests = digests.apart_from([public, id, text, numbers])?;
            let id = if use_default { DEFAULT_ID } else { id.read()? };
            Ok(Sm2::digest(public.read()?, id, text.read()?, lengths.read()?, digests.write()?))
        })
    })
}

/// Signs `batch` digests, each with its private key, or all with one key if `private_key_count` is 1. `statuses` is as
/// for `ringforge_sm2_generate`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_sm2_sign(
    sm2: *const RingforgeSm2,
    batch: usize,
    private_keys: *const u8,
    private_key_count: usize,
    digests: *const u8,
    signatures: *mut u8,
    statuses: *mut u32,
) -> RingforgeCode {
    guarded(|| {
        let private = Memory::new("private_keys", private_keys, private_key_count, RINGFORGE_SM2_PRIVATE_KEY);
        let digests = Memory::new("digests", digests, batch, RINGFORGE_SM2_DIGEST);
        let signed = Memory::new("signatures", signatures, batch, RINGFORGE_SM2_SIGNATURE);
        with_statuses(statuses, batch, Ok([private, digests, signed]), |[private, digests, signed]| {
            let signed = signed.apart_from([private, digests])?;
            Ok(reference("sm2", sm2)?.0.sign(private.read()?, digests.read()?, signed.write()?))
        })
    })
}

/// Verifies `batch` signatures of digests. Returns `RINGFORGE_CODE_OK` only if all are valid. Otherwise `statuses`, as
/// for `ringforge_sm2_generate`, has an error for each invalid signature.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_sm2_verify(
    sm2: *const RingforgeSm2,
    batch: usize,
    public_keys: *const u8,
    digests: *const u8,
    signatures: *const u8,
    statuses: *mut u32,
) -> RingforgeCode {
    guarded(|| {
        let public = Memory::new("public_keys", public_keys, batch, RINGFORGE_SM2_PUBLIC_KEY);
        let digests = Memory::new("digests", digests, batch, RINGFORGE_SM2_DIGEST);
        let signed = Memory::new("signatures", signatures, batch, RINGFORGE_SM2_SIGNATURE);
        with_statuses(statuses, batch, Ok([public, digests, signed]), |[public, digests, signed]| {
            Ok(reference("sm2", sm2)?.0.verify(public.read()?, digests.read()?, signed.read()?))
        })
    })
}

/// Frees a handle made by `ringforge_sm2_new`; null is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_sm2_free(sm2: *mut RingforgeSm2) {
    take_back(sm2);
}
