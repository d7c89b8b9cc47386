//! One row of a ring and the auxiliary ring that its products go through: what the kernels of the lift share.

use core::fmt::Write;

use crate::arithmetic::Arithmetic;
use crate::error::{Error, Result};
use crate::kernel::Port;
use crate::kernels::crt::{choice, store_type};
use crate::modulus::Modulus;
use crate::ring::Ring;

/// One row of a ring, and an auxiliary ring: same or longer polynomials modulo primes in ascending order.
#[derive(Debug, Clone)]
pub(crate) struct LiftRow {
    pub(super) ring: Ring,
    pub(super) row: usize,
    pub(super) auxiliary: Ring,
    /// The row's modulus.
    pub(super) q: u64,
}

impl LiftRow {
    /// The row of this number.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where its modulus has more than 64 bits.
    pub(crate) fn new(ring: &Ring, row: usize, auxiliary: &Ring) -> Result<Self> {
        let q = ring.basis().get(row).and_then(Modulus::value_u64).ok_or_else(|| Error::Unsupported {
            job: format!("the lift of row {row} in {ring}"),
            why: "its modulus has more than 64 bits".into(),
        })?;
        Ok(Self { ring: ring.clone(), row, auxiliary: auxiliary.clone(), q })
    }

    /// Coefficients of the row.
    pub(super) fn n(&self) -> usize {
        self.ring.degree()
    }

    /// Coefficients of an auxiliary row.
    pub(super) fn length(&self) -> usize {
        self.auxiliary.degree()
    }

    /// Whether products come unfolded: from a longer cyclic ring instead of one with the same quotient.
    pub(super) fn is_longer(&self) -> bool {
        self.length() > self.n()
    }

    /// Whether all rows but this one are cleared when it is stored: so for the first, with others to follow.
    pub(super) fn clears(&self) -> bool {
        self.row == 0 && self.ring.basis().len() > 1
    }

    /// The port that the row is stored to: rows stored before stay.
    pub(super) fn output(&self) -> Port {
        match self.row {
            0 => Port::output(self.ring.bytes()),
            _ => Port::in_out(self.ring.bytes()),
        }
    }

    /// The residue of coefficient `j` modulo every prime, in one item of an auxiliary buffer.
    pub(super) fn place(&self, prime: usize, j: usize) -> usize {
        prime * self.length() + j
    }

    /// Where the row begins in one item of the ring.
    pub(super) fn start(&self) -> usize {
        self.row * self.n()
    }

    /// Bits of an auxiliary residue in a register.
    pub(super) fn word_bits(&self) -> u32 {
        8 * Arithmetic::of(&self.auxiliary).word_bytes() as u32
    }

    /// The generated struct `Lift`, with these further members.
    pub(super) fn prelude(&self, further: &str) -> String {
        let arithmetic = Arithmetic::of(&self.auxiliary);
        let primes = self.auxiliary.basis();
        let prime = choice("M prime(rf::u32 j)", "j", primes.iter().map(|p| arithmetic.initializer(p)));
        let mut text = String::new();
        // writing to a string does not fail
        let _ = write!(
            text,
            "#include \"{header}\"\n\
             // row {row} of {ring} through {auxiliary}\n\
             struct Lift {{\n\
             \x20   using Store = {store};\n\
             \x20   using M = rf::{name};\n\
             \x20   using Word = M::Word;\n\
             \x20   static constexpr rf::u32 n = {n}, rows = {rows}, row = {row}, length = {length}, primes = {count};\n\
             \x20   static constexpr rf::u64 q = {q}ull;\n\
             {prime}{further}}};\n",
            header = arithmetic.header(),
            row = self.row,
            ring = self.ring,
            auxiliary = self.auxiliary,
            store = store_type(self.ring.width()),
            name = arithmetic.name(),
            n = self.n(),
            rows = self.ring.basis().len(),
            length = self.length(),
            count = primes.len(),
            q = self.q,
        );
        text
    }

    /// For printed plans.
    pub(super) fn describe(&self) -> String {
        let many = self.ring.basis().len() > 1;
        let row = if many { format!("row {} ", self.row) } else { String::new() };
        let primes = self.auxiliary.basis().len();
        format!(
            "{row}mod {} <-> {}, {primes} prime{}",
            self.q,
            self.auxiliary.quotient(),
            if primes == 1 { "" } else { "s" }
        )
    }
}

