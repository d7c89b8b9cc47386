//! Products via a larger NTT: one limb of a ring, the auxiliary ring for its products, and the shared parts of the
//! kernels `lift_*`. The polynomial f of degree n is the quotient of the ring, and q is the modulus of the limb.

use core::fmt::Write;
use std::sync::Arc;

use crypto_bigint::U256;

use crate::arithmetic::Arithmetic;
use crate::kernels::crt::choice;
use crate::kernels::lift_fold::LiftFold;
use crate::kernels::lift_load::LiftLoad;
use crate::kernels::lift_mul::LiftMul;
use crate::kernels::lift_store::LiftStore;
use crate::kernels::target::{Row, Target, for_row};
use ringforge_math::error::Result;
use ringforge_math::factorization::Factorization;
use ringforge_math::modulus::Modulus;
use ringforge_math::poly::PolyType;
use ringforge_runtime::kernel::{Kernel, Port};
use ringforge_runtime::limits::Limits;

/// One limb of a ring, and the auxiliary ring in which its products are computed. The auxiliary ring has the same or a
/// larger degree, and its moduli are primes in ascending order.
#[derive(Debug, Clone)]
pub struct LargerNtt {
    pub(super) poly: PolyType,
    pub(super) row: usize,
    pub(super) auxiliary: PolyType,
    /// Whether products are stored before their reduction modulo f, as 2n − 1 coefficients in a buffer of their own.
    unfolded: bool,
}

impl LargerNtt {
    /// The limb of `poly` with index `row`, with products in the ring `auxiliary`.
    pub fn new(poly: &PolyType, row: usize, auxiliary: &PolyType) -> Self {
        Self { poly: poly.clone(), row, auxiliary: auxiliary.clone(), unfolded: false }
    }

    /// The kernel that computes a whole product, with this factorisation of the auxiliary ring. `None` if the reduction
    /// modulo f takes several rounds (see [`LargerNtt::fold_of`]), a limb does not fit a thread block, or a
    /// multiprocessor has no room for two such blocks.
    pub(crate) fn mul(&self, factorization: &Factorization, limits: &Limits) -> Result<Option<Arc<dyn Kernel>>> {
        for_row!(self.poly, S => {
            let mul = LiftMul::<S>::new(self, factorization, limits)?.filter(|mul| mul.fits(limits));
            Ok(mul.map(|mul| Arc::new(mul) as Arc<dyn Kernel>))
        })
    }

    /// The kernel that converts ring elements to elements of the auxiliary ring.
    pub fn load(&self) -> Arc<dyn Kernel> {
        for_row!(self.poly, S => Arc::new(LiftLoad::<S>::new(self.clone())))
    }

    /// The kernels that convert products in the auxiliary ring to ring elements, in launch order.
    pub fn store(&self, limits: &Limits) -> Result<Vec<Arc<dyn Kernel>>> {
        for_row!(self.poly, S => {
            if let Some(store) = LiftStore::<S>::new(self)? {
                return Ok(vec![Arc::new(store)]);
            }
            let fold = LiftFold::<S>::new(self, limits)?;
            if !fold.is_in_place() {
                return Ok(vec![Arc::new(fold)]);
            }
            let unfolded = Self { unfolded: true, ..self.clone() }.store(limits)?;
            Ok(unfolded.into_iter().chain([Arc::new(fold) as Arc<dyn Kernel>]).collect())
        })
    }

    /// The limb's modulus q.
    pub(super) fn q(&self) -> &Modulus {
        &self.poly.basis()[self.row]
    }

    /// The factor 1/R modulo q for products of two stored residues. Each operand is stored times R, and the product
    /// must be stored times R only once.
    pub(super) fn scale(&self) -> U256 {
        self.q().inverse(&self.poly.radix(self.q())).unwrap_or(U256::ONE)
    }

    /// Number of coefficients of a limb of the ring.
    pub(super) fn n(&self) -> usize {
        self.poly.degree()
    }

    /// Number of coefficients of an auxiliary limb.
    pub(super) fn length(&self) -> usize {
        self.auxiliary.degree()
    }

    /// Number of coefficients of the limb as it is stored, and number of limbs in an item of the output.
    pub(super) fn stored(&self) -> (usize, usize) {
        if self.unfolded { (2 * self.n() - 1, 1) } else { (self.n(), self.poly.basis().len()) }
    }

    /// Index of the limb's first coefficient in an item of the output.
    pub(super) fn start(&self) -> usize {
        if self.unfolded { 0 } else { self.row * self.n() }
    }

