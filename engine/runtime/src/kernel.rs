//! One step of a plan: a meaning written twice, in Rust for the CPU and in CUDA text for a GPU.

mod combination;
mod custom;
mod each;
mod source;
mod table;

use core::cell::OnceCell;
use core::fmt::{self, Debug};
use core::ops::Range;
use std::sync::Arc;

use bytemuck::{Pod, PodCastError};
use zeroize::Zeroizing;

use crate::limits::Limits;
use ringforge_math::error::{Error, Result};
use ringforge_math::poly::{Order, PolyType};
use ringforge_math::split::Split;

#[doc(hidden)]
pub use combination::Combination;
pub use custom::CustomKernel;
pub use source::{Built, Epilogue, Parts, Source};
pub use table::Table;

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
pub enum Sharing {
    /// `bytes` for each item, one item after another.
    PerItem,
    /// `bytes` once, shared by all items.
    Shared,
}

/// One pointer parameter of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Port {
    /// Bytes of an item, or of the whole where it is shared.
    pub bytes: usize,
    /// Bytes from an item to the next, for [views](Kernel::on_views); else they are as many as an item has.
    pub apart: Option<usize>,
    /// How it is used.
    pub role: Role,
    /// Whether each item has its own.
    pub sharing: Sharing,
    /// Residues are below this many times q: 1 where they are canonical, or bytes that have one right value; otherwise they are
    /// equal modulo q only, and a test compares them so.
    pub below: u32,
    /// Whether it holds secrets, to be wiped from temporaries and staging memory.
    pub secret: bool,
    /// Whether it holds [`Draws`](crate::Draws), which serve one run only.
    pub draws: bool,
    /// The [series of blocks](crate::Draws::block_of_series) that the kernel takes under the key that it holds, which no other
    /// step of a pipeline may take; 0 where it takes none but attempts.
    pub series: u32,
    /// Whether it holds statuses, words that say how items fared. The engine makes them 0 before the first step of a run
    /// that does not read them: an item that no kernel reached then has the status 0, which must not mean that it is fine.
    pub status: bool,
    /// Whether items lean on their neighbours: what it holds depends on the range of items that a launch is for, and only
    /// a step of the same run knows what to make of it. Tests do not take a kernel's items apart where it has such a port.
    pub joint: bool,
    /// Bytes of each of the tables that it has pointers to; 0 where it has none. Only a [list](crate::kernel::Table::List) of such
    /// tables can be bound to it then, and to no other port.
    pub tables: usize,
}

impl Port {
    const fn new(role: Role, sharing: Sharing, bytes: usize) -> Self {
        Self {
            bytes,
            apart: None,
            role,
            sharing,
            below: 1,
            secret: false,
            draws: false,
            series: 0,
            status: false,
            joint: false,
            tables: 0,
        }
    }

    /// An input of `bytes` for each item.
    #[must_use]
    pub const fn input(bytes: usize) -> Self {
        Self::new(Role::In, Sharing::PerItem, bytes)
    }

    /// An output of `bytes` for each item.
    #[must_use]
    pub const fn output(bytes: usize) -> Self {
        Self::new(Role::Out, Sharing::PerItem, bytes)
    }

    /// A port of `bytes` for each item that is read and written.
    #[must_use]
    pub const fn in_out(bytes: usize) -> Self {
        Self::new(Role::InOut, Sharing::PerItem, bytes)
    }

    /// An input of `bytes` that all items share.
    #[must_use]
    pub const fn shared(bytes: usize) -> Self {
        Self::new(Role::In, Sharing::Shared, bytes)
    }

    /// Pointers to so many tables of so many bytes each, which all items share.
    #[must_use]
    pub const fn tables(count: usize, bytes: usize) -> Self {
        Self { tables: bytes, ..Self::shared(count.saturating_mul(size_of::<u64>())) }
    }

    /// An input of [`Draws`](crate::Draws), for kernels that need randomness: secret, and to be given to one run only.
    #[must_use]
    pub const fn draws() -> Self {
        Self { draws: true, ..Self::shared(crate::Draws::BYTES).secret() }
    }

    /// The same port, of a key under which the kernel takes this series of blocks.
    #[must_use]
    pub const fn of_series(mut self, series: u32) -> Self {
        self.series = series;
        self
    }

    /// An output of a status for each item, a word of 32 bits, which is 0 until a kernel writes it.
    #[must_use]
    pub const fn status() -> Self {
        Self { status: true, ..Self::output(size_of::<u32>()) }
    }

