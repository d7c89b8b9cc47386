//! Multi-scalar multiplication on a CPU: Pippenger's method with signed digits.
//!
//! Source: Pippenger, "On the evaluation of powers and related problems" (1976); Bernstein, Doumen, Lange and Oosterwijk,
//! "Faster batch forgery identification" (2012), section 4.

use rayon::prelude::*;
use zeroize::Zeroizing;

use crate::digits::{Scalars, Windows};
use crate::field::Field;
use crate::group::{Affine, Group, Xyzz};

/// Returns the sum of the multiples of points by scalars, of which there are equally many.
pub(crate) fn msm<F: Field>(group: &Group<F>, points: &[Affine<F>], of: &Scalars, scalars: &[[u64; 4]]) -> Xyzz<F> {
    ringforge_cpu::threads::start();
    let windows = Windows::new(width(scalars.len()), of);
    // parts of the points, so that every thread has work
    let parts = (2 * rayon::current_num_threads()).div_ceil(windows.count).clamp(1, scalars.len() / 256 + 1);
    let share = scalars.len().div_ceil(parts).max(1);
    let digits: Vec<i32> = scalars.par_iter().flat_map_iter(|scalar| of.digits(*scalar, windows)).collect();
    let digits = Zeroizing::new(digits);
    let sums: Vec<Xyzz<F>> = (0..windows.count)
        .into_par_iter()
        .map(|window| {
            let parts = points.par_chunks(share).zip(digits.par_chunks(share * windows.count));
            let sums = parts.map(|(points, digits)| {
                let digits = digits.iter().skip(window).step_by(windows.count);
                window_sum(group, points.iter().zip(digits), windows.buckets())
            });
            sums.reduce(|| group.zero(), |a, b| group.add(&a, &b))
        })
        .collect();
    horner(group, sums.into_iter().enumerate().rev().map(|(i, sum)| (windows.width(i), sum)))
}

/// The width of windows for this many points.
fn width(points: usize) -> u32 {
    match points.checked_ilog2().unwrap_or(0) {
        log @ 0..6 => log.max(2),
        log => (log * 7 / 10 + 2).min(16),
    }
}

/// Returns the sum of points times digits.
fn window_sum<'a, F: Field>(
    group: &Group<F>,
    terms: impl Iterator<Item = (&'a Affine<F>, &'a i32)>,
    buckets: usize,
) -> Xyzz<F> {
    let mut sums = Zeroizing::new(vec![group.zero(); buckets]);
    for (point, digit) in terms {
        if *digit != 0 {
            let sum = &mut sums[digit.unsigned_abs() as usize - 1];
            *sum = group.add_mixed(sum, &group.negate_if(*digit < 0, *point));
        }
    }
    let (mut run, mut total) = (group.zero(), group.zero());
    for sum in sums.iter().rev() {
        run = group.add(&run, sum);
        total = group.add(&total, &run);
    }
    total
}

/// Horner's rule: for each number of bits and point, multiplies the total by 2^bits and adds the point.
pub(crate) fn horner<F: Field>(group: &Group<F>, mut terms: impl Iterator<Item = (u32, Xyzz<F>)>) -> Xyzz<F> {
    let first = terms.next().map_or(group.zero(), |(_, point)| point);
    terms.fold(first, |total, (bits, point)| group.add(&group.double_times(bits, &total), &point))
}
