//! Which text takes part in compiling a kernel, and the key under which the result is kept.

use std::borrow::Cow;

use ringforge_kernels::HEADERS;
use sha2::{Digest, Sha256};

use crate::columns::Shares;
use crate::kernel::{Epilogue, Kernel, Launch, Parts, Port, Source};
use crate::limits::Limits;
use ringforge_math::error::{Error, Result};

/// What changes whenever the same text and options would have to be compiled anew.
const KEY_VERSION: &str = "ringforge kernel 1";

/// The first architecture whose launches may begin ahead of the end of those before them.
const FOLLOWS: u32 = 90;

/// SHA-256 of all that decides the machine code of a kernel, but for the compiler itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key(pub(crate) [u8; 32]);

/// A kernel's text, the headers it includes, and its launch, for one device.
#[derive(Debug)]
pub(crate) struct Unit {
    /// Name of the entry point.
    pub(crate) entry: String,
    /// The kernel's own text.
    pub(crate) source: Cow<'static, str>,
    /// Name and text of each header that the text includes, directly or not.
    pub(crate) headers: Vec<(&'static str, Cow<'static, str>)>,
    /// The ports that the text has pointers for.
    pub(crate) ports: Vec<Port>,
    /// How the blocks of an item share them out.
    pub(crate) shares: Shares,
    /// The launch that the text assumes.
    pub(crate) launch: Launch,
    /// Numbers of the launch behind the pointers.
    pub(crate) numbers: Vec<u64>,
    /// Which pointers and numbers are one parameter.
    pub(crate) epilogue: Option<Epilogue>,
    /// Whether launches may begin ahead of the end of those before them.
    pub(crate) follows: bool,
    /// Compute capability of the device.
    pub(crate) capability: u32,
    /// Options for the compiler, but for the architecture.
    pub(crate) options: Vec<&'static str>,
}

impl Unit {
    /// The text for a device with these limits; with `portable`, the portable twins of all PTX functions.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where the kernel does not fit the device; [`Error::Kernel`] where a header of the kernel
    /// has the name of another one.
    pub(crate) fn new(kernel: &dyn Kernel, limits: &Limits, portable: bool) -> Result<Self> {
        let source = Source::of(kernel, limits)?;
        let shares = source.shares();
        let Parts { entry, ports, text, headers, built, numbers, epilogue, follows, .. } = source.into_parts();
        let mut known: Vec<(&'static str, Cow<'static, str>)> = vec![("prelude.cuh", Cow::Owned(built.prelude))];
        for header in HEADERS.iter().chain(&headers) {
            match known.iter().find(|(name, _)| *name == header.name) {
                Some((_, text)) if text == header.text => {}
                Some(_) => {
                    let why = format!("has a header {} that differs from the one of the engine", header.name);
                    return Err(Error::Kernel { kernel: kernel.name().into(), why });
                }
                None => known.push((header.name, Cow::Borrowed(header.text))),
            }
        }
        // options: explicit fma is kept, but nothing is contracted to one behind the kernel's back, so that floating
        // point gives the bits it gives on the CPU; -v has the assembler report registers and spills
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

    /// The key of this text with these options for this architecture.
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

/// Those of the known headers that a text includes, in the order in which they are met. The scan does not evaluate
/// conditions: a header that is included under one is taken along.
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
            shares: Shares::default(),
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
