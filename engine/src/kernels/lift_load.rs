//! Into an auxiliary ring: centred representatives modulo each auxiliary prime, padded with zeros.

use core::ops::Range;

use crate::error::Result;
use crate::kernel::{Args, Kernel, Port};
use crate::kernels::crt::{Barrett, Stored, choice, with_stored};
use crate::kernels::lift::LiftRow;
use crate::kernels::spread::spread;
use crate::limits::Limits;
use crate::modulus::low_u64;
use crate::source::{Built, Source};

/// Threads of a block.
const THREADS: usize = 256;

/// One row of ring elements into an auxiliary ring. Ports: element in, auxiliary element out.
#[derive(Debug)]
pub(crate) struct LiftLoad {
    lift: LiftRow,
    primes: Vec<Prime>,
    ports: [Port; 2],
}

#[derive(Debug)]
struct Prime {
    p: u64,
    barrett: Barrett,
    /// −q mod p.
    minus_q: u64,
}

impl LiftLoad {
    pub(crate) fn new(lift: LiftRow) -> Self {
        let primes = lift.auxiliary.basis().iter().map(|p| {
            let p = low_u64(&p.value());
            Prime { p, barrett: Barrett::new(p), minus_q: (p - lift.q % p) % p }
        });
        let primes = primes.collect();
        let ports = [Port::input(lift.ring.bytes()), Port::output(lift.auxiliary.bytes())];
        Self { lift, primes, ports }
    }

    fn run<S: Stored, W: Stored>(&self, from: &[S], to: &mut [W]) {
        let lift = &self.lift;
        let half = lift.q / 2;
        let items = from.chunks_exact(lift.ring.basis().len() * lift.n());
        for (from, to) in items.zip(to.chunks_exact_mut(self.primes.len() * lift.length())) {
            let row = &from[lift.start()..][..lift.n()];
            for (prime, to) in self.primes.iter().zip(to.chunks_exact_mut(lift.length())) {
                let (values, padding) = to.split_at_mut(lift.n());
                for (to, x) in values.iter_mut().zip(row) {
                    let x = x.get();
                    let r = prime.barrett.rem(x) + if x > half { prime.minus_q } else { 0 };
                    *to = W::put(if r >= prime.p { r - prime.p } else { r });
                }
                padding.fill(W::put(0));
            }
        }
    }
}

impl Kernel for LiftLoad {
    fn name(&self) -> &'static str {
        "lift_load"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, _: &Limits) -> Result<Source> {
        let (cells, launch) = spread(self.lift.length(), THREADS);
        let barretts =
            choice("rf::Barrett barrett(rf::u32 j)", "j", self.primes.iter().map(|prime| prime.barrett.initializer()));
        let minus_q =
            choice("rf::u64 minus_q(rf::u32 j)", "j", self.primes.iter().map(|prime| format!("{}ull", prime.minus_q)));
        let below = self.primes.iter().all(|prime| self.lift.q <= prime.p);
        let further = format!("    static constexpr bool below_primes = {below};\n{barretts}{minus_q}");
        let built = Built { prelude: format!("#pragma once\n{}{cells}", self.lift.prelude(&further)), launch };
        Ok(Source::of_engine(self, ringforge_kernels::LIFT_LOAD, built))
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
