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

/// How a kernel accesses a port, one of its pointer parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Read only.
    In,
    /// Written only. The kernel writes every byte of the launched items.
    Out,
    /// Read and written.
    InOut,
}

/// Whether each item of a batch has its own memory at a port (a pointer parameter of a kernel), or all items share the
/// same memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sharing {
    /// Each item has `bytes` bytes, one item after another.
    PerItem,
    /// All items share the same `bytes` bytes.
    Shared,
}

/// One pointer parameter of a kernel, and the layout of the memory that it refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Port {
    /// Bytes per item, or the total size if all items share the port.
    pub bytes: usize,
    /// Stride in bytes from one item to the next, for [views](Kernel::on_views). `None` for contiguous items, whose
    /// stride is `bytes`.
    pub stride: Option<usize>,
    /// How the kernel accesses the port.
    pub role: Role,
    /// Whether each item has its own memory, or all items share the same memory.
    pub sharing: Sharing,
    /// Residues modulo q at this port are below `below * q`. With 1, they are canonical, or the bytes have exactly one
    /// correct value. With a larger number, residues are lazy: only their values modulo q are defined, and tests
    /// compare only these.
    pub below: u32,
    /// Whether the port holds secrets. Temporaries and staging memory that contain them are wiped.
    pub secret: bool,
    /// Whether the port holds a [`RandomKey`](crate::RandomKey), which may be used for one run only.
    pub random_key: bool,
    /// The [stream id](crate::RandomKey::block_of_stream) with which the kernel generates random blocks from the key at
    /// this port. Two steps of a pipeline must not use the same id. 0 if the kernel generates only blocks of
    /// [`RandomKey::block`](crate::RandomKey::block).
    pub stream_id: u32,
    /// Whether the port holds statuses, one 32-bit word per item. Unless the plan takes them as an input, the engine
    /// zeroes them before the first step of a run. An item for which no kernel writes a status then has status 0, which
    /// must not mean success.
    pub status: bool,
    /// Whether the contents depend on the launch's item range (batch inversion, for example), so that only another step
    /// of the same run may read this port. Tests run all items of a kernel with such a port in one launch.
    pub batch_dependent: bool,
    /// Size in bytes of each table to which the port holds a pointer; 0 if the port holds no pointers. A port with
    /// pointers must be bound to a [list](crate::kernel::Table::List) of tables of this size. A list cannot be bound to
    /// any other port.
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

    /// An input with `bytes` bytes per item.
    #[must_use]
    pub const fn input(bytes: usize) -> Self {
        Self::new(Role::In, Sharing::PerItem, bytes)
    }

    /// An output with `bytes` bytes per item.
    #[must_use]
    pub const fn output(bytes: usize) -> Self {
        Self::new(Role::Out, Sharing::PerItem, bytes)
    }

    /// A port with `bytes` bytes per item that is read and written.
    #[must_use]
    pub const fn in_out(bytes: usize) -> Self {
        Self::new(Role::InOut, Sharing::PerItem, bytes)
    }

    /// An input of `bytes` bytes that all items share.
    #[must_use]
    pub const fn shared(bytes: usize) -> Self {
        Self::new(Role::In, Sharing::Shared, bytes)
    }

    /// An input that holds pointers to `count` tables of `bytes` bytes each. All items share the tables.
    #[must_use]
    pub const fn tables(count: usize, bytes: usize) -> Self {
        Self { tables: bytes, ..Self::shared(count.saturating_mul(size_of::<u64>())) }
    }

    /// An input that holds a [`RandomKey`](crate::RandomKey), for kernels that need randomness. The key is secret and
    /// may be used for one run only.
    #[must_use]
    pub const fn random_key() -> Self {
        Self { random_key: true, ..Self::shared(crate::RandomKey::BYTES).secret() }
    }

    /// The same port, with this stream id for the random blocks that the kernel generates from the port's key.
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

    /// The same port with this stride in bytes from one item to the next. The stride exceeds the size of an item if
    /// there is other data between the items. It is 0 if all items are the same bytes.
    #[must_use]
    pub const fn with_stride(mut self, stride: usize) -> Self {
        self.stride = Some(stride);
        self
    }

    /// The stride in bytes from one item to the next.
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

    /// The same port, holding residues modulo q in the range [0, k·q).
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
    /// Items per block. If `blocks_per_item` is above 1, this is the number of items that share `blocks_per_item`
    /// blocks.
    pub items_per_block: u32,
    /// Blocks per item, or per `items_per_block` items.
    pub blocks_per_item: u32,
    /// Dynamic shared memory per block, in bytes.
    pub shared_bytes: u32,
    /// Blocks per thread-block cluster, which run at the same time and can access each other's shared memory; 1 without
    /// clusters. A launch consists of whole clusters.
    pub cluster: u32,
    /// Batch blocking: the number of items in a group, where one block processes the same tile of all items of the
    /// group. A group takes as many blocks as one item without batch blocking. The last group may be smaller. 1 without
    /// batch blocking.
    pub together: u32,
}

