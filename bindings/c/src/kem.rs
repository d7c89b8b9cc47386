//! KEMs (key encapsulation) in batches.

use core::ffi::{CStr, c_char};
use std::ffi::CString;
use std::sync::OnceLock;

use ringforge_bindings::Kem;

use crate::code::{RingforgeCode, guarded, text};
use crate::engine::RingforgeEngine;
use crate::items::with_statuses;
use crate::pointer::{self, Memory, give, reference, take_back};

/// A KEM (key encapsulation), compiled for an engine's device. Threads may share it.
#[derive(Debug)]
pub struct RingforgeKem(Kem);

/// Sizes, in bytes, of the keys and the ciphertext of one item of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct RingforgeKemSizes {
    /// Bytes of a public key.
    pub public_key: usize,
    /// Bytes of a secret key.
    pub secret_key: usize,
    /// Bytes of a ciphertext.
    pub ciphertext: usize,
    /// Bytes of a shared key.
    pub shared_key: usize,
}

/// Returns the name of KEM `number`, counted from 0, as a static string; null after the last KEM.
#[unsafe(no_mangle)]
pub extern "C" fn ringforge_kem_name(number: usize) -> *const c_char {
    static NAMES: OnceLock<Vec<CString>> = OnceLock::new();
    let names = NAMES.get_or_init(|| Kem::names().map(|name| text(name.into())).collect());
    names.get(number).map_or(core::ptr::null(), |name| CStr::as_ptr(name))
}

/// Compiles the KEM of this name, such as `CTRU-768`, for the engine's device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_kem_new(
    engine: *const RingforgeEngine,
    name: *const c_char,
    kem: *mut *mut RingforgeKem,
) -> RingforgeCode {
    guarded(|| {
        give("kem", kem, || {
            let engine = &reference("engine", engine)?.engine;
            Ok(RingforgeKem(Kem::new(engine, pointer::text("name", name)?)?))
        })
    })
}

/// Writes the sizes of the KEM's keys and ciphertexts to `sizes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_kem_sizes(kem: *const RingforgeKem, sizes: *mut RingforgeKemSizes) -> RingforgeCode {
    guarded(|| {
        let of = reference("kem", kem)?.0.sizes();
        let sizes = sizes.as_mut().ok_or_else(|| pointer::refused("sizes", "is null"))?;
        *sizes = RingforgeKemSizes {
            public_key: of.public_key,
            secret_key: of.secret_key,
            ciphertext: of.ciphertext,
            shared_key: of.shared_key,
        };
        Ok(())
    })
}

/// Generates `batch` key pairs from the system's randomness. Item i of an array begins at i times the item's size.
/// `statuses` is null or receives one word per item: see `RingforgeItem`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_kem_generate(
    kem: *const RingforgeKem,
    batch: usize,
    public_keys: *mut u8,
    secret_keys: *mut u8,
    statuses: *mut u32,
) -> RingforgeCode {
    guarded(|| {
        let memory = reference("kem", kem).map(|kem| {
            let sizes = kem.0.sizes();
            let public = Memory::new("public_keys", public_keys, batch, sizes.public_key);
            [public, Memory::new("secret_keys", secret_keys, batch, sizes.secret_key)]
        });
        with_statuses(statuses, batch, memory, |[public, secret]| {
            let secret = secret.apart_from([public])?;
            Ok(reference("kem", kem)?.0.generate(public.write()?, secret.write()?))
        })
    })
}

/// Sets `canonical[i]` to true if public key i has a canonical encoding, as key generation produces it, else to false.
/// CTRU, CNTR and ML-KEM reject other encodings; CTRU-Prime accepts them, because it decodes any bytes to some key. Runs
/// on the CPU.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_kem_are_canonical(
    kem: *const RingforgeKem,
    batch: usize,
    public_keys: *const u8,
    canonical: *mut bool,
) -> RingforgeCode {
    guarded(|| {
        let kem = &reference("kem", kem)?.0;
        let public = Memory::new("public_keys", public_keys, batch, kem.sizes().public_key);
        let canonical = Memory::new("canonical", canonical.cast::<u8>(), batch, 1).apart_from([public])?;
        let found = kem.are_canonical(public.read()?)?;
        canonical.write()?.iter_mut().zip(found).for_each(|(to, found)| *to = u8::from(found));
        Ok(())
    })
}

/// Generates a shared key and its ciphertext for each of `batch` public keys. CTRU, CNTR and ML-KEM reject a public key
/// with a coefficient that is not below the modulus. CTRU-Prime accepts any bytes, see `ringforge_kem_are_canonical`.
/// `statuses` is as for `ringforge_kem_generate`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_kem_encapsulate(
    kem: *const RingforgeKem,
    batch: usize,
    public_keys: *const u8,
    ciphertexts: *mut u8,
    shared_keys: *mut u8,
    statuses: *mut u32,
) -> RingforgeCode {
    guarded(|| {
        let memory = reference("kem", kem).map(|kem| {
            let sizes = kem.0.sizes();
            let public = Memory::new("public_keys", public_keys, batch, sizes.public_key);
            let sent = Memory::new("ciphertexts", ciphertexts, batch, sizes.ciphertext);
            [public, sent, Memory::new("shared_keys", shared_keys, batch, sizes.shared_key)]
        });
        with_statuses(statuses, batch, memory, |[public, sent, shared]| {
            let (sent, shared) = (sent.apart_from([public])?, shared.apart_from([public, sent])?);
            Ok(reference("kem", kem)?.0.encapsulate(public.read()?, sent.write()?, shared.write()?))
        })
    })
}

/// Computes the shared key of each of `batch` ciphertexts with its secret key. A rejected ciphertext is not an error:
/// its shared key is pseudorandom (implicit rejection), and timing and memory accesses do not reveal the rejection.
/// `statuses` is as for `ringforge_kem_generate`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_kem_decapsulate(
    kem: *const RingforgeKem,
    batch: usize,
    secret_keys: *const u8,
    ciphertexts: *const u8,
    shared_keys: *mut u8,
    statuses: *mut u32,
) -> RingforgeCode {
    guarded(|| {
        let memory = reference("kem", kem).map(|kem| {
            let sizes = kem.0.sizes();
            let secret = Memory::new("secret_keys", secret_keys, batch, sizes.secret_key);
            let sent = Memory::new("ciphertexts", ciphertexts, batch, sizes.ciphertext);
            [secret, sent, Memory::new("shared_keys", shared_keys, batch, sizes.shared_key)]
        });
        with_statuses(statuses, batch, memory, |[secret, sent, shared]| {
            let shared = shared.apart_from([secret, sent])?;
            Ok(reference("kem", kem)?.0.decapsulate(secret.read()?, sent.read()?, shared.write()?))
        })
    })
}

/// Frees a KEM; null is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_kem_free(kem: *mut RingforgeKem) {
    take_back(kem);
}
