//! The kernel `compose`: integers from their RNS residues (CRT reconstruction).
//!
//! Each stored residue is first multiplied by a known factor, which also removes the factor R of the Montgomery form. A
//! 64-bit word times a factor below a modulus q_i is below 2^64 q_i, so [`Divisor`] accepts this product even if the
//! word is not reduced.

use core::ops::Range;
use std::sync::Arc;

use crypto_bigint::U256;
use ringforge_cpu::choice::{is_below, opaque};

use crate::job::Op;
use crate::kernels::crt::{Divisor, Stored, mul_hi, with_stored};
use crate::kernels::rns;
use crate::words;
use ringforge_math::error::{Error, Result};
use ringforge_math::modulus::{Modulus, low_u64};
use ringforge_math::poly::PolyType;
use ringforge_runtime::kernel::{Args, Kernel, Port, Source, Table};
use ringforge_runtime::limits::Limits;

/// CRT reconstruction of integers in [0, Q) from RNS residues x_i, where Q is the product of the moduli:
/// x = Σ y_i·Q/q_i − t·Q with y_i = x_i·(Q/q_i)^-1 mod q_i. The multiple t is estimated in fixed point, then corrected
/// by one conditional subtraction.
///
/// Ports: element (in), constants ([`Compose::table`]), integers (out; 64-bit limbs, least significant first).
#[derive(Debug, Clone)]
pub struct Compose {
    poly: PolyType,
    parts: Vec<Limb>,
    /// Q, the product of the moduli.
    product: Vec<u64>,
    ports: [Port; 3],
}

#[derive(Debug, Clone)]
struct Limb {
    divisor: Divisor,
    /// (Q/q_i·R)^-1 mod q_i, where residues modulo q_i are stored times R, and Q is the product of the moduli.
    inverse: u64,
    /// The integer Q/q_i, as 64-bit limbs.
    weight: Vec<u64>,
}

impl Compose {
    /// # Errors
    /// [`Error::Unsupported`] if a modulus repeats or has more than 64 bits, for more than 64 moduli, or if moduli are
    /// not coprime.
    pub fn new(poly: &PolyType) -> Result<Self> {
        let moduli = rns::basis(Op::Compose, poly)?;
        let product = words::product(moduli.iter().copied());
        let part = |(i, q): (usize, &Modulus)| {
            let others = || moduli.iter().enumerate().filter(move |&(j, _)| j != i).map(|(_, &other)| other);
            let mut weight = words::product(others());
            weight.resize(product.len(), 0);
            let residue = others().fold(q.reduce(&U256::ONE), |r, other| q.mul(&r, &q.reduce(&U256::from(other))));
            let residue = q.mul(&residue, &poly.radix(q));
            let inverse = q
                .inverse(&residue)
                .ok_or_else(|| Error::unsupported(Op::Compose, poly, "its moduli are not coprime"))?;
            Ok(Limb { divisor: Divisor::new(moduli[i]), inverse: low_u64(&inverse), weight })
        };
        let parts = poly.basis().iter().enumerate().map(part).collect::<Result<Vec<_>>>()?;
        let words = 4 * parts.len() + product.len() * (1 + parts.len());
        let ports =
            [Port::input(poly.bytes()), Port::shared(8 * words), Port::output(8 * product.len() * poly.degree())];
        Ok(Self { poly: poly.clone(), parts, product, ports })
    }

    /// The constants for the second port: for each modulus q_i the fields of its [`Divisor`] and (Q/q_i·R)^-1 mod q_i;
    /// then the limbs of Q, the product of the moduli; then for each l, limb l of every Q/q_i.
    fn constants(&self) -> Table {
        let moduli = self.parts.iter().flat_map(|part| {
            let Divisor { d, reciprocal, shift } = part.divisor;
            [d, reciprocal, u64::from(shift), part.inverse]
        });
        let weights = (0..self.product.len()).flat_map(|limb| self.parts.iter().map(move |part| part.weight[limb]));
        let words: Vec<u64> = moduli.chain(self.product.iter().copied()).chain(weights).collect();
        Table::Bytes(Arc::from(bytemuck::cast_slice::<u64, u8>(&words)))
    }

    fn run<S: Stored>(&self, from: &[S], to: &mut [u64]) {
        let n = self.poly.degree();
        let limbs = self.product.len();
        let items = from.chunks_exact(self.parts.len() * n);
        for (from, to) in items.zip(to.chunks_exact_mut(n * limbs)) {
            for (j, to) in to.chunks_exact_mut(limbs).enumerate() {
                self.compose(|i| from[i * n + j].get(), to);
            }
        }
    }

    /// Writes the integer in [0, Q) whose stored residue modulo q_i is `residue(i)`.
    fn compose(&self, residue: impl Fn(usize) -> u64, to: &mut [u64]) {
        to.fill(0);
        let mut above = 0u64;
        // estimate of t, the multiple of Q, in units of 2^-56: at most 64 terms, each too small by less than two units
        let mut estimate = 0;
        for (i, Limb { divisor, inverse, weight }) in self.parts.iter().enumerate() {
            let y = divisor.mul(residue(i), *inverse);
            estimate += mul_hi(y << divisor.shift, (1 << 63) + (divisor.reciprocal >> 1)) >> 7;
            let mut carry = 0;
            for (to, weight) in to.iter_mut().zip(weight) {
                let sum = u128::from(y) * u128::from(*weight) + u128::from(*to) + carry;
                *to = sum as u64;
                carry = sum >> 64;
            }
            above += carry as u64;
        }
        above = above.wrapping_sub(subtract(to, &self.product, estimate >> 56));
        // tests the sign bit of the word above `to`, because the compiler turned a comparison with 0 into a branch,
        // which could leak secrets
        let left = above.wrapping_sub(u64::from(is_below(to, &self.product)));
        subtract(to, &self.product, opaque(left >> 63) ^ 1);
    }
}

/// Computes x −= y·factor and returns the borrow, to be subtracted from the limb above x.
fn subtract(x: &mut [u64], y: &[u64], factor: u64) -> u64 {
    let mut carry = 0u64;
    for (x, y) in x.iter_mut().zip(y) {
        let product = u128::from(*y) * u128::from(factor) + u128::from(carry);
        let (difference, borrow) = x.overflowing_sub(product as u64);
        *x = difference;
        carry = (product >> 64) as u64 + u64::from(borrow);
    }
    carry
}

impl Kernel for Compose {
    fn name(&self) -> &'static str {
        "compose"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, limits: &Limits) -> Result<Source> {
        let limbs = self.product.len();
        let words = (limbs, self.parts.len() + limbs, self.ports[0].stride());
        rns::integers(self, ringforge_kernels::COMPOSE, (limits, Op::Compose, &self.poly), words)
    }

    fn on_views(&self, firsts: &[usize], strides: &[usize]) -> Option<Arc<dyn Kernel>> {
        let mut kernel = self.clone();
        kernel.ports[0].stride = Some(rns::stride(&self.poly, firsts[0], strides[0])?);
        (firsts[2] == 0 && strides[2] == self.ports[2].bytes).then(|| Arc::new(kernel) as _)
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
        format!("{} moduli to {} limbs", self.parts.len(), self.product.len())
    }
}
