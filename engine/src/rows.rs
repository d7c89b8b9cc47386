//! Rows of a ring as a kernel works on them: the one value from which its ports, tables, prelude and launch come.

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
use ringforge_math::modulus::Width;
use ringforge_math::poly::{Order, PolyType};
use ringforge_math::split::Split;
use ringforge_runtime::kernel::{Built, Launch, Port, Sharing, Source, Table};
use ringforge_runtime::limits::Limits;

use block::{Block, groups, parts};
use twiddles::table;

/// How a kernel works on rows of a ring: a row is one polynomial modulo one modulus, held in the registers of the threads
/// that share it.
///
/// What a kernel needs to agree on comes from one such value: the ports and tables of factors and of constants, and the
/// `struct Rq` that the kernel's text names (its members: `kernels/README.md`).
///
/// ```
/// # use ringforge::{Limits, Modulus, Ring};
/// # use ringforge::kernels::Rows;
/// let ring = Ring::negacyclic(256, Modulus::new(3329u32)?)?;
/// let limits = Limits::of_capability(90);
/// // two polynomials in registers at once, three rows an item, and 512 bytes of shared memory for each row
/// let rows = Rows::of(&ring, &limits)?.holding(2).per_item(3).extra_shared(512);
/// let built = rows.build(&limits, "struct Task { static constexpr rf::u32 rounds = 4; };\n")?;
/// assert!(built.prelude.contains("struct Rq"));
/// # Ok::<(), ringforge::Error>(())
/// ```
#[derive(Clone)]
pub struct Rows {
    pub(crate) poly: PolyType,
    pub(crate) split: Split,
    /// The layers that the kernel does: all, or those down to the leaves where a row takes several kernels.
    pub(crate) part: Range<usize>,
    /// Blocks of a cluster that share a row; 1 where a block has whole rows, or several kernels share out a row.
    pub(crate) cluster: usize,
    pub(crate) arithmetic: Arithmetic,
    pub(crate) order: Order,
    pub(crate) held: usize,
    pub(crate) per_item: usize,
    pub(crate) extra: usize,
    pub(crate) choice: Choice,
    /// What the inverse transform's scale is times.
    pub(crate) scale: U256,
    /// Of the table of factors: by columns from the last pass on, where a row fits a block of the device planned for.
    pub(crate) layout: Layout,
    /// For each layer the first one of those that go together with it, in all kernels of a transform: the table of factors is for
    /// these.
    pub(crate) groups: Vec<usize>,
    /// Whether the moduli, and how many rows an item has, are data of the launch; else they are in the text.
    pub(crate) by_launch: bool,
    /// Whether the kernel goes back from values.
    pub(crate) back: bool,
    /// Items of a launch, about.
    pub(crate) items: usize,
    /// Of the device planned for.
    pub(crate) limits: Limits,
}

/// The most that is made of a capacity: that of 60-bit primes in 64-bit words.
const MOST_CAPACITY: u64 = 16;

/// Bytes that a thread moves at once.
const LANE_BYTES: usize = 16;

/// The most rows of an item: with as many in a block as it has threads at most, they are counted in 32 bits.
const MOST_ROWS: usize = (u32::MAX >> 10) as usize;

impl Rows {
    /// Rows for a device with these limits: split as deep as every modulus allows, one polynomial in registers at a time,
    /// values in tree order, and one row for each modulus an item.
    ///
    /// # Errors
    /// As [`Split::of`]; [`Error::Unsupported`] for a ring [in columns](PolyType::in_columns).
    pub fn of(of: impl Into<PolyType>, limits: &Limits) -> Result<Self> {
        let poly = &of.into().coefficients();
        poly.check_single("a kernel on whole rows")?;
        Ok(Self::with_split(&Split::of(poly, None)?, limits))
    }

    pub(crate) fn with_split(split: &Split, limits: &Limits) -> Self {
        let poly = split.poly();
        let rows = Self {
            poly: poly.clone(),
            split: split.clone(),
            part: 0..split.layers().len(),
            cluster: 1,
            arithmetic: Arithmetic::of(poly),
            order: Order::Tree,
            held: 1,
            per_item: poly.basis().len(),
            extra: 0,
            choice: Choice::default(),
            scale: U256::ONE,
            layout: Layout::of(split.column_shape(), split.layers().len()),
            groups: (0..split.layers().len()).collect(),
            by_launch: false,
            back: false,
            items: Job::ITEMS,
            limits: limits.clone(),
        };
        rows.laid_out()
    }

