//! The kernel `lift_load`: centred representatives of stored residues modulo each auxiliary prime, padded with zeros.

use core::ops::Range;

use crypto_bigint::U256;
use ringforge_cpu::choice::{mask, sub_once};

use crate::kernels::crt::{Stored, choice, with_stored};
use crate::kernels::lift::LargerNtt;
use crate::kernels::spread::spread;
use crate::kernels::target::{Remainder, Row, Target};
use crate::layout::block::ANY_WORD;
use crate::source::of_engine;
use ringforge_math::error::Result;
use ringforge_math::modulus::{Width, low_u64};
use ringforge_runtime::kernel::{Args, Built, Kernel, Port, Source};
use ringforge_runtime::limits::Limits;

/// Threads per block.
const THREADS: usize = 256;

/// Converts one limb of ring elements to an auxiliary ring. Ports: the element (in), the auxiliary element (out).
#[derive(Debug)]
pub(super) struct LiftLoad<S: Row> {
    lift: LargerNtt,
    primes: Vec<Prime>,
    /// floor(q / 2); larger residues stand for negative numbers.
    half: <S::Target as Target>::Residue,
    /// The arithmetic modulo q, and the factor 1, by which inputs are multiplied to reduce them if the ring accepts any
    /// word.
    target: S::Target,
    one: <S::Target as Target>::Factor,
    ports: [Port; 2],
}

#[derive(Debug)]
struct Prime {
    p: u64,
    remainder: Remainder,
    /// −q mod p.
    minus_q: u64,
}

impl<S: Row> LiftLoad<S> {
    pub(super) fn new(lift: LargerNtt) -> Self {
        let q = lift.q().value();
        let primes = lift.auxiliary.basis().iter().map(|p| {
            let minus_q = low_u64(&p.neg(&p.reduce(&q)));
            let p = low_u64(&p.value());
            Prime { p, remainder: Remainder::new(p), minus_q }
        });
        let primes = primes.collect();
        let half = <S::Target as Target>::residue(&q.shr_vartime(1));
        let ports = [Port::input(lift.poly.bytes()), Port::output(lift.auxiliary.bytes())];
        let (target, one) = (S::Target::new(lift.q()), S::Target::factor(lift.q(), &U256::ONE));
        Self { lift, primes, half, target, one, ports }
    }

    /// The members of the generated struct `Lift` that `input_of` and `lifted` in `lift.cuh` read.
    pub(super) fn members(&self) -> String {
        let target = <S::Target as Target>::remainder_type();
        let dividers = self.primes.iter().map(|prime| <S::Target as Target>::remainder_initializer(&prime.remainder));
        let dividers = choice(&format!("{target} divider(rf::u32 j)"), "j", dividers);
        let minus_q =
            choice("rf::u64 minus_q(rf::u32 j)", "j", self.primes.iter().map(|prime| format!("{}ull", prime.minus_q)));
        let half = choice("Residue half()", "0", [<S::Target as Target>::literal(&self.half)]);
        let q = self.lift.q().value();
        let below = self.lift.poly.width() != Width::W256 && self.primes.iter().all(|prime| q <= U256::from(prime.p));
        let any_word = match self.lift.poly.accepts_any_word() {
            true => ANY_WORD.to_string() + &choice("Factor one()", "0", [S::Target::factor_literal(&self.one)]),
            false => String::new(),
        };
        format!("    static constexpr bool below_primes = {below};\n{dividers}{minus_q}{half}{any_word}")
    }

    pub(super) fn run<W: Stored>(&self, from: &[S], to: &mut [W]) {
        let lift = &self.lift;
        let items = from.chunks_exact(lift.poly.basis().len() * lift.n());
        for (from, to) in items.zip(to.chunks_exact_mut(self.primes.len() * lift.length())) {
            let row = &from[lift.start()..][..lift.n()];
            for (prime, to) in self.primes.iter().zip(to.chunks_exact_mut(lift.length())) {
                let (values, padding) = to.split_at_mut(lift.n());
                for (to, x) in values.iter_mut().zip(row) {
                    let x = match lift.poly.accepts_any_word() {
                        true => self.target.mul_any(x.get(), &self.one),
                        false => x.get(),
                    };
                    let lift = prime.minus_q & mask(<S::Target as Target>::is_above(x, self.half));
                    let r = <S::Target as Target>::remainder(x, &prime.remainder) + lift;
                    *to = W::put(sub_once(r, prime.p));
                }
                padding.fill(W::put(0));
            }
        }
    }
}

impl<S: Row> Kernel for LiftLoad<S> {
    fn name(&self) -> &'static str {
        "lift_load"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, _: &Limits) -> Result<Source> {
        let (cells, launch) = spread(self.lift.length(), THREADS);
        let built =
            Built { prelude: format!("#pragma once\n{}{cells}", self.lift.prelude::<S>(&self.members())), launch };
        Ok(of_engine(self, ringforge_kernels::LIFT_LOAD, built, Vec::new()))
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
