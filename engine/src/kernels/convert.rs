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
use crate::kernels::sums::{Row, sum30::Row30, sum60::Row60};
use crate::source::{fusable, of_engine};
use ringforge_math::error::Result;
use ringforge_math::poly::PolyType;
use ringforge_runtime::kernel::{Args, Kernel, Port, Source, Table};
use ringforge_runtime::limits::Limits;

/// Number of threads that convert from one modulus and fill a large GPU. Fewer suffice if they have more to compute. Below
/// that, several threads convert the same coefficients, each to some of the target's moduli.
const THREADS: usize = 1 << 18;
/// Minimum number of target moduli of such a thread, since each of them computes all digits.
const MIN_TARGETS: usize = 8;

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
/// ModUp ([`Convert::raised`]) converts several groups of the source's limbs at once, each to all moduli of a larger ring
/// but its own.
///
/// Ports: element (in), constants, element of the target (out).
#[derive(Debug, Clone)]
pub(crate) struct Convert {
    op: Op,
    from: PolyType,
    to: PolyType,
    /// Number of source moduli of each conversion but the last, which may have fewer.
    group: usize,
    conversions: Conversions,
    /// Number of adjacent coefficients that a thread loads and stores as one vector.
    lanes: usize,
    /// Number of threads that convert the same coefficients, each to some of the target's moduli.
    parts: usize,
    ports: [Port; 3],
}

/// The conversions of all groups, by the way in which weighted sums are computed and reduced.
#[derive(Debug, Clone)]
enum Conversions {
    Short(Vec<Few<Row30>>),
    Few(Vec<Few<Row60>>),
    Many(Vec<Many>),
}

/// The layout of raised digits (ModUp): the rows of all digits, without those of a digit's own moduli, which need no
/// conversion. Rows of the same modulus are adjacent, in the order of the digits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RaisedRows {
    /// Number of limbs of the element that was cut into digits.
    pub(crate) limbs: usize,
    /// Number of limbs of each digit but the last, which may have fewer.
    pub(crate) group: usize,
}

impl RaisedRows {
    /// Number of digits.
    pub(crate) fn digits(self) -> usize {
        self.limbs.div_ceil(self.group)
    }

    /// The limbs that a digit consists of.
    pub(crate) fn own(self, digit: usize) -> Range<usize> {
        digit * self.group..self.limbs.min((digit + 1) * self.group)
    }

    /// The row of a digit for the modulus with index `limb`. The digit must not consist of this limb.
    pub(crate) fn row(self, digit: usize, limb: usize) -> usize {
        match limb < self.limbs {
            true => limb * (self.digits() - 1) + digit - usize::from(limb < self.own(digit).start),
            false => limb * self.digits() - self.limbs + digit,
        }
    }

    /// The indices in the larger basis, of `all` moduli, of the moduli of all rows.
    pub(crate) fn moduli(self, all: usize) -> Vec<usize> {
        (0..all)
            .flat_map(|limb| (0..self.digits()).filter(move |&j| !self.own(j).contains(&limb)).map(move |_| limb))
            .collect()
    }
}

/// The same conversions by sums of few products, if all have such sums.
fn few<R: Row>(conversions: &[Many], from: &PolyType) -> Option<Vec<Few<R>>> {
    conversions.iter().map(|many| Few::of(many, from)).collect()
}

/// Whether elements of both types have the same number of limbs, of the same width.
fn alike(from: &PolyType, to: &PolyType) -> bool {
    let rows = |poly: &PolyType| (poly.basis().len(), poly.width());
    rows(from) == rows(to)
}

impl Convert {
    /// The kernel for the operations `Convert`, `ConvertCentred` and `ConvertFast`, for launches of about `items` items.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if a modulus repeats in one of the rings or has more than 64 bits. Also for more than 64
    /// moduli, and for source moduli that are not coprime.
    pub(crate) fn new(op: Op, from: &PolyType, to: &PolyType, items: usize) -> Result<Self> {
        Self::of(op, from, from.basis().len(), to.clone(), vec![Many::new(op, from, to)?], items)
    }