    /// The same port, written in place of read.
    #[must_use]
    pub const fn written(mut self) -> Self {
        self.role = Role::Out;
        self
    }

    /// The same port, read and written.
    #[must_use]
    pub const fn updated(mut self) -> Self {
        self.role = Role::InOut;
        self
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

    /// The same port, from each item to the next so many bytes: more than it has where others lie between, 0 where all items
    /// have the same.
    #[must_use]
    pub const fn apart(mut self, distance: usize) -> Self {
        self.apart = Some(distance);
        self
    }

    /// Bytes from an item to the next.
    #[must_use]
    pub const fn distance(&self) -> usize {
        match self.apart {
            Some(distance) => distance,
            None => self.bytes,
        }
    }

    /// Whether its items lie one after another.
    #[doc(hidden)]
    pub fn is_dense(&self) -> bool {
        self.sharing == Sharing::Shared || self.distance() == self.bytes
    }

    /// The bytes of an item that lies in memory whose first item has its own from `first` on.
    #[doc(hidden)]
    pub fn bytes_of(&self, item: usize, first: usize) -> Range<usize> {
        let start = first + if self.sharing == Sharing::PerItem { item * self.distance() } else { 0 };
        start..start + self.bytes
    }

    /// The same port, holding residues in [0, k·q).
    #[must_use]
    pub const fn below(mut self, k: u32) -> Self {
        self.below = k;
        self
    }
}

/// How a kernel is launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Launch {
    /// Threads of a block.
    pub threads: u32,
    /// Items that a block works on; with `blocks_per_item` above 1, that so many blocks share.
    pub items_per_block: u32,
    /// Blocks that work on an item, or on `items_per_block` of them together.
    pub blocks_per_item: u32,
    /// Bytes of dynamic shared memory of a block.
    pub shared_bytes: u32,
    /// Blocks of a thread-block cluster, neighbours that run at once and reach each other's shared memory; 1 for none. A
    /// launch is of whole clusters.
    pub cluster: u32,
    /// Items that a block has the same part of, or fewer at the end: as many blocks are launched for them as for one. Else 1.
    pub together: u32,
}

impl Launch {
    /// A launch of `threads` a block, one thread for each item.
    #[must_use]
    pub const fn thread_per_item(threads: u32) -> Self {
        Self { threads, items_per_block: threads, blocks_per_item: 1, shared_bytes: 0, cluster: 1, together: 1 }
    }

    /// Blocks for this many items; none where a block works on no items, or there are more blocks than can be counted.
    #[must_use]
    pub const fn blocks(&self, items: usize) -> Option<usize> {
        match (self.items_per_block, self.together) {
            (0, _) | (_, 0) => None,
            (per_block, together) => match items.div_ceil(together as usize).checked_mul(self.blocks_per_item as usize)
            {
                Some(shares) => Some(shares.div_ceil(per_block as usize)),
                None => None,
            },
        }
    }

    /// Whether a GPU with these limits takes such blocks.
    ///
    /// # Errors
    /// [`Error::Unsupported`].
    #[cfg(any(feature = "cuda", feature = "testkit"))]
    pub(crate) fn check(&self, kernel: &str, limits: &Limits) -> Result<()> {
        let refuse = |why: String| Err(Error::Unsupported { job: kernel.into(), why });
        let threads = limits.block_threads.unwrap_or(0);
        if self.threads == 0 || self.threads > threads {
            return refuse(format!("a block of {} threads on a device for {threads}", self.threads));
        }
        if self.shared_bytes > limits.block_shared_bytes {
            let (asked, has) = (self.shared_bytes, limits.block_shared_bytes);
            return refuse(format!("{asked} bytes of shared memory on a device with {has}"));
        }
        if self.items_per_block == 0 || self.blocks_per_item == 0 || self.together == 0 {
            return refuse("a launch of no blocks".into());
        }
        if self.cluster == 0 || self.cluster > limits.cluster_blocks {
            let (asked, most) = (self.cluster, limits.cluster_blocks);
            return refuse(format!("clusters of {asked} blocks on a device for {most}"));
        }
        if !self.blocks_per_item.is_multiple_of(self.cluster) {
            return refuse(format!("{} blocks an item in clusters of {}", self.blocks_per_item, self.cluster));
        }
        Ok(())
    }

