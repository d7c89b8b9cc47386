//! The plans of multi-scalar multiplication with samples of their inputs, for the engine's tests.

use ringforge::{Limits, Modulus, Planner, Result, U256};
use ringforge_testkit::{NamedPlan, Random, Scheme};

use crate::curve::Curve;
use crate::digits::Scalars;
use crate::field::{Field, Prime, sub_limbs};
use crate::kernels::SCALAR;
use crate::matrix::SparseMatrix;
use crate::plans;
use crate::vectors::Vectors;

/// Multi-scalar multiplication as a scheme for the engine's tests.
#[derive(Debug)]
pub struct Msm;

/// Points, some of which are equal, opposite or infinite; or all are equal. They need not be on the curve, since the
/// kernels' results are the same for any coordinates.
fn points(seed: u64, curve: &Curve, count: usize, alike: bool) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut points: Vec<Vec<u8>> = Vec::new();
    for _ in 0..count {
        let limb = |random: &mut Random| random.bits() >> 1;
        if let (true, Some(first)) = (alike, points.first()) {
            points.push(first.clone());
            continue;
        }
        let [x, y] = [(); 2].map(|()| (0..8).map(|_| limb(&mut random)).collect::<Vec<_>>());
        points.push(match (random.below(4), points.last()) {
            (0, Some(last)) => last.clone(),
            (1, _) => vec![0xff; curve.point_bytes()],
            (2, _) => curve.point(&x[..1], &[0]),
            _ => curve.point(&x[..1], &y[..1]),
        });
    }
    points.concat()
}

/// Scalars: the numbers 1 and 2 if `alike`, so that sums of equal points meet in full buckets; otherwise small numbers, their
/// negatives, numbers with one bit, and random ones. For an odd seed, one in sixteen is not reduced.
fn scalars(seed: u64, order: [u64; 4], count: usize, alike: bool) -> Vec<u8> {
    let mut random = Random::new(seed);
    let refused = !seed.is_multiple_of(2);
    let top = order.iter().rposition(|limb| *limb != 0).unwrap_or(0);
    let scalars = (0..count as u64).flat_map(|i| {
        if alike {
            return [i % 2 + 1, 0, 0, 0];
        }
        let small = [random.bits() % 3, 0, 0, 0];
        let mut bit = [0; 4];
        bit[random.below(top.max(1))] = 1 << random.below(if top == 0 { 13 } else { 60 });
        match random.below(16) {
            0 if refused => order,
            0..4 => small,
            4..7 => sub_limbs(&order, &[small[0] + 1, 0, 0, 0]).0,
            7..9 => bit,
            _ => core::array::from_fn(|i| if i < top { random.bits() } else { random.bits() % order[i].max(1) }),
        }
    });
    scalars.flat_map(u64::to_le_bytes).collect()
}

/// The plans of large multiplications, for compile checks: they have no samples.
///
/// # Errors
/// If a plan cannot be made for devices with these limits.
pub fn full_plans(limits: &Limits) -> Result<Vec<NamedPlan>> {
    let planner = Planner::new(limits.clone());
    let plan = |curve: Curve| {
        let of = Scalars { field: Prime::new(curve.order()), montgomery: true, flips: true };
        let shape = plans::shape(limits, 1 << 20, &of);
        let plan = plans::on_gpu(&planner, shape, &of, &[(curve, 1 << 20)])?;
        Ok(NamedPlan::new(plan.title().to_owned(), plan))
    };
    let mut plans = [Curve::bn254(), Curve::bls12_381_g2()].map(plan).into_iter().collect::<Result<Vec<_>>>()?;
    for curve in [Curve::bn254(), Curve::bls12_381_g2()] {
        let plan = plans::doubled(&planner, &curve, 1 << 20, 1)?;
        plans.push(NamedPlan::new(plan.title().to_owned(), plan));
    }
    plans.extend([vectors(&planner)?, product(&planner)?]);
    Ok(plans)
}

/// A multiplication to be planned, and how.
struct Multiplication {
    curve: Curve,
    /// The order of the scalars.
    order: [u64; 4],
    count: usize,
    bases: usize,
    width: u32,
    montgomery: bool,
    flips: bool,
    tables: bool,
}

impl Multiplication {
    /// A multiplication of as many plain scalars as bases. The order has 70 bits, so that there are few windows: emulated
    /// ones take long.
    fn new(curve: Curve, count: usize, width: u32) -> Self {
        let order = [u64::MAX, 0x3f, 0, 0];
        Self { curve, order, count, bases: count, width, montgomery: false, flips: true, tables: false }
    }

