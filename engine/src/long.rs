//! Transforms of one vector over several devices: how it is distributed, and what each device computes.

use core::fmt;

use crypto_bigint::U256;

use crate::job::{Job, Op};
use crate::kernels::copy::Copy;
use crate::planner::Planner;
use ringforge_math::error::{Error, Result};
use ringforge_math::factorization::{Factorization, Layer};
use ringforge_math::poly::{Order, PolyType};
use ringforge_math::ring::{Quotient, Ring};
use ringforge_runtime::memory::ALIGNMENT;
use ringforge_runtime::plan::Plan;

/// Maximum number of rows over all devices. A column transform across this many rows stays in a thread's registers.
const MOST_ROWS: usize = 16;

/// Minimum row size in bytes if a device's part is cut into several rows, so that the transform of one row overlaps
/// with the exchange of the next.
const LONG_ROW_BYTES: usize = 128 << 20;

/// Layout of a vector of length n on G devices, each with r rows of m = n/(G·r) elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Placement {
    /// The layout that the transform reads and writes without a further exchange.
    ///
    /// Coefficients: device g has the coefficients of x^(b·m + i) for all b, with i in the g-th of G equal parts of 0 …
    /// m − 1, in ascending order.
    ///
    /// Evaluations: device g has rows k1 = g·r … (g + 1)·r − 1, one after another. Row k1 has the values at
    /// root·step^(k1 + G·r·k2), in the order of k2, for the `root` and `step` of the ring (`Ring::with_roots` and
    /// `Ring::with_steps`).
    #[default]
    Native,
    /// Device g has the g-th of G equal parts of the vector in natural order. This costs one more exchange.
    Blocks,
}

/// Plan of a transform modulo x^n − c on G devices with r rows each. The coefficients form a matrix of G·r rows of
/// length m. The algorithm is the four-step transform (Bailey 1990) with its twiddle factors merged into the row
/// transforms:
///
/// 1. each device computes the first log2(G·r) radix-2 layers on its columns;
/// 2. an all-to-all exchange turns columns into rows;
/// 3. each device transforms its rows. The ring of a row is modulo a factor x^m − c' of x^n − c, with a constant c' for
///    each row.
///
/// The inverse transform does the reverse of each step in the reverse order.
///
/// A plan is a plain value. Making and printing it needs no device.
///
/// ```
/// use ringforge::run::LongPlan;
/// use ringforge::{Limits, Modulus, Planner, Ring};
/// let r = Modulus::from_hex("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001")?;
/// let plan = LongPlan::new(&Planner::new(Limits::of_capability(90)), &Ring::cyclic(1 << 28, r)?, 8)?;
/// println!("{plan}");
/// assert_eq!(plan.sent_bytes(), (32 << 28) / 8 / 8 * 7); // each device sends seven eighths of its part
/// # Ok::<(), ringforge::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct LongPlan {
    planner: Planner,
    poly: PolyType,
    factorization: Factorization,
    devices: usize,
    rows: usize,
    coefficients: Placement,
    values: Placement,
    /// The plans for a part of the columns (`None` with a single row), for a row, and for a part of a block
    /// ([`Placement::Blocks`]).
    plans: [Option<Plan>; 3],
}

impl LongPlan {
    /// A plan for this ring on `devices` devices, with the planner's limits and tuning.
    ///
    /// # Errors
    /// [`Error::Unsupported`] in these cases: the ring has several moduli; its quotient is not x^n − c; the number of
    /// devices is not a power of two up to 16; the ring is too short, or does not factor far enough, for this number of
    /// devices. Also the errors of [`Factorization::of`].
    pub fn new(planner: &Planner, of: impl Into<PolyType>, devices: usize) -> Result<Self> {
        let poly = of.into().coefficients();
        let refused = |why: &str| Error::unsupported(format!("a transform over {devices} devices"), &poly, why);
        poly.check_single(format!("a transform over {devices} devices"))?;
        if poly.basis().len() > 1 {
            return Err(refused("it has several moduli: give each device some of the limbs instead"));
        }
        if !matches!(poly.quotient(), Quotient::Cyclic { .. } | Quotient::Negacyclic { .. } | Quotient::Binomial { .. })
        {
            return Err(refused("its quotient must be x^n - c"));
        }
        if !devices.is_power_of_two() || devices > MOST_ROWS {
            return Err(refused("the number of devices must be a power of two up to 16"));
        }
        let (planner, factorization) = (planner.clone(), Factorization::of(&poly, None)?);
        let (coefficients, values) = (Placement::Native, Placement::Native);
        let plans = [const { None }; 3];
        let plan = Self { planner, poly, factorization, devices, rows: 1, coefficients, values, plans };
        let mut plan = plan.rows_each(1)?;
        while plan.row_bytes() >= 2 * LONG_ROW_BYTES && plan.rows < 4 && 2 * plan.rows() <= MOST_ROWS {
            let Ok(more) = plan.clone().rows_each(2 * plan.rows) else { break };
            plan = more;
        }
        Ok(plan)
    }

