//! The layout of a ring's limbs in a kernel: one value from which its ports, tables, prelude and launch derive.

pub(crate) mod block;
mod constants;
pub(crate) mod twiddles;

use core::ops::Range;
use core::{fmt, iter, slice};

use crypto_bigint::U256;
use ringforge_cpu::Layout;

use crate::arithmetic::Arithmetic;
use crate::job::Job;
use crate::tuning::Choice;
use ringforge_math::error::{Error, Result};
use ringforge_math::factorization::Factorization;
use ringforge_math::modulus::Width;
use ringforge_math::poly::{Order, PolyType};
use ringforge_runtime::kernel::{Built, Launch, Port, Sharing, Source, Table};
use ringforge_runtime::limits::Limits;

use block::{Block, groups, parts};
use twiddles::table;

/// How a kernel works on limbs ("rows") of a ring. A limb is one polynomial modulo one modulus, held in the registers
/// of the threads that share it.
///
/// The ports, the twiddle tables, the constants and the `struct Rq` of the CUDA source (see `kernels/README.md`) all
/// derive from one value of this type, so they agree.
///
/// ```
/// # use ringforge::{Limits, Modulus, Ring};
/// # use ringforge::kernels::KernelLayout;
/// let ring = Ring::negacyclic(256, Modulus::new(3329u32)?)?;
/// let limits = Limits::of_capability(90);
/// // two polynomials in registers at once, three limbs per item, and 512 bytes of shared memory for each limb
/// let rows = KernelLayout::of(&ring, &limits)?.holding(2).per_item(3).extra_shared(512);
/// let built = rows.build(&limits)?.constants("Task", &[("rounds", &4)]);
/// assert!(built.prelude.contains("struct Rq"));
/// # Ok::<(), ringforge::Error>(())
/// ```
#[derive(Clone)]
pub struct KernelLayout {
    pub(crate) poly: PolyType,
    pub(crate) factorization: Factorization,
    /// The layers that the kernel computes: all layers, or if a transform takes several kernels, those of one kernel,
    /// by default the last one.
    pub(crate) part: Range<usize>,
    /// Number of blocks of a cluster that share a limb. It is 1 if a block has whole limbs, or if several kernels share
    /// the work on a limb.
    pub(crate) cluster: usize,
    pub(crate) arithmetic: Arithmetic,
    pub(crate) order: Order,
    pub(crate) held: usize,
    pub(crate) per_item: usize,
    pub(crate) extra: usize,
    pub(crate) choice: Choice,
    /// Constant folded into the inverse transform: out = scale · INTT(in).
    pub(crate) scale: U256,
    /// Layout of the twiddle table: column-major from the last pass (layers between two exchanges among threads) on, if
    /// a limb fits a block of the target device.
    pub(crate) layout: Layout,
    /// For each layer, the first layer that is merged with it into one radix-2^k butterfly, across all kernels of a
    /// transform. The twiddle table is built for these butterflies.
    pub(crate) groups: Vec<usize>,
    /// Whether the moduli and the number of limbs per item are run-time constants; otherwise they are compile-time
    /// constants.
    pub(crate) by_launch: bool,
    /// Whether the kernel computes an inverse transform.
    pub(crate) back: bool,
    /// Approximate number of items of a launch.
    pub(crate) items: usize,
    /// Limits of the target device.
    pub(crate) limits: Limits,
}

/// Maximum of [`KernelLayout::capacity`] for run-time moduli: that of 60-bit primes in 64-bit words.
const MOST_CAPACITY: u64 = 16;

/// Bytes of a vector that a thread loads or stores at once.
const LANE_BYTES: usize = 16;

/// Maximum number of limbs per item. Limbs are counted in 32 bits, with room for one limb per thread of the largest
/// block.
const MOST_ROWS: usize = (u32::MAX >> 10) as usize;

