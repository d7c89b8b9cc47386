//! The linear maps between slots and coefficients, factored into sparse ones.
//!
//! The canonical embedding of n slots is an FFT of log2(n) layers with three diagonals each (Chen, Chillotti and Song,
//! eprint 2018/1043). It takes bit-reversed elements z_t = m_t + i·m_(t + n) to slots in natural order. A stage is a
//! product of adjacent layers.

use num_complex::Complex64;

use crate::linear::Diagonals;
use crate::roots::quarter;
use crate::scheme::Ckks;

/// Diagonals as [`Ckks::linear_map`] takes them.
type Stage = Vec<(i64, Vec<Complex64>)>;

/// The maps whose product takes slots z to the slots of the polynomial with the elements `factor`·z, in bit-reversed
/// order. They are applied in this order.
pub(super) fn to_coefficients(ckks: &Ckks, stages: usize, factor: f64) -> Vec<Stage> {
    let slots = ckks.parameters().slots();
    let roots = quarter(2 * slots);
    let layers: Vec<_> = (0..slots.ilog2()).map(|log| layer(&roots, 1 << log, false)).collect();
    // the last layer, of the largest distance, has two diagonals only
    let mut sizes = sizes(layers.len(), stages);
    sizes.reverse();
    grouped(&layers, &sizes, factor)
}

/// The maps whose product takes the slots of a polynomial to `factor` times its elements, in bit-reversed order.
pub(super) fn to_slots(ckks: &Ckks, stages: usize, factor: f64) -> Vec<Stage> {
    let slots = ckks.parameters().slots();
    let roots = quarter(2 * slots);
    let layers: Vec<_> = (0..slots.ilog2()).rev().map(|log| layer(&roots, 1 << log, true)).collect();
    grouped(&layers, &sizes(layers.len(), stages), factor)
}

/// How many layers each stage has, from that with the layer of the largest distance on. This one and then the last ones
/// take a layer more if the layers cannot be divided evenly.
fn sizes(layers: usize, stages: usize) -> Vec<usize> {
    let more = layers % stages;
    (0..stages).map(|stage| layers / stages + usize::from(more > 0 && (stage == 0 || stage > stages - more))).collect()
}

/// Products of adjacent layers, each times an equal share of `factor`.
fn grouped(layers: &[Diagonals], sizes: &[usize], factor: f64) -> Vec<Stage> {
    let share = factor.powf(1.0 / sizes.len() as f64);
    let mut left = layers;
    let stage = |size: &usize| {
        let (these, others) = left.split_at(*size);
        left = others;
        let product = these[1..].iter().fold(these[0].clone(), |product, layer| times(layer, &product));
        product.into_iter().map(|(d, entries)| (d, entries.iter().map(|entry| entry * share).collect())).collect()
    };
    sizes.iter().map(stage).collect()
}

/// The layer with butterflies between slots at this distance h, or its inverse: (a, b) → (a + w·b, a − w·b), with
/// w = ζ^(n/(2h)·5^j) for slot j, for n slots and ζ of order 4n. `roots` are the powers ζ^t for t ≤ n.
fn layer(roots: &[Complex64], distance: usize, inverse: bool) -> Diagonals {
    let slots = roots.len() - 1;
    let root = |power: usize| {
        let turned = roots[power % slots];
        match power / slots % 4 {
            0 => turned,
            1 => Complex64::new(-turned.im, turned.re),
            2 => -turned,
            _ => Complex64::new(turned.im, -turned.re),
        }
    };
    let order = 8 * distance;
    let powers = core::iter::successors(Some(1), |power| Some(power * 5 % order));
    let twiddles: Vec<Complex64> = powers.take(distance).map(|power| root(power * (4 * slots / order))).collect();
    let mut diagonals = Diagonals::new();
    let mut set = |d: i64, slot: usize, entry| {
        let d = d.rem_euclid(slots as i64);
        diagonals.entry(d).or_insert_with(|| vec![Complex64::ZERO; slots])[slot] = entry;
    };
    for slot in 0..slots {
        let (w, far) = (twiddles[slot % distance], distance as i64);
        match (slot / distance % 2, inverse) {
            (0, false) => (set(0, slot, Complex64::ONE), set(far, slot, w)),
            (_, false) => (set(-far, slot, Complex64::ONE), set(0, slot, -w)),
            (0, true) => (set(0, slot, Complex64::from(0.5)), set(far, slot, Complex64::from(0.5))),
            (_, true) => (set(-far, slot, w.conj() * 0.5), set(0, slot, w.conj() * -0.5)),
        };
    }
    diagonals
}

/// The map that applies `first`, and then `then`.
fn times(then: &Diagonals, first: &Diagonals) -> Diagonals {
    let mut product = Diagonals::new();
    for (d, entries) in then {
        for (e, others) in first {
            let slots = entries.len();
            let sum = product.entry((d + e).rem_euclid(slots as i64)).or_insert_with(|| vec![Complex64::ZERO; slots]);
            for (slot, (sum, entry)) in sum.iter_mut().zip(entries).enumerate() {
                *sum += entry * others[(slot + *d as usize) % slots];
            }
        }
    }
    product
}