    /// Sets the number of rows on each device, a power of two. Columns and blocks are cut into the same number of
    /// parts. With more rows, more of the exchanges overlap with computation.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the number is not a power of two, or if all devices together would have more than 16
    /// rows. Also if the ring is too short or does not factor far enough. Also the errors of [`Planner::plan`].
    pub fn rows_each(mut self, rows: usize) -> Result<Self> {
        self.rows = rows;
        self.check()?;
        let jobs = [self.of_columns(Op::Forward)?, Some(self.of_row(Op::Forward, 0)?)];
        let [columns, row] = jobs.map(|job| job.map(|job| self.planner.plan(&job)).transpose());
        self.plans = [columns?, row?, Some(self.between_rows(Op::Forward)?)];
        Ok(self)
    }

    /// Sets the layouts of coefficients and of evaluations.
    #[must_use]
    pub fn placed(self, coefficients: Placement, values: Placement) -> Self {
        Self { coefficients, values, ..self }
    }

    fn check(&self) -> Result<()> {
        let (rows, n) = (self.devices.saturating_mul(self.rows), self.poly.degree());
        let refused =
            |why: String| Err(Error::unsupported(format!("{rows} rows on {} devices", self.devices), &self.poly, why));
        if !self.rows.is_power_of_two() || rows > MOST_ROWS {
            return refused(format!("the number of rows must be a power of two up to {MOST_ROWS}"));
        }
        let twos = self.factorization.layers().iter().filter(|layer| **layer == Layer::Two).count();
        if rows.ilog2() as usize > twos {
            return refused(format!("the ring has only {twos} layers of radix 2, so at most 2^{twos} rows"));
        }
        let pieces = rows * rows;
        let piece = self.poly.width().bytes() * n / pieces;
        if !self.factorization.leaves().is_multiple_of(pieces) || !piece.is_multiple_of(ALIGNMENT) {
            return refused(format!(
                "the ring is too short: devices exchange pieces of a multiple of {ALIGNMENT} bytes"
            ));
        }
        Ok(())
    }

    /// The type of the vectors.
    #[must_use]
    pub fn poly(&self) -> &PolyType {
        &self.poly
    }

    /// The number of devices.
    #[must_use]
    pub fn devices(&self) -> usize {
        self.devices
    }

