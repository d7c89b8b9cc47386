//! The kernels `scale` and `sum`: residues of elements times known numbers, and their sums, modulo any q.

use core::marker::PhantomData;
use core::ops::Range;
use std::sync::Arc;

use crypto_bigint::U256;
use ringforge_cpu::Limbs;

use crate::kernels::fused::fused;
use crate::kernels::spread;
use crate::kernels::target::{Row, Target};
use crate::rows::{lanes, lay_apart};
use crate::source::{fusable, of_engine};
use ringforge_math::error::{Error, Result};
use ringforge_math::modulus::{Modulus, Width, low_u64};
use ringforge_math::poly::PolyType;
use ringforge_runtime::kernel::{Args, Built, Combination, Kernel, Port, Sharing, Source, Table};
use ringforge_runtime::limits::Limits;

/// Threads of a block.
const THREADS: usize = 256;

/// Threads that have some neighbouring residues each (`linear.cuh`), of elements whose combination they store.
#[derive(Debug, Clone)]
pub(super) struct Lanes<S: Row> {
    poly: PolyType,
    combination: Combination,
    /// Residues of a thread.
    count: usize,
    stored: PhantomData<S>,
}

impl<S: Row> Lanes<S> {
    pub(super) fn new(poly: &PolyType, combination: Combination) -> Self {
        Self { poly: poly.clone(), combination, count: 1, stored: PhantomData }.within(poly.degree())
    }

    /// With the most residues for a thread to move at once, where all begin at a multiple of so many.
    fn within(mut self, residues: usize) -> Self {
        self.count = lanes(self.poly.degree() | residues, &self.poly);
        self
    }

    /// The same for elements that begin at these bytes and lie so many apart; nothing where these are no whole residues.
    pub(super) fn apart(&self, ports: &[Port], firsts: &[usize], distances: &[usize]) -> Option<Self> {
        let places = firsts.iter().zip(distances).map(|(first, distance)| first | distance);
        let own = places.zip(ports).filter(|(_, port)| port.sharing == Sharing::PerItem);
        let all = own.fold(0, |all, (place, _)| all | place);
        let width = self.poly.width().bytes();
        all.is_multiple_of(width).then(|| self.clone().within(all / width))
    }

    pub(super) fn poly(&self) -> &PolyType {
        &self.poly
    }

    /// Residues of an element.
    pub(super) fn residues(&self) -> usize {
        self.poly.basis().len() * self.poly.degree()
    }

    /// The moduli and factors.
    pub(super) fn table(&self) -> Table {
        multiples::<S>(&self.poly, &[&self.combination])
    }

    /// The source of a kernel whose text begins with such threads: its numbers are the units of an item, and the distances of
    /// all ports but shared ones.
    pub(super) fn source(&self, kernel: &dyn Kernel, text: &'static str) -> Result<Source> {
        let Self { poly, combination, count, .. } = self;
        let units = self.residues() / count;
        let minus = &combination.minus;
        let prelude = format!(
            "#pragma once\n#include \"linear.cuh\"\nstruct Linear {{\n{}\
             \x20   static constexpr rf::u32 n = {}, lanes = {count}, threads = {THREADS};\n\
             \x20   RF_CONST bool minus(rf::u32 i) {{ return i == 0 ? {} : {}; }}\n}};\n",
            multiples_text::<S>(poly, &[combination]),
            poly.degree(),
            minus[0],
            minus[minus.len() - 1],
        );
        let built = Built { prelude, launch: spread::launch(units, THREADS)? };
        let own = kernel.ports().iter().filter(|port| port.sharing == Sharing::PerItem);
        let distances = own.map(|port| port.distance() / poly.width().bytes());
        let numbers = core::iter::once(units).chain(distances).map(|number| number as u64).collect();
        Ok(fusable(of_engine(kernel, text, built, numbers)))
    }

