//! NVRTC: compiles CUDA source to machine code, with headers from memory.

use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr;
use std::sync::OnceLock;

use cudarc::nvrtc::{result, sys};

use crate::cuda::symbols;
use crate::cuda::text::Unit;
use ringforge_math::error::{Error, Result};

/// The compiled form of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Image {
    /// Machine code for one architecture.
    Cubin(Vec<u8>),
    /// PTX with a final zero byte, for an architecture that the compiler does not know.
    Ptx(Vec<u8>),
}

impl Image {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Cubin(bytes) | Self::Ptx(bytes) => bytes,
        }
    }
}

/// A compiled kernel.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) image: Image,
    /// The compiler's log, with the assembler's report on registers and spills.
    pub(crate) log: String,
    /// The compiler's name and version.
    pub(crate) compiler: String,
}

/// Whether NVRTC is on this machine and has all functions that are called. Checked once: a library installed later is
/// not found.
pub(crate) fn is_present() -> bool {
    static PRESENT: OnceLock<bool> = OnceLock::new();
    *PRESENT.get_or_init(|| {
        // SAFETY: tries to load the library, and runs only its initialisers.
        let there = unsafe { sys::is_culib_present() };
        let missing = if there { symbols::missing_in_compiler() } else { None };
        if let Some(symbol) = missing {
            log::warn!("the NVRTC library has no {symbol} and is not used: it is a stub, or too old");
        }
        there && missing.is_none()
    })
}

/// Compiles a kernel to machine code, or to PTX if the compiler does not know the architecture.
///
/// # Errors
/// [`Error::NoCompiler`] without NVRTC; [`Error::Compile`] if NVRTC rejects the source; [`Error::Unsupported`] if NVRTC
/// knows only newer architectures; [`Error::Kernel`] if the source or a header has a zero byte; [`Error::Driver`] if
/// another call of NVRTC fails.
pub(crate) fn compile(unit: &Unit) -> Result<Compiled> {
    let compiler = version().ok_or_else(|| Error::NoCompiler { kernel: unit.entry.clone(), bundle: None })?;
    let known = architectures()?;
    let (kind, number) = if known.contains(&unit.capability) {
        ("sm", unit.capability)
    } else {
        let newest = known.iter().copied().filter(|&known| known <= unit.capability).max();
        let why =
            || format!("{compiler} only supports architectures newer than sm_{}: use an older NVRTC", unit.capability);
        ("compute", newest.ok_or_else(|| Error::Unsupported { job: unit.entry.clone(), why: why() })?)
    };
    let mut options = vec![c_string(unit, &format!("--gpu-architecture={kind}_{number}"))?];
    for option in &unit.options {
        options.push(c_string(unit, option)?);
    }
    let program = Program::new(unit)?;
    let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
    // SAFETY: the program is alive; the pointers are to strings that outlive the call, and their number is passed with
    // them.
    let outcome = unsafe { sys::nvrtcCompileProgram(program.raw, count(pointers.len()), pointers.as_ptr()) };
    let log = program.log()?;
    if let Err(error) = outcome.result() {
        let log = if log.is_empty() { error.to_string() } else { log };
        return Err(Error::Compile { kernel: unit.entry.clone(), log });
    }
    let image = if kind == "sm" { Image::Cubin(program.cubin()?) } else { Image::Ptx(program.ptx()?) };
    Ok(Compiled { image, log, compiler })
}

/// The architectures for which the compiler makes machine code, as `10 * major + minor`.
fn architectures() -> Result<Vec<u32>> {
    let mut number: c_int = 0;
    // SAFETY: the call only writes one integer.
    unsafe { sys::nvrtcGetNumSupportedArchs(&raw mut number) }.result().map_err(failed("nvrtcGetNumSupportedArchs"))?;
    let mut list = vec![0 as c_int; usize::try_from(number).unwrap_or(0)];
    // SAFETY: writes as many integers as the previous call returned, which is the vector's length.
    unsafe { sys::nvrtcGetSupportedArchs(list.as_mut_ptr()) }.result().map_err(failed("nvrtcGetSupportedArchs"))?;
    Ok(list.into_iter().filter_map(|number| u32::try_from(number).ok()).collect())
}

/// The compiler's name and version. `None` if NVRTC is not on this machine or lacks a function.
pub(crate) fn version() -> Option<String> {
    let number = || version_numbers().map_or_else(String::new, |(major, minor)| format!(" {major}.{minor}"));
    is_present().then(|| format!("NVRTC{}", number()))
}

