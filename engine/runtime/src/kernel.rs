//! Kernels: single steps of a plan, each written twice, as a CPU reference in Rust and as CUDA source for a GPU.

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
use ringforge_math::factorization::Factorization;
use ringforge_math::poly::{Order, PolyType};

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

/// Whether a port has memory for each item, or one piece that all items share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sharing {
    /// `bytes` per item, one item after another.
    PerItem,
    /// `bytes` once, shared by all items.
    Shared,
}

/// One pointer parameter of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Port {
    /// Bytes per item; the total size if the port is shared.
    pub bytes: usize,
    /// Stride in bytes from an item to the next, for [views](Kernel::on_views). `None` for contiguous items, whose
    /// stride is `bytes`.
    pub stride: Option<usize>,
    /// How the kernel uses the port.
    pub role: Role,
    /// Whether each item has memory of its own, or all share it.
    pub sharing: Sharing,
    /// Residues are below this many times q. 1 stands for canonical residues, and for bytes that have one right value.
    /// Above 1, residues are lazy: they are defined modulo q only, and tests compare them so.
    pub below: u32,
    /// Whether the port holds secrets, which are wiped from temporaries and staging memory.
    pub secret: bool,
    /// Whether the port holds [`RandomKey`](crate::RandomKey), which may be used for one run only.
    pub random_key: bool,
    /// The [stream id](crate::RandomKey::block_of_stream) under which the kernel draws blocks with the key at this port. No
    /// other step of a pipeline may use the same one. 0 if the kernel draws attempts only.
    pub stream_id: u32,
    /// Whether the port holds statuses, one word per item. The engine zeroes them before the first step of a run that
    /// does not read them. An item that no kernel reached then has status 0, which must not mean success.
    pub status: bool,
    /// Whether the contents depend on the launch's item range (batch inversion, for example), so that only another step
    /// of the same run may read this port. Tests do not split the items of a kernel with such a port.
    pub batch_dependent: bool,
    /// Size in bytes of each table that the port holds a pointer to; 0 if it holds no pointers. Only a
    /// [list](crate::kernel::Table::List) of such tables can be bound to such a port, and a list to no other port.
    pub tables: usize,
}

impl Port {
    const fn new(role: Role, sharing: Sharing, bytes: usize) -> Self {
        Self {
            bytes,
            stride: None,
            role,
            sharing,
            below: 1,
            secret: false,
            random_key: false,
            stream_id: 0,
            status: false,
            batch_dependent: false,
            tables: 0,
        }
    }

    /// An input of `bytes` per item.
    #[must_use]
    pub const fn input(bytes: usize) -> Self {
        Self::new(Role::In, Sharing::PerItem, bytes)
    }

    /// An output of `bytes` per item.
    #[must_use]
    pub const fn output(bytes: usize) -> Self {
        Self::new(Role::Out, Sharing::PerItem, bytes)
    }

    /// A port of `bytes` per item that is read and written.
    #[must_use]
    pub const fn in_out(bytes: usize) -> Self {
        Self::new(Role::InOut, Sharing::PerItem, bytes)
    }

    /// An input of `bytes` that all items share.
    #[must_use]
    pub const fn shared(bytes: usize) -> Self {
        Self::new(Role::In, Sharing::Shared, bytes)
    }

    /// Pointers to `count` tables of `bytes` bytes each, which all items share.
    #[must_use]
    pub const fn tables(count: usize, bytes: usize) -> Self {
        Self { tables: bytes, ..Self::shared(count.saturating_mul(size_of::<u64>())) }
    }

    /// An input of [`RandomKey`](crate::RandomKey), for kernels that need randomness. It is secret and may be used for one run
    /// only.
    #[must_use]
    pub const fn random_key() -> Self {
        Self { random_key: true, ..Self::shared(crate::RandomKey::BYTES).secret() }
    }

    /// The same port, whose key the kernel uses with this stream id.
    #[must_use]
    pub const fn with_stream_id(mut self, stream_id: u32) -> Self {
        self.stream_id = stream_id;
        self
    }

    /// An output of one status per item, a 32-bit word that is 0 until a kernel writes it.
    #[must_use]
    pub const fn status() -> Self {
        Self { status: true, ..Self::output(size_of::<u32>()) }
    }

    /// The same port, written instead of read.
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