impl Launch {
    /// One thread per item, in blocks of `threads` threads.
    #[must_use]
    pub const fn thread_per_item(threads: u32) -> Self {
        Self { threads, items_per_block: threads, blocks_per_item: 1, shared_bytes: 0, cluster: 1, together: 1 }
    }

    /// The number of blocks for this many items. `None` if `items_per_block` or `together` is 0, or if the number
    /// overflows.
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

    /// Checks that a GPU with these limits can run a launch of this kind.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if threads, shared memory or cluster size are outside the limits, if a number is 0, or if
    /// the blocks per item are not whole clusters.
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

    /// The grid for a launch on a range of items, or for the blocks `part` of a single item.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the launch has more blocks than a GPU allows, or `part` exceeds the item's blocks;
    /// [`Error::Unsupported`] if `part` does not consist of whole clusters.
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

/// Maximum number of blocks of a launch, the same on every GPU.
#[cfg(any(feature = "cuda", feature = "testkit"))]
const MOST_BLOCKS: u32 = i32::MAX as u32;

/// The number of blocks of a launch, and the values of a kernel's last two parameters, `first` and `end`.
#[cfg(any(feature = "cuda", feature = "testkit"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    #[doc(hidden)]
    pub blocks: u32,
    #[doc(hidden)]
    pub first: u64,
    /// `first` plus the number of items. For a launch of some blocks of an item, the upper 32 bits of `end - first`
    /// hold the number of the item's blocks before the first launched one.
    #[doc(hidden)]
    pub end: u64,
}

/// One step of a plan: its ports, CPU reference implementation and CUDA source.
///
/// The trait is safe to implement: the unsafe function [`Source::new`] is where the author of the CUDA source
/// guarantees which memory the source accesses.
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

    /// Whether the port `input` may share memory with the written port `output`, so that the kernel runs in place. Only
    /// called for per-item ports. If true, the CUDA source must read all that it needs of an item's input before it
    /// writes the item's output, in any order of threads and blocks. It must also declare neither pointer
    /// `__restrict__`. On the CPU, [`Args`] copies the input if necessary.
    fn in_place(&self, _input: usize, _output: usize) -> bool {
        false
    }

    /// The same kernel on strided views. The arguments hold, for each port, the byte offset of item 0 in its memory,
    /// and the stride in bytes between items. The strides must become the new ports' [`Port::with_stride`]. Offsets
    /// need not be aligned for vector loads. Returns `None` if the CUDA source does not support these views, which are
    /// then copied first.
    fn on_views(&self, _firsts: &[usize], _distances: &[usize]) -> Option<Arc<dyn Kernel>> {
        None
    }

    /// The table at this port, if the kernel itself provides it; the port must be a [`Sharing::Shared`] input. `None`
    /// for all other ports, which are bound to arguments or temporaries of a plan.
    fn table(&self, _port: usize) -> Option<Table> {
        None
    }

    /// The CPU reference: for the items `items`, writes the same bytes as the CUDA source (equal modulo q for lazy
    /// residues). `args` holds exactly the bytes of these items, and all bytes of shared ports.
    ///
    /// # Errors
    /// [`Error::Kernel`] if `args` does not fit the ports.
    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()>;

    /// A line for printed plans: what this kernel does, beyond its name.
    fn describe(&self) -> String {
        String::new()
    }

    /// For a kernel that computes a linear combination element by element: the type of its operands, and the
    /// combination. `None` for other kernels.
    #[doc(hidden)]
    fn combination(&self) -> Option<(&PolyType, &Combination)> {
        None
    }

    /// For a kernel that multiplies the evaluations at its first two ports: their factorisation and order. `None` for
    /// other kernels.
    #[doc(hidden)]
    fn product(&self) -> Option<(&Factorization, Order)> {
        None
    }

    /// The same kernel, but it multiplies the evaluations of two elements and uses the product as its first input.
    /// `None` if the kernel does not support this.
    #[doc(hidden)]
    fn taking_product(&self, _of: (&Factorization, Order)) -> Option<Arc<dyn Kernel>> {
        None
    }

    /// The same kernel, fused with the element-wise kernel `_then`. Operand number `_term` of `_then` is the value that
    /// this kernel would store. `None` if the CUDA source does not store residues through an [`Epilogue`], or has no
    /// room for another kernel.
    #[doc(hidden)]
    fn with_epilogue(&self, _then: &Arc<dyn Kernel>, _term: usize) -> Option<Arc<dyn Kernel>> {
        None
    }
}

