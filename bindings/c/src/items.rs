//! Statuses of the items of a batch.

use core::cell::RefCell;
use core::ffi::c_char;
use std::ffi::CString;

use ringforge::Error;
use ringforge_bindings::{Fault, NOT_REACHED, describe};

use crate::code::{Failure, RingforgeCode, text};
use crate::pointer::Memory;

/// The low byte of an item's status. For some codes the upper bits hold a number, such as the index of a coefficient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum RingforgeItem {
    /// The item succeeded.
    Ok = 0,
    /// The seed gives no key, because the polynomial sampled from it has no inverse.
    NotInvertible = 1,
    /// A coefficient of the public key is not below the modulus.
    InvalidPublicKey = 2,
    /// A coefficient of the secret key is out of range.
    InvalidSecretKey = 3,
    /// ML-KEM: the hash in the secret key does not match the public key in it.
    WrongHash = 4,
    /// SM2: the private key is out of range.
    PrivateKeyRange = 5,
    /// SM2: the public key is not a point of the curve.
    PublicKeyPoint = 6,
    /// SM2: the nonce is out of range, or gives no signature for this key and digest.
    NonceRefused = 7,
    /// SM2: r or s of the signature is out of range.
    SignatureRange = 8,
    /// SM2: the signature is wrong.
    SignatureWrong = 9,
    /// The item was not finished, or the whole call failed.
    NotReached = 254,
    /// The kernels wrote a status that is not defined.
    Unknown = 255,
}

thread_local! {
    static MESSAGE: RefCell<CString> = RefCell::default();
}

/// Returns the message for an item's status. The message stays valid until the thread's next call of
/// `ringforge_item_message`.
#[unsafe(no_mangle)]
pub extern "C" fn ringforge_item_message(status: u32) -> *const c_char {
    let message = text(describe(status));
    let kept = MESSAGE.try_with(|place| {
        place.replace(message);
        place.borrow().as_ptr()
    });
    kept.unwrap_or(c"".as_ptr())
}

/// Runs `work` on the memory of a batch and writes the status of each item to `statuses`, unless `statuses` is null.
/// All statuses are `NotReached` until `work` succeeds. Nothing is written if `statuses` overlaps other memory of the
/// call, or if `memory` is an error.
pub(crate) unsafe fn with_statuses<'a, const N: usize>(
    statuses: *mut u32,
    batch: usize,
    memory: Result<[Memory<'a, u8>; N], Failure>,
    work: impl FnOnce([Memory<'a, u8>; N]) -> Result<Result<Vec<Fault>, Error>, Failure>,
) -> Result<(), Failure> {
    let statuses = Memory::new("statuses", statuses, if statuses.is_null() { 0 } else { batch }, 1);
    let memory = memory?;
    statuses.beside(memory)?;
    statuses.write()?.fill(NOT_REACHED);
    let faults = work(memory)??;
    let statuses = statuses.write()?;
    statuses.fill(0);
    for fault in &faults {
        if let Some(status) = statuses.get_mut(fault.item) {
            *status = fault.status;
        }
    }
    match &faults[..] {
        [] => Ok(()),
        [first, rest @ ..] => {
            let more = if rest.is_empty() { String::new() } else { format!(", and {} more", rest.len()) };
            let message = format!("item {}: {}{more}", first.item, first.message());
            Err(Failure::new(RingforgeCode::Items, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_match_the_schemes() {
        for item in [
            RingforgeItem::Ok,
            RingforgeItem::NotInvertible,
            RingforgeItem::InvalidPublicKey,
            RingforgeItem::InvalidSecretKey,
            RingforgeItem::PrivateKeyRange,
            RingforgeItem::PublicKeyPoint,
            RingforgeItem::NonceRefused,
            RingforgeItem::SignatureRange,
            RingforgeItem::SignatureWrong,
            RingforgeItem::NotReached,
            RingforgeItem::Unknown,
        ] {
            assert!(!describe(item as u32).contains("unknown item status"), "{item:?}");
        }
        assert_eq!(describe(RingforgeItem::SignatureWrong as u32), "the signature does not match the digest and key");
    }
}