    /// The launch for a range of items, or for some of the blocks of the one item that there is.
    ///
    /// # Errors
    /// [`Error::TooLarge`] for more blocks than a GPU takes, or than the item has; [`Error::Unsupported`] for parts of clusters.
    #[cfg(any(feature = "cuda", feature = "testkit"))]
    #[doc(hidden)]
    pub fn grid(&self, items: &Range<usize>, part: Option<&Range<usize>>) -> Result<Grid> {
        let (blocks, skipped) = part.map_or((self.blocks(items.len()), 0), |part| (Some(part.len()), part.start));
        let blocks = blocks.unwrap_or(usize::MAX);
        let (has, end) = (self.blocks_per_item as usize, part.map_or(0, |part| part.end));
        if end > has {
            return Err(Error::TooLarge { what: "the blocks of an item", limit: has, got: end });
        }
        if !blocks.is_multiple_of(self.cluster.max(1) as usize) || !skipped.is_multiple_of(self.cluster.max(1) as usize)
        {
            let why = format!("{blocks} blocks behind {skipped} others are no whole clusters of {}", self.cluster);
            return Err(Error::Unsupported { job: "a launch".into(), why });
        }
        match u32::try_from(blocks) {
            Ok(blocks) if blocks <= MOST_BLOCKS => {
                Ok(Grid { blocks, first: items.start as u64, end: items.end as u64 + ((skipped as u64) << 32) })
            }
            _ => Err(Error::TooLarge { what: "the blocks of a launch", limit: MOST_BLOCKS as usize, got: blocks }),
        }
    }
}

/// Blocks of a launch that any GPU takes.
#[cfg(any(feature = "cuda", feature = "testkit"))]
const MOST_BLOCKS: u32 = i32::MAX as u32;

/// Blocks of a launch, and the last two parameters of a kernel's text.
#[cfg(any(feature = "cuda", feature = "testkit"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    #[doc(hidden)]
    pub blocks: u32,
    #[doc(hidden)]
    pub first: u64,
    /// As many above `first` as there are items; in the upper half of the difference, the blocks that are left out
    /// before the first one.
    #[doc(hidden)]
    pub end: u64,
}

/// One step: its meaning on the CPU and its text for CUDA.
///
/// The trait is safe to implement; what a GPU does to memory is vouched for where the text becomes a [`Source`].
///
/// `Debug` must print every parameter that decides the kernel's result: tables are cached under that text.
pub trait Kernel: Debug + Send + Sync {
    /// Name of the entry point; also the stem of the file that holds its text.
    fn name(&self) -> &str;

    /// The ports, in the order of the entry point's parameters; the same at each call.
    fn ports(&self) -> &[Port];

    /// The CUDA text, made concrete for a device with these limits.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where the device cannot hold the kernel.
    fn source(&self, limits: &Limits) -> Result<Source>;

    /// Whether this input may be the same memory as this port that is written, so that the kernel runs in place; asked for
    /// ports that each item has its own bytes of. The text must then read what it needs of an item's input before it
    /// writes there, in whatever order threads and blocks run, and declare neither pointer `__restrict__`. On the CPU
    /// [`Args`] see to it.
    fn in_place(&self, _input: usize, _output: usize) -> bool {
        false
    }

    /// The same kernel on views: for each port the byte of its memory where item 0 begins, which may lie between any addresses
    /// that vector loads suit, and how many bytes it is from an item to the next, which [`Port::apart`] then says. Nothing
    /// where its text is not for such views: they are copied then.
    fn on_views(&self, _firsts: &[usize], _distances: &[usize]) -> Option<Arc<dyn Kernel>> {
        None
    }