    /// The same port, with contents that depend on the launch's item range.
    #[must_use]
    pub const fn batch_dependent(mut self) -> Self {
        self.batch_dependent = true;
        self
    }

    /// The same port with this stride in bytes from an item to the next. It is larger than an item if other data lies
    /// between, and 0 if all items are the same bytes.
    #[must_use]
    pub const fn with_stride(mut self, stride: usize) -> Self {
        self.stride = Some(stride);
        self
    }

    /// The stride in bytes from an item to the next.
    #[must_use]
    pub const fn stride(&self) -> usize {
        match self.stride {
            Some(stride) => stride,
            None => self.bytes,
        }
    }

    /// Whether the items are contiguous. Always true for a shared port.
    #[doc(hidden)]
    pub fn is_dense(&self) -> bool {
        self.sharing == Sharing::Shared || self.stride() == self.bytes
    }

    /// The byte range of an item, in memory where item 0 begins at byte `first`.
    #[doc(hidden)]
    pub fn bytes_of(&self, item: usize, first: usize) -> Range<usize> {
        let start = first + if self.sharing == Sharing::PerItem { item * self.stride() } else { 0 };
        start..start + self.bytes
    }

    /// The same port, holding residues in [0, k·q).
    #[must_use]
    pub const fn below(mut self, k: u32) -> Self {
        self.below = k;
        self
    }
}

/// The launch configuration of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Launch {
    /// Threads per block.
    pub threads: u32,
    /// Items per block. If `blocks_per_item` is above 1, the number of items that share `blocks_per_item` blocks.
    pub items_per_block: u32,
    /// Blocks per item, or per `items_per_block` items.
    pub blocks_per_item: u32,
    /// Dynamic shared memory per block, in bytes.
    pub shared_bytes: u32,
    /// Blocks per thread-block cluster, which run at the same time and can access each other's shared memory; 1 without
    /// clusters. A launch consists of whole clusters.
    pub cluster: u32,
    /// Batch blocking: the number of items whose same tile one block processes together; the last group may be smaller.
    /// A group takes as many blocks as one item. 1 without batch blocking.
    pub together: u32,
}

impl Launch {
    /// One thread per item, in blocks of `threads` threads.
    #[must_use]
    pub const fn thread_per_item(threads: u32) -> Self {
        Self { threads, items_per_block: threads, blocks_per_item: 1, shared_bytes: 0, cluster: 1, together: 1 }
    }

    /// The number of blocks for this many items. `None` if a block takes no items, or if the number overflows.
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

    /// Checks that a GPU with these limits can run such blocks.
    ///
    /// # Errors
    /// [`Error::Unsupported`].
    #[cfg(any(feature = "cuda", feature = "testkit"))]
    pub(crate) fn check(&self, kernel: &str, limits: &Limits) -> Result<()> {
        let refuse = |why: String| Err(Error::Unsupported { job: kernel.into(), why });
        let threads = limits.block_threads.unwrap_or(0);
        if self.threads == 0 || self.threads > threads {
            return refuse(format!("a block has {} threads, but must have 1 to {threads}", self.threads));
        }
        if self.shared_bytes > limits.block_shared_bytes {
            let (asked, has) = (self.shared_bytes, limits.block_shared_bytes);
            return refuse(format!("a block needs {asked} bytes of shared memory, but the device has {has}"));
        }
        if self.items_per_block == 0 || self.blocks_per_item == 0 || self.together == 0 {
            return refuse("its launch has no blocks".into());
        }
        if self.cluster == 0 || self.cluster > limits.cluster_blocks {
            let (asked, most) = (self.cluster, limits.cluster_blocks);
            return refuse(format!("a cluster has {asked} blocks, but must have 1 to {most}"));
        }
        if !self.blocks_per_item.is_multiple_of(self.cluster) {
            return refuse(format!(
                "{} blocks per item are not a multiple of the cluster size {}",
                self.blocks_per_item, self.cluster
            ));
        }
        Ok(())
    }

