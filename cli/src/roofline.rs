//! Roofline bounds: the minimum time of work on a device, from the bytes to move, multiplications and hashing.

use ringforge::factorization::{Factorization, Layer};
use ringforge::kernels::Arithmetic;
use ringforge::{Job, Limits, Op, PolyType, Quotient};
use serde::{Deserialize, Serialize};

use crate::peaks::Peaks;

/// Issue slots of 32-bit multiply-adds for a product of two 64-bit words, and for its remainder. A wide product takes
/// two slots. A product takes four wide products. A remainder takes three wide products for its quotient, and four
/// slots for the low half of the quotient times the modulus.
const PRODUCT: usize = 8;
const REMAINDER: usize = 10;
/// Instructions of a ChaCha20 block (RFC 8439) on the logic pipe: 80 quarter rounds, each with 12 additions, exclusive
/// ors and rotations, and 16 final additions.
const BLOCK: usize = 80 * 12 + 16;

/// Work per item, in addition to memory traffic.
#[derive(Debug, Clone, Copy, Default)]
pub struct Words {
    /// Products of two words, without reduction.
    pub products: usize,
    /// Reductions of such products modulo a prime.
    pub remainders: usize,
    /// ChaCha20 blocks of random bytes.
    pub blocks: usize,
    /// Further multiply-add slots, of 32-bit integers or, where the arithmetic uses doubles, of doubles.
    pub slots: f64,
}

/// Roofline bound of an item: the maximum of its bounds, because the resources work in parallel.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Roofline(pub Vec<Bound>);

/// A bound on the time of an item by one resource.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// The resource: `memory`, `multiply`, `logic`, `copies` between host and device, or `device` for runs from host
    /// memory.
    pub by: String,
    /// Amount of the resource that an item needs: bytes, slots of 32-bit multiply-adds (or of doubles where the
    /// arithmetic uses doubles), logic and shift instructions, or items.
    pub count: f64,
    /// Minimum time for this amount. For multiplications and logic it is known on GPUs only.
    pub seconds: Option<f64>,
}

impl Roofline {
    /// Roofline bound of a job that moves `bytes_per_item` bytes.
    pub fn of(job: &Job, bytes_per_item: usize, peaks: &Peaks, limits: &Limits) -> Self {
        Self::new(slots_per_item(job, limits), None, bytes_per_item, peaks)
    }

    /// Roofline bound of arithmetic on words that moves `bytes_per_item` bytes.
    pub fn of_words(words: &Words, bytes_per_item: usize, peaks: &Peaks) -> Self {
        let Words { products, remainders, blocks, slots } = *words;
        let known = |count: f64| (count > 0.0).then_some(count);
        let slots = known(slots + (PRODUCT * products + REMAINDER * remainders) as f64);
        Self::new(slots, known((BLOCK * blocks) as f64), bytes_per_item, peaks)
    }

    /// Roofline bound of a fast or exact conversion to another RNS basis of primes below 2^64. Counts a remainder for
    /// every digit and every result.
    pub fn of_conversion(job: &Job, to: &PolyType, bytes_per_item: usize, peaks: &Peaks) -> Self {
        let (n, k, l) = (job.poly.degree(), job.poly.basis().len(), to.basis().len());
        let of_digits = if job.op == Op::ConvertFast { k } else { k * (k + 1) / 2 };
        let words = Words { products: n * (of_digits + k * l), remainders: n * (k + l), ..Words::default() };
        Self::of_words(&words, bytes_per_item, peaks)
    }

    /// Roofline bound of work with these multiply-add slots, logic instructions and bytes per item. With `None`, the
    /// resource has no bound.
    pub fn new(slots: Option<f64>, logic: Option<f64>, bytes_per_item: usize, peaks: &Peaks) -> Self {
        let Peaks { copy, pipes } = peaks;
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

    /// Roofline bound of a run from host memory to host memory. `copy_seconds` is the time per item of the copies
    /// alone, and `device_seconds` that of the same work with all data on the device.
    pub fn of_host(bytes_per_item: usize, copy_seconds: f64, device_seconds: f64) -> Self {
        let bound = |by: &str, count: f64, seconds| Bound { by: by.into(), count, seconds: Some(seconds) };
        Self(vec![bound("copies", bytes_per_item as f64, copy_seconds), bound("device", 1.0, device_seconds)])
    }

    /// The largest bound in seconds, and its resource; `None` if no bound is known.
    pub fn limit(&self) -> Option<(f64, &str)> {
        let known = self.0.iter().filter_map(|bound| Some((bound.seconds?, bound.by.as_str())));
        known.reduce(|most, other| if other.0 > most.0 { other } else { most })
    }

    /// Returns true if there is no bound.
    pub fn is_unknown(&self) -> bool {
        self.0.is_empty()
    }
}

/// Multiply-add slots per item. Known for transforms and products in rings with an NTT, else `None`.
pub fn slots_per_item(job: &Job, limits: &Limits) -> Option<f64> {
    let split = Factorization::of(&job.poly, job.depth).ok()?;
    let is_plain = split.leaf_degree() == 1 && split.layers().iter().all(|layer| *layer == Layer::Two);
    let is_transform = is_plain && matches!(job.op, Op::Forward | Op::Inverse);
    let arithmetic = if is_transform { Arithmetic::of_device(&job.poly, limits) } else { Arithmetic::of(&job.poly) };
    let (n, cost) = (split.poly().degree() as f64, arithmetic.cost());
    // multiplications per coefficient: at most half with radix 2; with radix 3, two thirds by twiddle factors and one
    // third by the third root of unity
    let of_layer = |layer: &Layer| match layer {
        Layer::Sixth => n / 2.0,
        Layer::Two => n * arithmetic.products_of_layer(),
        Layer::Three => n,
    };
    // for x^n − 1, the first node of each layer has twiddle factors of 1
    let is_cyclic = matches!(job.poly.ring().quotient(), Quotient::Cyclic { .. });
    let ones = if is_cyclic && is_plain { n - 1.0 } else { 0.0 };
    let transform = (split.layers().iter().map(of_layer).sum::<f64>() - ones) * cost.product;
    let d = split.leaf_degree() as f64;
    let wrapped = if split.leaf_degree() > 1 { n * (d - 1.0) / d * cost.product } else { 0.0 };
    let values = n * (d * cost.term + cost.reduction) + wrapped;
    let row = match job.op {
        Op::Forward | Op::Inverse => transform,
        Op::PointMul | Op::MulAdd => values,
        Op::Mul => 3.0 * transform + values,
        _ => return None,
    };
    Some(row * job.poly.basis().len() as f64)
}
