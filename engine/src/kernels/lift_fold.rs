//! Back from a longer auxiliary ring, folded by any sparse f in rounds.

use core::ops::Range;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::kernel::{Args, Kernel, Launch, Port};
use crate::kernels::crt::{Rebuild, Stored, add_mod, with_stored};
use crate::kernels::lift::LiftRow;
use crate::limits::Limits;
use crate::modulus::low_u64;
use crate::plan::Table;
use crate::source::{Built, Source};

/// Most threads of a block.
const THREADS: usize = 512;

/// One row of ring elements from products in a longer auxiliary ring, by x^n = Σ c·x^k over the tail of f.
/// Ports: auxiliary element in, the tail ([`LiftFold::table`]), element out (in and out for rows after the first).
#[derive(Debug)]
pub(crate) struct LiftFold {
    lift: LiftRow,
    rebuild: Rebuild,
    /// Pairs (k, c), c not 0, by ascending k.
    tail: Vec<(usize, u64)>,
    ports: [Port; 3],
}

impl LiftFold {
    pub(crate) fn new(lift: LiftRow) -> Result<Self> {
        let tail = lift.ring.quotient().tail(&lift.ring.basis()[lift.row]);
        let tail: Vec<_> = tail.iter().map(|(k, c)| (*k, low_u64(c))).filter(|&(_, c)| c != 0).collect();
        let rebuild = Rebuild::new(lift.auxiliary.basis(), lift.q)?;
        let table_bytes = 8 * (2 * tail.len() + lift.n() + 1);
        let ports = [Port::input(lift.auxiliary.bytes()), Port::shared(table_bytes), lift.output()];
        Ok(Self { lift, rebuild, tail, ports })
    }

    /// The tail for the second port: its pairs (k, c), then for each e ≤ n the number of pairs with k < e.
    pub(crate) fn table(&self) -> Table {
        let pairs = self.tail.iter().flat_map(|&(k, c)| [k as u64, c]);
        let below = (0..=self.lift.n()).map(|e| self.tail.partition_point(|&(k, _)| k < e) as u64);
        let words: Vec<u64> = pairs.chain(below).collect();
        Table::Bytes(Arc::from(bytemuck::cast_slice::<u64, u8>(&words)))
    }

    /// Coefficients that one round takes down.
    fn gap(&self) -> usize {
        self.lift.n() - self.tail.last().map_or(0, |&(k, _)| k)
    }

    fn run<S: Stored, W: Stored>(&self, from: &[W], to: &mut [S]) {
        let Self { lift, rebuild, tail, .. } = self;
        let n = lift.n();
        let mut product = vec![0; 2 * n - 1];
        let items = from.chunks_exact(lift.auxiliary.basis().len() * lift.length());
        for (from, to) in items.zip(to.chunks_exact_mut(lift.ring.basis().len() * n)) {
            for (j, x) in product.iter_mut().enumerate() {
                *x = rebuild.rebuild(|prime| from[lift.place(prime, j)].get());
            }
            for source in (n..2 * n - 1).rev() {
                let x = product[source];
                for &(k, c) in tail {
                    let target = &mut product[source - n + k];
                    *target = add_mod(*target, rebuild.divisor().mul(x, c), lift.q);
                }
            }
            if lift.clears() {
                to.fill(S::put(0));
            }
            for (to, &x) in to[lift.start()..].iter_mut().zip(&product[..n]) {
                *to = S::put(x);
            }
        }
    }
}

impl Kernel for LiftFold {
    fn name(&self) -> &'static str {
        "lift_fold"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, limits: &Limits) -> Result<Source> {
        let n = self.lift.n();
        let threads = n.div_ceil(4).next_multiple_of(32).min(THREADS);
        let shared_bytes = (2 * n - 1) * self.lift.ring.width().bytes();
        if shared_bytes > limits.block_shared_bytes as usize {
            return Err(Error::Unsupported {
                job: format!("the lift of {}", self.lift.ring),
                why: format!(
                    "folding by this f takes rounds in {shared_bytes} bytes of shared memory, more than {} has",
                    limits.name
                ),
            });
        }
        let units = self.tail.iter().all(|&(_, c)| c == 1 || c == self.lift.q - 1);
        let further = format!(
            "    static constexpr rf::u32 threads = {threads}, terms = {}, gap = {};\n\
             \x20   static constexpr bool units = {units}, clears = {};\n{}",
            self.tail.len(),
            self.gap(),
            self.lift.clears(),
            self.rebuild.prelude(self.lift.word_bits()),
        );
        let launch = Launch {
            threads: threads as u32,
            items_per_block: 1,
            blocks_per_item: 1,
            shared_bytes: shared_bytes as u32,
        };
        let built = Built { prelude: format!("#pragma once\n{}", self.lift.prelude(&further)), launch };
        Ok(Source::of_engine(self, ringforge_kernels::LIFT_FOLD, built))
    }

    fn on_cpu(&self, _: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        with_stored!(self, self.lift.ring.width(), S => {
            with_stored!(self, self.lift.auxiliary.width(), W => {
                self.run::<S, W>(args.input(0)?, args.output(2)?);
                Ok(())
            })
        })
    }

    fn describe(&self) -> String {
        format!("{}, {} terms", self.lift.describe(), self.tail.len())
    }
}