    /// The grid for a range of items, or for the blocks `part` of a single item.
    ///
    /// # Errors
    /// [`Error::TooLarge`] for more blocks than a GPU allows, or than the item has; [`Error::Unsupported`] if a cluster
    /// is cut.
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
            let why =
                format!("{blocks} blocks after {skipped} skipped ones are not whole clusters of {}", self.cluster);
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

/// Maximum blocks of a launch, the same on every GPU.
#[cfg(any(feature = "cuda", feature = "testkit"))]
const MOST_BLOCKS: u32 = i32::MAX as u32;

/// The number of blocks of a launch, and the last two parameters of a kernel, `first` and `end`.
#[cfg(any(feature = "cuda", feature = "testkit"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    #[doc(hidden)]
    pub blocks: u32,
    #[doc(hidden)]
    pub first: u64,
    /// `first` plus the number of items. The upper 32 bits of `end - first` hold the number of blocks skipped before
    /// the first one.
    #[doc(hidden)]
    pub end: u64,
}

/// One step of a plan: its ports, CPU reference implementation and CUDA source.
///
/// The trait is safe to implement. The promise about what a GPU does to memory is made where the CUDA source becomes a
/// [`Source`].
///
/// `Debug` must print every parameter that affects the result, because tables are cached under its output.
pub trait Kernel: Debug + Send + Sync {
    /// Name of the entry point, and stem of its source file.
    fn name(&self) -> &str;

    /// The ports, in the order of the entry point's parameters. Must be the same at each call.
    fn ports(&self) -> &[Port];

    /// The CUDA source, specialised for a device with these limits.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the kernel does not fit the device.
    fn source(&self, limits: &Limits) -> Result<Source>;

    /// Whether this input may share memory with this written port, so that the kernel runs in place. It is asked for
    /// per-item ports only. The CUDA source must then read what it needs of an item's input before it writes there, in
    /// any order of threads and blocks. It must declare neither pointer `__restrict__`. On the CPU, [`Args`] take care
    /// of this.
    fn in_place(&self, _input: usize, _output: usize) -> bool {
        false
    }

    /// The same kernel on strided views. For each port, the arguments are the byte offset of item 0 in its memory and
    /// the stride in bytes between items, which must be the new port's [`Port::with_stride`]. Offsets need not be aligned for
    /// vector loads. Returns `None` if the CUDA source cannot work on such views, which are then copied first.
    fn on_views(&self, _firsts: &[usize], _distances: &[usize]) -> Option<Arc<dyn Kernel>> {
        None
    }

    /// The table that this port reads, if it is a [`Sharing::Shared`] input that the kernel itself provides. The user
    /// of the kernel binds all other ports to values.
    fn table(&self, _port: usize) -> Option<Table> {
        None
    }

    /// CPU reference: writes the same bytes as the CUDA source (modulo q for lazy residues), for the items `items`.
    /// `args` holds exactly the bytes of these items, and all bytes of shared ports.
    ///
    /// # Errors
    /// [`Error::Kernel`] if `args` does not fit the ports.
    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()>;

    /// A line for printed plans: what this kernel does, beyond its name.
    fn describe(&self) -> String {
        String::new()
    }

    /// For an element-wise step: the type of the elements at its first ports, and the linear combination that it
    /// computes.
    #[doc(hidden)]
    fn combination(&self) -> Option<(&PolyType, &Combination)> {
        None
    }

    /// For a step that multiplies the evaluations at its first two ports: their factorisation and order.
    #[doc(hidden)]
    fn product(&self) -> Option<(&Factorization, Order)> {
        None
    }

    /// The same kernel, with the product of two elements' evaluations in place of its first input. `None` if the kernel
    /// does not support this.
    #[doc(hidden)]
    fn taking_product(&self, _of: (&Factorization, Order)) -> Option<Arc<dyn Kernel>> {
        None
    }

    /// The same kernel with an element-wise step fused to it, one term of which is the value that this kernel would
    /// store. `None` if its CUDA source does not store residues through an `Epilogue`, or has no room for another step.
    #[doc(hidden)]
    fn with_epilogue(&self, _then: &Arc<dyn Kernel>, _term: usize) -> Option<Arc<dyn Kernel>> {
        None
    }
}

