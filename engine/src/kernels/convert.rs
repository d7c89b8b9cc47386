//! RNS rows from those of another basis.

use core::ops::Range;
use std::sync::Arc;

use crypto_bigint::U256;

use crate::error::{Error, Result};
use crate::job::Op;
use crate::kernel::{Args, Kernel, Port};
use crate::kernels::crt::{Divisor, Stored, store_type, sub_mod, with_stored};
use crate::kernels::rns::{self, MAX_MODULI, Shared, Weighted};
use crate::limits::Limits;
use crate::modulus::{Modulus, low_u64};
use crate::ring::Ring;
use crate::source::Source;
use crate::table::Table;

/// From the moduli q_i with product Q to the moduli p_j: an integer is written as x = Σ digit_i·weight_i, and the sum is
/// taken modulo each p_j.
///
/// Exact: the digits of the mixed radix with weight_i = q_0 … q_(i−1), one after another from x_i modulo q_i (Garner). They
/// are integers below q_i, so nothing is estimated; x > Q/2 shows in them, from the highest down. Fast: weight_i = Q/q_i and
/// digit_i = x_i·weight_i^-1 mod q_i, which leaves out a multiple of Q.
///
/// Residues stored times R cost nothing more: the digits before one are summed times R, R goes with weight_i, and the weights
/// modulo p_j are times the target's R. Nor do words that are not reduced: less a sum below q_i, or with q_i added where they
/// are smaller, they still fit 64 bits, and times a factor below q_i they are below 2^64 q_i, which [`Divisor`] takes.
///
/// Ports: element in, constants ([`Convert::table`]), element of the target out.
#[derive(Debug, Clone)]
pub(crate) struct Convert {
    op: Op,
    from: Ring,
    to: Ring,
    sources: Vec<SourceModulus>,
    targets: Vec<Target>,
    /// Whether all digits add up to at most 2^64.
    narrow: bool,
    ports: [Port; 3],
}

#[derive(Debug, Clone)]
struct SourceModulus {
    /// Of the digits that are known before this one, modulo q_i, times R.
    before: Weighted,
    q: u64,
    /// (weight_i·R)^-1 mod q_i.
    factor: u64,
    /// The digit of ⌊Q/2⌋.
    half: u64,
}

#[derive(Debug, Clone)]
struct Target {
    /// Of all digits, modulo p_j, times the target's R.
    digits: Weighted,
    p: u64,
    /// Q·R mod p_j.
    product: u64,
}

impl Convert {
    /// For the operations `Convert`, `ConvertCentred` and `ConvertFast`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where moduli come again in one of the rings, for more than 64 of them or one of more than 64
    /// bits.
    pub(crate) fn new(op: Op, from: &Ring, to: &Ring) -> Result<Self> {
        let (moduli, target_moduli) = (rns::basis(op, from)?, rns::basis(op, to)?);
        let exact = op != Op::ConvertFast;
        // times R mod p
        let weight = |i: usize, p: u64, divisor: &Divisor, radix: u64| {
            let factors = moduli.iter().enumerate().filter(|&(j, _)| if exact { j < i } else { j != i });
            factors.fold(radix, |weight, (_, q)| divisor.mul(weight, q % p))
        };
        let half = half(&moduli);
        let source = |(i, modulus): (usize, &Modulus)| {
            let q = moduli[i];
            let (divisor, radix) = (Divisor::new(q), low_u64(&from.radix(modulus)));
            let weights = (0..if exact { i } else { 0 }).map(|i| weight(i, q, &divisor, radix)).collect();
            let factor = modulus.inverse(&U256::from(weight(i, q, &divisor, radix)));
            let factor = factor.ok_or_else(|| Error::unsupported(op, from, "no inverse"))?;
            Ok(SourceModulus { before: Weighted { divisor, weights }, q, factor: low_u64(&factor), half: half[i] })
        };
        let sources = from.basis().iter().enumerate().map(source).collect::<Result<Vec<_>>>()?;
        let target = |(modulus, &p): (&Modulus, &u64)| {
            let (divisor, radix) = (Divisor::new(p), low_u64(&to.radix(modulus)));
            let weights = (0..moduli.len()).map(|i| weight(i, p, &divisor, radix)).collect();
            let product = moduli.iter().fold(radix, |product, q| divisor.mul(product, q % p));
            Target { digits: Weighted { divisor, weights }, p, product }
        };
        let targets: Vec<Target> = to.basis().iter().zip(&target_moduli).map(target).collect();
        let narrow = moduli.iter().map(|&q| u128::from(q - 1)).sum::<u128>() <= 1 << 64;
        let ports = [Port::input(from.bytes()), Port::shared(0), Port::output(to.bytes())];
        let mut kernel = Self { op, from: from.clone(), to: to.clone(), sources, targets, narrow, ports };
        kernel.ports[1].bytes = 8 * kernel.words().len();
        Ok(kernel)
    }