    /// The table that this port reads, for an input of [`Sharing::Shared`] that is the kernel's own: the others are bound to
    /// values, by whoever uses the kernel.
    fn table(&self, _port: usize) -> Option<Table> {
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

    /// Of an element-wise step, the ring of the elements that are its first ports, and what it makes of them.
    #[doc(hidden)]
    fn combination(&self) -> Option<(&PolyType, &Combination)> {
        None
    }

    /// Of a step that multiplies the values that are its first two ports, the split and their order.
    #[doc(hidden)]
    fn product(&self) -> Option<(&Split, Order)> {
        None
    }

    /// The same kernel for the products of values of two elements, in place of its first input; nothing where it takes none.
    #[doc(hidden)]
    fn taking_product(&self, _of: (&Split, Order)) -> Option<Arc<dyn Kernel>> {
        None
    }

    /// The same kernel with an element-wise step fused to it, one term of which is what it would store; nothing where its text
    /// does not store residues through an `Epilogue`, or that has no room for another step.
    #[doc(hidden)]
    fn with_epilogue(&self, _then: &Arc<dyn Kernel>, _term: usize) -> Option<Arc<dyn Kernel>> {
        None
    }
}

/// Memory of one port for a range of items on the CPU.
pub enum Slice<'a> {
    In(&'a [u8]),
    Out(&'a mut [u8]),
    /// The same memory as an output port with this index: the kernel runs in place.
    SameAs(usize),
    /// Tables.
    List(Arc<[&'a [u8]]>),
    /// An output that was taken.
    Taken,
}

impl Debug for Slice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // contents may be secret
        match self {
            Self::In(bytes) => write!(f, "In({} bytes)", bytes.len()),
            Self::Out(bytes) => write!(f, "Out({} bytes)", bytes.len()),
            Self::SameAs(port) => write!(f, "SameAs({port})"),
            Self::List(tables) => write!(f, "List({})", tables.len()),
            Self::Taken => write!(f, "Taken"),
        }
    }
}

#[allow(missing_debug_implementations, reason = "it may hold secrets")]
/// What inputs held that a kernel overwrites as it reads them: one place for each port, filled where it is needed.
pub struct Copies(Vec<OnceCell<Kept>>);

/// Bytes in words that are aligned for every element; wiped in the end.
struct Kept {
    words: Zeroizing<Vec<u128>>,
    len: usize,
}

impl Kept {
    /// A copy of these bytes, where there is memory for it.
    fn new(bytes: &[u8]) -> Result<Self> {
        let (len, count) = (bytes.len(), bytes.len().div_ceil(size_of::<u128>()));
        let mut words = Zeroizing::new(Vec::new());
        words.try_reserve_exact(count).map_err(|_| Error::OutOfMemory { bytes: len })?;
        words.resize(count, 0);
        bytemuck::cast_slice_mut(&mut words)[..len].copy_from_slice(bytes);
        Ok(Self { words, len })
    }

    fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.len]
    }
}

impl Copies {
    #[doc(hidden)]
    pub fn new(ports: usize) -> Self {
        Self((0..ports).map(|_| OnceCell::new()).collect())
    }
}

/// The memory that [`Kernel::on_cpu`] works on, one entry for each port.
///
/// Inputs are what they were before the kernel began, also where it runs [in place](Kernel::in_place): of an input that it
/// overwrites there is a copy then, unless it is taken by [`Args::transform`].
pub struct Args<'a> {
    #[doc(hidden)]
    pub kernel: &'a str,
    ports: &'a [Port],
    slices: Vec<Slice<'a>>,
    copies: &'a Copies,
}

impl<'a> Args<'a> {
    #[doc(hidden)]
    pub fn new(kernel: &'a str, ports: &'a [Port], slices: Vec<Slice<'a>>, copies: &'a Copies) -> Self {
        Self { kernel, ports, slices, copies }
    }

