//! The kernel `lift_fold`: from a longer auxiliary ring to residues modulo q, reduced in several rounds modulo the
//! ring's quotient f, which may be any sparse polynomial.

use core::ops::Range;
use std::sync::Arc;

use crypto_bigint::U256;
use ringforge_cpu::wipe::Wiped;

use crate::kernels::crt::{Stored, with_stored};
use crate::kernels::lift::LargerNtt;
use crate::kernels::rebuild::Rebuild;
use crate::kernels::target::{Row, Target};
use crate::source::of_engine;
use ringforge_math::error::{Error, Result};
use ringforge_runtime::kernel::{Args, Built, Kernel, Launch, Port, Source, Table};
use ringforge_runtime::limits::Limits;

/// Maximum number of threads per block.
const THREADS: usize = 512;

/// Computes one limb of ring elements from products in a longer auxiliary ring: by CRT, then by replacing x^n by the
/// sum Σ c·x^k that equals it modulo f.
///
/// Ports: the auxiliary element (in), the terms ([`LiftFold::table`]), the element (out; in and out for limbs after the
/// first). If the 2n − 1 unreduced coefficients do not fit in shared memory, the first port has these instead (in and
/// out) and they are reduced in place.
#[derive(Debug)]
pub(super) struct LiftFold<S: Row> {
    lift: LargerNtt,
    rebuild: Rebuild<S::Target>,
    /// The terms c·x^k of x^n modulo f with c ≠ 0, by ascending k.
    tail: Vec<Term<<S::Target as Target>::Factor>>,
    in_place: bool,
    ports: [Port; 3],
}

#[derive(Debug)]
struct Term<F> {
    k: usize,
    c: U256,
    factor: F,
}

impl<S: Row> LiftFold<S> {
    pub(super) fn new(lift: &LargerNtt, limits: &Limits) -> Result<Self> {
        let tail = lift.poly.quotient().tail(lift.q()).into_iter().filter(|&(_, c)| c != U256::ZERO);
        let tail = tail.map(|(k, c)| Term { k, c, factor: <S::Target as Target>::factor(lift.q(), &c) }).collect();
        let rebuild = Rebuild::new(lift.auxiliary.basis(), lift.q(), &lift.scale())?;
        let row_bytes = (2 * lift.n() - 1) * lift.poly.width().bytes();
        let in_place = !limits.is_cpu() && row_bytes > limits.block_shared_bytes as usize;
        let input = if in_place { Port::in_out(row_bytes) } else { Port::input(lift.auxiliary.bytes()) };
        let fold = Self { lift: lift.clone(), rebuild, tail, in_place, ports: [input, Port::shared(0), lift.output()] };
        let table = Port::shared(fold.tail_table().bytes());
        Ok(Self { ports: [input, table, lift.output()], ..fold })
    }

    /// The terms c·x^k for the second port: all c, then all k. If every c is 1 or −1, the table has 1 for c = 1 and 0
    /// for c = −1.
    fn tail_table(&self) -> Table {
        let one = self.lift.q().reduce(&U256::ONE);
        let mut bytes = Vec::new();
        for Term { c, factor, .. } in &self.tail {
            match self.has_units() {
                true => bytes.extend(u64::from(*c == one).to_ne_bytes()),
                false => bytes.extend(bytemuck::bytes_of(factor)),
            }
        }
        bytes.extend(self.tail.iter().flat_map(|term| (term.k as u64).to_ne_bytes()));
        Table::Bytes(Arc::from(bytes))
    }

    pub(super) fn is_in_place(&self) -> bool {
        self.in_place
    }

    /// Whether the coefficient c of every term is 1 or −1.
    fn has_units(&self) -> bool {
        let q = self.lift.q();
        self.tail.iter().all(|term| [q.reduce_i64(1), q.reduce_i64(-1)].contains(&term.c))
    }

    /// Number of top coefficients that one round of the reduction removes: n minus the largest exponent k of a term.
    fn gap(&self) -> usize {
        self.lift.n() - self.tail.last().map_or(0, |term| term.k)
    }

