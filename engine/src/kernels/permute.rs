//! The kernel `permute`: residues of every row in another order, some with the other sign, as automorphisms have them.

use core::ops::Range;
use std::sync::Arc;

use ringforge_cpu::Limbs;

use crate::kernels::fused::fused;
use crate::kernels::linear::Lanes;
use crate::kernels::target::{Row, Target};
use crate::rows::lay_apart;
use ringforge_math::error::Result;
use ringforge_math::modulus::Width;
use ringforge_math::poly::PolyType;
use ringforge_runtime::kernel::{Args, Combination, Kernel, Port, Source, Table};
use ringforge_runtime::limits::Limits;

/// The bit of a place that says that the residue changes its sign.
const NEGATED: u32 = 1 << 31;

/// A place to take a residue from, and whether its sign changes: as the table has it.
pub(crate) fn place(from: usize, negated: bool) -> u32 {
    from as u32 | if negated { NEGATED } else { 0 }
}

/// Of every row, out_i = ±in_j, the places j and signs being the same for all.
///
/// Ports: elements in, places ([`Kernel::table`]), the moduli, elements out.
#[derive(Debug, Clone)]
struct Permute<S: Row> {
    lanes: Lanes<S>,
    places: Arc<[u32]>,
    ports: [Port; 4],
}

/// The kernel for residues of the ring's width, and a [place] for each of a row.
pub(crate) fn permute(poly: &PolyType, places: Vec<u32>) -> Arc<dyn Kernel> {
    match poly.width() {
        Width::W16 => Arc::new(Permute::<u16>::new(poly, places)),
        Width::W32 => Arc::new(Permute::<u32>::new(poly, places)),
        Width::W64 => Arc::new(Permute::<u64>::new(poly, places)),
        Width::W256 => Arc::new(Permute::<Limbs>::new(poly, places)),
    }
}

impl<S: Row> Permute<S> {
    fn new(poly: &PolyType, places: Vec<u32>) -> Self {
        let lanes = Lanes::new(poly, Combination::of(&[false]));
        let tables = [size_of_val(&places[..]), lanes.table().bytes()].map(Port::shared);
        let ports = [Port::input(poly.bytes()), tables[0], tables[1], Port::output(poly.bytes())];
        Self { lanes, places: Arc::from(places), ports }
    }
}

impl<S: Row> Kernel for Permute<S> {
    fn name(&self) -> &'static str {
        "permute"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, _: &Limits) -> Result<Source> {
        self.lanes.source(self, ringforge_kernels::PERMUTE)
    }

    fn on_views(&self, firsts: &[usize], distances: &[usize]) -> Option<Arc<dyn Kernel>> {
        let lanes = self.lanes.apart(&self.ports, firsts, distances)?;
        let mut kernel = Self { lanes, ..self.clone() };
        lay_apart(&mut kernel.ports, distances);
        Some(Arc::new(kernel))
    }

    fn table(&self, port: usize) -> Option<Table> {
        match port {
            1 => Some(Table::Bytes(Arc::from(bytemuck::cast_slice::<u32, u8>(&self.places)))),
            2 => Some(self.lanes.table()),
            _ => None,
        }
    }

    fn on_cpu(&self, _: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        let from = args.input::<S>(0)?;
        self.lanes.each(args.output(3)?, |out, first, row| {
            for (out, place) in out.iter_mut().zip(&*self.places) {
                let x = row.reduced(from[first + (place & !NEGATED) as usize]);
                *out = S::put(if place & NEGATED == 0 { x } else { row.q.negate(x) });
            }
        });
        Ok(())
    }

    fn with_epilogue(&self, then: &Arc<dyn Kernel>, term: usize) -> Option<Arc<dyn Kernel>> {
        fused(Arc::new(self.clone()), 3, self.lanes.poly(), then, term)
    }
}
