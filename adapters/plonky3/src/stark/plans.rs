//! The plans of all kernels that proofs run, for bundles.

use core::ops::RangeInclusive;
use std::sync::Arc;

use p3_field::ExtensionField;
use ringforge::{Error, Plan, Planner, Result};

use super::dag::Dag;
use super::kernels::{Domain, Kernels, Shape};
use super::part::Part;
use crate::gather;
use crate::hash::HashField;
use crate::layout::Layout;
use crate::poseidon2::{Columns, Poseidon2};
use crate::transform::Transform;
use crate::transpose;

/// Widths of row-major matrices. Kernels depend on the next power of two of a width, up to the last one.
const WIDTHS: [usize; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

/// The plans of all kernels that proofs run with constraints that are interpreted: of AIRs of at most this degree, with this
/// blow-up factor, for tables of 2^log_n rows with log_n in this range. With a [`Bundle`](ringforge::cuda::Bundle) of them, a
/// machine without NVRTC makes the proofs of [`Prover`](super::Prover), [`BatchProver`](super::BatchProver) and
/// [`prove`](super::prove).
///
/// Kernels depend on the numbers of rounds of the permutations in `hash`, but not on its constants. Kernels that are compiled
/// for an AIR are not among them, and neither are those with which a [`Pcs`](crate::Pcs) commits for Plonky3, whose own code
/// does that without NVRTC. The example `bundle` writes a file.
///
/// # Errors
/// [`Error::Unsupported`] for an extension that provers do not have;
/// [`Error::NoRoot`] for heights that the field does not have.
pub fn plans<F: HashField, EF: ExtensionField<F>>(
    planner: &Planner,
    hash: &Poseidon2<F>,
    degree: usize,
    log_blowup: usize,
    log_n: RangeInclusive<usize>,
) -> Result<Vec<Plan>> {
    let mut plans = of_steps(planner, Kernels::<F, EF>::new()?)?;
    plans.extend(of_trees(planner, hash)?);
    // a quotient has a chunk less than the degree, rounded up to a power of two
    let log_chunks = degree.saturating_sub(1).max(1).next_power_of_two().ilog2() as usize;
    for log_n in log_n {
        plans.extend(of_transforms::<F>(planner, log_blowup, log_chunks, log_n)?);
    }
    Ok(plans)
}

/// The transforms of columns of 2^log_n elements, for quotients of at most 2^log_chunks chunks.
fn of_transforms<F: HashField>(
    planner: &Planner,
    log_blowup: usize,
    log_chunks: usize,
    log_n: usize,
) -> Result<Vec<Plan>> {
    let g = F::GENERATOR;
    let [layout, of_extension] = [0, log_blowup].map(|bits| Layout::Columns { stride: 1 << (log_n + bits) });
    let extends = Transform::Extend(log_blowup, g);
    let mut transforms = vec![(extends, layout, 1), (Transform::ExtendReversed(log_blowup, g, g), layout, 1)];
    transforms.extend(WIDTHS.map(|width| (extends, Layout::Rows, width)));
    // constraints may need more rows than are committed to, and proofs may make extensions again
    for added in 0..=log_chunks {
        transforms.push((Transform::Extend(added, g), layout, 1));
        if added > log_blowup {
            let again = Transform::ExtendReversed(added, g, g);
            transforms.push((again, of_extension, 1));
            transforms.extend(WIDTHS.map(|width| (again, Layout::Rows, width)));
        }
    }
    // devices of a group transform columns back, and evaluate all on cosets of their own
    transforms.push((Transform::Inverse(F::ONE), layout, 1));
    let root = F::two_adic_generator(log_n + log_blowup);
    for log_parts in 1..=log_blowup {
        let shifts = root.shifted_powers(g).take(1 << log_parts);
        let added = log_blowup - log_parts;
        for shift in shifts {
            transforms.push((Transform::Evaluate(added, F::ONE, shift), layout, 1));
            if added > 0 {
                transforms.push((Transform::ExtendReversed(added, shift, shift), layout, 1));
            }
        }
    }
    let root = F::two_adic_generator(log_n + log_chunks);
    let shifts = root.shifted_powers(g).take(1 << log_chunks);
    transforms.extend(shifts.map(|shift| (Transform::ExtendReversed(log_blowup, shift, g), layout, 1)));
    let plan = |(transform, layout, width): (Transform<F>, _, _)| transform.plan(planner, log_n, layout, width);
    // rows that are too large are transposed
    transforms.into_iter().map(plan).filter(|plan| !matches!(plan, Err(Error::TooLarge { .. }))).collect()
}

/// The hashes of rows and digests, proofs of work, and what copies rows. All numbers of rows and columns have one source.
fn of_trees<F: HashField>(planner: &Planner, hash: &Poseidon2<F>) -> Result<Vec<Plan>> {
    let (rows, layout) = (2, Layout::Columns { stride: 2 });
    let mut plans = Vec::new();
    for before in [None, Some(0)] {
        plans.push(hash.columns(planner, Columns { height: rows, count: 1, layout, skipped: 0, before, ends: true })?);
    }
    let each = hash.arity();
    plans.push(hash.rows(planner, 1)?);
    plans.extend([hash.nodes(planner, each)?, hash.injected(planner, each)?, hash.ground(planner)?]);
    plans.push(hash.climbed(planner, each, each * each, 2)?);
    plans.push(gather::plan::<F>(planner, layout, rows, 1)?);
    plans.push(transpose::plan::<F>(planner, rows, 1)?);
    Ok(plans)
}

/// The constraints, the lookups, the openings and FRI.
fn of_steps<F: HashField, EF: ExtensionField<F>>(planner: &Planner, kernels: Kernels<F, EF>) -> Result<Vec<Plan>> {
    let (log_n, rows) = (1, 2);
    let shape = Shape { rows, columns: 1, layout: Layout::Columns { stride: rows } };
    let mut plans = vec![kernels.denominators(planner, log_n)?];
    let dag = Arc::new(Dag { nodes: Vec::new(), constraints: Vec::new(), number: 0 });
    for stores in [false, true] {
        let part = Part { interpreted: true, stores, ..Part::new(dag.clone(), Vec::new(), 0)? };
        let domain = Domain { matrices: [shape; 3], log_n, log_chunks: 0, periodic: 0, periods: 1 };
        plans.push(kernels.constraints(planner, &part, domain)?);
    }
    plans.extend([kernels.fractions(planner, log_n, 1)?, kernels.accumulated(planner, log_n, EF::DIMENSION)?]);
    for both in [false, true] {
        plans.extend([kernels.opened(planner, shape, rows, both)?, kernels.reduced(planner, rows, both)?]);
        for (next, continues) in [(false, false), (false, true), (both, false), (both, true)] {
            plans.push(kernels.combined(planner, shape, log_n, [next, both, continues])?);
        }
    }
    for joins in [false, true] {
        plans.push(kernels.folded(planner, log_n, 1, joins)?);
    }
    Ok(plans)
}
