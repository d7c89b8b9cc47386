//! Many points whose sums are known, for tests and measurements.

use bytemuck::Zeroable;
use rayon::prelude::*;

use crate::curve::{Curve, with_group};
use crate::field::Field;
use crate::group::{Affine, Group};

/// Points whose differences share an inversion.
const TOGETHER: usize = 1024;

/// Returns the multiples 1·P, 2·P, …, `count`·P of a point, in the form of [`Bases::upload`](crate::Bases::upload).
/// Their order must be above `count`, and the point must not be infinity.
#[must_use]
pub fn multiples(curve: &Curve, point: &[u8], count: usize) -> Vec<u8> {
    with_group!(curve.group(), group => of_group(&group, bytemuck::pod_read_unaligned(point), count))
}

fn of_group<F: Field>(group: &Group<F>, point: Affine<F>, count: usize) -> Vec<u8> {
    let mut low = vec![point];
    for i in 1..TOGETHER.min(count) {
        low.push(group.add_affine(&low[i - 1], &point));
    }
    let step = low[low.len() - 1];
    let mut starts = vec![Group::<F>::infinity()];
    for i in 1..count.div_ceil(TOGETHER) {
        starts.push(group.add_affine(&starts[i - 1], &step));
    }
    let mut points = vec![Affine::<F>::zeroed(); count];
    ringforge_cpu::threads::start();
    points.par_chunks_mut(TOGETHER).zip(&starts).for_each(|(points, start)| {
        points.copy_from_slice(&low[..points.len()]);
        if !Group::<F>::is_infinity(start) {
            add_to_all(group, start, points);
        }
    });
    bytemuck::cast_slice(&points).to_vec()
}

/// Adds a point to points with other x coordinates, or equal ones.
fn add_to_all<F: Field>(group: &Group<F>, start: &Affine<F>, points: &mut [Affine<F>]) {
    let f = &group.field;
    let (mut product, mut before) = (f.one(), Vec::with_capacity(points.len()));
    let run = |point: &Affine<F>| if point[0] == start[0] { f.one() } else { f.sub(point[0], start[0]) };
    for point in points.iter() {
        before.push(product);
        product = f.mul(product, run(point));
    }
    let mut inverse = f.inverse(product);
    for (point, before) in points.iter_mut().zip(before).rev() {
        let own = f.mul(inverse, before);
        inverse = f.mul(inverse, run(point));
        if point[0] == start[0] {
            *point = group.add_affine(start, point);
            continue;
        }
        let slope = f.mul(f.sub(point[1], start[1]), own);
        let x = f.sub(f.sub(f.square(slope), start[0]), point[0]);
        *point = [x, f.sub(f.mul(slope, f.sub(start[0], x)), start[1])];
    }
}