impl KernelLayout {
    /// The layout for a device with these limits. The factorisation is as deep as every modulus allows, one polynomial
    /// is in registers at a time, and evaluations are in digit-reversed order. An item has one limb per modulus.
    ///
    /// # Errors
    /// The errors of [`Factorization::of`]; [`Error::Unsupported`] for a strided batch ([columns](PolyType::strided_batch)).
    pub fn of(of: impl Into<PolyType>, limits: &Limits) -> Result<Self> {
        let poly = &of.into().coefficients();
        poly.check_single("a kernel on whole limbs")?;
        Ok(Self::with_split(&Factorization::of(poly, None)?, limits))
    }

    pub(crate) fn with_split(factorization: &Factorization, limits: &Limits) -> Self {
        let poly = factorization.poly();
        let rows = Self {
            poly: poly.clone(),
            factorization: factorization.clone(),
            part: 0..factorization.layers().len(),
            cluster: 1,
            arithmetic: Arithmetic::of(poly),
            order: Order::DigitReversed,
            held: 1,
            per_item: poly.basis().len(),
            extra: 0,
            choice: Choice::default(),
            scale: U256::ONE,
            layout: Layout::of(factorization.column_shape(), factorization.layers().len()),
            groups: (0..factorization.layers().len()).collect(),
            by_launch: false,
            back: false,
            items: Job::ITEMS,
            limits: limits.clone(),
        };
        rows.laid_out()
    }

    /// Recomputes the fields that depend on others: the layers and cluster of the last kernel, and the layout of the
    /// twiddle table for its last pass.
    fn laid_out(mut self) -> Self {
        let layers = self.factorization.layers().len();
        let last = parts(&self, &self.limits).and_then(|mut parts| parts.pop());
        (self.part, self.cluster, self.groups) =
            last.map_or_else(|| (0..layers, 1, (0..layers).collect()), |last| (last.part, last.cluster, last.groups));
        let last_pass = Block::of(&self, &self.limits).map(|block| block.last_pass());
        self.layout =
            Layout::of(self.factorization.column_shape(), last_pass.unwrap_or(self.factorization.layers().len()));
        self
    }

    /// The same layout for launches of about `items` items.
    pub(crate) fn of_items(self, items: usize) -> Self {
        Self { items, ..self }
    }

    /// The same layout with a factorisation of exactly this many layers.
    ///
    /// # Errors
    /// The errors of [`Factorization::of`]; [`Error::Unsupported`] for leaves of a degree above
    /// [`MAX_LEAF_DEGREE`](ringforge_math::factorization::MAX_LEAF_DEGREE).
    pub fn depth(mut self, layers: u32) -> Result<Self> {
        self.factorization = Factorization::of(&self.poly, Some(layers))?;
        self.factorization.check_leaves("a kernel on whole limbs")?;
        Ok(self.laid_out())
    }

    /// The same layout for a kernel that holds this many polynomials in registers at once.
    #[must_use]
    pub fn holding(mut self, polynomials: usize) -> Self {
        self.held = polynomials;
        self.laid_out()
    }

    /// The same layout with this many limbs per item. Limb i of an item is modulo modulus i mod k of the basis, which
    /// has k moduli, unless the kernel chooses another modulus.
    #[must_use]
    pub fn per_item(mut self, rows: usize) -> Self {
        self.per_item = rows;
        self.laid_out()
    }

    /// The same layout with at least this many bytes of extra shared memory per limb, aligned to 16, for the kernel's
    /// own use.
    #[must_use]
    pub fn extra_shared(mut self, bytes_per_row: usize) -> Self {
        self.extra = bytes_per_row.checked_next_multiple_of(16).unwrap_or(usize::MAX);
        self.laid_out()
    }

    /// The same layout in the fastest arithmetic of the target device, [`Arithmetic::of_device`], if the ring factors
    /// by radix-2 layers down to degree 1.
    #[must_use]
    pub fn fastest(self) -> Self {
        self.chosen(Choice::default())
    }

    /// The same layout with a tuning choice. Parts of the choice that the ring or device does not allow are ignored.
    pub(crate) fn chosen(mut self, choice: Choice) -> Self {
        if self.factorization.is_binary() {
            let mut all = Arithmetic::all_of_device(&self.poly, &self.limits);
            let chosen = all.find(|arithmetic| choice.arithmetic == Some(*arithmetic));
            self.arithmetic = chosen.unwrap_or_else(|| Arithmetic::of_device(&self.poly, &self.limits));
        }
        self.choice = choice;
        self.laid_out()
    }

