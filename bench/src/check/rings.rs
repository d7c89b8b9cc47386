//! Products in rings of every kind, compared with slow and obvious arithmetic: all of a small ring's, sampled places of a
//! large one's.

use anyhow::Result;
use rayon::prelude::*;
use ringforge::split::Split;
use ringforge::testkit::Random;
use ringforge::testkit::naive;
use ringforge::{Job, Modulus, Op, Order, Ring, U256};

use super::{Found, Means};
use crate::oracle;
use crate::sample;
use crate::work::{Inputs, Work};

/// Items whose product is compared with the oracle, if the ring is small.
const ORACLE_ITEMS: usize = 6;
/// Coefficient products that the oracle may take for a ring.
const ORACLE_PRODUCTS: usize = 8 << 20;
/// The same where an item of the ring takes more than twice that, so that its oracle goes to sampled places alone.
const SAMPLED_PRODUCTS: usize = 2 << 20;
/// Bytes of an operand of large batches.
const OPERAND_BYTES: usize = 64 << 20;

/// Jobs from one RNS basis to another, and what is wrong where they are.
const CONVERSIONS: [(Op, &str); 3] = [
    (Op::Convert, "rows in another basis"),
    (Op::ConvertCentred, "centred rows in another basis"),
    (Op::ConvertFast, "rows in another basis up to multiples of Q"),
];

/// What is to be found about a ring: products, transforms, sums, integers and other bases.
pub(super) fn check(ring: &str, means: &Means) -> Result<Found> {
    Check { ring: ring.parse()?, means }.found()
}

struct Check<'a> {
    ring: Ring,
    means: &'a Means,
}

