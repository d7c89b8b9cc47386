//! A kernel's CUDA source, specialised for a device: trusted code, and what it is trusted to do.

use core::fmt;
use std::borrow::Cow;

use ringforge_kernels::Header;

use crate::columns::Columns;
use crate::kernel::{Kernel, Launch, Port};

/// The generated parts of a [`Source`]: the header `prelude.cuh`, and the launch that the kernel assumes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Built {
    /// Contents of `prelude.cuh`: constants and types that the CUDA source names.
    pub prelude: String,
    /// The launch configuration.
    pub launch: Launch,
}

impl Built {
    /// This launch, with a prelude that includes `word.cuh`.
    #[must_use]
    pub fn new(launch: Launch) -> Self {
        Self { prelude: "#pragma once\n#include \"word.cuh\"\n".into(), launch }
    }

    /// One thread per item, in blocks of `threads` threads.
    #[must_use]
    pub fn thread_per_item(threads: u32) -> Self {
        Self::new(Launch::thread_per_item(threads))
    }

    /// One block of `threads` threads per item.
    #[must_use]
    pub fn block_per_item(threads: u32) -> Self {
        Self::new(Launch { items_per_block: 1, ..Launch::thread_per_item(threads) })
    }

    /// Appends a C++ struct of compile-time constants to the prelude: `Set::n` for `constants("Set", &[("n", &768)])`.
    /// Values are numbers (`rf::u32`, or `rf::u64` if they need more bits) or `bool`.
    #[must_use]
    pub fn constants(mut self, name: &str, values: &[(&str, &dyn fmt::Display)]) -> Self {
        let constant = |(name, value): &(&str, &dyn fmt::Display)| {
            let value = value.to_string();
            let (kind, suffix) = match value.parse::<u64>() {
                Ok(number) if number <= u32::MAX.into() => ("rf::u32", "u"),
                Ok(_) => ("rf::u64", "ull"),
                Err(_) => ("auto", ""),
            };
            format!("    static constexpr {kind} {name} = {value}{suffix};\n")
        };
        let constants: String = values.iter().map(constant).collect();
        self.prelude += &format!("struct {name} {{\n{constants}}};\n");
        self
    }

    /// Appends lines of CUDA source to the prelude: types and functions that the kernel's source names.
    #[must_use]
    pub fn lines(mut self, lines: &str) -> Self {
        self.prelude += lines;
        self
    }
}

/// The CUDA source of a kernel for a device, with everything that determines what it does to memory. It is trusted
/// code.
///
/// The source may include the engine's headers and its own, and `prelude.cuh` after them. Dynamic shared memory is
/// declared by `RF_SHARED(name);`; there must be no other shared memory.
///
/// A GPU checks no bounds, so the author vouches for the source, by the `unsafe` of [`Source::new`]. Everything else
/// about a kernel is safe to write. The promise holds for one kernel's name and ports: the engine compares them, so the
/// source cannot be used for a kernel with others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source(Parts);

/// The parts of a [`Source`].
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
    /// Whether the source waits for the launches before it (`follow` in `word.cuh`) before it touches memory. It may
    /// then start before they end (programmatic dependent launch).
    pub follows: bool,
}

/// The parameter of a source that stores residues through an `Epilogue` of the prelude. It is a struct of the last
/// pointers and the first numbers, empty if nothing is fused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Epilogue {
    pub pointers: usize,
    pub numbers: usize,
}

impl Source {
    /// The CUDA source of this kernel, with the headers that it includes beyond the engine's own.
    ///
    /// # Safety
    /// With these headers and this prelude, the source defines
    /// `extern "C" __global__ void NAME(P0 *p0, P1 *p1, …, u64 first, u64 end)`, where `NAME` is the kernel's name,
    /// with one pointer per port, in order. Launched as `built` says for the items `first..end`,
    ///
    /// - it accesses only the bytes of these items at ports of [`Sharing::PerItem`](crate::kernel::Sharing::PerItem),
    ///   the bytes of ports of [`Sharing::Shared`](crate::kernel::Sharing::Shared), and the launch's dynamic shared
    ///   memory. The pointer of a per-item port is to item 0, and the stride between items is [`Port::stride`] bytes;
    /// - it writes nothing at a port of [`Role::In`](crate::kernel::Role::In), and every byte of these items at one of
    ///   [`Role::Out`](crate::kernel::Role::Out);
    /// - it takes no address from elsewhere, neither from the prelude nor from any contents of a port. The only
    ///   exception is a port that has [tables](crate::kernel::Port::tables), whose pointers are each to that many
    ///   bytes.
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

