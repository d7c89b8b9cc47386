//! Back from an auxiliary ring, where at most two low terms of f fold what is above.

use core::ops::Range;

use crate::error::Result;
use crate::kernel::{Args, Kernel, Port};
use crate::kernels::crt::{Rebuild, Stored, add_mod, with_stored};
use crate::kernels::lift::LiftRow;
use crate::kernels::spread::spread;
use crate::limits::Limits;
use crate::modulus::low_u64;
use crate::source::{Built, Source};

/// Threads of a block.
const THREADS: usize = 256;

/// One row of ring elements from products in an auxiliary ring, by x^n = c0 + c1·x where they come unfolded.
/// Ports: auxiliary element in, element out (in and out for rows after the first).
#[derive(Debug)]
pub(crate) struct LiftStore {
    lift: LiftRow,
    rebuild: Rebuild,
    low: [u64; 2],
    ports: [Port; 2],
}

impl LiftStore {
    /// The kernel, or `None` where folding takes rounds ([`LiftFold`](super::lift_fold::LiftFold)).
    pub(crate) fn new(lift: &LiftRow) -> Result<Option<Self>> {
        let mut low = [0; 2];
        if lift.is_longer() && lift.n() > 1 {
            for (k, c) in lift.ring.quotient().tail(&lift.ring.basis()[lift.row]) {
                match (low.get_mut(k), low_u64(&c)) {
                    (_, 0) => {}
                    (Some(place), c) => *place = c,
                    (None, _) => return Ok(None),
                }
            }
        }
        let rebuild = Rebuild::new(lift.auxiliary.basis(), lift.q)?;
        let ports = [Port::input(lift.auxiliary.bytes()), lift.output()];
        Ok(Some(Self { lift: lift.clone(), rebuild, low, ports }))
    }

    /// The coefficients above x^(n−1).
    fn high(&self) -> usize {
        if self.lift.is_longer() { self.lift.n() - 1 } else { 0 }
    }

    fn run<S: Stored, W: Stored>(&self, from: &[W], to: &mut [S]) {
        let Self { lift, rebuild, low, .. } = self;
        let (n, high, q) = (lift.n(), self.high(), lift.q);
        let items = from.chunks_exact(lift.auxiliary.basis().len() * lift.length());
        for (from, to) in items.zip(to.chunks_exact_mut(lift.ring.basis().len() * n)) {
            let coefficient = |j| rebuild.rebuild(|prime| from[lift.place(prime, j)].get());
            if lift.clears() {
                to.fill(S::put(0));
            }
            let row = &mut to[lift.start()..][..n];
            for (j, to) in row.iter_mut().enumerate() {
                *to = S::put(coefficient(j));
            }
            if *low == [0; 2] {
                continue;
            }
            for i in 0..high {
                let x = coefficient(n + i);
                for (k, &c) in low.iter().enumerate().filter(|&(_, &c)| c != 0) {
                    let product = if c == 1 { x } else { rebuild.divisor().mul(x, c) };
                    row[i + k] = S::put(add_mod(row[i + k].get(), product, q));
                }
            }
        }
    }
}

impl Kernel for LiftStore {
    fn name(&self) -> &'static str {
        "lift_store"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, _: &Limits) -> Result<Source> {
        let (cells, launch) = spread(self.lift.n(), THREADS);
        let further = format!(
            "    static constexpr rf::u32 high = {};\n    static constexpr rf::u64 c0 = {}ull, c1 = {}ull;\n\
             \x20   static constexpr bool clears = {};\n{}",
            self.high(),
            self.low[0],
            self.low[1],
            self.lift.clears(),
            self.rebuild.prelude(self.lift.word_bits()),
        );
        let built = Built { prelude: format!("#pragma once\n{}{cells}", self.lift.prelude(&further)), launch };
        Ok(Source::of_engine(self, ringforge_kernels::LIFT_STORE, built))
    }

    fn on_cpu(&self, _: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        with_stored!(self, self.lift.ring.width(), S => {
            with_stored!(self, self.lift.auxiliary.width(), W => {
                self.run::<S, W>(args.input(0)?, args.output(1)?);
                Ok(())
            })
        })
    }

    fn describe(&self) -> String {
        self.lift.describe()
    }
}