    /// The same layout with inverse transforms multiplied by this constant.
    pub(crate) fn scale(mut self, constant: U256) -> Self {
        self.scale = constant;
        self
    }

    /// The same layout with evaluations in this order.
    #[must_use]
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// The same layout with the moduli and the number of limbs per item as run-time constants
    /// ([`KernelLayout::numbers`]), so that rings with any number of moduli share one source. A single modulus stays a
    /// compile-time constant if that is faster.
    pub(crate) fn by_launch(self) -> Self {
        let by_launch = self.arithmetic.by_launch(self.poly.basis().len() > 1);
        Self { by_launch: self.by_launch || by_launch, ..self }
    }

    /// The largest k for which lazy residues below k·q fit a word, for every modulus q. For run-time moduli stored in
    /// more than 16 bits, k is rounded down to a power of two up to `MOST_CAPACITY`, so that many moduli share one
    /// source.
    pub(crate) fn capacity(&self) -> u64 {
        let capacity = self.poly.moduli().iter().map(|q| self.arithmetic.capacity(q)).min().unwrap_or(1);
        match self.by_launch && self.poly.width() != Width::W16 {
            true => (1 << capacity.ilog2()).min(MOST_CAPACITY),
            false => capacity,
        }
    }

    /// The run-time constants of a launch. The first one has the number of limbs per item, and in its upper 32 bits the
    /// number of columns of a strided batch. Then follows for each element port the stride between items, in residues.
    pub(crate) fn numbers(&self, ports: &[Port]) -> Vec<u64> {
        let strides = elements(ports).iter().map(|port| port.stride() / self.poly.width().bytes());
        let columns = if self.strided_batch() { self.poly.columns() } else { 0 };
        let rows = self.per_item as u64 | (columns as u64) << 32;
        iter::once(rows).chain(strides.map(|stride| stride as u64)).collect()
    }

    /// Whether limbs are columns of row-major matrices (a strided batch).
    pub(crate) fn strided_batch(&self) -> bool {
        self.poly.columns() > 1
    }

    /// The same layout with run-time constants, for elements with these byte offsets and strides. `None` unless each
    /// offset and stride is a multiple of the size of a limb. Also `None` if the arithmetic needs compile-time
    /// constants.
    pub(crate) fn apart(&self, firsts: &[usize], strides: &[usize]) -> Option<Self> {
        let row = self.factorization.n() * self.poly.width().bytes();
        let fits = firsts.iter().chain(strides).all(|bytes| bytes.is_multiple_of(row));
        (fits && self.arithmetic.can_be_by_launch()).then(|| Self { by_launch: true, ..self.clone() })
    }

    /// The type of the elements.
    #[must_use]
    pub fn poly(&self) -> &PolyType {
        &self.poly
    }

    /// The factorisation of the ring.
    #[must_use]
    pub fn factorization(&self) -> &Factorization {
        &self.factorization
    }

    /// Bytes of all limbs of an item.
    #[must_use]
    pub fn item_bytes(&self) -> usize {
        self.per_item.saturating_mul(self.factorization.n() * self.poly.width().bytes())
    }

    /// The port for the twiddle factors, `const rf::Tables<Rq>*`. It is a table of `Rq::M::Twiddle` for a single
    /// modulus that is a compile-time constant. Otherwise it is an array of pointers to the table of each limb of the
    /// basis.
    #[must_use]
    pub fn table_port(&self) -> Port {
        let bytes = self.layout.len * self.arithmetic.twiddle_bytes();
        if self.has_several() { Port::tables(self.poly.basis().len(), bytes) } else { Port::shared(bytes) }
    }

