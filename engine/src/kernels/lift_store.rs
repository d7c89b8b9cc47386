//! The kernel `lift_store`: from an auxiliary ring to residues modulo q. The reduction modulo f, the ring's quotient,
//! is applied to the auxiliary residues.

use core::ops::Range;

use crypto_bigint::U256;

use crate::kernels::crt::{Stored, add_mod, sub_mod, with_stored};
use crate::kernels::lift::LargerNtt;
use crate::kernels::rebuild::Rebuild;
use crate::kernels::spread::spread;
use crate::kernels::target::{Row, Target};
use crate::source::of_engine;
use ringforge_math::error::Result;
use ringforge_math::modulus::low_u64;
use ringforge_runtime::kernel::{Args, Built, Kernel, Port, Source};
use ringforge_runtime::limits::Limits;

/// Threads per block.
const THREADS: usize = 256;

/// Computes one limb of ring elements from products in an auxiliary ring, reduced by [`LargerNtt::fold_of`] unless they
/// are reduced already. Ports: the auxiliary element (in), the element (out; in and out for limbs after the first).
#[derive(Debug)]
pub(super) struct LiftStore<S: Row> {
    lift: LargerNtt,
    rebuild: Rebuild<S::Target>,
    fold: [i8; 2],
    primes: Vec<u64>,
    ports: [Port; 2],
}

impl<S: Row> LiftStore<S> {
    /// The kernel, or `None` if the reduction modulo f takes several rounds ([`LiftFold`](super::lift_fold::LiftFold)).
    pub(super) fn new(lift: &LargerNtt) -> Result<Option<Self>> {
        let Some(fold) = lift.fold() else { return Ok(None) };
        let rebuild = Rebuild::new(lift.auxiliary.basis(), lift.q(), &lift.scale())?;
        let primes = lift.auxiliary.basis().iter().map(|p| low_u64(&p.value())).collect();
        let ports = [Port::input(lift.auxiliary.bytes()), lift.output()];
        Ok(Some(Self { lift: lift.clone(), rebuild, fold, primes, ports }))
    }

    /// The members of the generated struct `Lift` that `folded` and `store_coefficient` in `lift.cuh` read.
    pub(super) fn members(&self) -> String {
        let [c0, c1] = self.fold;
        format!(
            "    static constexpr rf::i32 c0 = {c0}, c1 = {c1};\n\
             \x20   static constexpr rf::u32 high = {};\n\
             \x20   static constexpr bool clears = {};\n{}",
            self.lift.high(),
            self.lift.clears(),
            self.rebuild.prelude(self.lift.word_bits()),
        )
    }

    pub(super) fn run<W: Stored>(&self, from: &[W], to: &mut [S]) {
        let Self { lift, rebuild, fold, primes, .. } = self;
        let (n, rows) = lift.stored();
        let items = from.chunks_exact(primes.len() * lift.length());
        for (from, to) in items.zip(to.chunks_exact_mut(rows * n)) {
            if lift.clears() {
                to.fill(S::put(<S::Target as Target>::residue(&U256::ZERO)));
            }
            for (i, to) in to[lift.start()..][..n].iter_mut().enumerate() {
                let residue = |prime: usize| {
                    let p = primes[prime];
                    let x = |i| from[lift.place(prime, i)].get();
                    // x^(n + i) = c0·x^i + c1·x^(i + 1) modulo f
                    let terms = fold.iter().enumerate().filter(|&(k, c)| *c != 0 && i >= k && i - k < lift.high());
                    terms.fold(x(i), |sum, (k, c)| {
                        let above = x(n + i - k);
                        if *c > 0 { add_mod(sum, above, p) } else { sub_mod(sum, above, p) }
                    })
                };
                *to = S::put(rebuild.rebuild(residue));
            }
        }
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
        let built =
            Built { prelude: format!("#pragma once\n{}{cells}", self.lift.prelude::<S>(&self.members())), launch };
        Ok(of_engine(self, ringforge_kernels::LIFT_STORE, built, Vec::new()))
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