fn version_numbers() -> Option<(i32, i32)> {
    let (mut major, mut minor): (c_int, c_int) = (0, 0);
    // SAFETY: the call only writes two integers.
    unsafe { sys::nvrtcVersion(&raw mut major, &raw mut minor) }.result().ok()?;
    Some((major, minor))
}

/// Whether this version of NVRTC has a cache of its own, and therefore the option `--no-cache`.
pub(crate) fn has_own_cache() -> bool {
    is_present() && version_numbers() >= Some((12, 9))
}

/// An NVRTC program, destroyed on drop.
struct Program {
    raw: sys::nvrtcProgram,
    /// Strings that must live as long as the program, which may refer to them.
    _strings: Vec<CString>,
}

impl Program {
    fn new(unit: &Unit) -> Result<Self> {
        let source = c_string(unit, &unit.source)?;
        // the name contains a folder that does not exist: without one, the compiler would search the working folder for
        // headers
        let name = c_string(unit, &format!("/ringforge/{}.cu", unit.entry))?;
        let names = unit.headers.iter().map(|(name, _)| c_string(unit, name)).collect::<Result<Vec<_>>>()?;
        let texts = unit.headers.iter().map(|(_, text)| c_string(unit, text)).collect::<Result<Vec<_>>>()?;
        let name_pointers: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
        let text_pointers: Vec<*const c_char> = texts.iter().map(|text| text.as_ptr()).collect();
        let mut raw = ptr::null_mut();
        // SAFETY: all pointers are to zero-terminated strings; the arrays have the lengths that are passed; all strings
        // live as long as the program.
        unsafe {
            sys::nvrtcCreateProgram(
                &raw mut raw,
                source.as_ptr(),
                name.as_ptr(),
                count(names.len()),
                text_pointers.as_ptr(),
                name_pointers.as_ptr(),
            )
        }
        .result()
        .map_err(failed("nvrtcCreateProgram"))?;
        let mut strings = vec![source, name];
        strings.extend(names);
        strings.extend(texts);
        Ok(Self { raw, _strings: strings })
    }

    fn log(&self) -> Result<String> {
        let bytes = self.fetch("nvrtcGetProgramLog", sys::nvrtcGetProgramLogSize, sys::nvrtcGetProgramLog)?;
        let text = CStr::from_bytes_until_nul(&bytes).map_or(&bytes[..], CStr::to_bytes);
        Ok(String::from_utf8_lossy(text).trim().to_owned())
    }

    fn cubin(&self) -> Result<Vec<u8>> {
        self.fetch("nvrtcGetCUBIN", sys::nvrtcGetCUBINSize, sys::nvrtcGetCUBIN)
    }

    fn ptx(&self) -> Result<Vec<u8>> {
        let mut ptx = self.fetch("nvrtcGetPTX", sys::nvrtcGetPTXSize, sys::nvrtcGetPTX)?;
        if ptx.last() != Some(&0) {
            ptx.push(0);
        }
        Ok(ptx)
    }

    /// Queries the size of an output, and then the output itself.
    fn fetch(
        &self,
        call: &'static str,
        size: unsafe fn(sys::nvrtcProgram, *mut usize) -> sys::nvrtcResult,
        get: unsafe fn(sys::nvrtcProgram, *mut c_char) -> sys::nvrtcResult,
    ) -> Result<Vec<u8>> {
        let mut bytes = 0;
        // SAFETY: the program is alive; the call only writes one integer.
        unsafe { size(self.raw, &raw mut bytes) }.result().map_err(failed(call))?;
        let mut to = vec![0u8; bytes];
        // SAFETY: the program is alive; writes as many bytes as the previous call returned, which is the vector's
        // length.
        unsafe { get(self.raw, to.as_mut_ptr().cast()) }.result().map_err(failed(call))?;
        Ok(to)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: the program is alive, and nothing uses it after this. A failure only leaks memory.
        let _ = unsafe { sys::nvrtcDestroyProgram(&raw mut self.raw) };
    }
}

fn count(len: usize) -> c_int {
    c_int::try_from(len).unwrap_or(c_int::MAX)
}

fn c_string(unit: &Unit, text: &str) -> Result<CString> {
    CString::new(text)
        .map_err(|_| Error::Kernel { kernel: unit.entry.clone(), why: "has a zero byte in its source".into() })
}

fn failed(call: &'static str) -> impl Fn(result::NvrtcError) -> Error {
    move |error| Error::Driver { call, code: error.0 as i32, message: error.to_string() }
}