    /// The table that [`KernelLayout::table_port`] reads.
    #[must_use]
    pub fn table(&self) -> Table {
        let table = |modulus| table(self, modulus);
        match self.has_several() {
            true => {
                let tables: Vec<Table> = (0..self.poly.moduli().len()).map(table).collect();
                Table::List(self.poly.limb_moduli().iter().map(|&modulus| tables[modulus].clone()).collect())
            }
            false => table(0),
        }
    }

    /// The port for the constants of each limb of the basis besides its twiddle table, `const rf::Constants<Rq>*`. A
    /// kernel for a single modulus of up to 64 bits does not need it.
    #[must_use]
    pub fn constants_port(&self) -> Port {
        Port::shared(self.constants_bytes() * self.poly.basis().len())
    }

    /// The table that [`KernelLayout::constants_port`] reads.
    #[must_use]
    pub fn constants(&self) -> Table {
        self.constants_table()
    }

    /// Whether the kernel reads an array of pointers to twiddle tables, one for each limb of the basis, instead of a
    /// single table.
    pub(crate) fn has_several(&self) -> bool {
        self.by_launch || self.poly.basis().len() > 1
    }

    /// Builds the kernel: the launch, and a prelude with this layout as `Rq`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if a limb does not fit a block, or if the number of limbs per item is 0 or too large.
    pub fn build(&self, limits: &Limits) -> Result<Built> {
        self.check_whole(limits)?;
        self.build_part(limits)
    }

    /// Returns an error unless the kernel does all layers in one block.
    pub(crate) fn check_whole(&self, limits: &Limits) -> Result<()> {
        if self.is_whole() && self.cluster == 1 { Ok(()) } else { Err(self.too_long(limits)) }
    }

    /// Like [`KernelLayout::build`], for a kernel that may compute only some layers, or that uses only the description
    /// of the ring.
    pub(crate) fn build_part(&self, limits: &Limits) -> Result<Built> {
        let block = self.block(limits)?;
        let prelude = format!("#pragma once\n{}", block.prelude("Rq", self));
        Ok(Built { prelude, launch: block.launch(self.per_item).ok_or_else(|| self.uncounted())? })
    }

    /// This layout as a C++ struct with this name, to be added to the prelude of a kernel that works in two rings.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if a limb does not fit a block, or if the number of limbs per item is 0 or too large.
    pub fn prelude(&self, name: &str, limits: &Limits) -> Result<String> {
        Ok(self.block(limits)?.prelude(name, self))
    }

    /// Adjacent leaves (factors of the quotient) per thread in a kernel on leaves: the number that one vector access
    /// loads if they have degree 1, else one.
    pub(crate) fn leaf_lanes(&self) -> usize {
        if self.factorization.leaf_degree() > 1 { 1 } else { lanes(self.factorization.n(), &self.poly) }
    }

    /// Threads per block in a kernel on leaves. A block has whole limbs, or whole blocks share a limb.
    pub(crate) fn leaf_threads(&self) -> usize {
        let units = self.factorization.leaves() / self.leaf_lanes();
        (1..=256).rev().find(|&t| units.is_multiple_of(t) || t.is_multiple_of(units)).unwrap_or(1)
    }

    /// The launch of a kernel on the leaves of each limb, in place of the launch from [`KernelLayout::build`].
    ///
    /// # Errors
    /// [`Error::Unsupported`] for 2^32 or more blocks per item.
    pub(crate) fn leaf_launch(&self) -> Result<Launch> {
        let (units, threads) = (self.factorization.leaves() / self.leaf_lanes(), self.leaf_threads());
        let blocks = self.per_item.saturating_mul((units / threads).max(1));
        Ok(Launch {
            items_per_block: (threads / units).max(1) as u32,
            blocks_per_item: u32::try_from(blocks).map_err(|_| self.uncounted())?,
            ..Launch::thread_per_item(threads as u32)
        })
    }

    /// Whether the kernel computes all layers in one block of a device with these limits.
    pub(crate) fn fits(&self, limits: &Limits) -> bool {
        self.check_whole(limits).is_ok() && Block::of(self, limits).is_some()
    }