    /// The same with the table in the layout that suits the last pass.
    fn laid_out(mut self) -> Self {
        let layers = self.split.layers().len();
        let last = parts(&self, &self.limits).and_then(|mut parts| parts.pop());
        (self.part, self.cluster, self.groups) =
            last.map_or_else(|| (0..layers, 1, (0..layers).collect()), |last| (last.part, last.cluster, last.groups));
        let last_pass = Block::of(&self, &self.limits).map(|block| block.last_pass());
        self.layout = Layout::of(self.split.column_shape(), last_pass.unwrap_or(self.split.layers().len()));
        self
    }

    /// The same for launches of about so many items.
    pub(crate) fn of_items(self, items: usize) -> Self {
        Self { items, ..self }
    }

    /// The same with a split of exactly this many layers, down to leaves that can be multiplied.
    ///
    /// # Errors
    /// As [`Split::of`]; [`Error::Unsupported`] for leaves of a degree above [`MAX_BASE`](ringforge_math::split::MAX_BASE).
    pub fn depth(mut self, layers: u32) -> Result<Self> {
        self.split = Split::of(&self.poly, Some(layers))?;
        self.split.check_leaves("a kernel on whole rows")?;
        Ok(self.laid_out())
    }

    /// The same for a kernel that holds this many polynomials in registers at once.
    #[must_use]
    pub fn holding(mut self, polynomials: usize) -> Self {
        self.held = polynomials;
        self.laid_out()
    }

    /// The same with this many rows an item. Row i of an item is modulo row i of the basis, counted round and round,
    /// unless the kernel says otherwise.
    #[must_use]
    pub fn per_item(mut self, rows: usize) -> Self {
        self.per_item = rows;
        self.laid_out()
    }

    /// The same with shared memory of the kernel's own for each row, at least this many bytes, aligned to 16.
    #[must_use]
    pub fn extra_shared(mut self, bytes_per_row: usize) -> Self {
        self.extra = bytes_per_row.checked_next_multiple_of(16).unwrap_or(usize::MAX);
        self.laid_out()
    }

    /// The same in the arithmetic that is fastest on the device planned for: [`Arithmetic::of_device`], if the ring splits
    /// down to degree 1 by layers of two.
    #[must_use]
    pub fn fastest(self) -> Self {
        self.chosen(Choice::default())
    }

    /// The same by a choice, as far as it can be.
    pub(crate) fn chosen(mut self, choice: Choice) -> Self {
        if self.split.is_binary() {
            let mut all = Arithmetic::all_of_device(&self.poly, &self.limits);
            let chosen = all.find(|arithmetic| choice.arithmetic == Some(*arithmetic));
            self.arithmetic = chosen.unwrap_or_else(|| Arithmetic::of_device(&self.poly, &self.limits));
        }
        self.choice = choice;
        self.laid_out()
    }

    /// The same with inverse transforms times this constant.
    pub(crate) fn scale(mut self, constant: U256) -> Self {
        self.scale = constant;
        self
    }

    /// The same with values in this order.
    #[must_use]
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// The same with the moduli, and how many rows an item has, as data of the launch ([`Rows::numbers`]), so that rings of
    /// any number of moduli have one text; but those of a single modulus that is worth more in the text.
    pub(crate) fn by_launch(self) -> Self {
        let by_launch = self.arithmetic.by_launch(self.poly.basis().len() > 1);
        Self { by_launch: self.by_launch || by_launch, ..self }
    }

    /// The multiple of q that lazy residues may reach for each modulus: what is not in the text is of few kinds, so that many
    /// moduli have one text.
    pub(crate) fn capacity(&self) -> u64 {
        let capacity = self.poly.moduli().iter().map(|q| self.arithmetic.capacity(q)).min().unwrap_or(1);
        match self.by_launch && self.poly.width() != Width::W16 {
            true => (1 << capacity.ilog2()).min(MOST_CAPACITY),
            false => capacity,
        }
    }

    /// Numbers of the launch: the rows of an item, with the ring's columns above 32 bits if it is in columns, and how many
    /// residues it is from an item to the next at each port for elements, the tables' being the last two.
    pub(crate) fn numbers(&self, ports: &[Port]) -> Vec<u64> {
        let distances = elements(ports).iter().map(|port| port.distance() / self.poly.width().bytes());
        let columns = if self.in_columns() { self.poly.columns() } else { 0 };
        let rows = self.per_item as u64 | (columns as u64) << 32;
        iter::once(rows).chain(distances.map(|distance| distance as u64)).collect()
    }

