//! One step of a plan: a meaning written twice, in Rust for the CPU and in CUDA text for a GPU.

use core::fmt::{self, Debug};
use core::ops::Range;

use bytemuck::{Pod, PodCastError};

use crate::columns::Columns;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::source::Source;

/// How a kernel uses a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Read only.
    In,
    /// Written only; every byte of the launched items is written.
    Out,
    /// Read and written.
    InOut,
}

/// What a port holds for a launch of many items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Per {
    /// `bytes` for each item, one item after another.
    Item,
    /// `bytes` once, shared by all items.
    Shared,
}

/// What values a port holds, and what a test may compare bit for bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Values {
    /// Residues in [0, q), or bytes that have one right value.
    Canonical,
    /// Residues in [0, k·q): equal modulo q only.
    Below(u32),
}

/// One pointer parameter of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Port {
    /// Bytes of an item, or of the whole where it is shared.
    pub bytes: usize,
    /// How it is used.
    pub role: Role,
    /// Whether each item has its own.
    pub per: Per,
    /// What values it holds.
    pub range: Values,
    /// Whether it holds secrets, to be wiped from temporaries and staging memory.
    pub secret: bool,
    /// Whether it holds [`Draws`](crate::Draws), which serve one run only.
    pub draws: bool,
    /// Whether it holds statuses, words that say how items fared. The engine makes them 0 before the first step of a run
    /// that does not read them: an item that no kernel reached then has the status 0, which must not mean that it is fine.
    pub status: bool,
    /// Whether items lean on their neighbours: what it holds depends on the range of items that a launch is for, and only
    /// a step of the same run knows what to make of it. Tests do not take a kernel's items apart where it has such a port.
    pub joint: bool,
}

impl Port {
    const fn new(role: Role, per: Per, bytes: usize) -> Self {
        Self { bytes, role, per, range: Values::Canonical, secret: false, draws: false, status: false, joint: false }
    }

    /// An input of `bytes` for each item.
    #[must_use]
    pub const fn input(bytes: usize) -> Self {
        Self::new(Role::In, Per::Item, bytes)
    }

    /// An output of `bytes` for each item.
    #[must_use]
    pub const fn output(bytes: usize) -> Self {
        Self::new(Role::Out, Per::Item, bytes)
    }

    /// A port of `bytes` for each item that is read and written.
    #[must_use]
    pub const fn in_out(bytes: usize) -> Self {
        Self::new(Role::InOut, Per::Item, bytes)
    }

    /// An input of `bytes` that all items share.
    #[must_use]
    pub const fn shared(bytes: usize) -> Self {
        Self::new(Role::In, Per::Shared, bytes)
    }

    /// An input of [`Draws`](crate::Draws), for kernels that need randomness: secret, and never given to two runs.
    #[must_use]
    pub const fn draws() -> Self {
        Self { draws: true, ..Self::shared(crate::Draws::BYTES).secret() }
    }

    /// An output of a status for each item, a word of 32 bits, which is 0 until a kernel writes it.
    #[must_use]
    pub const fn status() -> Self {
        Self { status: true, ..Self::output(size_of::<u32>()) }
    }

    /// The same port, holding secrets.
    #[must_use]
    pub const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    /// The same port, of temporary items that depend on the range of a launch.
    #[must_use]
    pub const fn joint(mut self) -> Self {
        self.joint = true;
        self
    }

    /// The same port, holding residues in [0, k·q).
    #[must_use]
    pub const fn below(mut self, k: u32) -> Self {
        self.range = Values::Below(k);
        self
    }
}

/// How a kernel is launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Launch {
    /// Threads of a block.
    pub threads: u32,
    /// Items that a block works on; 1 where an item takes several blocks.
    pub items_per_block: u32,
    /// Blocks that work on one item; 1 where a block works on several items.
    pub blocks_per_item: u32,
    /// Bytes of dynamic shared memory of a block.
    pub shared_bytes: u32,
}

impl Launch {
    /// A launch of `threads` a block, one thread for each item.
    #[must_use]
    pub const fn thread_per_item(threads: u32) -> Self {
        Self { threads, items_per_block: threads, blocks_per_item: 1, shared_bytes: 0 }
    }

    /// Blocks for this many items.
    #[must_use]
    pub const fn blocks(&self, items: usize) -> usize {
        items.div_ceil(self.items_per_block as usize) * self.blocks_per_item as usize
    }

    /// The launch for a range of items, or for some of the blocks of the one item that there is.
    #[cfg(any(feature = "cuda", feature = "testkit"))]
    pub(crate) fn grid(&self, items: &Range<usize>, part: Option<&Range<usize>>) -> Grid {
        let (blocks, skipped) = part.map_or((self.blocks(items.len()), 0), |part| (part.len(), part.start));
        Grid { blocks, first: items.start as u64, end: items.end as u64 + ((skipped as u64) << 32) }
    }
}

/// Blocks of a launch, and the last two parameters of a kernel's text.
#[cfg(any(feature = "cuda", feature = "testkit"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grid {
    pub(crate) blocks: usize,
    pub(crate) first: u64,
    /// As many above `first` as there are items; in the upper half of the difference, the blocks that are left out
    /// before the first one.
    pub(crate) end: u64,
}

