//! The least time that work can take on a device, by its own formula: bytes to move, multiplications, hashing.

use ringforge::kernels::Arithmetic;
use ringforge::split::{Layer, Split};
use ringforge::{Job, Limits, Op, PolyType, Quotient};
use serde::{Deserialize, Serialize};

use crate::ceilings::Ceilings;

/// Slots of a product of words, four wide ones, and of its remainder by a quotient of three.
const PRODUCT: usize = 8;
const REMAINDER: usize = 10;
/// Instructions of a ChaCha20 block on the pipe of logic: 80 quarter rounds of 12 sums, exclusive ors and rotations, and 16
/// sums.
const BLOCK: usize = 80 * 12 + 16;

/// What an item takes beside memory.
#[derive(Debug, Clone, Copy, Default)]
pub struct Words {
    /// Products of words, and remainders.
    pub products: usize,
    /// Remainders of words.
    pub remainders: usize,
    /// Blocks of random bytes.
    pub blocks: usize,
    /// Slots of 32-bit multiply-adds, or of doubles where these serve, beside products and remainders.
    pub slots: f64,
}

/// The least that an item can take: the largest of what bounds it, for these go on side by side.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Floor(pub Vec<Bound>);

/// One thing that bounds the time of an item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// `memory`, `multiply`, `logic`, `copies` between host and device, or the `device` for runs from host memory.
    pub by: String,
    /// How much of it an item needs: bytes, slots of 32-bit multiply-adds (or of doubles where these serve), instructions
    /// of logic and shifts, items.
    pub count: f64,
    /// The least time that this takes; of multiplications and logic known on GPUs.
    pub seconds: Option<f64>,
}

impl Floor {
    /// The floor of a job that moves so many bytes for an item.
    pub fn of(job: &Job, bytes_per_item: usize, ceilings: &Ceilings, limits: &Limits) -> Self {
        Self::new(slots_per_item(job, limits), None, bytes_per_item, ceilings)
    }

    /// The floor of what moves so many bytes for an item, and computes with words.
    pub fn of_words(words: &Words, bytes_per_item: usize, ceilings: &Ceilings) -> Self {
        let Words { products, remainders, blocks, slots } = *words;
        let known = |count: f64| (count > 0.0).then_some(count);
        let slots = known(slots + (PRODUCT * products + REMAINDER * remainders) as f64);
        Self::new(slots, known((BLOCK * blocks) as f64), bytes_per_item, ceilings)
    }

    /// The floor of a fast or an exact conversion to another basis below 2^64, with remainders of every digit and every
    /// result.
    pub fn of_conversion(job: &Job, to: &PolyType, bytes_per_item: usize, ceilings: &Ceilings) -> Self {
        let (n, k, l) = (job.poly.degree(), job.poly.basis().len(), to.basis().len());
        let of_digits = if job.op == Op::ConvertFast { k } else { k * (k + 1) / 2 };
        let words = Words { products: n * (of_digits + k * l), remainders: n * (k + l), ..Words::default() };
        Self::of_words(&words, bytes_per_item, ceilings)
    }

    /// The floor of what takes so many slots and instructions and moves so many bytes for an item.
    pub fn new(slots: Option<f64>, logic: Option<f64>, bytes_per_item: usize, ceilings: &Ceilings) -> Self {
        let Ceilings { copy, pipes } = ceilings;
        let bound = |by: &str, count: Option<f64>, rate: Option<f64>| {
            count.map(|count| Bound { by: by.into(), count, seconds: rate.map(|rate| count / rate) })
        };
        let bounds = [
            bound("memory", Some(bytes_per_item as f64), Some(*copy)),
            bound("multiply", slots, pipes.map(|pipes| pipes.multiply)),
            bound("logic", logic, pipes.map(|pipes| pipes.logic)),
        ];
        Self(bounds.into_iter().flatten().collect())
    }

    /// The floor of a run from host memory to host memory: copies of so many bytes, and the same with all data on the
    /// device.
    pub fn of_host(bytes_per_item: usize, copy_seconds: f64, device_seconds: f64) -> Self {
        let bound = |by: &str, count: f64, seconds| Bound { by: by.into(), count, seconds: Some(seconds) };
        Self(vec![bound("copies", bytes_per_item as f64, copy_seconds), bound("device", 1.0, device_seconds)])
    }

    /// The largest bound, and by what.
    pub fn limit(&self) -> Option<(f64, &str)> {
        let known = self.0.iter().filter_map(|bound| Some((bound.seconds?, bound.by.as_str())));
        known.reduce(|most, other| if other.0 > most.0 { other } else { most })
    }

    /// Whether nothing is known to bound the time.
    pub fn is_unknown(&self) -> bool {
        self.0.is_empty()
    }
}

/// Slots of multiply-adds of an item, known for rings with a transform of their own.
pub fn slots_per_item(job: &Job, limits: &Limits) -> Option<f64> {
    let split = Split::of(&job.poly, job.depth).ok()?;
    let is_plain = split.base() == 1 && split.layers().iter().all(|layer| *layer == Layer::Two);
    let is_transform = is_plain && matches!(job.op, Op::Forward | Op::Inverse);
    let arithmetic = if is_transform { Arithmetic::of_device(&job.poly, limits) } else { Arithmetic::of(&job.poly) };
    let (n, cost) = (split.poly().degree() as f64, arithmetic.cost());
    // per coefficient: radix 2 multiplies half of them at most; radix 3 two thirds by twiddles and one third by the third root
    let of_layer = |layer: &Layer| match layer {
        Layer::Sixth => n / 2.0,
        Layer::Two => n * arithmetic.products_of_layer(),
        Layer::Three => n,
    };
    // the leftmost node of each layer multiplies by 1 where the ring is x^n − 1
    let is_cyclic = matches!(job.poly.ring().quotient(), Quotient::Cyclic { .. });
    let ones = if is_cyclic && is_plain { n - 1.0 } else { 0.0 };
    let transform = (split.layers().iter().map(of_layer).sum::<f64>() - ones) * cost.product;
    let d = split.base() as f64;
    let wrapped = if split.base() > 1 { n * (d - 1.0) / d * cost.product } else { 0.0 };
    let values = n * (d * cost.term + cost.reduction) + wrapped;
    let row = match job.op {
        Op::Forward | Op::Inverse => transform,
        Op::PointMul | Op::MulAdd => values,
        Op::Mul => 3.0 * transform + values,
        _ => return None,
    };
    Some(row * job.poly.basis().len() as f64)
}
