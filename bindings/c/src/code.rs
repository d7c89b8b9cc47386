//! How every function ends: a code, a message for the thread that called, and no panic beyond.

use core::cell::RefCell;
use core::ffi::c_char;
use std::ffi::{CStr, CString};
use std::panic::{AssertUnwindSafe, catch_unwind};

use ringforge::Error;
use ringforge_bindings::Kind;

/// How a call went. `ringforge_message` says the same in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum RingforgeCode {
    /// All well.
    Ok = 0,
    /// The call went through, but some items of its batch came to nothing: their statuses say why, and their outputs are zero.
    Items = 1,
    /// An argument is null, has the wrong size, is not aligned or overlaps another.
    Argument = 2,
    /// A residue is not below its modulus.
    NotReduced = 3,
    /// No such ring, or none that can do this.
    Ring = 4,
    /// The device cannot do this, or there is nothing of this name.
    Unsupported = 5,
    /// There is no such GPU.
    NoDevice = 6,
    /// A kernel cannot be compiled here.
    Compiler = 7,
    /// Not enough memory.
    OutOfMemory = 8,
    /// A call of the driver failed.
    Driver = 9,
    /// A mistake of Ringforge's own.
    Internal = 10,
}

/// Why a call failed.
pub(crate) struct Failure {
    code: RingforgeCode,
    message: String,
}

impl Failure {
    pub(crate) fn new(code: RingforgeCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match Kind::of(&error) {
            Kind::Argument => RingforgeCode::Argument,
            Kind::NotReduced => RingforgeCode::NotReduced,
            Kind::Ring => RingforgeCode::Ring,
            Kind::Unsupported => RingforgeCode::Unsupported,
            Kind::NoDevice => RingforgeCode::NoDevice,
            Kind::Compiler => RingforgeCode::Compiler,
            Kind::OutOfMemory => RingforgeCode::OutOfMemory,
            Kind::Driver => RingforgeCode::Driver,
            Kind::Internal => RingforgeCode::Internal,
        };
        Self { code, message: error.to_string() }
    }
}

thread_local! {
    static MESSAGE: RefCell<CString> = RefCell::default();
}

/// Does the work of a call, and keeps what went wrong as the thread's message.
pub(crate) fn guarded(work: impl FnOnce() -> Result<(), Failure>) -> RingforgeCode {
    let failure = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return RingforgeCode::Ok,
        Ok(Err(failure)) => failure,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("for no reason that is known");
            Failure::new(RingforgeCode::Internal, format!("a mistake of Ringforge's own, please report it: {text}"))
        }
    };
    // a thread that is about to end has no place for messages any more
    let _ = MESSAGE.try_with(|message| message.replace(text(failure.message)));
    failure.code
}

/// As C has it: without zeros, at which it would end.
pub(crate) fn text(message: String) -> CString {
    CString::new(message.replace('\0', "")).unwrap_or_default()
}

/// What went wrong in this thread's last call that returned another code than `RINGFORGE_CODE_OK`, in words; empty if none has.
/// The text stays until the thread's next such call.
#[unsafe(no_mangle)]
pub extern "C" fn ringforge_message() -> *const c_char {
    MESSAGE.try_with(|message| message.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// The library's version, such as `0.1.0`. Never freed.
#[unsafe(no_mangle)]
pub extern "C" fn ringforge_version() -> *const c_char {
    const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => c"",
    };
    VERSION.as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message() -> String {
        // SAFETY: the text stays until this thread's next failure.
        unsafe { CStr::from_ptr(ringforge_message()) }.to_string_lossy().into_owned()
    }

    #[test]
    fn no_panic_crosses() {
        assert_eq!(guarded(|| panic!("number {}", 7)), RingforgeCode::Internal);
        assert!(message().ends_with("please report it: number 7"), "{}", message());
        assert_eq!(guarded(|| Ok(())), RingforgeCode::Ok);
        assert!(!message().is_empty(), "what goes well leaves the message");
    }

    #[test]
    fn messages_belong_to_threads() {
        assert_eq!(guarded(|| Err(Error::OutOfMemory { bytes: 5 }.into())), RingforgeCode::OutOfMemory);
        std::thread::spawn(|| assert_eq!(message(), "")).join().unwrap();
        assert_eq!(message(), "out of memory: 5 bytes asked for");
    }
}