    /// The kernel that cuts elements into digits of `group` limbs each and converts each digit, fast, to all moduli of
    /// `to` except its own. The moduli of `from` must be the first moduli of `to`, and some of `to` must be left. The
    /// output has the [`RaisedRows`].
    ///
    /// # Errors
    /// The errors of [`Convert::new`].
    pub(crate) fn raised(from: &PolyType, group: usize, to: &PolyType, items: usize) -> Result<Self> {
        let rows = RaisedRows { limbs: from.basis().len(), group };
        let all = to.basis().len();
        let conversion = |digit: usize| {
            let own = rows.own(digit);
            let others: Vec<usize> = (0..own.start).chain(own.end..all).collect();
            Many::new(Op::ConvertFast, &from.limbs(own)?, &to.with_limbs(&others)?)
        };
        let conversions = (0..rows.digits()).map(conversion).collect::<Result<Vec<_>>>()?;
        Self::of(Op::ConvertFast, from, group, to.with_limbs(&rows.moduli(all))?, conversions, items)
    }

    fn of(op: Op, from: &PolyType, group: usize, to: PolyType, conversions: Vec<Many>, items: usize) -> Result<Self> {
        let conversions = if let Some(short) = few(&conversions, from) {
            Conversions::Short(short)
        } else if let Some(few) = few(&conversions, from) {
            Conversions::Few(few)
        } else {
            Conversions::Many(conversions)
        };
        let ports = [Port::input(from.bytes()), Port::shared(0), Port::output(to.bytes())];
        let mut kernel = Self { op, from: from.clone(), to, group, conversions, lanes: 1, parts: 1, ports };
        kernel.lanes = kernel.lanes_for(from.degree());
        if !kernel.is_many() && !kernel.in_place_fits() {
            let cells = (from.degree() / kernel.lanes * kernel.rows().digits()).saturating_mul(items.max(1));
            kernel.parts = (THREADS / group / cells).clamp(1, (kernel.targets() / MIN_TARGETS).max(1));
        }
        kernel.ports[1].bytes = 8 * kernel.words().len();
        Ok(kernel)
    }

    fn is_many(&self) -> bool {
        matches!(self.conversions, Conversions::Many(_))
    }

    /// The largest [`Few::sum_bits`] of all conversions.
    fn sum_bits(&self) -> u32 {
        match &self.conversions {
            Conversions::Few(all) => all.iter().map(|few| few.sum_bits).max().unwrap_or(0),
            _ => 0,
        }
    }

    fn rows(&self) -> RaisedRows {
        RaisedRows { limbs: self.from.basis().len(), group: self.group }
    }

    /// The number of adjacent coefficients of a thread, if the places of limbs are multiples of this many coefficients.
    fn lanes_for(&self, coefficients: usize) -> usize {
        let most = match self.group {
            _ if self.is_many() => 1,
            // memory limits these, and a store of 16 bytes is the widest one
            1 | 2 => 16 / self.to.width().bytes().max(4),
            // registers limit these
            17.. => 1,
            9.. if matches!(self.conversions, Conversions::Few(_)) => 2,
            _ => 4,
        };
        [4, 2].into_iter().find(|&lanes| lanes <= most && coefficients.is_multiple_of(lanes)).unwrap_or(1)
    }

    /// The number of moduli of the larger basis of a ModUp. Otherwise that of the source's and the target's moduli.
    fn all(&self) -> usize {
        (self.to.basis().len() + self.from.basis().len()) / self.rows().digits()
    }

    /// Largest number of moduli that a digit is converted to: that of the last digit, which has the fewest limbs.
    fn targets(&self) -> usize {
        self.all() - self.rows().own(self.rows().digits() - 1).len()
    }

    fn in_place_fits(&self) -> bool {
        self.rows().digits() == 1 && alike(&self.from, &self.to)
    }

    /// The constants for the second port, as `convert.cu` reads them.
    fn words(&self) -> Vec<u64> {
        match &self.conversions {
            Conversions::Short(all) => all.iter().flat_map(|short| short.words(self.group)).collect(),
            Conversions::Few(all) => all.iter().flat_map(|few| few.words(self.group)).collect(),
            Conversions::Many(all) => all.iter().flat_map(Many::words).collect(),
        }
    }

