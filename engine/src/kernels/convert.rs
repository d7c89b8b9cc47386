//! The kernel `convert`: RNS basis conversion.

mod column_range;
mod few;
mod many;

use core::ops::Range;
use std::sync::Arc;

use column_range::ColumnRange;
use few::Few;
use many::Many;
use ringforge_cpu::threads::{self, TASK_BYTES};
use ringforge_cpu::wide;

use crate::job::Op;
use crate::kernels::crt::{Stored, store_type, with_stored};
use crate::kernels::elementwise::fused;
use crate::kernels::rns::{self, Block};
use crate::kernels::sums::{sum30::Row30, sum60::Row60};
use crate::source::{fusable, of_engine};
use ringforge_math::error::Result;
use ringforge_math::poly::PolyType;
use ringforge_runtime::kernel::{Args, Kernel, Port, Source, Table};
use ringforge_runtime::limits::Limits;

/// Number of threads that divide the target's moduli among them, all for the same coefficients. It applies to elements
/// of fewer than [`WIDE`] coefficients, which alone are too few to fill a large GPU. This speeds up RNS-CKKS products,
/// especially single products of small degree.
const PARTS: usize = 2;
const WIDE: usize = 1 << 16;

/// Minimum number of coefficients (columns) of a CPU task.
const MIN_COLUMNS: usize = 64;

/// RNS basis conversion from residues x_i modulo q_i, where Q is the product of the q_i, to residues modulo p_j: the
/// integer x = Σ digit_i·weight_i is taken modulo each p_j.
///
/// Exact: mixed-radix digits by Garner's algorithm, with weight_i = q_0 … q_(i−1). Digit i is computed from x_i and the
/// digits before it. Digits are integers below q_i, so nothing is estimated. Comparing them with those of ⌊Q/2⌋, from
/// the highest down, tells whether x > Q/2.
///
/// Fast: weight_i = Q/q_i and digit_i = x_i·weight_i^-1 mod q_i, so the result is exact only up to a multiple of Q (the
/// fast base conversion of BEHZ, eprint 2016/510).
///
/// Residues in Montgomery form (times R) cost nothing more: the precomputed weights and factors include R, and the
/// weights modulo p_j include the target's R.
///
/// Unreduced words are accepted too. After a sum below q_i is subtracted, with q_i added on underflow, they still fit
/// 64 bits. Their product with a factor below q_i is below 2^64 q_i, which `Divisor` accepts.
///
/// A few small moduli take a specialised path ([`Few`]) with the same results.
///
/// Ports: element (in), constants, element of the target (out).
#[derive(Debug, Clone)]
pub(crate) struct Convert {
    op: Op,
    from: PolyType,
    to: PolyType,
    sums: Sums,
    /// Number of adjacent coefficients that a thread loads and stores as one vector.
    lanes: usize,
    /// Number of threads that convert the same coefficients, each to some of the target's moduli.
    parts: usize,
    ports: [Port; 3],
}

/// How weighted sums are computed and reduced.
#[derive(Debug, Clone)]
enum Sums {
    Short(Few<Row30>),
    Few(Few<Row60>),
    Many(Many),
}

/// Whether elements of both types have the same number of limbs, of the same width.
fn alike(from: &PolyType, to: &PolyType) -> bool {
    let rows = |poly: &PolyType| (poly.basis().len(), poly.width());
    rows(from) == rows(to)
}

impl Convert {
    /// The kernel for the operations `Convert`, `ConvertCentred` and `ConvertFast`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if a modulus repeats in one of the rings or has more than 64 bits. Also for more than 64
    /// moduli, and for source moduli that are not coprime.
    pub(crate) fn new(op: Op, from: &PolyType, to: &PolyType) -> Result<Self> {
        let many = Many::new(op, from, to)?;
        let sums = match (Few::<Row30>::of(&many, from), Few::<Row60>::of(&many, from)) {
            (Some(short), _) => Sums::Short(short),
            (None, Some(few)) => Sums::Few(few),
            (None, None) => Sums::Many(many),
        };
        let ports = [Port::input(from.bytes()), Port::shared(0), Port::output(to.bytes())];
        let lanes = if !matches!(sums, Sums::Many(_)) && from.degree().is_multiple_of(2) { 2 } else { 1 };
        let is_few = !matches!(sums, Sums::Many(_));
        let parts = if is_few && !alike(from, to) && from.degree() < WIDE { PARTS.min(to.basis().len()) } else { 1 };
        let mut kernel = Self { op, from: from.clone(), to: to.clone(), sums, lanes, parts, ports };
        kernel.ports[1].bytes = 8 * kernel.words().len();
        Ok(kernel)
    }