    /// The elements of an input port.
    ///
    /// # Errors
    /// [`Error::Kernel`] if the port is no input, or [`Args::transform`] took it; [`Error::Alignment`] for host memory that
    /// is not aligned for the elements; [`Error::OutOfMemory`] where a copy is needed.
    pub fn input<T: Pod>(&self, port: usize) -> Result<&'a [T]> {
        let bytes = match self.slices.get(port) {
            Some(Slice::In(bytes)) => bytes,
            Some(Slice::SameAs(output)) => self.copy(port, *output)?,
            _ => return Err(self.broken(port, &"is no input")),
        };
        bytemuck::try_cast_slice(bytes).map_err(|e| self.not_cast::<T>(port, e))
    }

    /// The elements of each table of a port that reads a [list](Table::List) of them.
    ///
    /// # Errors
    /// [`Error::Kernel`] if the port reads no list.
    pub fn tables<T: Pod>(&self, port: usize) -> Result<Vec<&'a [T]>> {
        let Some(Slice::List(tables)) = self.slices.get(port) else {
            return Err(self.broken(port, &"is no list of tables"));
        };
        tables.iter().map(|table| bytemuck::try_cast_slice(table).map_err(|e| self.not_cast::<T>(port, e))).collect()
    }

    /// The elements of an output port, or of one that is read and written. Each can be taken once.
    ///
    /// # Errors
    /// [`Error::Kernel`] if the port is no output or was taken before; [`Error::Alignment`] and [`Error::OutOfMemory`] as
    /// [`Args::input`].
    pub fn output<T: Pod>(&mut self, port: usize) -> Result<&'a mut [T]> {
        for (input, slice) in self.slices.iter().enumerate() {
            if matches!(slice, Slice::SameAs(output) if *output == port) {
                self.copy(input, port)?;
            }
        }
        match self.slices.get_mut(port).map(|slice| core::mem::replace(slice, Slice::Taken)) {
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
            Some(Slice::SameAs(port)) if *port == output => {
                self.slices[input] = Slice::Taken;
                self.output(output)
            }
            Some(Slice::In(_) | Slice::SameAs(_)) => {
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

    /// Runs a kernel on the first of these arguments, with others at these ports; outputs are lent where they are among them.
    #[doc(hidden)]
    pub fn lend<'b, T>(
        &self,
        kernel: &dyn Kernel,
        others: impl IntoIterator<Item = (usize, Slice<'b>)>,
        run: impl FnOnce(&mut Args<'_>) -> T,
    ) -> T
    where
        'a: 'b,
    {
        let lent = |slice: &Slice<'a>| match slice {
            Slice::In(bytes) => Slice::In(bytes),
            Slice::SameAs(port) => Slice::SameAs(*port),
            Slice::List(tables) => Slice::List(tables.clone()),
            Slice::Out(_) | Slice::Taken => Slice::Taken,
        };
        let ports = kernel.ports();
        let mut slices: Vec<Slice<'_>> = self.slices.iter().take(ports.len()).map(lent).collect();
        for (port, slice) in others {
            slices[port] = slice;
        }
        let copies = Copies::new(ports.len());
        run(&mut Args::new(kernel.name(), ports, slices, &copies))
    }

    /// What an input held that is the same memory as an output, which is there until it is taken.
    fn copy(&self, input: usize, output: usize) -> Result<&'a [u8]> {
        let copies: &'a Copies = self.copies;
        let place = copies.0.get(input).ok_or_else(|| self.broken(input, &"is no port of the kernel"))?;
        if let Some(copy) = place.get() {
            return Ok(copy.bytes());
        }
        let Some(Slice::Out(bytes)) = self.slices.get(output) else {
            return Err(self.broken(input, &"is the same memory as a port that is no output"));
        };
        let copy = Kept::new(bytes)?;
        Ok(place.get_or_init(|| copy).bytes())
    }

    /// Device memory is aligned for every element; host memory is as the caller gave it.
    fn not_cast<T>(&self, port: usize, error: PodCastError) -> Error {
        self.not_cast_to(port, align_of::<T>(), error)
    }

    fn not_cast_to(&self, port: usize, needed: usize, error: PodCastError) -> Error {
        match error {
            PodCastError::TargetAlignmentGreaterAndInputNotAligned => {
                Error::Alignment { what: "host memory of an argument", needed }
            }
            _ => {
                let Some(Port { bytes, role, .. }) = self.ports.get(port) else {
                    return self.broken(port, &"is asked for, and is not there");
                };
                let role = if *role == Role::In { "is read" } else { "is written" };
                let why = format!("{role} and has {bytes} bytes an item, which what the kernel asks for does not fit");
                self.broken(port, &why)
            }
        }
    }

    fn broken(&self, port: usize, why: &dyn fmt::Display) -> Error {
        Error::Kernel { kernel: self.kernel.into(), why: format!("port {port} {why}") }
    }
}

impl Debug for Args<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Args({}, {:?})", self.kernel, self.slices)
    }
}

#[cfg(all(test, any(feature = "cuda", feature = "testkit")))]
mod tests {
    use super::*;

    #[test]
    fn launches_have_no_blocks_beyond_an_item() {
        let launch = Launch { items_per_block: 1, blocks_per_item: 8, ..Launch::thread_per_item(32) };
        assert_eq!(launch.grid(&(2..5), None), Ok(Grid { blocks: 24, first: 2, end: 5 }));
        let pairs = Launch { together: 2, ..launch };
        assert_eq!(pairs.grid(&(2..5), None), Ok(Grid { blocks: 16, first: 2, end: 5 }));
        assert_eq!(pairs.grid(&(2..3), Some(&(3..8))), Ok(Grid { blocks: 5, first: 2, end: 3 + (3 << 32) }));
        assert_eq!(launch.grid(&(2..3), Some(&(3..8))), Ok(Grid { blocks: 5, first: 2, end: 3 + (3 << 32) }));
        assert_eq!(
            launch.grid(&(2..3), Some(&(3..9))),
            Err(Error::TooLarge { what: "the blocks of an item", limit: 8, got: 9 })
        );
    }
}