    /// Calls `run` with each row of an output, the first of its residues, and the arithmetic of the row.
    pub(super) fn each(&self, out: &mut [S], run: impl Fn(&mut [S], usize, Multiple<S>) + Sync) {
        let (n, basis) = (self.poly.degree(), self.poly.basis());
        ringforge_cpu::threads::rows(out, n, &|i, out| {
            let (row, q) = (i % basis.len(), &basis[i % basis.len()]);
            let factor = |number: &U256| <S::Target as Target>::factor(q, number);
            let multiple = Multiple {
                q: <S::Target as Target>::new(q),
                one: self.poly.accepts_any_word().then(|| factor(&U256::ONE)),
                factor: self.combination.factor.as_ref().map(|numbers| factor(&numbers[row])),
            };
            run(out, i * n, multiple);
        });
    }
}

/// What residues of a row are times.
pub(super) struct Multiple<S: Row> {
    pub(super) q: S::Target,
    /// Of words that need not be reduced.
    one: Option<Factor<S>>,
    factor: Option<Factor<S>>,
}

type Residue<S> = <<S as Row>::Target as Target>::Residue;
type Factor<S> = <<S as Row>::Target as Target>::Factor;

impl<S: Row> Multiple<S> {
    /// A word of an input, reduced.
    pub(super) fn reduced(&self, x: S) -> Residue<S> {
        self.one.as_ref().map_or(x.get(), |one| self.q.mul_any(x.get(), one))
    }

    fn times(&self, x: Residue<S>) -> S {
        S::put(self.factor.as_ref().map_or(x, |factor| self.q.mul(x, factor)))
    }
}

/// The table of `Multiples` (`multiples.cuh`) for the factors of these combinations.
pub(super) fn multiples<S: Row>(poly: &PolyType, combinations: &[&Combination]) -> Table {
    let one = poly.accepts_any_word().then_some(U256::ONE);
    let row = |(row, q): (usize, &Modulus)| {
        let factors = combinations.iter().filter_map(|combination| Some(combination.factor.as_ref()?[row]));
        let factors = one.into_iter().chain(factors);
        match below_63_bits(poly).then(|| low_u64(&q.value())) {
            Some(q) => {
                let factor = |c: u64| [c, ((u128::from(c) << 64) / u128::from(q)) as u64];
                core::iter::once(q).chain(factors.flat_map(|number| factor(low_u64(&number)))).collect::<Vec<_>>()
            }
            None => {
                let factor = |number: U256| <S::Target as Target>::factor(q, &number);
                let words = factors.flat_map(|number| bytemuck::cast_slice(&[factor(number)]).to_vec());
                <S::Target as Target>::new(q).words().into_iter().chain(words).collect()
            }
        }
    };
    let words: Vec<u64> = poly.basis().iter().enumerate().flat_map(row).collect();
    Table::Bytes(Arc::from(bytemuck::cast_slice::<u64, u8>(&words)))
}

/// Whether products are by Shoup's method, whose remainders are below 2q.
fn below_63_bits(poly: &PolyType) -> bool {
    poly.basis().iter().all(|q| q.bits() < 64)
}

/// What `Multiples` reads of a generated struct.
pub(super) fn multiples_text<S: Row>(poly: &PolyType, combinations: &[&Combination]) -> String {
    let factors: Vec<String> =
        combinations.iter().map(|combination| combination.factor.is_some().to_string()).collect();
    format!(
        "\x20   using Store = {};\n\
         \x20   using Q = {};\n\
         \x20   static constexpr rf::u32 stages = {};\n\
         \x20   static constexpr bool reduces = {};\n\
         \x20   RF_CONST bool factor(rf::u32 i) {{\n\
         \x20       constexpr bool is[] = {{{}}};\n\
         \x20       return is[i];\n\
         \x20   }}\n",
        S::NAME,
        if below_63_bits(poly) {
            "rf::Divisor63".into()
        } else {
            <S::Target as Target>::new(&poly.basis()[0]).type_name()
        },
        combinations.len(),
        poly.accepts_any_word(),
        factors.join(", "),
    )
}

/// The combination of one element or two of a ring.
///
/// Ports: the elements in, the moduli and factors ([`Kernel::table`]), the combination out.
#[derive(Debug, Clone)]
struct Linear<S: Row> {
    lanes: Lanes<S>,
    ports: Vec<Port>,
}

