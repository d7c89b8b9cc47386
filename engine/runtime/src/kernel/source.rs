//! The CUDA source of a kernel, specialised for a device. Sources are trusted code; [`Source::new`] states what they
//! are trusted to do.

use core::fmt;
use std::borrow::Cow;

use ringforge_kernels::Header;

use crate::kernel::{Kernel, Launch, Port};
use crate::tiles::TileGrid;

/// The generated parts of a [`Source`]: the header `prelude.cuh`, and the launch configuration that the kernel assumes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Built {
    /// Contents of `prelude.cuh`: constants and types that the kernel's CUDA source uses.
    pub prelude: String,
    /// The launch configuration.
    pub launch: Launch,
}

impl Built {
    /// The launch configuration `launch`, with a prelude that includes `word.cuh`.
    #[must_use]
    pub fn new(launch: Launch) -> Self {
        Self { prelude: "#pragma once\n#include \"word.cuh\"\n".into(), launch }
    }

    /// A launch with one thread per item, in blocks of `threads` threads.
    #[must_use]
    pub fn thread_per_item(threads: u32) -> Self {
        Self::new(Launch::thread_per_item(threads))
    }

    /// A launch with one block of `threads` threads per item.
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

    /// Appends lines of CUDA source to the prelude: types and functions that the kernel's source uses.
    #[must_use]
    pub fn lines(mut self, lines: &str) -> Self {
        self.prelude += lines;
        self
    }
}

/// The CUDA source of a kernel for a device, with everything that determines which memory the kernel accesses. It is
/// trusted code.
///
/// The source may include the engine's headers and its own, and `prelude.cuh` after them. Dynamic shared memory is
/// declared by `RF_SHARED(name);`; there must be no other shared memory.
///
/// A GPU checks no bounds, so the author guarantees with the `unsafe` of [`Source::new`] which memory the source
/// accesses. All other code of a kernel is safe. The guarantee holds for one kernel name and one list of ports. The
/// engine compares both, so a source cannot be used for another kernel.
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
    pub columns: Vec<Option<TileGrid>>,
    pub epilogue: Option<Epilogue>,
    /// Whether the source waits for earlier launches (`follow` in `word.cuh`) before it touches memory. Its launch may
    /// then begin before the earlier ones end (programmatic dependent launch).
    pub follows: bool,
}

/// The struct parameter of a source that stores residues through an `Epilogue` of the prelude. The struct holds the
/// last `pointers` pointers and the first `numbers` run-time constants. It is empty if no element-wise kernel is fused.
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
    /// - it takes no addresses from elsewhere, neither from the prelude nor from the contents of a port. The only
    ///   exception is a port with [tables](crate::kernel::Port::tables), each of whose pointers is to that many bytes.
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

    /// The parts of the source.
    #[doc(hidden)]
    #[must_use]
    pub fn parts(&self) -> &Parts {
        &self.0
    }

    /// The parts, without a copy.
    #[cfg(feature = "cuda")]
    pub(crate) fn into_parts(self) -> Parts {
        self.0
    }

    /// The same source, with its parts changed.
    ///
    /// # Safety
    /// The changed source must fulfil the contracts of [`Source::new`], [`Source::with_numbers`] and
    /// [`Source::with_tiles`].
    #[doc(hidden)]
    #[must_use]
    #[allow(unsafe_code)]
    pub unsafe fn with(mut self, change: impl FnOnce(&mut Parts)) -> Self {
        change(&mut self.0);
        self
    }

    /// The same source, with these run-time constants as parameters after its pointers. They hold values that differ
    /// between kernels, such as the number of limbs (residue polynomials) of an item, so that the source need not be
    /// compiled for each kernel.
    ///
    /// # Safety
    /// The entry point has one `u64` parameter for each number, between the pointers and `first`. [`Source::new`]'s
    /// contract holds with these values.
    #[must_use]
    #[allow(unsafe_code)]
    pub unsafe fn with_numbers(self, numbers: Vec<u64>) -> Self {
        Self(Parts { numbers, ..self.0 })
    }

    /// The same source, with the declaration that at some ports each block accesses only its own tile of an item.
    /// `columns` describes these tiles, in the order of the ports. For runs over host memory, the engine then overlaps
    /// copies with the kernel: blocks start when their tiles are copied in, and finished tiles are copied out.
    ///
    /// # Safety
    /// The source may also be launched for some consecutive blocks of a single item. Then the lower 32 bits of `end -
    /// first` are 1, and the upper 32 bits are the number of the item's blocks before the first launched one.
    /// [`Source::new`]'s contract must hold for the tiles of the launched blocks. (Sources that access limbs through
    /// `Row` of `ring.cuh` need no change.)
    #[must_use]
    #[allow(unsafe_code)]
    #[doc(hidden)]
    pub unsafe fn with_tiles(self, columns: Vec<Option<TileGrid>>) -> Self {
        Self(Parts { columns, ..self.0 })
    }

    /// The source of `kernel` for a device with these limits. Checks that the source was made for this kernel and that
    /// its launch fits the limits.
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

    /// The tiles into which the blocks of an item divide each port.
    #[cfg(any(feature = "cuda", feature = "testkit"))]
    #[doc(hidden)]
    pub fn shares(&self) -> crate::tiles::Tiles {
        // items with a stride are copied whole, so their tiles are not needed
        let columns = if self.0.ports.iter().all(Port::is_dense) { self.0.columns.clone() } else { Vec::new() };
        crate::tiles::Tiles { blocks: self.0.built.launch.blocks_per_item as usize, columns }
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

    /// The launch configuration that the source assumes.
    #[must_use]
    pub const fn launch(&self) -> Launch {
        self.0.built.launch
    }
}
