//! How the items of a batch fared.

use core::cell::RefCell;
use core::ffi::c_char;
use std::ffi::CString;

use ringforge::Error;
use ringforge_bindings::{Fault, NOT_REACHED, describe};

use crate::code::{Failure, RingforgeCode, text};
use crate::pointer::Memory;

/// What the low byte of an item's status says. Above it is a number where the text has one, such as the place of a coefficient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum RingforgeItem {
    /// All well.
    Fine = 0,
    /// The seed gives no key.
    NotInvertible = 1,
    /// A coefficient of the public key is not below the modulus.
    InvalidPublicKey = 2,
    /// A coefficient of the secret key is out of range.
    InvalidSecretKey = 3,
    /// SM2: the private key is out of range.
    PrivateKeyRange = 5,
    /// SM2: the public key is not a point of the curve.
    PublicKeyPoint = 6,
    /// SM2: the nonce is refused.
    NonceRefused = 7,
    /// SM2: a number of the signature is out of range.
    SignatureRange = 8,
    /// SM2: the signature is wrong.
    SignatureWrong = 9,
    /// The item was not finished; of all items where the call failed.
    NotReached = 254,
    /// The item's status is none that a kernel should write.
    Unknown = 255,
}

thread_local! {
    static MESSAGE: RefCell<CString> = RefCell::default();
}

/// What a status of an item says, in words. The text stays until the thread's next call of this function.
#[unsafe(no_mangle)]
pub extern "C" fn ringforge_item_message(status: u32) -> *const c_char {
    let message = text(describe(status));
    let kept = MESSAGE.try_with(|place| {
        place.replace(message);
        place.borrow().as_ptr()
    });
    kept.unwrap_or(c"".as_ptr())
}

/// Does the work on a batch in this memory and writes its statuses, where they are wanted: all are `NotReached` until it went
/// through. Nothing is written unless they lie apart from all other memory, nor where that is not known.
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
    fn codes_are_those_of_the_schemes() {
        for item in [
            RingforgeItem::Fine,
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
            assert!(!describe(item as u32).contains("is no status"), "{item:?}");
        }
        assert_eq!(describe(RingforgeItem::SignatureWrong as u32), "the signature is wrong");
    }
}
