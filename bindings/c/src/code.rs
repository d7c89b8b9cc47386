//! Error codes, error messages for each thread, and the conversion of panics to error codes.

use core::cell::RefCell;
use core::ffi::c_char;
use std::ffi::{CStr, CString};
use std::panic::{AssertUnwindSafe, catch_unwind};

use ringforge::Error;
use ringforge_bindings::ErrorKind;

/// The result of a call. `ringforge_message` returns the error message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum RingforgeCode {
    /// Success.
    Ok = 0,
    /// The call succeeded, but some items of its batch failed: their statuses say why, and their outputs are zero.
    Items = 1,
    /// An argument is invalid: null, misaligned, not UTF-8, out of range, of the wrong size, or overlapping another.
    Argument = 2,
    /// A residue is not below its modulus.
    NotReduced = 3,
    /// The ring is invalid, or does not support the operation.
    Ring = 4,
    /// The device does not support the operation, an incomplete transform needs a depth, there is no KEM of this name,
    /// or this process was forked after work had begun.
    Unsupported = 5,
    /// The GPU does not exist or is not usable.
    NoDevice = 6,
    /// A kernel could not be compiled or loaded.
    Compiler = 7,
    /// Out of memory.
    OutOfMemory = 8,
    /// A driver call failed.
    Driver = 9,
    /// Any other error: a bug in Ringforge.
    Internal = 10,
}

/// The code and error message of a failed call.
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
        let code = match ErrorKind::of(&error) {
            ErrorKind::Argument => RingforgeCode::Argument,
            ErrorKind::NotReduced => RingforgeCode::NotReduced,
            ErrorKind::Ring => RingforgeCode::Ring,
            ErrorKind::Unsupported => RingforgeCode::Unsupported,
            ErrorKind::NoDevice => RingforgeCode::NoDevice,
            ErrorKind::Compiler => RingforgeCode::Compiler,
            ErrorKind::OutOfMemory => RingforgeCode::OutOfMemory,
            ErrorKind::Driver => RingforgeCode::Driver,
            ErrorKind::Internal => RingforgeCode::Internal,
        };
        Self { code, message: error.to_string() }
    }
}

thread_local! {
    static MESSAGE: RefCell<CString> = RefCell::default();
}

/// Runs the work of a call and returns its code. Catches panics, and stores the error message of a failure for the
/// thread.
pub(crate) fn guarded(work: impl FnOnce() -> Result<(), Failure>) -> RingforgeCode {
    let failure = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return RingforgeCode::Ok,
        Ok(Err(failure)) => failure,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
            Failure::new(RingforgeCode::Internal, format!("bug in Ringforge, please report it: {text}"))
        }
    };
    // the message is lost if the thread is exiting and has no thread-local storage any more
    let _ = MESSAGE.try_with(|message| message.replace(text(failure.message)));
    failure.code
}

/// Converts a message to a C string, without NUL characters, which would end the string.
pub(crate) fn text(message: String) -> CString {
    CString::new(message.replace('\0', "")).unwrap_or_default()
}

/// Returns the error message of this thread's last failed call: one that did not return `RINGFORGE_CODE_OK`. Empty if
/// no call has failed. The message stays valid until the thread's next failed call.
#[unsafe(no_mangle)]
pub extern "C" fn ringforge_message() -> *const c_char {
    MESSAGE.try_with(|message| message.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// Returns the library's version, such as `0.1.0`, as a static string.
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
        // SAFETY: the message stays valid until this thread's next failure.
        unsafe { CStr::from_ptr(ringforge_message()) }.to_string_lossy().into_owned()
    }

    #[test]
    fn panics_become_error_codes() {
        assert_eq!(guarded(|| panic!("number {}", 7)), RingforgeCode::Internal);
        assert!(message().ends_with("please report it: number 7"), "{}", message());
        assert_eq!(guarded(|| Ok(())), RingforgeCode::Ok);
        assert!(!message().is_empty(), "a successful call must keep the message");
    }

    #[test]
    fn messages_belong_to_threads() {
        assert_eq!(guarded(|| Err(Error::OutOfMemory { bytes: 5 }.into())), RingforgeCode::OutOfMemory);
        std::thread::spawn(|| assert_eq!(message(), "")).join().unwrap();
        assert_eq!(message(), "out of memory: cannot allocate 5 bytes");
    }
}