    /// Whether rows are columns of a matrix that is stored row by row.
    pub(crate) fn in_columns(&self) -> bool {
        self.poly.columns() > 1
    }

    /// The same rows for elements that begin at these bytes and lie so many apart, as data of the launch; nothing where the text is for those that
    /// lie one after another.
    pub(crate) fn apart(&self, firsts: &[usize], distances: &[usize]) -> Option<Self> {
        let row = self.split.n() * self.poly.width().bytes();
        let fits = firsts.iter().chain(distances).all(|bytes| bytes.is_multiple_of(row));
        (fits && self.arithmetic.can_be_by_launch()).then(|| Self { by_launch: true, ..self.clone() })
    }

    /// The type of the elements.
    #[must_use]
    pub fn poly(&self) -> &PolyType {
        &self.poly
    }

    /// How the ring splits.
    #[must_use]
    pub fn split(&self) -> &Split {
        &self.split
    }

    /// Bytes of an item's rows.
    #[must_use]
    pub fn item_bytes(&self) -> usize {
        self.per_item.saturating_mul(self.split.n() * self.poly.width().bytes())
    }

    /// The port for the factors, `const rf::Tables<Rq>*`: a table, `Rq::M::Twiddle`, for a ring of one modulus, else pointers to
    /// that of each row of the basis.
    #[must_use]
    pub fn table_port(&self) -> Port {
        let bytes = self.layout.len * self.arithmetic.twiddle_bytes();
        if self.has_several() { Port::tables(self.poly.basis().len(), bytes) } else { Port::shared(bytes) }
    }

    /// What [`Rows::table_port`] reads.
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

    /// The port for what belongs to each row of the basis beside its table, `const rf::Constants<Rq>*`; a kernel for a single
    /// modulus of up to 64 bits can do without.
    #[must_use]
    pub fn constants_port(&self) -> Port {
        Port::shared(self.constants_bytes() * self.poly.basis().len())
    }

    /// What [`Rows::constants_port`] reads.
    #[must_use]
    pub fn constants(&self) -> Table {
        self.constants_table()
    }

    /// Whether there may be several tables.
    pub(crate) fn has_several(&self) -> bool {
        self.by_launch || self.poly.basis().len() > 1
    }

    /// The kernel made concrete: these rows as `Rq`, then further lines of its own.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where a row does not fit a block.
    pub fn build(&self, limits: &Limits, further: &str) -> Result<Built> {
        self.check_whole(limits)?;
        self.build_part(limits, further)
    }

    /// Whether a kernel does all layers in one block.
    pub(crate) fn check_whole(&self, limits: &Limits) -> Result<()> {
        if self.is_whole() && self.cluster == 1 { Ok(()) } else { Err(self.too_long(limits)) }
    }

    /// The same for a kernel that can do some of the layers, or needs to know no more than the ring.
    pub(crate) fn build_part(&self, limits: &Limits, further: &str) -> Result<Built> {
        let block = self.block(limits)?;
        let prelude = format!("#pragma once\n{}{further}", block.prelude("Rq", self));
        Ok(Built { prelude, launch: block.launch(self.per_item).ok_or_else(|| self.uncounted())? })
    }

    /// These rows as a struct of another name: among the further lines of a kernel that works in two rings.
    ///
    /// # Errors
    /// As [`Rows::build`].
    pub fn prelude(&self, name: &str, limits: &Limits) -> Result<String> {
        Ok(self.block(limits)?.prelude(name, self))
    }

    /// Neighbouring leaves that a thread of a kernel on leaves has: of degree 1, as many as it moves at once.
    pub(crate) fn leaf_lanes(&self) -> usize {
        if self.split.base() > 1 { 1 } else { lanes(self.split.n(), &self.poly) }
    }

    /// Threads of a block of a kernel on leaves: it has whole rows, or a row whole blocks.
    pub(crate) fn leaf_threads(&self) -> usize {
        let units = self.split.leaves() / self.leaf_lanes();
        (1..=256).rev().find(|&t| units.is_multiple_of(t) || t.is_multiple_of(units)).unwrap_or(1)
    }