    /// The constants for the second port. For each q_i: d, reciprocal, shift, factor, the digit of ⌊Q/2⌋, the weights of
    /// the digits before. For each p_j: d, reciprocal, shift, Q·R mod p_j, the weights of all digits.
    fn constants(&self) -> Table {
        Table::Bytes(Arc::from(bytemuck::cast_slice::<u64, u8>(&self.words())))
    }

    fn words(&self) -> Vec<u64> {
        let sources = self.sources.iter().flat_map(|source| source.before.words(&[source.factor, source.half]));
        let targets = self.targets.iter().flat_map(|target| target.digits.words(&[target.product]));
        sources.chain(targets).collect()
    }

    fn run<S: Stored, T: Stored>(&self, from: &[S], to: &mut [T]) {
        let n = self.from.degree();
        let (sources, targets) = (self.sources.len(), self.targets.len());
        let mut digits = [0; MAX_MODULI];
        for (from, to) in from.chunks_exact(sources * n).zip(to.chunks_exact_mut(targets * n)) {
            for cell in 0..n {
                let mut above_half = false;
                for (i, SourceModulus { before, q, factor, half }) in self.sources.iter().enumerate() {
                    let x = sub_mod(from[i * n + cell].get(), before.sum(&digits[..i]), *q);
                    let digit = before.divisor.mul(x, *factor);
                    above_half = digit > *half || (digit == *half && above_half);
                    digits[i] = digit;
                }
                let negative = above_half && self.op == Op::ConvertCentred;
                for (j, Target { digits: weighted, p, product }) in self.targets.iter().enumerate() {
                    let x = weighted.sum(&digits[..sources]);
                    to[j * n + cell] = T::put(sub_mod(x, if negative { *product } else { 0 }, *p));
                }
            }
        }
    }
}

/// The digits of ⌊Q/2⌋ in the mixed radix of these moduli: from the top, half a unit of a place is q/2 of the one below.
fn half(moduli: &[u64]) -> Vec<u64> {
    let mut digits = vec![0; moduli.len()];
    for (digit, q) in digits.iter_mut().zip(moduli).rev() {
        *digit = q / 2;
        if q.is_multiple_of(2) {
            break;
        }
    }
    digits
}

impl Kernel for Convert {
    fn name(&self) -> &'static str {
        "convert"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, limits: &Limits) -> Result<Source> {
        let (sources, targets) = (self.sources.len(), self.targets.len());
        let lines = format!(
            "    using From = {};\n\
             \x20   using To = {};\n\
             \x20   static constexpr bool exact = {}, centred = {}, narrow = {};\n",
            store_type(self.from.width()),
            store_type(self.to.width()),
            self.op != Op::ConvertFast,
            self.op == Op::ConvertCentred,
            self.narrow,
        );
        let built = rns::build(limits, self.op, &self.from, &lines, Shared { each: sources, more: 0 })?;
        let distances =
            [(0, &self.from), (2, &self.to)].map(|(port, ring)| self.ports[port].distance() / ring.width().bytes());
        let numbers = [sources, targets].into_iter().chain(distances).map(|number| number as u64).collect();
        Ok(Source { numbers, ..Source::of_engine(self, ringforge_kernels::CONVERT, built) })
    }

    /// A thread has taken its coefficient of all rows before it writes that of any; rows of both rings are the same places
    /// where there are as many, of one width.
    fn in_place(&self, input: usize, output: usize) -> bool {
        let rows = |ring: &Ring| (ring.basis().len(), ring.width());
        (input, output) == (0, 2) && rows(&self.from) == rows(&self.to)
    }

    fn on_views(&self, firsts: &[usize], distances: &[usize]) -> Option<Arc<dyn Kernel>> {
        let mut kernel = self.clone();
        for (port, ring) in [(0, &self.from), (2, &self.to)] {
            kernel.ports[port].apart = Some(rns::distance(ring, firsts[port], distances[port])?);
        }
        Some(Arc::new(kernel))
    }

    fn table(&self, port: usize) -> Option<Table> {
        (port == 1).then(|| self.constants())
    }

    fn on_cpu(&self, _: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        with_stored!(self, self.from.width(), S => {
            with_stored!(self, self.to.width(), T => {
                self.run::<S, T>(args.input(0)?, args.output(2)?);
                Ok(())
            })
        })
    }

    fn describe(&self) -> String {
        let kind = match self.op {
            Op::ConvertFast => "fast",
            Op::ConvertCentred => "centred",
            _ => "exact",
        };
        format!("{} moduli to {}, {kind}", self.sources.len(), self.targets.len())
    }
}
