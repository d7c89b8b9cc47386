//! The kernels `scale` and `sum`: residues of elements times known numbers, and their sums, modulo any q.

use core::fmt;
use core::marker::PhantomData;
use core::ops::Range;
use std::sync::Arc;

use crypto_bigint::U256;
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::kernel::{Args, Kernel, Port, Sharing};
use crate::kernels::divisor256::Limbs;
use crate::kernels::spread;
use crate::kernels::target::{Row, Target};
use crate::limits::Limits;
use crate::modulus::{Modulus, Width};
use crate::ring::Ring;
use crate::rows::{lanes, lay_apart};
use crate::source::{Built, Source};
use crate::table::Table;

/// Threads of a block.
const THREADS: usize = 256;

/// What an element is times in a sum.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Coefficient {
    /// 1.
    One,
    /// −1.
    MinusOne,
    /// A number for each modulus of the basis, below it.
    Known(Vec<U256>),
}

/// Threads that have some neighbouring residues each, of elements that are times coefficients (`linear.cuh`).
#[derive(Debug, Clone)]
pub(super) struct Lanes<S: Row> {
    ring: Ring,
    terms: Vec<Coefficient>,
    /// Residues of a thread.
    count: usize,
    stored: PhantomData<S>,
}

impl<S: Row> Lanes<S> {
    pub(super) fn new(ring: &Ring, terms: Vec<Coefficient>) -> Self {
        let terms = terms.into_iter().map(|term| reducing(ring, term)).collect();
        Self { ring: ring.clone(), terms, count: 1, stored: PhantomData }.within(ring.degree())
    }

    /// With the most residues for a thread to move at once, where all begin at a multiple of so many.
    fn within(mut self, residues: usize) -> Self {
        self.count = lanes(self.ring.degree() | residues, &self.ring);
        self
    }

    /// The same for elements that begin at these bytes and lie so many apart; nothing where these are no whole residues.
    pub(super) fn apart(&self, ports: &[Port], firsts: &[usize], distances: &[usize]) -> Option<Self> {
        let places = firsts.iter().zip(distances).map(|(first, distance)| first | distance);
        let own = places.zip(ports).filter(|(_, port)| port.sharing == Sharing::PerItem);
        let all = own.fold(0, |all, (place, _)| all | place);
        let width = self.ring.width().bytes();
        all.is_multiple_of(width).then(|| self.clone().within(all / width))
    }

    /// Residues of an element.
    pub(super) fn residues(&self) -> usize {
        self.ring.basis().len() * self.ring.degree()
    }

    /// For each row: the modulus, and for each term a factor.
    pub(super) fn table(&self) -> Table {
        let row = |(row, q): (usize, &Modulus)| {
            let mut words = <S::Target as Target>::new(q).words();
            for term in &self.terms {
                words.extend_from_slice(bytemuck::cast_slice(&[Self::factor(q, term, row)]));
            }
            words
        };
        let words: Vec<u64> = self.ring.basis().iter().enumerate().flat_map(row).collect();
        Table::Bytes(Arc::from(bytemuck::cast_slice::<u64, u8>(&words)))
    }

    fn factor(q: &Modulus, term: &Coefficient, row: usize) -> <S::Target as Target>::Factor {
        let number = match term {
            Coefficient::One => U256::ONE,
            Coefficient::MinusOne => q.reduce_i64(-1),
            Coefficient::Known(numbers) => numbers[row],
        };
        <S::Target as Target>::factor(q, &number)
    }

    /// The source of a kernel whose text begins with such threads: its numbers are the units of an item, and the distances of
    /// all ports but shared ones.
    pub(super) fn source(&self, kernel: &dyn Kernel, text: &'static str) -> Result<Source> {
        let Self { ring, terms, count, .. } = self;
        let units = self.residues() / count;
        let times = |term: &Coefficient| match term {
            Coefficient::One => "plus",
            Coefficient::MinusOne => "minus",
            Coefficient::Known(_) => "factor",
        };
        let names: Vec<String> = terms.iter().map(|term| format!("rf::Times::{}", times(term))).collect();
        let prelude = format!(
            "#pragma once\n#include \"linear.cuh\"\nstruct Linear {{\n\
             \x20   using Store = {};\n\
             \x20   using Q = {};\n\
             \x20   static constexpr rf::u32 n = {}, lanes = {count}, threads = {THREADS}, terms = {};\n\
             \x20   RF_CONST rf::Times times(rf::u32 i) {{ return i == 0 ? {} : {}; }}\n}};\n",
            S::NAME,
            <S::Target as Target>::new(&ring.basis()[0]).type_name(),
            ring.degree(),
            terms.len(),
            names[0],
            names[names.len() - 1],
        );
        let built = Built { prelude, launch: spread::launch(units, THREADS)? };
        let own = kernel.ports().iter().filter(|port| port.sharing == Sharing::PerItem);
        let distances = own.map(|port| port.distance() / ring.width().bytes());
        let numbers = core::iter::once(units).chain(distances).map(|number| number as u64).collect();
        Ok(Source { numbers, ..Source::of_engine(kernel, text, built) })
    }