/// The kernel for residues of the ring's width.
///
/// # Errors
/// [`Error::Unsupported`] for products by numbers modulo moduli of several lengths, one of them above 64 bits.
pub(crate) fn linear(poly: &PolyType, combination: Combination) -> Result<Arc<dyn Kernel>> {
    let bits: Vec<u32> = poly.basis().iter().map(Modulus::bits).collect();
    // words that need not be reduced are multiplied as well
    let multiplies = poly.accepts_any_word() || combination.factor.is_some();
    if poly.width() == Width::W256 && multiplies && bits.iter().any(|other| *other != bits[0]) {
        let why = "its moduli are of several lengths above 64 bits";
        return Err(Error::Unsupported { job: format!("multiples in {poly}"), why: why.into() });
    }
    Ok(match poly.width() {
        Width::W16 => Arc::new(Linear::<u16>::new(poly, combination)),
        Width::W32 => Arc::new(Linear::<u32>::new(poly, combination)),
        Width::W64 => Arc::new(Linear::<u64>::new(poly, combination)),
        Width::W256 => Arc::new(Linear::<Limbs>::new(poly, combination)),
    })
}

impl<S: Row> Linear<S> {
    fn new(poly: &PolyType, combination: Combination) -> Self {
        let mut ports = vec![Port::input(poly.bytes()); combination.minus.len()];
        let lanes = Lanes::new(poly, combination);
        ports.extend([Port::shared(lanes.table().bytes()), Port::output(poly.bytes())]);
        Self { lanes, ports }
    }

    fn minus(&self) -> &[bool] {
        &self.lanes.combination.minus
    }

    fn terms(&self) -> usize {
        self.minus().len()
    }
}

impl<S: Row> Kernel for Linear<S> {
    fn name(&self) -> &'static str {
        if self.terms() == 1 { "scale" } else { "sum" }
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, _: &Limits) -> Result<Source> {
        self.lanes.source(self, if self.terms() == 1 { ringforge_kernels::SCALE } else { ringforge_kernels::SUM })
    }

    /// A thread takes its residues of all elements before it writes there.
    fn in_place(&self, input: usize, output: usize) -> bool {
        input < self.terms() && output == self.terms() + 1
    }

    fn on_views(&self, firsts: &[usize], distances: &[usize]) -> Option<Arc<dyn Kernel>> {
        let lanes = self.lanes.apart(&self.ports, firsts, distances)?;
        let mut kernel = Self { lanes, ..self.clone() };
        lay_apart(&mut kernel.ports, distances);
        Some(Arc::new(kernel))
    }

    fn table(&self, port: usize) -> Option<Table> {
        (port == self.terms()).then(|| self.lanes.table())
    }

    fn on_cpu(&self, _: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        let elements = (0..self.terms()).map(|port| args.input::<S>(port)).collect::<Result<Vec<_>>>()?;
        self.lanes.each(args.output(self.terms() + 1)?, |out, first, row| {
            let q = row.q;
            let [a, b] = [0, self.terms() - 1].map(|term| &elements[term][first..][..out.len()]);
            let signed = |minus: bool, x: S| if minus { q.negate(row.reduced(x)) } else { row.reduced(x) };
            match *self.minus() {
                [minus] => out.iter_mut().zip(a).for_each(|(out, x)| *out = row.times(signed(minus, *x))),
                _ => out.iter_mut().zip(a.iter().zip(b)).for_each(|(out, (x, y))| {
                    *out = row.times(q.add(signed(self.minus()[0], *x), signed(self.minus()[1], *y)));
                }),
            }
        });
        Ok(())
    }

    fn combination(&self) -> Option<(&PolyType, &Combination)> {
        Some((self.lanes.poly(), &self.lanes.combination))
    }

    fn with_epilogue(&self, then: &Arc<dyn Kernel>, term: usize) -> Option<Arc<dyn Kernel>> {
        fused(Arc::new(self.clone()), self.terms() + 1, self.lanes.poly(), then, term)
    }

    fn describe(&self) -> String {
        let count = self.lanes.poly.basis().len();
        format!("{count} moduli, {}", self.lanes.combination)
    }
}
