//! A kernel's CUDA text, made concrete for a device: code that is trusted, and what it is trusted to do.

use std::borrow::Cow;

use ringforge_kernels::Header;

use crate::columns::Columns;
use crate::kernel::{Kernel, Launch, Port};

/// What a kernel generates for a device: the header `prelude.cuh`, and the launch it assumes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Built {
    /// Text of `prelude.cuh`: constants and types that the kernel's text names.
    pub prelude: String,
    /// The launch.
    pub launch: Launch,
}

impl Built {
    /// A thread for each item, in blocks of so many, with `word.cuh` and then further lines as the prelude.
    #[must_use]
    pub fn thread_per_item(threads: u32, further: &str) -> Self {
        let prelude = format!("#pragma once\n#include \"word.cuh\"\n{further}");
        Self { prelude, launch: Launch::thread_per_item(threads) }
    }
}

/// The CUDA text of a kernel for a device, with all that decides what it does to memory: trusted code.
///
/// The text may include the engine's headers and its own, and `prelude.cuh` after them. Dynamic shared memory is declared
/// by `RF_SHARED(name);` and there is no other shared memory.
///
/// A GPU checks no bounds, so whoever writes a text vouches for it, by the `unsafe` of [`Source::new`]; everything else
/// about a kernel is safe to write. A source holds for the ports of the kernel that it was made for: the engine compares
/// them, so it cannot be lent to a kernel with others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source(Parts);

/// What a [`Source`] is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    pub entry: String,
    pub ports: Vec<Port>,
    pub text: Cow<'static, str>,
    pub headers: Vec<Header>,
    pub built: Built,
    pub numbers: Vec<u64>,
    pub columns: Vec<Option<Columns>>,
    pub epilogue: Option<Epilogue>,
    /// Whether the text waits for the launches before it (`follow` in `word.cuh`) before it touches memory, so that it may be
    /// started ahead of their end.
    pub follows: bool,
}

/// The parameter of a text that stores residues through an `Epilogue` of the prelude: a struct of the last pointers and of the
/// first numbers, which is empty where nothing is fused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Epilogue {
    pub pointers: usize,
    pub numbers: usize,
}

impl Source {
    /// The text of this kernel, with the headers that it includes beyond the engine's own.
    ///
    /// # Safety
    /// The text, with these headers and this prelude, defines
    /// `extern "C" __global__ void NAME(P0 *p0, P1 *p1, …, u64 first, u64 end)`, where `NAME` is the kernel's name and
    /// there is one pointer for each of its ports, in order. Launched as `built` says for the items `first..end`,
    ///
    /// - it reads and writes nothing but the bytes of these items at ports of [`Sharing::PerItem`](crate::kernel::Sharing::PerItem), whose
    ///   pointers are to item 0, [`Port::distance`] bytes from each item to the next, the bytes of ports of [`Sharing::Shared`](crate::kernel::Sharing::Shared), and as much dynamic shared
    ///   memory as the launch has;
    /// - it writes nothing at a port of [`Role::In`](crate::kernel::Role::In), and every byte of these items at one of
    ///   [`Role::Out`](crate::kernel::Role::Out);
    /// - it takes no address from elsewhere: not from the prelude, nor from what a port holds, whatever that is, but for the
    ///   pointers of a port that has [tables](crate::kernel::Port::tables), each to that many bytes.
    #[must_use]
    #[allow(unsafe_code)]
    pub unsafe fn new(
        kernel: &dyn Kernel,
        text: impl Into<Cow<'static, str>>,
        headers: &[Header],
        built: Built,
    ) -> Self {
        Self(Parts {
            entry: kernel.name().into(),
            ports: kernel.ports().to_vec(),
            text: text.into(),
            headers: headers.to_vec(),
            built,
            numbers: Vec::new(),
            columns: Vec::new(),
            epilogue: None,
            follows: false,
        })
    }