    /// The number of rows on all devices.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.devices * self.rows
    }

    /// The number of rows of a device, and of parts of its columns and of its block.
    pub(crate) fn own_rows(&self) -> usize {
        self.rows
    }

    /// One line with everything that decides the layout and meaning of vectors.
    pub(crate) fn describe(&self) -> String {
        let Self { poly, devices, rows, coefficients, values, .. } = self;
        format!("{poly} on {devices} devices, {rows} rows each, coefficients {coefficients:?}, evaluations {values:?}")
    }

    /// Whether vectors of both plans have the same layout and meaning.
    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        let key = |plan: &Self| (plan.devices, plan.rows, plan.coefficients, plan.values);
        self.poly == other.poly && key(self) == key(other)
    }

    /// The layout of coefficients.
    pub(crate) fn coefficients(&self) -> Placement {
        self.coefficients
    }

    /// The layout of evaluations.
    pub(crate) fn values(&self) -> Placement {
        self.values
    }

    /// The ring of one row of evaluations in natural order. A row has the evaluations of an element of this ring, so
    /// the pointwise product of two such rows is a product in this ring.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if there is no row with this index.
    pub fn row_type(&self, row: usize) -> Result<PolyType> {
        let limit = self.rows() - 1;
        if row > limit {
            return Err(Error::TooLarge { what: "the index of a row", limit, got: row });
        }
        let ([start, step], count) = (self.roots(), self.rows() as u64);
        let q = &self.poly.moduli()[0];
        let power = |x: &U256, e: u64| q.pow(x, &U256::from(e));
        let start = q.mul(&start, &power(&step, row as u64));
        self.with(self.poly.degree() / self.rows(), start, power(&step, count))
    }

    /// The ring of a part of a device's columns. A column transform computes only the first layers of this ring's
    /// transform.
    pub(crate) fn column_type(&self) -> Result<PolyType> {
        let ([start, step], q) = (self.roots(), &self.poly.moduli()[0]);
        let [start, step] = [start, step].map(|root| q.pow(&root, &U256::from(self.rows() as u64)));
        self.with(self.poly.degree() / self.rows(), start, step)
    }

    /// The ring modulo x^degree − c with leaves x^d − start·step^e for the leaf degree d, where c follows from `start`.
    /// Residues are stored as in this plan's ring.
    fn with(&self, degree: usize, start: U256, step: U256) -> Result<PolyType> {
        let q = self.poly.moduli()[0];
        let c = q.pow(&start, &U256::from((degree / self.factorization.leaf_degree()) as u64));
        let poly = Ring::new(&[q], Quotient::Binomial { n: degree, c })?.with_roots(&[start])?.with_steps(&[step])?;
        let poly = PolyType::from(poly).with_form(self.poly.form())?;
        Ok(if self.poly.accepts_any_word() { poly.accepting_any_word() } else { poly })
    }

    fn roots(&self) -> [U256; 2] {
        self.factorization.roots().first().map_or([U256::ONE; 2], |roots| [roots.start, roots.step])
    }

    /// For each row of evaluations, its position in the output of the column transform.
    pub(crate) fn places(&self) -> Result<Vec<usize>> {
        let mut places = vec![0; self.rows()];
        if self.rows() == 1 {
            return Ok(places);
        }
        let factorization = Factorization::of(&self.column_type()?, Some(self.column_layers()))?;
        factorization.natural_places().into_iter().enumerate().for_each(|(place, row)| places[row] = place);
        Ok(places)
    }

    fn column_layers(&self) -> u32 {
        self.rows().ilog2()
    }

    /// The column transform on a part of a device's columns, as a job. `None` with a single row, which needs no column
    /// transform.
    pub(crate) fn of_columns(&self, op: Op) -> Result<Option<Job>> {
        let job = |poly| Job::new(&poly, op).depth(self.column_layers()).in_place();
        if self.rows() == 1 { Ok(None) } else { self.column_type().map(|poly| Some(job(poly))) }
    }

    /// The transform of one row of the vector, as a job.
    pub(crate) fn of_row(&self, op: Op, row: usize) -> Result<Job> {
        Ok(Job::new(&self.row_type(row)?, op).order(Order::Natural).in_place())
    }

    /// The plan that converts pieces of all rows to a part of a block by a transpose, or the reverse for `Inverse`.
    pub(crate) fn between_rows(&self, op: Op) -> Result<Plan> {
        let (is_block, title) =
            (op == Op::Forward, if op == Op::Forward { "rows to a block" } else { "a block to rows" });
        let (p, value) = (self.planner.pipeline(title), self.leaf_degree() * self.poly.width().bytes());
        let (rows, length) = (self.rows(), self.piece_bytes() / value);
        let kernel = Copy::transposed(if is_block { [rows, length] } else { [length, rows] }, value);
        let [to] = p.step(kernel, &[p.bytes("from", self.row_bytes())]);
        p.output("to", to);
        p.build()
    }

    /// The plans that a device runs in a forward transform: for each part of its columns, for each row, and for each
    /// part of a block if evaluations are placed in blocks.
    pub fn plans(&self) -> impl Iterator<Item = &Plan> {
        let [.., block] = &self.plans;
        self.plans[..2].iter().chain(Some(block).filter(|_| self.values == Placement::Blocks)).flatten()
    }

    /// Residues per evaluation: the leaf degree.
    pub(crate) fn leaf_degree(&self) -> usize {
        self.factorization.leaf_degree()
    }

    /// Bytes of a device's part of the vector. Transforms need a second buffer of this size.
    #[must_use]
    pub fn share_bytes(&self) -> usize {
        self.poly.bytes() / self.devices
    }

    /// Bytes of a row, which is also the size of a part of a device's columns and of a part of its block.
    pub(crate) fn row_bytes(&self) -> usize {
        self.poly.bytes() / self.rows()
    }

    /// Bytes of a piece: the intersection of a row and a part of the columns, which an exchange sends as a whole.
    pub(crate) fn piece_bytes(&self) -> usize {
        self.row_bytes() / self.rows()
    }

    /// Bytes that each device sends in one transform.
    #[must_use]
    pub fn sent_bytes(&self) -> usize {
        let exchanges = [self.coefficients, self.values].into_iter().filter(|end| *end == Placement::Blocks).count();
        (1 + exchanges) * self.exchange_bytes()
    }

    /// Bytes that each device sends in one exchange.
    fn exchange_bytes(&self) -> usize {
        self.share_bytes() / self.devices * (self.devices - 1)
    }
}

impl fmt::Display for LongPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { poly, devices, rows, coefficients, values, .. } = self;
        let exchange = self.exchange_bytes();
        writeln!(f, "forward transform in {poly} over {devices} devices, each:")?;
        if *coefficients == Placement::Blocks {
            writeln!(f, "exchange: {exchange} bytes leave, in {rows} parts, blocks become columns")?;
        }
        let [of_columns, of_row, of_block] = &self.plans;
        if let Some(plan) = of_columns {
            writeln!(f, "on each of {rows} parts of the columns, under the exchange of the next:\n{plan}")?;
        }
        writeln!(f, "exchange: {exchange} bytes leave, in {rows} parts, columns become rows")?;
        if let Some(plan) = of_row {
            writeln!(f, "on each of {rows} rows, with its own constants, under the exchange of the next:\n{plan}")?;
        }
        if let (Some(plan), Placement::Blocks) = (of_block, values) {
            writeln!(f, "exchange: {exchange} bytes leave, in {rows} parts, rows become blocks")?;
            writeln!(f, "on each of {rows} parts of the block:\n{plan}")?;
        }
        Ok(())
    }
}