    /// The constants for the second port, as `convert.cu` reads them.
    fn words(&self) -> Vec<u64> {
        match &self.sums {
            Sums::Short(short) => short.words(),
            Sums::Few(few) => few.words(),
            Sums::Many(many) => many.words(),
        }
    }

    fn run<S: Stored, T: Stored>(&self, from: &[S], to: ColumnRange<'_, T>) {
        let n = self.from.degree();
        let words = to.columns * (self.from.basis().len() + self.to.basis().len());
        if words * size_of::<u64>() > TASK_BYTES && to.columns > MIN_COLUMNS {
            let middle = (to.columns / 2).next_multiple_of(MIN_COLUMNS);
            let [left, right] = to.split_at(middle);
            threads::join(|| self.run(from, left), || self.run(from, right));
            return;
        }
        wide(
            #[inline(always)]
            || match &self.sums {
                Sums::Short(short) => short.run(from, n, to),
                Sums::Few(few) => few.run(from, n, to),
                Sums::Many(many) => many.run(from, n, to),
            },
        );
    }
}

impl Kernel for Convert {
    fn name(&self) -> &'static str {
        "convert"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, limits: &Limits) -> Result<Source> {
        let (sources, targets) = (self.from.basis().len(), self.to.basis().len());
        let (fewest, narrow, words) = match &self.sums {
            Sums::Short(short) => (short.fewest(), true, 0),
            Sums::Few(few) => (few.fewest(), true, 0),
            Sums::Many(many) => (0, many.narrow, sources),
        };
        let lines = format!(
            "    using From = {};\n\
             \x20   using To = {};\n\
             \x20   static constexpr bool exact = {}, centred = {}, narrow = {narrow}, is_short = {};\n\
             \x20   static constexpr rf::u32 fewest = {fewest}, n = {}, lanes = {}, parts = {};\n",
            store_type(self.from.width()),
            store_type(self.to.width()),
            self.op != Op::ConvertFast,
            self.op == Op::ConvertCentred,
            matches!(self.sums, Sums::Short(_)),
            self.from.degree(),
            self.lanes,
            self.parts,
        );
        let block = Block { lanes: self.lanes, parts: self.parts, words, more: 0 };
        let built = rns::build(limits, self.op, &self.from, &lines, block)?;
        let strides =
            [(0, &self.from), (2, &self.to)].map(|(port, poly)| self.ports[port].stride() / poly.width().bytes());
        let numbers = [sources, targets].into_iter().chain(strides).map(|number| number as u64).collect();
        Ok(fusable(of_engine(self, ringforge_kernels::CONVERT, built, numbers)))
    }

    /// Both types must have the same number of limbs of the same width, so that limbs are at the same offsets. One
    /// thread must do all limbs of its coefficients: it reads all of them before it writes any.
    fn in_place(&self, input: usize, output: usize) -> bool {
        (input, output) == (0, 2) && self.parts == 1 && alike(&self.from, &self.to)
    }

    fn on_views(&self, firsts: &[usize], strides: &[usize]) -> Option<Arc<dyn Kernel>> {
        let mut kernel = self.clone();
        for (port, poly) in [(0, &self.from), (2, &self.to)] {
            kernel.ports[port].stride = Some(rns::stride(poly, firsts[port], strides[port])?);
            if !(firsts[port] | strides[port]).is_multiple_of(kernel.lanes * poly.width().bytes()) {
                kernel.lanes = 1;
            }
        }
        Some(Arc::new(kernel))
    }

    fn table(&self, port: usize) -> Option<Table> {
        (port == 1).then(|| Table::Bytes(Arc::from(bytemuck::cast_slice::<u64, u8>(&self.words()))))
    }

    fn on_cpu(&self, _: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        let n = self.from.degree();
        with_stored!(self, self.from.width(), S => {
            with_stored!(self, self.to.width(), T => {
                let (from, to): (&[S], &mut [T]) = (args.input(0)?, args.output(2)?);
                let elements = from.chunks_exact(n * self.from.basis().len()).zip(to.chunks_exact_mut(n * self.to.basis().len()));
                elements.for_each(|(from, to)| self.run(from, ColumnRange::new(to, n)));
                Ok(())
            })
        })
    }

    fn with_epilogue(&self, then: &Arc<dyn Kernel>, term: usize) -> Option<Arc<dyn Kernel>> {
        fused(Arc::new(self.clone()), 2, &self.to, then, term)
    }

    fn describe(&self) -> String {
        let kind = match self.op {
            Op::ConvertFast => "fast",
            Op::ConvertCentred => "centred",
            _ => "exact",
        };
        format!("{} moduli to {}, {kind}", self.from.basis().len(), self.to.basis().len())
    }
}
