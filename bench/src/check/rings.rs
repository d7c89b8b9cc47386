//! Products in rings of every kind, compared with slow and obvious arithmetic: all of a small ring's, sampled places of a
//! large one's.

use anyhow::{Context, Result};
use rayon::prelude::*;
use ringforge::split::Split;
use ringforge::testkit::Random;
use ringforge::testkit::naive;
use ringforge::{Buffer, Device, Job, Modulus, Op, Order, Planner, Ring, U256};
use serde::Serialize;

use crate::measure;
use crate::oracle;
use crate::sample;
use crate::show;
use crate::work::{Inputs, Work};

/// Items whose product is compared with the oracle, if the ring is small.
const ORACLE_ITEMS: usize = 6;
/// Coefficient products that the oracle may take for a ring.
const ORACLE_PRODUCTS: usize = 8 << 20;
/// The same where an item of the ring takes more than twice that, so that its oracle goes to sampled places alone.
const SAMPLED_PRODUCTS: usize = 2 << 20;
/// Bytes of an operand on a GPU and, at most, on a CPU.
const OPERAND_BYTES: usize = 64 << 20;
/// Seconds of one run on a CPU.
const RUN_SECONDS: f64 = 0.05;

/// Jobs from one RNS basis to another, and what is wrong where they are.
const CONVERSIONS: [(Op, &str); 3] = [
    (Op::Convert, "rows in another basis"),
    (Op::ConvertCentred, "centred rows in another basis"),
    (Op::ConvertFast, "rows in another basis up to multiples of Q"),
];

/// What was found about a ring.
#[derive(Debug, Serialize)]
pub(super) struct Line {
    name: &'static str,
    ring: String,
    plan: String,
    device: String,
    /// Why the CPU serves where a GPU was wanted.
    note: Option<String>,
    batch: usize,
    /// Measured unless in a hurry.
    products_per_second: Option<f64>,
    /// Items compared with the oracle.
    compared: usize,
    pub(super) agrees: bool,
    /// What disagrees.
    wrong: Vec<&'static str>,
}

/// What is to be found about a ring: products, transforms, sums, integers and other bases.
pub(super) fn check(
    name: &'static str,
    ring: &str,
    (device, planner): (&Device, &Planner),
    seed: u64,
    quick: bool,
) -> Result<Line> {
    let check = Check { ring: ring.parse()?, device, planner, seed, quick };
    check.line(name).with_context(|| format!("{name}, seed {seed}"))
}

/// The lines as a table.
pub(super) fn table(lines: &[Line]) -> String {
    let mut table = show::table(&["ring", "plan of a product", "device", "products/s", "verdict"], &[3]);
    for line in lines {
        let verdict = match (line.agrees, &line.note) {
            (false, _) => format!("WRONG: {}", line.wrong.join(", ")),
            (true, Some(why)) => format!("agrees (on the CPU: {why})"),
            (true, None) => "agrees".into(),
        };
        let ring = format!("{}\n{}", line.name, show::ring(&line.ring));
        let rate = line.products_per_second.map_or("–".into(), show::short);
        table.add_row([ring, line.plan.clone(), line.device.clone(), rate, verdict]);
    }
    table.to_string()
}

struct Check<'a> {
    ring: Ring,
    device: &'a Device,
    planner: &'a Planner,
    seed: u64,
    quick: bool,
}

impl Check<'_> {
    fn line(&self, name: &'static str) -> Result<Line> {
        let ring = &self.ring;
        let (work, note) = self.work(Op::Mul)?;
        let items = self.oracle_items();
        let batch = self.batch(&work, items)?;
        let mut random = Random::new(self.seed);
        let mut operand = || sample::elements(ring, random.bits(), items, batch);
        let (a, b) = (operand()?, operand()?);
        let mut buffers = work.buffers(batch, &[("a", &a), ("b", &b)])?;
        work.start(batch, &mut buffers)?;
        let product = work.result(&buffers)?;
        let seconds = (!self.quick).then(|| self.seconds(&work, batch, &mut buffers)).transpose()?;
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
        Ok(Line {
            name,
            ring: ring.to_string(),
            plan: short_plan(&work),
            device: work.device().to_string(),
            note,
            batch,
            products_per_second: seconds.map(|seconds| batch as f64 / seconds),
            compared: sampled.len(),
            agrees: wrong.is_empty(),
            wrong,
        })
    }

    fn work(&self, op: Op) -> Result<(Work, Option<String>)> {
        Work::with_fallback(self.device, self.planner, &Job::new(&self.ring, op))
    }

    fn run(&self, job: &Job, batch: usize, inputs: &Inputs<'_>) -> Result<Vec<u8>> {
        Work::with_fallback(self.device, self.planner, job)?.0.run(batch, inputs)
    }

    fn oracle_items(&self) -> usize {
        let products = self.ring.basis().len() * self.ring.degree().pow(2);
        (ORACLE_PRODUCTS / products).clamp(1, ORACLE_ITEMS)
    }

    /// As many items as make a good measurement.
    fn batch(&self, work: &Work, items: usize) -> Result<usize> {
        let most = (OPERAND_BYTES / self.ring.bytes()).max(items + 1);
        if self.quick {
            // odd, so that the last block is not full
            return Ok((2 * items + 17).min(most));
        }
        if !work.device().limits().is_cpu() {
            return Ok(most);
        }
        Ok(((RUN_SECONDS / measure::estimate_item(work)?) as usize).clamp(items + 1, most))
    }

    /// Seconds of a run: the least of a few.
    fn seconds(&self, work: &Work, batch: usize, buffers: &mut [Buffer]) -> Result<f64> {
        let mut least = f64::INFINITY;
        for _ in 0..3 {
            least = least.min(measure::estimate(work, batch, buffers)?);
        }
        Ok(least)
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
                    let random = &mut Random::new(self.seed ^ item as u64);
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
            Some(count) => oracle::values_agree(&self.ring, order, [&a, &values], count, &mut Random::new(self.seed)),
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

/// The steps of a plan by name, like ones together.
fn short_plan(work: &Work) -> String {
    let mut lines: Vec<(String, usize)> = Vec::new();
    for kernel in work.program.plan().kernels() {
        let line = format!("{} {}", kernel.name(), kernel.describe());
        match lines.last_mut() {
            Some((last, count)) if *last == line => *count += 1,
            _ => lines.push((line, 1)),
        }
    }
    let times = |(line, count): &(String, usize)| match count {
        1 => line.trim_end().to_string(),
        _ => format!("{count} × {}", line.trim_end()),
    };
    lines.iter().map(times).collect::<Vec<_>>().join("\n")
}