    fn plan(self, planner: &Planner) -> Result<NamedPlan> {
        let Self { curve, order, count, bases, width, montgomery, flips, tables } = self;
        let (limits, of) = (planner.limits(), Scalars { field: Prime::new(order), montgomery, flips });
        let (mut shape, mut points_count) = (plans::of_width(limits, count, width, &of), bases);
        if tables {
            shape = plans::of_tables(limits, bases, count, shape.windows);
            points_count *= shape.windows.count;
        }
        if count > 100 {
            // few blocks of threads that share an inversion, so that each thread has several additions, and so few points
            // per window that some are folded
            shape.tuning.multiprocessors = 1;
            shape.tuning.threads = 64;
            shape.tuning.window_points = 8;
        }
        let plan = plans::on_gpu(planner, shape, &of, &[(curve.clone(), points_count)])?;
        let named = NamedPlan::new(format!("{}, width {width}", plan.title()), plan);
        let named = named.with_secrets(&["scalars", "totals 0"]).batches(&[2]).few_emulated();
        Ok(named.sampled(move |seed, batch| {
            let alike = seed % 4 == 3;
            let scalars = scalars(seed, order, count * batch, alike);
            debug_assert_eq!(scalars.len(), SCALAR * count * batch);
            vec![("scalars", scalars), ("bases 0", points(!seed, &curve, points_count, alike))]
        }))
    }
}

/// A multiplication with more rows of a window than a block has threads, as a scheme for tests. It takes too long for each
/// test of the catalogue.
#[derive(Debug)]
pub struct WideMsm;

impl Scheme for WideMsm {
    const NAME: &'static str = "multi-scalar multiplication with a wide window";

    fn plans(limits: &Limits) -> Result<Vec<NamedPlan>> {
        // as few windows as a short order has
        let order = [16_381, 0, 0, 0];
        let wide = Multiplication { order, ..Multiplication::new(Curve::bn254(), 20, 14) };
        Ok(vec![wide.plan(&Planner::new(limits.clone()))?])
    }
}

impl Scheme for Msm {
    const NAME: &'static str = "multi-scalar multiplication";

    fn plans(limits: &Limits) -> Result<Vec<NamedPlan>> {
        let planner = Planner::new(limits.clone());
        let all = [
            Multiplication { order: Curve::bn254().order(), ..Multiplication::new(Curve::bn254(), 1, 8) },
            Multiplication { bases: 40, tables: true, ..Multiplication::new(Curve::bn254(), 37, 5) },
            Multiplication { montgomery: true, ..Multiplication::new(Curve::sm2(), 140, 6) },
            Multiplication { montgomery: true, flips: false, ..Multiplication::new(Curve::bls12_381_g2(), 9, 4) },
        ];
        let mut plans = all.into_iter().map(|one| one.plan(&planner)).collect::<Result<Vec<_>>>()?;
        let (curve, count) = (Curve::bn254(), 5);
        let plan = plans::doubled(&planner, &curve, count, 2)?;
        plans.push(
            NamedPlan::new(plan.title().to_owned(), plan)
                .batches(&[2])
                .few_emulated()
                .sampled(move |seed, batch| vec![("points", points(seed, &curve, count * batch, seed % 4 == 3))]),
        );
        plans.push(vectors(&planner)?);
        plans.push(product(&planner)?);
        Ok(plans)
    }
}

/// All operations on vectors of three tiles, of which the last is not full.
fn vectors(planner: &Planner) -> Result<NamedPlan> {
    let (p, q) = (planner.pipeline("vectors"), Curve::bn254().order());
    let vectors = Vectors::new(&p, &modulus(q)?, 140)?.of_few_threads();
    let (v, z) = (vectors.input("v"), p.input("z"));
    let rotated = vectors.rotate(v, -3);
    p.output("value", vectors.evaluate(v, z));
    p.output("divided", vectors.divide(v, z));
    p.output("products", vectors.running_products(v));
    p.output("powers", vectors.powers(z));
    p.output("inverses", vectors.inverses(v));
    p.output("combination", vectors.combination(&[v, rotated, v, rotated, v], p.bytes("factors", 5 * SCALAR)));
    let few = Vectors::new(&p, &modulus(q)?, 8)?.of_few_threads();
    p.output("reversed", few.bit_reversed(v.part(0..8 * SCALAR)));
    let plan = NamedPlan::new("vectors", p.build()?)
        .with_secrets(&["reversed", "v", "value", "divided", "products", "inverses", "combination"])
        .batches(&[2])
        .few_emulated();
    Ok(plan.sampled(move |seed, batch| {
        let reduced = |seed, count| scalars(2 * seed, q, count * batch, false);
        vec![("v", reduced(seed, 140)), ("z", reduced(!seed, 1)), ("factors", reduced(seed ^ 1 << 40, 5))]
    }))
}

/// The product of a matrix with rows of every kind and a vector.
fn product(planner: &Planner) -> Result<NamedPlan> {
    let q = Curve::bn254().order();
    let field = Prime::new(q);
    let coefficients = [field.one, field.negate(field.one), field.r2, [5, 0, 0, 0]];
    let rows = [3, 0, 70, 1].map(|length| (0..length).map(move |i| (coefficients[i % 4], i % 6)));
    let matrix = SparseMatrix::new(&modulus(q)?, rows, 6, 5)?;
    let plan = NamedPlan::new("sparse matrix times vector", matrix.plan(planner)?);
    let tables = matrix.tables();
    Ok(plan.with_secrets(&["vector", "product"]).batches(&[2]).few_emulated().sampled(move |seed, batch| {
        let mut inputs = tables.clone();
        inputs.push(("vector", scalars(2 * seed, q, 6 * batch, false)));
        inputs
    }))
}

fn modulus(q: [u64; 4]) -> Result<Modulus> {
    Modulus::new(U256::from_le_slice(bytemuck::cast_slice(&q)))
}