impl Check<'_> {
    fn found(&self) -> Result<Found> {
        let ring = &self.ring;
        let (work, note) = self.work(Op::Mul)?;
        let items = self.oracle_items();
        let batch = self.batch(&work, items);
        let mut random = Random::new(self.means.seed);
        let mut operand = || sample::elements(ring, random.bits(), items, batch);
        let (a, b) = (operand()?, operand()?);
        let mut buffers = work.buffers(batch, &[("a", &a), ("b", &b)])?;
        work.start(batch, &mut buffers)?;
        let product = work.result(&buffers)?;
        drop(buffers);

        // the edges at the front, and the last item, which ends the last block
        let mut sampled: Vec<usize> = (0..items.min(batch)).collect();
        sampled.push(batch - 1);
        let mut wrong = Vec::new();
        if !self.agrees_with_oracle(&sampled, &a, &b, &product)? {
            wrong.push("product");
        }
        let has_transform = Split::of(ring, None).is_ok();
        if has_transform {
            self.check_transforms(batch, [&a, &b, &product], &mut wrong)?;
        }
        if has_transform && ring.basis().len() > 1 {
            self.check_integers(batch, &sampled, &a, &mut wrong)?;
        }
        Ok(Found { note, batch, compared: sampled.len(), wrong })
    }

    fn work(&self, op: Op) -> Result<(Work, Option<String>)> {
        Work::with_fallback(&self.means.device, &self.means.planner, &Job::new(&self.ring, op))
    }

    fn run(&self, job: &Job, batch: usize, inputs: &Inputs<'_>) -> Result<Vec<u8>> {
        Work::with_fallback(&self.means.device, &self.means.planner, job)?.0.run(batch, inputs)
    }

    fn oracle_items(&self) -> usize {
        let products = self.ring.basis().len() * self.ring.degree().pow(2);
        (ORACLE_PRODUCTS / products).clamp(1, ORACLE_ITEMS)
    }

    /// Some more than the oracle's, or as many as fill a GPU.
    fn batch(&self, work: &Work, items: usize) -> usize {
        let most = (OPERAND_BYTES / self.ring.bytes()).max(items + 1);
        // odd, so that the last block is not full
        if self.means.all && !work.device().limits().is_cpu() { most } else { (2 * items + 17).min(most) }
    }

    fn plain(&self, bytes: &[u8], item: usize) -> Vec<U256> {
        let size = self.ring.bytes();
        naive::to_plain(&self.ring, &bytes[item * size..][..size])
    }

    /// In how many places of a row the oracle goes to work, for a ring that is too large for all.
    fn places(&self) -> Option<usize> {
        let (rows, n) = (self.ring.basis().len(), self.ring.degree());
        (rows * n.pow(2) > 2 * ORACLE_PRODUCTS).then(|| (SAMPLED_PRODUCTS / rows / n).max(1))
    }

    fn agrees_with_oracle(&self, sampled: &[usize], a: &[u8], b: &[u8], product: &[u8]) -> Result<bool> {
        let agrees = |&item: &usize| {
            let [a, b, product] = [a, b, product].map(|bytes| self.plain(bytes, item));
            match self.places() {
                None => Ok(naive::mul(&self.ring, &a, &b) == product),
                Some(count) => {
                    let random = &mut Random::new(self.means.seed ^ item as u64);
                    oracle::product_agrees(&self.ring, [&a, &b, &product], count, random)
                }
            }
        };
        Ok(sampled.par_iter().map(agrees).collect::<Result<Vec<_>>>()?.into_iter().all(|agrees| agrees))
    }

    /// Whether values in natural order are those of the first item.
    fn natural_values_agree(&self, a: &[u8], values: &[u8]) -> Result<bool> {
        let (order, [a, values]) = (Order::Natural, [a, values].map(|bytes| self.plain(bytes, 0)));
        match self.places() {
            None => Ok(naive::forward(&self.ring, &Split::of(&self.ring, None)?, order, &a) == values),
            Some(count) => {
                oracle::values_agree(&self.ring, order, [&a, &values], count, &mut Random::new(self.means.seed))
            }
        }
    }

    /// Forward and inverse undo each other; the product of values is the product; added to itself it is twice that.
    fn check_transforms(&self, batch: usize, [a, b, product]: [&[u8]; 3], wrong: &mut Vec<&'static str>) -> Result<()> {
        let [forward, inverse, point_mul, mul_add] =
            [Op::Forward, Op::Inverse, Op::PointMul, Op::MulAdd].map(|op| Job::new(&self.ring, op));
        let run = |job: &Job, inputs: &Inputs<'_>| self.run(job, batch, inputs);
        let (a_values, b_values) = (run(&forward, &[("from", a)])?, run(&forward, &[("from", b)])?);
        if run(&inverse, &[("from", &a_values)])? != a {
            wrong.push("inverse of forward");
        }
        let values = run(&point_mul, &[("a", &a_values), ("b", &b_values)])?;
        if run(&inverse, &[("from", &values)])? != product {
            wrong.push("product of values");
        }
        let sums = run(&mul_add, &[("a", &a_values), ("b", &b_values), ("sum", &values)])?;
        let sums = run(&inverse, &[("from", &sums)])?;
        let twice = |item| {
            let product = self.plain(product, item);
            naive::add(&self.ring, &product, &product) == self.plain(&sums, item)
        };
        if !(0..batch).step_by(batch.div_ceil(64)).all(twice) {
            wrong.push("sum of products");
        }
        let natural = |job: Job| job.order(Order::Natural).in_place();
        let values = run(&natural(forward), &[("data", a)])?;
        if !self.natural_values_agree(a, &values)? {
            wrong.push("values");
        }
        if run(&natural(inverse), &[("data", &values)])? != a {
            wrong.push("inverse of forward, in natural order and in place");
        }
        Ok(())
    }

    /// The integers that RNS rows stand for have these rows as residues, and are below the product of the moduli; rows
    /// of other primes are those of the integers.
    fn check_integers(&self, batch: usize, sampled: &[usize], a: &[u8], wrong: &mut Vec<&'static str>) -> Result<()> {
        let run = |job: &Job, from: &[u8]| self.run(job, batch, &[("from", from)]);
        let limbs = run(&Job::new(&self.ring, Op::Compose), a)?;
        if run(&Job::new(&self.ring, Op::Decompose), &limbs)? != a {
            wrong.push("rows of integers");
        }
        let (n, basis) = (self.ring.degree(), self.ring.basis());
        let size = limbs.len() / batch / n;
        let modulus = basis.iter().fold(U256::ONE, |product, q| product.wrapping_mul(&q.value()));
        let integer = |bytes: &[u8]| {
            let mut wide = [0; 32];
            wide[..size].copy_from_slice(bytes);
            U256::from_le_slice(&wide)
        };
        let integers = |item: usize| limbs[item * n * size..][..n * size].chunks_exact(size).map(integer);
        let combined = |&item: &usize| {
            let rows = self.plain(a, item);
            integers(item)
                .enumerate()
                .all(|(i, x)| x < modulus && basis.iter().enumerate().all(|(row, q)| q.reduce(&x) == rows[row * n + i]))
        };
        if !sampled.iter().all(combined) {
            wrong.push("combined integers");
        }
        let other = Ring::new(&Modulus::ntt_primes(2, 62, 2)?, self.ring.quotient().clone())?;
        for (op, name) in CONVERSIONS {
            let rows = run(&Job::new(&self.ring, op).to(&other), a)?;
            let fits = |(found, p, x): (&U256, &Modulus, U256)| {
                let (residue, modulus_residue) = (p.reduce(&x), p.reduce(&modulus));
                match op {
                    Op::ConvertCentred if x > modulus.shr_vartime(1) => *found == p.sub(&residue, &modulus_residue),
                    Op::ConvertFast => (0..basis.len() as u64)
                        .any(|u| *found == p.add(&residue, &p.mul(&modulus_residue, &U256::from(u)))),
                    _ => *found == residue,
                }
            };
            let converted = |&item: &usize| {
                let plain = naive::to_plain(&other, &rows[item * other.bytes()..][..other.bytes()]);
                let rows = plain.chunks_exact(n).zip(other.basis());
                rows.into_iter().all(|(row, p)| row.iter().zip(integers(item)).all(|(found, x)| fits((found, p, x))))
            };
            if !sampled.iter().all(converted) {
                wrong.push(name);
            }
        }
        Ok(())
    }
}