    /// Number of coefficients above x^(n−1) that are reduced modulo f when the limb is stored. It is 0 if the auxiliary
    /// ring has the quotient f, so that products are reduced already, or if products are stored unreduced.
    pub(super) fn high(&self) -> usize {
        if self.length() > self.n() && !self.unfolded { self.n() - 1 } else { 0 }
    }

    /// The coefficients [c0, c1] by which a product is reduced modulo f when the limb is stored
    /// ([`LargerNtt::fold_of`]), or zeros if there is nothing to reduce. `None` if the reduction takes several rounds.
    pub(super) fn fold(&self) -> Option<[i8; 2]> {
        if self.high() > 0 { Self::fold_of(&self.poly, self.row) } else { Some([0, 0]) }
    }

    /// Returns [c0, c1] if x^n = c0 + c1·x modulo f with c0 and c1 each −1, 0 or 1, else `None`. With these, a product
    /// is reduced modulo f in its residues modulo the auxiliary primes, where each coefficient becomes a sum of up to
    /// three terms.
    pub(crate) fn fold_of(poly: &PolyType, row: usize) -> Option<[i8; 2]> {
        let q = &poly.basis()[row];
        let mut fold = [0; 2];
        for (k, c) in poly.quotient().tail(q).into_iter().filter(|&(_, c)| c != U256::ZERO) {
            let unit = [1, -1].into_iter().find(|&unit| q.reduce_i64(unit.into()) == c)?;
            *fold.get_mut(k)? = unit;
        }
        Some(fold)
    }

    /// Whether storing this limb also sets all other limbs to zero: only the first of several limbs does so.
    pub(super) fn clears(&self) -> bool {
        self.row == 0 && self.stored().1 > 1
    }

    /// The port to which the limb is stored. After the first limb it is read and written, because limbs stored earlier
    /// must stay.
    pub(super) fn output(&self) -> Port {
        let (n, rows) = self.stored();
        let bytes = n * rows * self.poly.width().bytes();
        if self.start() == 0 { Port::output(bytes) } else { Port::in_out(bytes) }
    }

    /// Index of the residue of coefficient `j` modulo prime number `prime`, in one item of an auxiliary buffer.
    pub(super) fn place(&self, prime: usize, j: usize) -> usize {
        prime * self.length() + j
    }

    /// Bits of an auxiliary residue in a register.
    pub(super) fn word_bits(&self) -> u32 {
        8 * Arithmetic::of(&self.auxiliary).word_bytes() as u32
    }

    /// The generated C++ struct `Lift`, with the member lines `further` added.
    pub(super) fn prelude<S: Row>(&self, further: &str) -> String {
        let arithmetic = Arithmetic::of(&self.auxiliary);
        let primes = self.auxiliary.basis();
        let prime = choice("M prime(rf::u32 j)", "j", primes.iter().map(|p| arithmetic.initializer(p)));
        let target = <S::Target as Target>::new(self.q());
        let modulo = choice(&format!("{} modulo()", target.type_name()), "0", [target.initializer()]);
        let (n, rows) = self.stored();
        let mut text = String::new();
        // writing to a string does not fail
        let _ = write!(
            text,
            "#include \"{header}\"\n\
             #include \"{target_header}\"\n\
             // row {row} of {poly} through {auxiliary}\n\
             struct Lift {{\n\
             \x20   using Store = {store};\n\
             \x20   using Residue = {residue};\n\
             \x20   using Factor = {target}::Factor;\n\
             \x20   using M = rf::{name};\n\
             \x20   using Word = M::Word;\n\
             \x20   static constexpr rf::u32 n = {n}, rows = {rows}, row = {place}, length = {length}, primes = {count};\n\
             {prime}{modulo}{further}}};\n",
            header = arithmetic.header(),
            target_header = <S::Target as Target>::HEADER,
            row = self.row,
            poly = self.poly,
            auxiliary = self.auxiliary,
            store = S::NAME,
            residue = <S::Target as Target>::NAME,
            target = target.type_name(),
            name = arithmetic.name(),
            place = self.start() / n,
            length = self.length(),
            count = primes.len(),
        );
        text
    }

    /// A description for printed plans.
    pub(super) fn describe(&self) -> String {
        let many = self.poly.basis().len() > 1;
        let row = if many { format!("row {} ", self.row) } else { String::new() };
        let primes = self.auxiliary.basis().len();
        format!(
            "{row}mod {} <-> {}, {primes} prime{}",
            self.q(),
            self.auxiliary.quotient(),
            if primes == 1 { "" } else { "s" }
        )
    }
}
