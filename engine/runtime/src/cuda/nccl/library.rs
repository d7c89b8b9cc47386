//! Loads the NCCL library when it is first needed, and declares the functions in use.

use core::ffi::{c_char, c_int, c_void};
use std::ffi::CStr;
use std::sync::OnceLock;

use libloading::Library;

use ringforge_math::error::{Error, Result};

/// An NCCL communicator.
pub(crate) type Handle = *mut c_void;

/// The status that a call returns.
pub(crate) type Code = c_int;

pub(crate) const SUCCESS: Code = 0;
pub(crate) const IN_PROGRESS: Code = 7;

/// The element type of sends and receives: bytes.
pub(crate) const BYTE: c_int = 1;

/// The id of a group of ranks, by which they find one another (`ncclUniqueId`).
#[derive(Clone, Copy)]
#[repr(C)]
pub struct UniqueId(pub [u8; 128]);

impl core::fmt::Debug for UniqueId {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("UniqueId(..)")
    }
}

/// Configuration of a communicator (`ncclConfig_t`): the fields of NCCL 2.19, which all later versions accept.
#[repr(C)]
pub(crate) struct Config {
    size: usize,
    magic: u32,
    version: u32,
    /// Whether calls return only when they are done.
    blocking: c_int,
    cluster: c_int,
    least_blocks: c_int,
    most_blocks: c_int,
    net: *const c_char,
    share: c_int,
}

impl Config {
    /// A configuration for blocking calls, or for calls that return early so that the caller can keep a deadline. All
    /// other settings have NCCL's defaults.
    pub(crate) const fn new(blocking: bool) -> Self {
        let (size, magic, version) = (size_of::<Self>(), 0xcafe_beef, OLDEST as u32);
        let (blocking, any) = (blocking as c_int, c_int::MIN);
        let (net, share) = (core::ptr::null(), any);
        Self { size, magic, version, blocking, cluster: any, least_blocks: any, most_blocks: any, net, share }
    }
}

/// The oldest NCCL version that has all functions in use: 2.19.0, as NCCL encodes it.
const OLDEST: c_int = 21_900;

macro_rules! functions {
    ($($field:ident = $name:literal ($($arg:ty),*);)*) => {
        /// The NCCL functions in use.
        pub(crate) struct Nccl {
            $(pub(crate) $field: unsafe extern "C" fn($($arg),*) -> Code,)*
            words: unsafe extern "C" fn(Code) -> *const c_char,
            /// Keeps the functions loaded.
            _library: Library,
        }

        impl Nccl {
            fn of(library: Library, path: &str) -> Result<Self> {
                // SAFETY: the functions have these types in every NCCL version from 2.19 on.
                unsafe {
                    Ok(Self {
                        $($field: *library.get($name.as_bytes()).map_err(|_| missing(path, $name))?,)*
                        words: *library.get(b"ncclGetErrorString").map_err(|_| missing(path, "ncclGetErrorString"))?,
                        _library: library,
                    })
                }
            }
        }
    };
}

functions! {
    version = "ncclGetVersion" (*mut c_int);
    unique_id = "ncclGetUniqueId" (*mut UniqueId);
    init = "ncclCommInitRankConfig" (*mut Handle, c_int, UniqueId, c_int, *mut Config);
    split = "ncclCommSplit" (Handle, c_int, c_int, *mut Handle, *mut Config);
    async_error = "ncclCommGetAsyncError" (Handle, *mut Code);
    group_start = "ncclGroupStart" ();
    group_end = "ncclGroupEnd" ();
    send = "ncclSend" (*const c_void, usize, c_int, c_int, Handle, *mut c_void);
    receive = "ncclRecv" (*mut c_void, usize, c_int, c_int, Handle, *mut c_void);
    allocate = "ncclMemAlloc" (*mut *mut c_void, usize);
    free = "ncclMemFree" (*mut c_void);
    register = "ncclCommRegister" (Handle, *mut c_void, usize, *mut *mut c_void);
    deregister = "ncclCommDeregister" (Handle, *mut c_void);
    abort = "ncclCommAbort" (Handle);
}

impl Nccl {
    /// Returns the NCCL library, which the first call loads: the one that `RINGFORGE_NCCL` names, else `libnccl.so.2`,
    /// else `libnccl.so`.
    pub(crate) fn get() -> Result<&'static Self> {
        static LIBRARY: OnceLock<Result<Nccl>> = OnceLock::new();
        let library = LIBRARY.get_or_init(|| match std::env::var("RINGFORGE_NCCL") {
            Ok(path) if !path.is_empty() => Self::load(&[&path]),
            _ => Self::load(&["libnccl.so.2", "libnccl.so"]),
        });
        library.as_ref().map_err(Clone::clone)
    }

    /// Loads the first of these libraries that is found. If none is found, the error lists why each could not be
    /// loaded. Also returns an error if the library lacks a function or is too old.
    fn load(paths: &[&str]) -> Result<Self> {
        let mut tried = Vec::new();
        for path in paths {
            // SAFETY: loading runs the library's initialisers, as linking with it would.
            match unsafe { Library::new(*path) } {
                Ok(library) => return Self::of(library, path).and_then(Self::new_enough),
                Err(error) => tried.push(format!("{path}: {error}")),
            }
        }
        Err(Error::Nccl { call: "loading the library", why: tried.join("; ") })
    }

    fn new_enough(self) -> Result<Self> {
        let mut version = 0;
        // SAFETY: the call only writes one integer.
        self.check("ncclGetVersion", unsafe { (self.version)(&raw mut version) })?;
        if version < OLDEST {
            return Err(Error::Nccl {
                call: "ncclGetVersion",
                why: format!("version {version} is too old: {OLDEST} or later is needed"),
            });
        }
        Ok(self)
    }

    /// Converts the status of an NCCL call to a result. A call in progress is not an error.
    pub(crate) fn check(&self, call: &'static str, code: Code) -> Result<()> {
        if code == SUCCESS || code == IN_PROGRESS {
            return Ok(());
        }
        // SAFETY: NCCL returns a constant, zero-terminated string.
        let words = unsafe { CStr::from_ptr((self.words)(code)) }.to_string_lossy();
        Err(Error::Nccl { call, why: format!("{words} ({code})") })
    }
}

fn missing(path: &str, name: &str) -> Error {
    Error::Nccl { call: "loading the library", why: format!("{path} has no {name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If NCCL is installed, it has all functions in use. Loading it and querying its version needs no GPU.
    #[test]
    fn the_library_has_the_functions() {
        if let Err(error) = Nccl::get() {
            assert!(matches!(error, Error::Nccl { call: "loading the library", .. }), "{error}");
            assert!(std::env::var_os("RINGFORGE_NCCL").is_none(), "{error}");
            eprintln!("skipped: {error}");
        }
    }

    #[test]
    fn other_libraries_are_refused_by_name() {
        let why = |paths: &[&str]| match Nccl::load(paths).err() {
            Some(Error::Nccl { why, .. }) => why,
            other => panic!("{other:?}"),
        };
        let nowhere = why(&["/nowhere/libnccl.so.2", "libnowhere.so"]);
        assert!(nowhere.contains("/nowhere/libnccl.so.2") && nowhere.contains("libnowhere.so"), "{nowhere}");
        if cfg!(all(target_os = "linux", target_env = "gnu")) {
            let libc = why(&["libc.so.6"]);
            assert!(libc.contains("libc.so.6") && libc.contains("nccl"), "{libc}");
        }
    }
}