/// The memory of one port for a range of items on the CPU.
pub enum Slice<'a> {
    In(&'a [u8]),
    Out(&'a mut [u8]),
    /// The memory of the output port with this index: the kernel runs in place.
    SameAs(usize),
    /// The tables of a list.
    List(Arc<[&'a [u8]]>),
    /// A port whose memory has been taken.
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
/// Copies of inputs that a kernel overwrites when it runs in place: one entry per port, filled on demand.
pub struct Copies(Vec<OnceCell<Kept>>);

/// A copy of bytes, aligned for every element type and wiped on drop.
struct Kept {
    words: Zeroizing<Vec<u128>>,
    len: usize,
}

impl Kept {
    /// Copies these bytes, or fails if there is no memory for the copy.
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
/// Inputs keep their contents from before the kernel began, even if it runs [in place](Kernel::in_place). An input that
/// the kernel overwrites is copied first, unless [`Args::transform`] takes it.
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
    /// [`Error::Kernel`] if the port is not an input, or was taken by [`Args::transform`]; [`Error::Alignment`] if host
    /// memory is not aligned for the elements; [`Error::OutOfMemory`] if a copy is needed and does not fit.
    pub fn input<T: Pod>(&self, port: usize) -> Result<&'a [T]> {
        let bytes = match self.slices.get(port) {
            Some(Slice::In(bytes)) => bytes,
            Some(Slice::SameAs(output)) => self.copy(port, *output)?,
            _ => return Err(self.broken(port, &"is not an input, or was already taken")),
        };
        bytemuck::try_cast_slice(bytes).map_err(|e| self.not_cast::<T>(port, e))
    }

    /// The elements of each table, for a port that reads a [list](Table::List) of tables.
    ///
    /// # Errors
    /// [`Error::Kernel`] if the port does not read a list.
    pub fn tables<T: Pod>(&self, port: usize) -> Result<Vec<&'a [T]>> {
        let Some(Slice::List(tables)) = self.slices.get(port) else {
            return Err(self.broken(port, &"is not a list of tables"));
        };
        tables.iter().map(|table| bytemuck::try_cast_slice(table).map_err(|e| self.not_cast::<T>(port, e))).collect()
    }

    /// The elements of a port that is written, or read and written. Each port can be taken once.
    ///
    /// # Errors
    /// [`Error::Kernel`] if the port is not written or was taken before; [`Error::Alignment`] and
    /// [`Error::OutOfMemory`] as for [`Args::input`].
    pub fn output<T: Pod>(&mut self, port: usize) -> Result<&'a mut [T]> {
        for (input, slice) in self.slices.iter().enumerate() {
            if matches!(slice, Slice::SameAs(output) if *output == port) {
                self.copy(input, port)?;
            }
        }
        match self.slices.get_mut(port).map(|slice| core::mem::replace(slice, Slice::Taken)) {
            Some(Slice::Out(bytes)) => bytemuck::try_cast_slice_mut(bytes).map_err(|e| self.not_cast::<T>(port, e)),
            _ => Err(self.broken(port, &"is not an output, or was already taken")),
        }
    }

    /// The elements of an output port, filled with those of an input port of the same length, for kernels that work in
    /// place. Nothing is copied if the two ports share memory.
    ///
    /// # Errors
    /// [`Error::Kernel`] unless the ports are such a pair.
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
                    return Err(self.broken(input, &"must have the length of its output"));
                }
                to.copy_from_slice(from);
                Ok(to)
            }
            _ => Err(self.broken(input, &"is not an input, or was already taken")),
        }
    }

    /// Calls `run` with arguments for `kernel`: those of the same ports here, except where `others` replaces them.
    /// Outputs are passed on only if they are among `others`.
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

    /// The original contents of an input that shares memory with an output. They are copied on first use, before which
    /// the output must not have been taken.
    fn copy(&self, input: usize, output: usize) -> Result<&'a [u8]> {
        let copies: &'a Copies = self.copies;
        let place = copies.0.get(input).ok_or_else(|| self.broken(input, &"is not a port of the kernel"))?;
        if let Some(copy) = place.get() {
            return Ok(copy.bytes());
        }
        let Some(Slice::Out(bytes)) = self.slices.get(output) else {
            return Err(self.broken(input, &"shares memory with a port that is not an output, or was already taken"));
        };
        let copy = Kept::new(bytes)?;
        Ok(place.get_or_init(|| copy).bytes())
    }

    /// The error for a cast that failed. Device memory is aligned for every element type; host memory is as the caller
    /// passed it.
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
                    return self.broken(port, &"does not exist");
                };
                let role = if *role == Role::In { "is read" } else { "is written" };
                let why = format!("{role} with {bytes} bytes per item, which must be a multiple of the element size");
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