/// One step: its meaning on the CPU and its text for CUDA.
///
/// The trait is safe to implement; what a GPU does to memory is vouched for where the text becomes a [`Source`].
///
/// `Debug` must print every parameter that decides the kernel's result: tables are cached under that text.
pub trait Kernel: Debug + Send + Sync {
    /// Name of the entry point; also the stem of the file that holds its text.
    fn name(&self) -> &'static str;

    /// The ports, in the order of the entry point's parameters; the same at each call.
    fn ports(&self) -> &[Port];

    /// The CUDA text, made concrete for a device with these limits.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where the device cannot hold the kernel.
    fn source(&self, limits: &Limits) -> Result<Source>;

    /// For a port of items of which each block reads, or writes, a part of its own and nothing else: how the blocks share
    /// it out. Over host memory the engine then starts with what was copied already, and copies what is done already.
    ///
    /// Such a kernel is also launched for some neighbouring blocks of a single item. `end - first` then is 1, and its
    /// upper 32 bits count the blocks before them: what works on rows by `Row` of `ring.cuh` need not care.
    fn columns(&self, _port: usize, _limits: &Limits) -> Option<Columns> {
        None
    }

    /// What the kernel means: the same bytes that its text writes (modulo q for ranged ports), for the items `items`.
    /// `args` holds exactly the bytes of these items, and the whole of shared ports.
    ///
    /// # Errors
    /// [`Error::Kernel`] where `args` does not fit the ports.
    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()>;

    /// A line for printed plans: what this kernel does beyond its name.
    fn describe(&self) -> String {
        String::new()
    }
}

/// Memory of one port for a range of items on the CPU.
pub(crate) enum Slice<'a> {
    In(&'a [u8]),
    Out(&'a mut [u8]),
    /// The same memory as an output port with this index: the kernel runs in place.
    SameAs(usize),
}

impl Debug for Slice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // contents may be secret
        match self {
            Self::In(bytes) => write!(f, "In({} bytes)", bytes.len()),
            Self::Out(bytes) => write!(f, "Out({} bytes)", bytes.len()),
            Self::SameAs(port) => write!(f, "SameAs({port})"),
        }
    }
}

/// The memory that [`Kernel::on_cpu`] works on, one entry for each port.
#[derive(Debug)]
pub struct Args<'a> {
    pub(crate) kernel: &'static str,
    pub(crate) slices: Vec<Slice<'a>>,
}

impl<'a> Args<'a> {
    /// The elements of an input port.
    ///
    /// # Errors
    /// [`Error::Kernel`] if the port is no input, or runs in place with an output: use [`Args::transform`] there;
    /// [`Error::Alignment`] for host memory that is not aligned for the elements.
    pub fn input<T: Pod>(&self, port: usize) -> Result<&'a [T]> {
        match self.slices.get(port) {
            Some(Slice::In(bytes)) => bytemuck::try_cast_slice(bytes).map_err(|e| self.not_cast::<T>(port, e)),
            _ => Err(self.broken(port, &"is no separate input")),
        }
    }

    /// The elements of an output port, or of one that is read and written. Each can be taken once.
    ///
    /// # Errors
    /// [`Error::Kernel`] if the port is no output or was taken before; [`Error::Alignment`] as [`Args::input`].
    pub fn output<T: Pod>(&mut self, port: usize) -> Result<&'a mut [T]> {
        match self.slices.get_mut(port).map(|slice| core::mem::replace(slice, Slice::SameAs(usize::MAX))) {
            Some(Slice::Out(bytes)) => bytemuck::try_cast_slice_mut(bytes).map_err(|e| self.not_cast::<T>(port, e)),
            _ => Err(self.broken(port, &"is no output, or was taken before")),
        }
    }

    /// The elements of an output port, filled with those of an input port of the same length: for kernels that work in
    /// place. Where the two ports are the same memory, nothing is copied.
    ///
    /// # Errors
    /// [`Error::Kernel`] if the ports are no such pair.
    pub fn transform<T: Pod>(&mut self, input: usize, output: usize) -> Result<&'a mut [T]> {
        match self.slices.get(input) {
            Some(Slice::SameAs(port)) if *port == output => self.output(output),
            Some(Slice::In(_)) => {
                let from = self.input::<T>(input)?;
                let to = self.output::<T>(output)?;
                if from.len() != to.len() {
                    return Err(self.broken(input, &"differs in length from its output"));
                }
                to.copy_from_slice(from);
                Ok(to)
            }
            _ => Err(self.broken(input, &"is no input")),
        }
    }

    /// Device memory is aligned for every element; host memory is as the caller gave it.
    fn not_cast<T>(&self, port: usize, error: PodCastError) -> Error {
        match error {
            PodCastError::TargetAlignmentGreaterAndInputNotAligned => {
                Error::Alignment { what: "host memory of an argument", needed: align_of::<T>() }
            }
            other => self.broken(port, &other),
        }
    }

    fn broken(&self, port: usize, why: &dyn fmt::Display) -> Error {
        Error::Kernel { kernel: self.kernel.into(), why: format!("port {port} {why}") }
    }
}