    /// What it is made of.
    #[doc(hidden)]
    #[must_use]
    pub fn parts(&self) -> &Parts {
        &self.0
    }

    /// What it is made of, taken apart.
    #[cfg(feature = "cuda")]
    pub(crate) fn into_parts(self) -> Parts {
        self.0
    }

    /// The same, changed.
    ///
    /// # Safety
    /// As [`Source::new`], [`Source::with_numbers`] and [`Source::with_columns`] for what is left.
    #[doc(hidden)]
    #[must_use]
    #[allow(unsafe_code)]
    pub unsafe fn with(mut self, change: impl FnOnce(&mut Parts)) -> Self {
        change(&mut self.0);
        self
    }

    /// The same source with numbers of the launch, which the text takes behind its pointers: what differs from kernel to
    /// kernel, such as how many rows an item has, without another compilation.
    ///
    /// # Safety
    /// The entry point has one parameter `u64` for each of them between the pointers and `first`, and [`Source::new`]'s
    /// contract holds with these values.
    #[must_use]
    #[allow(unsafe_code)]
    pub unsafe fn with_numbers(self, numbers: Vec<u64>) -> Self {
        Self(Parts { numbers, ..self.0 })
    }

    /// The same source of a kernel whose blocks have parts of their own of what some ports hold of an item, `columns` being
    /// in the order of the ports. Over host memory the engine then starts with what was copied already, and copies what is
    /// done already.
    ///
    /// # Safety
    /// The text may also be launched for some neighbouring blocks of a single item: `end - first` is 1 then, and its upper
    /// 32 bits count the blocks before them. [`Source::new`]'s contract holds for that part of the item's bytes. (What works
    /// on rows by `Row` of `ring.cuh` need not care.)
    #[must_use]
    #[allow(unsafe_code)]
    #[doc(hidden)]
    pub unsafe fn with_columns(self, columns: Vec<Option<Columns>>) -> Self {
        Self(Parts { columns, ..self.0 })
    }

    /// The source of a kernel on a device with these limits, if it holds for the kernel.
    ///
    /// # Errors
    /// [`Error::Unsupported`](ringforge_math::Error::Unsupported) where the device cannot hold the kernel, or its blocks;
    /// [`Error::Kernel`](ringforge_math::Error::Kernel) where the source was made for a kernel with another name or other ports.
    #[cfg(any(feature = "cuda", feature = "testkit"))]
    #[doc(hidden)]
    pub fn of(kernel: &dyn Kernel, limits: &crate::limits::Limits) -> ringforge_math::error::Result<Self> {
        let source = kernel.source(limits)?;
        let parts = &source.0;
        if (&*parts.entry, &parts.ports[..]) != (kernel.name(), kernel.ports()) {
            let why = format!("has a source that was made for {} with {} ports", parts.entry, parts.ports.len());
            return Err(ringforge_math::error::Error::Kernel { kernel: kernel.name().into(), why });
        }
        parts.built.launch.check(&parts.entry, limits)?;
        Ok(source)
    }

    /// How the blocks of an item share out the ports.
    #[cfg(any(feature = "cuda", feature = "testkit"))]
    #[doc(hidden)]
    pub fn shares(&self) -> crate::columns::Shares {
        // what lies apart is copied whole
        let columns = if self.0.ports.iter().all(Port::is_dense) { self.0.columns.clone() } else { Vec::new() };
        crate::columns::Shares { blocks: self.0.built.launch.blocks_per_item as usize, columns }
    }

    /// The CUDA text of the entry point.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The headers that the text includes beyond the engine's own.
    #[must_use]
    pub fn headers(&self) -> &[Header] {
        &self.0.headers
    }

    /// The text of `prelude.cuh`.
    #[must_use]
    pub fn prelude(&self) -> &str {
        &self.0.built.prelude
    }

    /// The launch that the text assumes.
    #[must_use]
    pub const fn launch(&self) -> Launch {
        self.0.built.launch
    }
}