    fn run<W: Stored>(&self, from: &[W], to: &mut [S]) {
        let Self { lift, rebuild, .. } = self;
        let n = lift.n();
        let mut product = Wiped::<<S::Target as Target>::Residue>::zeros(2 * n - 1);
        let items = from.chunks_exact(lift.auxiliary.basis().len() * lift.length());
        for (from, to) in items.zip(to.chunks_exact_mut(lift.poly.basis().len() * n)) {
            for (j, x) in product.iter_mut().enumerate() {
                *x = rebuild.rebuild(|prime| from[lift.place(prime, j)].get());
            }
            self.fold(&mut product, |x| x, |x| x);
            self.put(to, product.iter().map(|&x| S::put(x)));
        }
    }

    fn run_in_place(&self, rows: &mut [S], to: &mut [S]) {
        let n = self.lift.n();
        let items = rows.chunks_exact_mut(2 * n - 1);
        for (row, to) in items.zip(to.chunks_exact_mut(self.lift.poly.basis().len() * n)) {
            self.fold(row, S::get, S::put);
            self.put(to, row.iter().copied());
        }
    }

    fn fold<X: Copy>(
        &self,
        row: &mut [X],
        get: impl Fn(X) -> <S::Target as Target>::Residue,
        put: impl Fn(<S::Target as Target>::Residue) -> X,
    ) {
        let n = self.lift.n();
        let target = self.rebuild.target();
        for source in (n..2 * n - 1).rev() {
            let x = get(row[source]);
            for Term { k, factor, .. } in &self.tail {
                let to = &mut row[source - n + k];
                *to = put(target.add(get(*to), target.mul(x, factor)));
            }
        }
    }

    fn put(&self, to: &mut [S], row: impl Iterator<Item = S>) {
        if self.lift.clears() {
            to.fill(S::put(<S::Target as Target>::residue(&U256::ZERO)));
        }
        for (to, x) in to[self.lift.start()..][..self.lift.n()].iter_mut().zip(row) {
            *to = x;
        }
    }
}

impl<S: Row> Kernel for LiftFold<S> {
    fn name(&self) -> &'static str {
        "lift_fold"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, limits: &Limits) -> Result<Source> {
        let n = self.lift.n();
        let threads = n.div_ceil(4).next_multiple_of(32).min(THREADS);
        let shared_bytes = if self.in_place { 0 } else { (2 * n - 1) * self.lift.poly.width().bytes() };
        if shared_bytes > limits.block_shared_bytes as usize {
            return Err(Error::Unsupported {
                job: format!("a product in {}", self.lift.poly),
                why: format!(
                    "its plan needs {shared_bytes} bytes of shared memory for the reduction, more than {} has",
                    limits.name
                ),
            });
        }
        let [source, coefficient] =
            [if self.in_place { "Store" } else { "const Word" }, if self.has_units() { "rf::u64" } else { "Factor" }];
        let further = format!(
            "    using Source = {source};\n    using Coefficient = {coefficient};\n\
             \x20   static constexpr rf::u32 threads = {threads}, terms = {}, gap = {};\n\
             \x20   static constexpr bool in_place = {}, units = {}, clears = {};\n{}",
            self.tail.len(),
            self.gap(),
            self.in_place,
            self.has_units(),
            self.lift.clears(),
            self.rebuild.prelude(self.lift.word_bits()),
        );
        let launch =
            Launch { items_per_block: 1, shared_bytes: shared_bytes as u32, ..Launch::thread_per_item(threads as u32) };
        let built = Built { prelude: format!("#pragma once\n{}", self.lift.prelude::<S>(&further)), launch };
        Ok(of_engine(self, ringforge_kernels::LIFT_FOLD, built, Vec::new()))
    }

    fn table(&self, port: usize) -> Option<Table> {
        (port == 1).then(|| self.tail_table())
    }

    fn on_cpu(&self, _: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        if self.in_place {
            self.run_in_place(args.output(0)?, args.output(2)?);
            return Ok(());
        }
        with_stored!(self, self.lift.auxiliary.width(), W => {
            self.run::<W>(args.input(0)?, args.output(2)?);
            Ok(())
        })
    }

    fn describe(&self) -> String {
        let place = if self.in_place { ", in device memory" } else { "" };
        format!("{}, {} terms{place}", self.lift.describe(), self.tail.len())
    }
}