    /// Converts one element.
    fn convert<S: Stored, T: Stored>(&self, from: &[S], to: &mut [T]) {
        let (n, rows) = (self.from.degree(), self.rows());
        let mut to: Vec<&mut [T]> = to.chunks_exact_mut(n).collect();
        for digit in 0..rows.digits() {
            let own = rows.own(digit);
            let others = (0..own.start).chain(own.end..self.all());
            let to = others.map(|limb| core::mem::take(&mut to[rows.row(digit, limb)]));
            self.run(digit, &from[own.start * n..own.end * n], ColumnRange::new(to, n));
        }
    }

    fn run<S: Stored, T: Stored>(&self, digit: usize, from: &[S], to: ColumnRange<'_, T>) {
        let n = self.from.degree();
        let words = to.columns * (self.group + self.to.basis().len() / self.rows().digits());
        if words * size_of::<u64>() > TASK_BYTES && to.columns > MIN_COLUMNS {
            let middle = (to.columns / 2).next_multiple_of(MIN_COLUMNS);
            let [left, right] = to.split_at(middle);
            threads::join(|| self.run(digit, from, left), || self.run(digit, from, right));
            return;
        }
        wide(
            #[inline(always)]
            || match &self.conversions {
                Conversions::Short(all) => all[digit].run(from, n, to),
                Conversions::Few(all) => all[digit].run(from, n, to),
                Conversions::Many(all) => all[digit].run(from, n, to),
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
        let (group, limbs, digits) = (self.group, self.from.basis().len(), self.rows().digits());
        let (fewest, narrow, words) = match &self.conversions {
            Conversions::Short(_) | Conversions::Few(_) => ((group - 1) / 2 * 2 + 1, true, 0),
            Conversions::Many(all) => (0, all.iter().all(|many| many.narrow), group),
        };
        // the records of a part's targets, in 64-bit words
        let staged = match &self.conversions {
            Conversions::Short(_) => (4 + group).next_multiple_of(4) / 2,
            Conversions::Few(_) => (3 + group).next_multiple_of(2),
            Conversions::Many(_) => 0,
        };
        let lines = format!(
            "    using From = {};\n\
             \x20   using To = {};\n\
             \x20   static constexpr bool exact = {}, centred = {}, narrow = {narrow}, is_short = {};\n\
             \x20   static constexpr rf::u32 fewest = {fewest}, sum_bits = {}, n = {}, lanes = {}, parts = {};\n",
            store_type(self.from.width()),
            store_type(self.to.width()),
            self.op != Op::ConvertFast,
            self.op == Op::ConvertCentred,
            matches!(self.conversions, Conversions::Short(_)),
            self.sum_bits(),
            self.from.degree(),
            self.lanes,
            self.parts,
        );
        let block = Block {
            lanes: self.lanes,
            parts: self.parts * digits,
            words,
            more: staged * self.targets().div_ceil(self.parts),
        };
        let built = rns::build(limits, self.op, &self.from, &lines, block)?;
        let strides =
            [(0, &self.from), (2, &self.to)].map(|(port, poly)| self.ports[port].stride() / poly.width().bytes());
        let numbers = [group, limbs, self.all()].into_iter().chain(strides).map(|number| number as u64).collect();
        Ok(fusable(of_engine(self, ringforge_kernels::CONVERT, built, numbers)))
    }

    /// Both types must have the same number of limbs of the same width, so that limbs are at the same offsets. One
    /// thread must do all limbs of its coefficients: it reads all of them before it writes any.
    fn in_place(&self, input: usize, output: usize) -> bool {
        (input, output) == (0, 2) && self.parts == 1 && self.in_place_fits()
    }

    fn on_views(&self, firsts: &[usize], strides: &[usize]) -> Option<Arc<dyn Kernel>> {
        let mut kernel = self.clone();
        for (port, poly) in [(0, &self.from), (2, &self.to)] {
            kernel.ports[port].stride = Some(rns::stride(poly, firsts[port], strides[port])?);
            let place = (firsts[port] | strides[port]) / poly.width().bytes();
            kernel.lanes = kernel.lanes.min(self.lanes_for(self.from.degree() | place));
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
                elements.for_each(|(from, to)| self.convert(from, to));
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
        let digits = self.rows().digits();
        match digits {
            1 => format!("{} moduli to {}, {kind}", self.group, self.to.basis().len()),
            _ => format!("{digits} digits of {} moduli to {}, {kind}", self.group, self.all()),
        }
    }
}