    /// Whether the kernel computes all layers.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_first() && self.is_last()
    }

    /// Whether the kernel's layers begin at the coefficients.
    pub(crate) fn is_first(&self) -> bool {
        self.part.start == 0
    }

    /// Whether the kernel's layers end at the leaves.
    pub(crate) fn is_last(&self) -> bool {
        self.part.end == self.factorization.layers().len()
    }

    /// The layouts of the kernels of a transform, one layout per kernel, from the top layer down.
    pub(crate) fn parts(&self) -> Vec<Self> {
        parts(self, &self.limits).unwrap_or_else(|| vec![self.in_clusters(1)])
    }

    /// The same layout for a kernel that computes these layers.
    pub(crate) fn part(&self, part: Range<usize>) -> Self {
        Self { part, cluster: 1, ..self.clone() }
    }

    /// The same layout for a kernel that computes all layers, with each limb shared by the blocks of a cluster.
    pub(crate) fn in_clusters(&self, cluster: usize) -> Self {
        let whole = Self { cluster, ..self.part(0..self.factorization.layers().len()) };
        Self { groups: groups(slice::from_ref(&whole), &self.limits), ..whole }
    }

    /// Adds to the source of a transform how thread blocks divide its first two ports. `values` says for each of these
    /// ports whether it holds evaluations.
    #[allow(unsafe_code)]
    pub(crate) fn with_tiles(&self, source: Source, values: [bool; 2], limits: &Limits) -> Source {
        let block = Block::of(self, limits);
        let columns = values.map(|values| block.as_ref().and_then(|block| block.columns(self, values)));
        // SAFETY: in the sources of transforms, each block takes its positions from `Row` of `ring.cuh`, which adds the
        // number of the item's blocks before the first launched one.
        unsafe { source.with_tiles(columns.to_vec()) }
    }

    /// Whether some block may write evaluations over coefficients that another block of the same limb has yet to read,
    /// or the reverse.
    pub(crate) fn moves_places(&self) -> bool {
        self.is_natural() && self.is_last() && !self.is_whole()
    }

    fn block(&self, limits: &Limits) -> Result<Block> {
        // limbs are counted in 32 bits
        let counted = (1..=MOST_ROWS).contains(&self.per_item);
        let block = if counted { Block::of(self, limits) } else { None };
        block.ok_or_else(|| if counted { self.too_long(limits) } else { self.uncounted() })
    }

    fn uncounted(&self) -> Error {
        let job = format!("a kernel for {} limbs per item of {}", self.per_item, self.poly);
        Error::Unsupported { job, why: format!("the number of limbs must be from 1 to {MOST_ROWS}") }
    }

    fn too_long(&self, limits: &Limits) -> Error {
        Error::Unsupported {
            job: format!("a transform in {}", self.poly),
            why: format!("a limb does not fit in a thread block of {}", limits.name),
        }
    }

    pub(crate) fn is_natural(&self) -> bool {
        self.order == Order::Natural
    }
}

/// The entries for the element ports of a kernel on limbs: all but the last two entries, which are for tables.
pub(crate) fn elements<T>(ports: &[T]) -> &[T] {
    &ports[..ports.len().saturating_sub(2)]
}

/// Sets the stride between items for all per-item ports.
pub(crate) fn set_strides(ports: &mut [Port], strides: &[usize]) {
    let own = ports.iter_mut().zip(strides).filter(|(port, _)| port.sharing == Sharing::PerItem);
    own.for_each(|(port, &stride)| port.stride = Some(stride));
}

/// Number of adjacent residues per vector access, if lengths and offsets of limbs are multiples of `residues` residues.
pub(crate) fn lanes(residues: usize, poly: &PolyType) -> usize {
    1 << (residues | (LANE_BYTES / poly.width().bytes()).max(1)).trailing_zeros()
}

impl fmt::Debug for KernelLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { factorization, part, arithmetic, order, per_item, .. } = self;
        write!(
            f,
            "{factorization:?}, {part:?}, {arithmetic:?}, {order:?}, {per_item}, {:?}, {:?}",
            self.layout.columns, self.groups
        )
    }
}
