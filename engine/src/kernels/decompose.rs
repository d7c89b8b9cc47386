//! The kernel `decompose`: RNS residues of integers.

use core::ops::Range;
use std::sync::Arc;

use crate::job::Op;
use crate::kernels::crt::{Divisor, Stored, with_stored};
use crate::kernels::rns::{self, Weighted};
use crate::words;
use ringforge_math::error::Result;
use ringforge_math::modulus::{Modulus, low_u64};
use ringforge_math::poly::PolyType;
use ringforge_runtime::kernel::{Args, Kernel, Port, Source, Table};
use ringforge_runtime::limits::Limits;

/// RNS residues of integers of any value below 2^(64 L), where Q, the product of the moduli, has L limbs of 64 bits.
/// The stored residue modulo q is Σ limb_l·(2^(64 l)·R mod q), where R is the Montgomery factor of the ring's form.
///
/// Ports: integers (in), constants ([`Decompose::table`]), element (out).
#[derive(Debug, Clone)]
pub(crate) struct Decompose {
    poly: PolyType,
    rows: Vec<Weighted>,
    limbs: usize,
    ports: [Port; 3],
}

impl Decompose {
    /// # Errors
    /// [`Error::Unsupported`] if a modulus repeats, for more than 64 moduli, or for a modulus of more than 64 bits.
    pub(crate) fn new(poly: &PolyType) -> Result<Self> {
        let moduli = rns::basis(Op::Decompose, poly)?;
        let limbs = words::product(moduli.iter().copied()).len();
        let row = |(modulus, &q): (&Modulus, &u64)| {
            let divisor = Divisor::new(q);
            let radix = low_u64(&poly.radix(modulus));
            let weights = core::iter::successors(Some(radix), |&weight| Some(divisor.rem(u128::from(weight) << 64)));
            Weighted { divisor, weights: weights.take(limbs).collect() }
        };
        let rows: Vec<Weighted> = poly.basis().iter().zip(&moduli).map(row).collect();
        let words = rows.len() * (3 + limbs);
        let ports = [Port::input(8 * limbs * poly.degree()), Port::shared(8 * words), Port::output(poly.bytes())];
        Ok(Self { poly: poly.clone(), rows, limbs, ports })
    }

    /// The constants for the second port: for each modulus the fields of its [`Divisor`], then the weights of the
    /// limbs.
    fn constants(&self) -> Table {
        let words: Vec<u64> = self.rows.iter().flat_map(|row| row.words(&[])).collect();
        Table::Bytes(Arc::from(bytemuck::cast_slice::<u64, u8>(&words)))
    }

    fn run<S: Stored>(&self, from: &[u64], to: &mut [S]) {
        let n = self.poly.degree();
        for (from, to) in from.chunks_exact(n * self.limbs).zip(to.chunks_exact_mut(n * self.rows.len())) {
            for (row, to) in self.rows.iter().zip(to.chunks_exact_mut(n)) {
                let integers = from.chunks_exact(self.limbs);
                integers.zip(to).for_each(|(limbs, to)| *to = S::put(row.sum(limbs)));
            }
        }
    }
}

impl Kernel for Decompose {
    fn name(&self) -> &'static str {
        "decompose"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, limits: &Limits) -> Result<Source> {
        let about = (limits, Op::Decompose, &self.poly);
        rns::integers(self, ringforge_kernels::DECOMPOSE, about, (self.limbs, self.limbs, self.ports[2].stride()))
    }

    fn on_views(&self, firsts: &[usize], strides: &[usize]) -> Option<Arc<dyn Kernel>> {
        let mut kernel = self.clone();
        kernel.ports[2].stride = Some(rns::stride(&self.poly, firsts[2], strides[2])?);
        (firsts[0] == 0 && strides[0] == self.ports[0].bytes).then(|| Arc::new(kernel) as _)
    }

    fn table(&self, port: usize) -> Option<Table> {
        (port == 1).then(|| self.constants())
    }

    fn on_cpu(&self, _: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        with_stored!(self, self.poly.width(), S => {
            self.run::<S>(args.input(0)?, args.output(2)?);
            Ok(())
        })
    }

    fn describe(&self) -> String {
        format!("{} limbs to {} moduli", self.limbs, self.rows.len())
    }
}