/// The memory of one port for a range of items, on the CPU.
pub enum Slice<'a> {
    In(&'a [u8]),
    Out(&'a mut [u8]),
    /// The memory of the output port with this index: the kernel runs in place.
    SameAs(usize),
    /// The tables of a port that reads a list of tables.
    List(Arc<[&'a [u8]]>),
    /// A port whose memory has been taken.
    Taken,
}

impl Debug for Slice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // the contents are not printed, because they may be secret
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
/// Copies of the inputs that a kernel overwrites because it runs in place. There is one entry per port, filled on
/// demand.
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
/// Inputs keep the contents from before the launch, even if the kernel runs [in place](Kernel::in_place). An input that
/// the kernel would overwrite is copied first, unless the kernel takes it with [`Args::transform`].
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
    /// [`Error::Kernel`] if the port is not an input, was taken by [`Args::transform`], or does not hold whole
    /// elements; [`Error::Alignment`] if host memory is not aligned for the elements; [`Error::OutOfMemory`] if the
    /// input must be copied and there is too little memory.
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
    /// [`Error::Kernel`] if the port does not read a list of tables, or a table does not hold whole elements;
    /// [`Error::Alignment`] if a table is not aligned for the elements.
    pub fn tables<T: Pod>(&self, port: usize) -> Result<Vec<&'a [T]>> {
        let Some(Slice::List(tables)) = self.slices.get(port) else {
            return Err(self.broken(port, &"is not a list of tables"));
        };
        tables.iter().map(|table| bytemuck::try_cast_slice(table).map_err(|e| self.not_cast::<T>(port, e))).collect()
    }

    /// The elements of a port that is written, or read and written. Each port can be taken once.
    ///
    /// # Errors
    /// [`Error::Kernel`] if the port is not written, was taken before, or does not hold whole elements;
    /// [`Error::Alignment`] if host memory is not aligned for the elements; [`Error::OutOfMemory`] if an input must be
    /// copied first and there is too little memory.
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

    /// The elements of an output port, after those of an input port of the same length were copied to it. For kernels
    /// that work in place. Nothing is copied if the two ports share memory.
    ///
    /// # Errors
    /// [`Error::Kernel`] if a port was taken before, `input` is not read, `output` is not written, or their lengths
    /// differ; also the errors of [`Args::input`] and [`Args::output`].
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

    /// Calls `run` with arguments for another kernel, `kernel`. Each port of that kernel gets the slice that `others`
    /// has for its index, else the memory of this kernel's port with the same index. Outputs are passed only if they
    /// are in `others`.
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

    /// The original contents of an input that shares memory with an output. They are copied on first use; at that time
    /// the output must not have been taken yet.
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

    /// The error for a failed cast of a port's bytes to elements of type `T`. Memory of the device is aligned for every
    /// element type, but the caller's host memory may not be.
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
