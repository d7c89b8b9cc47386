//! The kernel `lift_mul`: the product of one limb of a ring via an auxiliary ring, in one kernel.

use core::ops::Range;

use ringforge_cpu::wipe::Wiped;

use crate::kernels::crt::{Stored, with_stored};
use crate::kernels::lift::LargerNtt;
use crate::kernels::lift_load::LiftLoad;
use crate::kernels::lift_store::LiftStore;
use crate::kernels::ring_mul::RingMul;
use crate::kernels::target::Row;
use crate::layout::KernelLayout;
use crate::source::of_engine;
use ringforge_math::error::Result;
use ringforge_math::factorization::Factorization;
use ringforge_runtime::kernel::{Args, Kernel, Port, Slice, Source, Table};
use ringforge_runtime::limits::Limits;

/// Bytes of each buffer of auxiliary elements that the CPU processes at a time.
const CHUNK_BYTES: usize = 64 << 10;

/// Does the work of [`LiftLoad`], [`RingMul`] and [`LiftStore`] in one kernel.
///
/// Ports: left and right elements (in), their product (out; in and out for limbs after the first), the twiddle
/// [tables](KernelLayout::table) and the [constants](KernelLayout::constants) of the auxiliary ring.
#[derive(Debug)]
pub(super) struct LiftMul<S: Row> {
    lift: LargerNtt,
    load: LiftLoad<S>,
    mul: RingMul,
    store: LiftStore<S>,
    /// The layout of one auxiliary limb in a thread block, which works on the limbs of all primes one after another.
    rows: KernelLayout,
    ports: [Port; 5],
}

impl<S: Row> LiftMul<S> {
    /// The kernel, or `None` if the reduction modulo the ring's quotient takes several rounds ([`LargerNtt::fold_of`]).
    pub(super) fn new(lift: &LargerNtt, factorization: &Factorization, limits: &Limits) -> Result<Option<Self>> {
        let Some(store) = LiftStore::new(lift)? else { return Ok(None) };
        let rows = KernelLayout::with_split(factorization, limits).holding(2).per_item(1);
        // shared memory for the residues modulo all primes
        let bytes = factorization.poly().basis().len() * factorization.n() * rows.arithmetic.word_bytes();
        let rows = rows.extra_shared(bytes);
        let mul = RingMul::on(KernelLayout { per_item: factorization.poly().basis().len(), ..rows.clone() });
        let element = Port::input(lift.poly.bytes());
        let ports = [element, element, lift.output(), rows.table_port(), rows.constants_port()];
        Ok(Some(Self { lift: lift.clone(), load: LiftLoad::new(lift.clone()), mul, store, rows, ports }))
    }

    pub(super) fn fits(&self, limits: &Limits) -> bool {
        let mut half = limits.clone();
        half.block_shared_bytes /= 2;
        limits.is_cpu() || self.rows.fits(&half)
    }

    fn run<W: Stored>(&self, args: &mut Args<'_>) -> Result<()> {
        let (a, b) = (args.input::<S>(0)?, args.input::<S>(1)?);
        let out = args.output::<S>(2)?;
        let element = self.lift.poly.basis().len() * self.lift.n();
        let auxiliary = self.lift.auxiliary.basis().len() * self.lift.length();
        let items = (CHUNK_BYTES / (auxiliary * size_of::<W>())).clamp(1, (out.len() / element).max(1));
        let mut words = [(); 3].map(|()| Wiped::<W>::zeros(items * auxiliary));
        let chunks = a.chunks(items * element).zip(b.chunks(items * element)).zip(out.chunks_mut(items * element));
        for ((a, b), out) in chunks {
            let items = out.len() / element;
            let [x, y, product] = words.each_mut().map(|words| &mut words[..items * auxiliary]);
            self.load.run(a, x);
            self.load.run(b, y);
            let lent = [Slice::In(bytemuck::cast_slice(x)), Slice::In(bytemuck::cast_slice(y))];
            let lent = lent.into_iter().chain([Slice::Out(bytemuck::cast_slice_mut(product))]);
            args.lend(&self.mul, (0..).zip(lent), |args| self.mul.on_cpu(0..items, args))?;
            self.store.run(product, out);
        }
        Ok(())
    }
}

impl<S: Row> Kernel for LiftMul<S> {
    fn name(&self) -> &'static str {
        "lift_mul"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, limits: &Limits) -> Result<Source> {
        let further = self.load.members() + &self.store.members();
        let built = self.rows.build(limits)?.lines(&self.lift.prelude::<S>(&further));
        Ok(of_engine(self, ringforge_kernels::LIFT_MUL, built, Vec::new()))
    }

    fn table(&self, port: usize) -> Option<Table> {
        self.rows.table_of(self.ports.len(), port)
    }

    fn on_cpu(&self, _: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        with_stored!(self, self.lift.auxiliary.width(), W => self.run::<W>(args))
    }

    fn describe(&self) -> String {
        format!("{}, {}", self.lift.describe(), self.rows.describe())
    }
}