    /// Calls `run` with each row of an output, its number in the element, the first of its residues, and the modulus.
    pub(super) fn each(&self, out: &mut [S], run: impl Fn(&mut [S], usize, usize, S::Target) + Sync) {
        let (n, rows) = (self.ring.degree(), self.ring.basis().len());
        out.par_chunks_exact_mut(n).enumerate().for_each(|(i, out)| {
            run(out, i % rows, i * n, <S::Target as Target>::new(&self.ring.basis()[i % rows]));
        });
    }

    /// A residue times the coefficient of a term.
    pub(super) fn times(&self, term: usize, row: usize, target: S::Target) -> impl Fn(S) -> Residue<S> {
        let factor = Self::factor(&self.ring.basis()[row], &self.terms[term], row);
        move |x: S| match &self.terms[term] {
            Coefficient::One => x.get(),
            Coefficient::MinusOne => target.negate(x.get()),
            Coefficient::Known(_) => target.mul_any(x.get(), &factor),
        }
    }
}

type Residue<S> = <<S as Row>::Target as Target>::Residue;

/// The sum of one element or two of a ring, each times a coefficient.
///
/// Ports: the elements in, the moduli and coefficients ([`Kernel::table`]), the sum out.
#[derive(Debug, Clone)]
struct Linear<S: Row> {
    lanes: Lanes<S>,
    ports: Vec<Port>,
}

/// The kernel for residues of the ring's width.
///
/// # Errors
/// [`Error::Unsupported`] for products by numbers modulo moduli of several lengths, one of them above 64 bits.
pub(crate) fn linear(ring: &Ring, terms: Vec<Coefficient>) -> Result<Arc<dyn Kernel>> {
    let bits: Vec<u32> = ring.basis().iter().map(Modulus::bits).collect();
    // words that need not be reduced are multiplied as well
    let multiplies = ring.accepts_any_word() || terms.iter().any(|term| matches!(term, Coefficient::Known(_)));
    if ring.width() == Width::W256 && multiplies && bits.iter().any(|other| *other != bits[0]) {
        let why = "its moduli are of several lengths above 64 bits";
        return Err(Error::Unsupported { job: format!("multiples in {ring}"), why: why.into() });
    }
    Ok(match ring.width() {
        Width::W16 => Arc::new(Linear::<u16>::new(ring, terms)),
        Width::W32 => Arc::new(Linear::<u32>::new(ring, terms)),
        Width::W64 => Arc::new(Linear::<u64>::new(ring, terms)),
        Width::W256 => Arc::new(Linear::<Limbs>::new(ring, terms)),
    })
}

impl<S: Row> Linear<S> {
    fn new(ring: &Ring, terms: Vec<Coefficient>) -> Self {
        let mut ports = vec![Port::input(ring.bytes()); terms.len()];
        let lanes = Lanes::new(ring, terms);
        ports.extend([Port::shared(lanes.table().bytes()), Port::output(ring.bytes())]);
        Self { lanes, ports }
    }

    fn terms(&self) -> usize {
        self.lanes.terms.len()
    }
}

/// What does the same to words that need not be reduced, where the ring accepts any.
fn reducing(ring: &Ring, term: Coefficient) -> Coefficient {
    let each = |number| Coefficient::Known(ring.basis().iter().map(|q| q.reduce_i64(number)).collect());
    match term {
        Coefficient::One if ring.accepts_any_word() => each(1),
        Coefficient::MinusOne if ring.accepts_any_word() => each(-1),
        term => term,
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
        self.lanes.each(args.output(self.terms() + 1)?, |sum, row, first, q| {
            for (term, element) in elements.iter().enumerate() {
                let (times, element) = (self.lanes.times(term, row, q), &element[first..][..sum.len()]);
                match term {
                    0 => sum.iter_mut().zip(element).for_each(|(sum, x)| *sum = S::put(times(*x))),
                    _ => sum.iter_mut().zip(element).for_each(|(sum, x)| *sum = S::put(q.add(sum.get(), times(*x)))),
                }
            }
        });
        Ok(())
    }

    fn describe(&self) -> String {
        let terms: Vec<String> = self.lanes.terms.iter().map(ToString::to_string).collect();
        format!("{} moduli, times {}", self.lanes.ring.basis().len(), terms.join(", "))
    }
}

impl fmt::Display for Coefficient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::One => "1",
            Self::MinusOne => "-1",
            Self::Known(_) => "a number each",
        })
    }
}
