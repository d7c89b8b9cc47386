//! Back from an auxiliary ring, where at most two low terms of f fold what is above.

use core::ops::Range;

use crypto_bigint::U256;

use crate::error::Result;
use crate::kernel::{Args, Kernel, Port};
use crate::kernels::crt::{Stored, choice, with_stored};
use crate::kernels::lift::LiftRow;
use crate::kernels::rebuild::Rebuild;
use crate::kernels::spread::spread;
use crate::kernels::target::{Row, Target};
use crate::limits::Limits;
use crate::source::{Built, Source};

/// Threads of a block.
const THREADS: usize = 256;

/// One row of ring elements from products in an auxiliary ring, by x^n = c0 + c1·x where they come unfolded.
/// Ports: auxiliary element in, element out (in and out for rows after the first).
#[derive(Debug)]
pub(super) struct LiftStore<S: Row> {
    lift: LiftRow,
    rebuild: Rebuild<S::Target>,
    /// c0 and c1.
    low: [U256; 2],
    factors: [<S::Target as Target>::Factor; 2],
    ports: [Port; 2],
}

impl<S: Row> LiftStore<S> {
    /// The kernel, or `None` where folding takes rounds ([`LiftFold`](super::lift_fold::LiftFold)).
    pub(super) fn new(lift: &LiftRow) -> Result<Option<Self>> {
        let mut low = [U256::ZERO; 2];
        if lift.high() > 0 {
            for (k, c) in lift.ring.quotient().tail(lift.q()) {
                match low.get_mut(k) {
                    Some(place) => *place = c,
                    None if c == U256::ZERO => {}
                    None => return Ok(None),
                }
            }
        }
        Self::of(lift.clone(), low).map(Some)
    }

    /// The kernel that folds nothing.
    pub(super) fn unfolded(lift: LiftRow) -> Result<Self> {
        Self::of(lift, [U256::ZERO; 2])
    }

    fn of(lift: LiftRow, low: [U256; 2]) -> Result<Self> {
        let rebuild = Rebuild::new(lift.auxiliary.basis(), lift.q(), &lift.scale())?;
        let ports = [Port::input(lift.auxiliary.bytes()), lift.output()];
        let factors = low.map(|c| <S::Target as Target>::factor(lift.q(), &c));
        Ok(Self { lift, rebuild, low, factors, ports })
    }

    fn run<W: Stored>(&self, from: &[W], to: &mut [S]) {
        let Self { lift, rebuild, low, factors, .. } = self;
        let (n, rows) = lift.stored();
        let zero = S::put(<S::Target as Target>::residue(&U256::ZERO));
        let items = from.chunks_exact(lift.auxiliary.basis().len() * lift.length());
        for (from, to) in items.zip(to.chunks_exact_mut(rows * n)) {
            let coefficient = |j| rebuild.rebuild(|prime| from[lift.place(prime, j)].get());
            if lift.clears() {
                to.fill(zero);
            }
            let row = &mut to[lift.start()..][..n];
            for (j, to) in row.iter_mut().enumerate() {
                *to = S::put(coefficient(j));
            }
            if *low == [U256::ZERO; 2] {
                continue;
            }
            let target = rebuild.target();
            for i in 0..lift.high() {
                let x = coefficient(n + i);
                for (k, (_, c)) in low.iter().zip(factors).enumerate().filter(|(_, (c, _))| **c != U256::ZERO) {
                    row[i + k] = S::put(target.add(row[i + k].get(), target.mul(x, c)));
                }
            }
        }
    }

    /// How the text multiplies by c0 and c1.
    fn prelude(&self) -> String {
        let q = self.lift.q();
        let kinds = self.low.map(|c| match c {
            c if c == U256::ZERO => "none",
            c if c == q.reduce(&U256::ONE) => "plus",
            c if c == q.reduce_i64(-1) => "minus",
            _ => "factor",
        });
        let [c0, c1] = kinds.map(|kind| format!("rf::Times::{kind}"));
        let factors = self.factors.map(|c| <S::Target as Target>::factor_literal(&c));
        let factors = choice("Factor factor(rf::u32 k)", "k", factors);
        format!("    static constexpr rf::Times c0 = {c0}, c1 = {c1};\n{factors}")
    }
}

impl<S: Row> Kernel for LiftStore<S> {
    fn name(&self) -> &'static str {
        "lift_store"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, _: &Limits) -> Result<Source> {
        let (cells, launch) = spread(self.lift.stored().0, THREADS);
        let further = format!(
            "    static constexpr rf::u32 high = {};\n    static constexpr bool clears = {};\n{}{}",
            self.lift.high(),
            self.lift.clears(),
            self.prelude(),
            self.rebuild.prelude(self.lift.word_bits()),
        );
        let built = Built { prelude: format!("#pragma once\n{}{cells}", self.lift.prelude::<S>(&further)), launch };
        Ok(Source::of_engine(self, ringforge_kernels::LIFT_STORE, built))
    }

    fn on_cpu(&self, _: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        with_stored!(self, self.lift.auxiliary.width(), W => {
            self.run::<W>(args.input(0)?, args.output(1)?);
            Ok(())
        })
    }

    fn describe(&self) -> String {
        self.lift.describe()
    }
}