    /// The launch of a kernel on the leaves of each row, in place of the one that [`Rows::build`] gives.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for more blocks than can be counted.
    pub(crate) fn leaf_launch(&self) -> Result<Launch> {
        let (units, threads) = (self.split.leaves() / self.leaf_lanes(), self.leaf_threads());
        let blocks = self.per_item.saturating_mul((units / threads).max(1));
        Ok(Launch {
            items_per_block: (threads / units).max(1) as u32,
            blocks_per_item: u32::try_from(blocks).map_err(|_| self.uncounted())?,
            ..Launch::thread_per_item(threads as u32)
        })
    }

    /// Whether the kernel does all layers at once, in a block of a device with these limits.
    pub(crate) fn fits(&self, limits: &Limits) -> bool {
        self.check_whole(limits).is_ok() && Block::of(self, limits).is_some()
    }

    /// Whether the kernel does all layers.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_first() && self.is_last()
    }

    /// Whether the kernel's layers begin at the coefficients.
    pub(crate) fn is_first(&self) -> bool {
        self.part.start == 0
    }

    /// Whether the kernel's layers end at the leaves.
    pub(crate) fn is_last(&self) -> bool {
        self.part.end == self.split.layers().len()
    }

    /// The rows of each kernel of a transform, from the top.
    pub(crate) fn parts(&self) -> Vec<Self> {
        parts(self, &self.limits).unwrap_or_else(|| vec![self.in_clusters(1)])
    }

    /// The same rows for a kernel of these layers.
    pub(crate) fn part(&self, part: Range<usize>) -> Self {
        Self { part, cluster: 1, ..self.clone() }
    }

    /// The same rows for a kernel of all layers, each shared by so many blocks.
    pub(crate) fn in_clusters(&self, cluster: usize) -> Self {
        let whole = Self { cluster, ..self.part(0..self.split.layers().len()) };
        Self { groups: groups(slice::from_ref(&whole), &self.limits), ..whole }
    }

    /// The source of a transform with how its blocks share out its first two ports, of which those with `values` hold them.
    #[allow(unsafe_code)]
    pub(crate) fn with_columns(&self, source: Source, values: [bool; 2], limits: &Limits) -> Source {
        let block = Block::of(self, limits);
        let columns = values.map(|values| block.as_ref().and_then(|block| block.columns(self, values)));
        // SAFETY: the texts of transforms take their places from `Row` of `ring.cuh`, which counts the blocks before them.
        unsafe { source.with_columns(columns.to_vec()) }
    }

    /// Whether blocks that share a row write values where others have yet to read coefficients, or the other way round.
    pub(crate) fn moves_places(&self) -> bool {
        self.is_natural() && self.is_last() && !self.is_whole()
    }

    fn block(&self, limits: &Limits) -> Result<Block> {
        // a block counts rows with 32 bits
        let counted = (1..=MOST_ROWS).contains(&self.per_item);
        let block = if counted { Block::of(self, limits) } else { None };
        block.ok_or_else(|| if counted { self.too_long(limits) } else { self.uncounted() })
    }

    fn uncounted(&self) -> Error {
        let job = format!("a kernel for {} rows an item of {}", self.per_item, self.poly);
        Error::Unsupported { job, why: "blocks work on whole rows, and their number has 32 bits".into() }
    }

    fn too_long(&self, limits: &Limits) -> Error {
        Error::Unsupported {
            job: format!("a transform in {}", self.poly),
            why: format!("a row does not fit a thread block of {}", limits.name),
        }
    }

    pub(crate) fn is_natural(&self) -> bool {
        self.order == Order::Natural
    }
}

/// Of what a kernel on rows has for each port, that for elements; the last two ports are the tables'.
pub(crate) fn elements<T>(ports: &[T]) -> &[T] {
    &ports[..ports.len().saturating_sub(2)]
}

/// Puts what items have of their own so far apart.
pub(crate) fn lay_apart(ports: &mut [Port], distances: &[usize]) {
    let own = ports.iter_mut().zip(distances).filter(|(port, _)| port.sharing == Sharing::PerItem);
    own.for_each(|(port, &distance)| port.apart = Some(distance));
}

/// Neighbouring residues that a thread moves at once, where rows are or begin at multiples of so many.
pub(crate) fn lanes(residues: usize, poly: &PolyType) -> usize {
    1 << (residues | (LANE_BYTES / poly.width().bytes()).max(1)).trailing_zeros()
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { split, part, arithmetic, order, per_item, .. } = self;
        write!(
            f,
            "{split:?}, {part:?}, {arithmetic:?}, {order:?}, {per_item}, {:?}, {:?}",
            self.layout.columns, self.groups
        )
    }
}
