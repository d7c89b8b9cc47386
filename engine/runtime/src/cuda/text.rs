//! The CUDA sources and options with which a kernel is compiled, and the cache key of the compiled kernel.

use std::borrow::Cow;

use ringforge_kernels::HEADERS;
use sha2::{Digest, Sha256};

use crate::kernel::{Epilogue, Kernel, Launch, Parts, Port, Source};
use crate::limits::Limits;
use crate::tiles::Tiles;
use ringforge_math::error::{Error, Result};

/// Version of the cache key. Change it whenever the same source and options would compile differently.
const KEY_VERSION: &str = "ringforge kernel 1";

/// The first architecture with programmatic dependent launches, which may begin before earlier launches end.
const FOLLOWS: u32 = 90;

/// SHA-256 of everything that determines the machine code of a kernel, except the compiler itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key(pub(crate) [u8; 32]);

/// A kernel's source, the headers that it includes, and its launch, for one device.
#[derive(Debug)]
pub(crate) struct Unit {
    /// Name of the entry point.
    pub(crate) entry: String,
    /// The kernel's own CUDA source.
    pub(crate) source: Cow<'static, str>,
    /// Name and contents of each header that the source includes, directly or indirectly.
    pub(crate) headers: Vec<(&'static str, Cow<'static, str>)>,
    /// The ports, one for each pointer parameter.
    pub(crate) ports: Vec<Port>,
    /// The tiles into which the blocks of an item divide each port.
    pub(crate) shares: Tiles,
    /// The launch configuration that the source assumes.
    pub(crate) launch: Launch,
    /// Run-time constants, passed after the pointers.
    pub(crate) numbers: Vec<u64>,
    /// The numbers of pointers and of run-time constants that form one struct parameter, if there is one.
    pub(crate) epilogue: Option<Epilogue>,
    /// Whether launches may begin before earlier ones end (programmatic dependent launch).
    pub(crate) follows: bool,
    /// Compute capability of the device, as `10 * major + minor`.
    pub(crate) capability: u32,
    /// Compiler options, except for the architecture.
    pub(crate) options: Vec<&'static str>,
}

impl Unit {
    /// Collects the sources of a kernel for a device with these limits. If `portable`, functions that use PTX are
    /// replaced by portable versions.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the kernel does not fit the device; [`Error::Kernel`] if the source was made for
    /// another kernel, or if two headers have the same name but different contents.
    pub(crate) fn new(kernel: &dyn Kernel, limits: &Limits, portable: bool) -> Result<Self> {
        let source = Source::of(kernel, limits)?;
        let shares = source.shares();
        let Parts { entry, ports, text, headers, built, numbers, epilogue, follows, .. } = source.into_parts();
        let mut known: Vec<(&'static str, Cow<'static, str>)> = vec![("prelude.cuh", Cow::Owned(built.prelude))];
        for header in HEADERS.iter().chain(&headers) {
            match known.iter().find(|(name, _)| *name == header.name) {
                Some((_, text)) if text == header.text => {}
                Some(_) => {
                    let why = format!("has a header {} that differs from the engine's: rename it", header.name);
                    return Err(Error::Kernel { kernel: kernel.name().into(), why });
                }
                None => known.push((header.name, Cow::Borrowed(header.text))),
            }
        }
        // `--fmad=false` keeps explicit fma calls, but does not contract other operations to fma, so that
        // floating-point results are bit-identical to those on the CPU; `-v` makes the assembler report registers and
        // spills
        let mut options = vec!["--std=c++17", "-default-device", "--fmad=false", "--ptxas-options=-v"];
        if portable {
            options.push("-DRF_PORTABLE");
        }
        let headers = reachable(&text, known);
        Ok(Self {
            entry,
            source: text,
            headers,
            ports,
            shares,
            launch: built.launch,
            numbers,
            epilogue,
            follows: follows && limits.capability >= FOLLOWS,
            capability: limits.capability,
            options,
        })
    }

    /// The cache key of these sources and options for this architecture.
    pub(crate) fn key(&self) -> Key {
        let mut hash = Sha256::new();
        let mut field = |text: &str| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        };
        field(KEY_VERSION);
        field(&self.capability.to_string());
        field(&self.options.len().to_string());
        for option in &self.options {
            field(option);
        }
        field(&self.entry);
        field(&self.source);
        for (name, text) in &self.headers {
            field(name);
            field(text);
        }
        Key(hash.finalize().into())
    }
}

/// Returns the known headers that a source includes, directly or indirectly, in the order in which they are found.
/// Preprocessor conditions are not evaluated, so conditionally included headers count too.
fn reachable(
    source: &str,
    mut known: Vec<(&'static str, Cow<'static, str>)>,
) -> Vec<(&'static str, Cow<'static, str>)> {
    let mut found: Vec<(&'static str, Cow<'static, str>)> = Vec::new();
    let mut scan = |text: &str, found: &mut Vec<(&'static str, Cow<'static, str>)>| {
        for name in includes(text) {
            if let Some(at) = known.iter().position(|(known, _)| *known == name) {
                found.push(known.swap_remove(at));
            }
        }
    };
    scan(source, &mut found);
    let mut next = 0;
    while let Some((_, text)) = found.get(next) {
        let text = text.clone();
        scan(&text, &mut found);
        next += 1;
    }
    found
}

/// The names in `#include "…"` lines.
fn includes(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
        rest.strip_prefix('"')?.split('"').next()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(headers: &[(&'static str, &'static str)]) -> Vec<(&'static str, Cow<'static, str>)> {
        headers.iter().map(|&(name, text)| (name, Cow::Borrowed(text))).collect()
    }

    #[test]
    fn only_included_headers_count() {
        let all = known(&[
            ("a.cuh", "  #  include \"b.cuh\"\n#include <c.cuh>\n"),
            ("b.cuh", "#include \"a.cuh\" // again\n#include \"missing.cuh\"\n"),
            ("c.cuh", ""),
        ]);
        let names: Vec<_> = reachable("#include \"a.cuh\"\nint x;", all).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["a.cuh", "b.cuh"]);
    }

    #[test]
    fn key_depends_on_every_part() {
        let unit = |source: &'static str, text: &'static str, capability, option| Unit {
            entry: "k".into(),
            source: Cow::Borrowed(source),
            headers: known(&[("a.cuh", text)]),
            shares: Tiles::default(),
            ports: Vec::new(),
            launch: Launch::thread_per_item(32),
            numbers: Vec::new(),
            epilogue: None,
            follows: false,
            capability,
            options: vec![option],
        };
        let key = unit("s", "t", 90, "-a").key();
        assert_eq!(key, unit("s", "t", 90, "-a").key());
        for other in
            [unit("S", "t", 90, "-a"), unit("s", "T", 90, "-a"), unit("s", "t", 89, "-a"), unit("s", "t", 90, "-b")]
        {
            assert_ne!(key, other.key());
        }
    }
}