#[cfg(all(test, feature = "testkit"))]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::kernel::Kernel;
    use crate::kernels::combine::Combine;
    use crate::kernels::lift_fold::LiftFold;
    use crate::kernels::lift_load::LiftLoad;
    use crate::kernels::lift_store::LiftStore;
    use crate::plan::{Content, Plan, Slot, Step};
    use crate::ring::Quotient;
    use crate::testkit::{NamedPlan, check_plan, devices, seed};

    fn primes(bits: u32, count: usize) -> Vec<Modulus> {
        let below = (0..1u64 << 30).map(|i| Modulus::new((u64::MAX >> (64 - bits)) - i).unwrap());
        let mut primes: Vec<_> = below.filter(Modulus::is_prime).take(count).collect();
        primes.reverse();
        primes
    }

    fn check(kernel: Arc<dyn Kernel>, slots: Vec<Slot>, contents: Vec<Option<Content>>) {
        let about = format!("{} {}", kernel.name(), kernel.describe());
        let plan = Plan::new(about.clone(), vec![Step { kernel, slots }]).unwrap().with_contents(contents).unwrap();
        check_plan(&NamedPlan::new(about, plan), &devices(), seed());
    }

    /// Any residues, which products of operands within their bounds need not reach, for both sizes of primes.
    #[test]
    fn text_and_cpu_agree() {
        let rings = [
            (Quotient::Negacyclic { n: 5 }, 5, vec![1024u64], primes(62, 1)),
            (Quotient::PrimeTrinomial { p: 5 }, 12, vec![u64::MAX, 4591], primes(62, 3)),
            (Quotient::Sparse { n: 6, terms: vec![(4, 3), (0, -1)] }, 12, vec![u64::MAX - 58, 2], primes(62, 4)),
            (Quotient::Sparse { n: 40, terms: vec![(39, 1), (0, -1)] }, 80, vec![3], primes(30, 8)),
        ];
        for (quotient, length, moduli, primes) in rings {
            let moduli: Vec<Modulus> = moduli.into_iter().map(|q| Modulus::new(q).unwrap()).collect();
            let ring = Ring::new(&moduli, quotient).unwrap();
            let auxiliary = Ring::new(&primes, Quotient::Cyclic { n: length }).unwrap();
            let [element, product] = [&ring, &auxiliary].map(|ring| Some(Content::Coefficients(ring.clone())));
            for row in 0..moduli.len() {
                let lift = LiftRow::new(&ring, row, &auxiliary).unwrap();
                let contents = vec![element.clone(), product.clone()];
                check(Arc::new(LiftLoad::new(lift.clone())), vec![Slot::Arg(0), Slot::Arg(1)], contents);
                let contents = vec![product.clone(), element.clone()];
                match LiftStore::new(&lift).unwrap() {
                    Some(store) => check(Arc::new(store), vec![Slot::Arg(0), Slot::Arg(1)], contents),
                    None => {
                        let fold = LiftFold::new(lift).unwrap();
                        let slots = vec![Slot::Arg(0), Slot::Table(fold.table()), Slot::Arg(1)];
                        check(Arc::new(fold), slots, contents);
                    }
                }
            }
        }
    }

    /// Small integers, for which the estimate of the quotient by Q is too small.
    #[test]
    fn text_and_cpu_agree_on_small_integers() {
        let ring = Ring::new(&primes(64, 5), Quotient::Cyclic { n: 4 }).unwrap();
        let combine = Combine::new(&ring).unwrap();
        let slots = vec![Slot::Arg(0), Slot::Table(combine.table()), Slot::Arg(1)];
        let plan = Plan::new("combine", vec![Step { kernel: Arc::new(combine), slots }]).unwrap();
        let integers = |batch| (0..batch).flat_map(|item| (0..20u64).map(move |i| i % 4 + item as u64));
        let named = NamedPlan::new("small integers", plan)
            .sampled(move |_, batch| vec![integers(batch).flat_map(u64::to_le_bytes).collect()]);
        check_plan(&named, &devices(), seed());
    }
}