    /// The parts.
    #[doc(hidden)]
    #[must_use]
    pub fn parts(&self) -> &Parts {
        &self.0
    }

    /// The parts, by value.
    #[cfg(feature = "cuda")]
    pub(crate) fn into_parts(self) -> Parts {
        self.0
    }

    /// The same source, with its parts changed.
    ///
    /// # Safety
    /// As [`Source::new`], [`Source::with_numbers`] and [`Source::with_columns`], for the result.
    #[doc(hidden)]
    #[must_use]
    #[allow(unsafe_code)]
    pub unsafe fn with(mut self, change: impl FnOnce(&mut Parts)) -> Self {
        change(&mut self.0);
        self
    }

    /// The same source, with these run-time parameters after its pointers. They carry what differs between kernels,
    /// such as the number of limbs of an item, without another compilation.
    ///
    /// # Safety
    /// The entry point has one `u64` parameter for each number, between the pointers and `first`. [`Source::new`]'s
    /// contract holds with these values.
    #[must_use]
    #[allow(unsafe_code)]
    pub unsafe fn with_numbers(self, numbers: Vec<u64>) -> Self {
        Self(Parts { numbers, ..self.0 })
    }

    /// The same source, for a kernel each of whose blocks accesses only its own tile of an item at some ports.
    /// `columns` describes these tiles, in the order of the ports. Over host memory the engine then overlaps copies
    /// with the kernel: blocks start once their tiles are copied in, and finished tiles are copied out.
    ///
    /// # Safety
    /// The source may also be launched for some consecutive blocks of a single item. The lower half of `end - first` is
    /// 1 then, and its upper 32 bits are the number of blocks before them. [`Source::new`]'s contract holds for that
    /// part of the item's bytes. (Sources that access limbs through `Row` of `ring.cuh` need no change.)
    #[must_use]
    #[allow(unsafe_code)]
    #[doc(hidden)]
    pub unsafe fn with_columns(self, columns: Vec<Option<Columns>>) -> Self {
        Self(Parts { columns, ..self.0 })
    }

    /// The source of a kernel for a device with these limits, checked to be for this kernel.
    ///
    /// # Errors
    /// [`Error::Unsupported`](ringforge_math::Error::Unsupported) if the kernel or its blocks do not fit the device;
    /// [`Error::Kernel`](ringforge_math::Error::Kernel) if the source was made for a kernel with another name or other
    /// ports.
    #[cfg(any(feature = "cuda", feature = "testkit"))]
    #[doc(hidden)]
    pub fn of(kernel: &dyn Kernel, limits: &crate::limits::Limits) -> ringforge_math::error::Result<Self> {
        let source = kernel.source(limits)?;
        let parts = &source.0;
        if (&*parts.entry, &parts.ports[..]) != (kernel.name(), kernel.ports()) {
            let why = format!("has a source that was made for kernel {} with {} ports", parts.entry, parts.ports.len());
            return Err(ringforge_math::error::Error::Kernel { kernel: kernel.name().into(), why });
        }
        parts.built.launch.check(&parts.entry, limits)?;
        Ok(source)
    }

    /// The tiles that the blocks of an item have at each port.
    #[cfg(any(feature = "cuda", feature = "testkit"))]
    #[doc(hidden)]
    pub fn shares(&self) -> crate::columns::Shares {
        // strided items are copied whole
        let columns = if self.0.ports.iter().all(Port::is_dense) { self.0.columns.clone() } else { Vec::new() };
        crate::columns::Shares { blocks: self.0.built.launch.blocks_per_item as usize, columns }
    }

    /// The CUDA source of the entry point.
    #[must_use]
    pub fn cuda_source(&self) -> &str {
        &self.0.text
    }

    /// The headers that the source includes beyond the engine's own.
    #[must_use]
    pub fn headers(&self) -> &[Header] {
        &self.0.headers
    }

    /// The contents of `prelude.cuh`.
    #[must_use]
    pub fn prelude(&self) -> &str {
        &self.0.built.prelude
    }

    /// The launch that the source assumes.
    #[must_use]
    pub const fn launch(&self) -> Launch {
        self.0.built.launch
    }
}
