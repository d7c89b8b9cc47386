//! The constraints of an AIR, compiled, and the quotient of their sum.

use core::any::TypeId;
use core::ops::Range;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use p3_field::ExtensionField;
use rayon::prelude::*;
use ringforge::{Buffer, Engine, Plan, Program, Result, Stream};

use super::dag::{Dag, Node};
use super::kernels::{Domain, Kernels, reversed};
use super::part::Part;
use crate::field::{EngineField, words};
use crate::layout::Layout;
use crate::transform::Transform;

/// The most operations of a kernel, and the most columns that a cluster reads. Longer kernels are slower, take longer to
/// compile, or need too many registers.
const OPERATIONS: usize = 400;
const COLUMNS: usize = 96;

/// The constraints of an AIR as kernels.
#[derive(Debug)]
pub(super) struct Quotient<F, EF> {
    kernels: Kernels<F, EF>,
    dag: Arc<Dag<F>>,
    parts: Vec<Part<F>>,
    /// The programs for each domain.
    programs: Mutex<HashMap<Domain, Arc<[Program]>>>,
}

/// The values that a quotient is computed from.
pub(super) struct Inputs<'a, F, EF> {
    pub(super) domain: Domain,
    pub(super) main: &'a Buffer,
    pub(super) publics: &'a [F],
    /// The values of the periodic columns, one column after another.
    pub(super) periodic: &'a [F],
    pub(super) alpha: EF,
    pub(super) added_bits: usize,
}

impl<F: EngineField, EF: ExtensionField<F>> Quotient<F, EF> {
    pub(super) fn new(kernels: Kernels<F, EF>, dag: Dag<F>) -> Self {
        let (dag, mut parts) = (Arc::new(dag), Vec::new());
        let mut clusters: Vec<Range<usize>> = Vec::new();
        let mut operations = 0;
        let finish = |clusters: &mut Vec<Range<usize>>, parts: &mut Vec<Part<F>>| {
            let (continues, clusters) = (!parts.is_empty(), core::mem::take(clusters));
            parts.push(Part { dag: dag.clone(), clusters, continues, ends: false });
        };
        for (cluster, cost) in clusters_of(&dag) {
            if operations > 0 && operations + cost > OPERATIONS {
                finish(&mut clusters, &mut parts);
                operations = 0;
            }
            operations += cost;
            clusters.push(cluster);
        }
        finish(&mut clusters, &mut parts);
        if let Some(last) = parts.last_mut() {
            last.ends = true;
        }
        Self { kernels, dag, parts, programs: Mutex::default() }
    }

    fn programs(&self, engine: &Engine, domain: Domain) -> Result<Arc<[Program]>> {
        let mut kept = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(programs) = kept.get(&domain) {
            return Ok(programs.clone());
        }
        let plan = |part| self.kernels.constraints(engine.planner(), part, domain);
        let plans = self.parts.iter().map(plan).collect::<Result<Vec<_>>>()?;
        // all kernels of an AIR are compiled at the same time
        ringforge_cpu::threads::start();
        let compile = |plan: &Plan| engine.device().compile(plan);
        let programs: Arc<[Program]> = plans.par_iter().map(compile).collect::<Result<Vec<_>>>()?.into();
        kept.insert(domain, programs.clone());
        Ok(programs)
    }

    /// Enqueues the quotient's extension: D columns of each chunk, one after another.
    pub(super) fn extension(&self, engine: &Engine, stream: &Stream, of: &Inputs<'_, F, EF>) -> Result<Buffer> {
        let Domain { log_n, log_chunks, .. } = of.domain;
        let (bits, degree, word) = (log_n + log_chunks, EF::DIMENSION, size_of::<F>());
        let programs = self.programs(engine, of.domain)?;
        let mut weights: Vec<EF> = of.alpha.powers().collect_n(self.dag.constraints.len().max(1));
        weights.reverse();
        let weights = stream.upload(words(&flat(&weights)))?;
        let publics = if of.publics.is_empty() { &[F::ZERO] } else { of.publics };
        let publics = stream.upload(words(publics))?;
        let periodic = if of.periodic.is_empty() { &[F::ZERO] } else { of.periodic };
        let periodic = stream.upload(words(periodic))?;
        let points = stream.upload(words(&points::<F>(bits, log_n)))?;
        let (shift_to_n, root) = (F::GENERATOR.exp_power_of_2(log_n), F::two_adic_generator(log_chunks));
        let vanishing =
            (0..1 << log_chunks).map(|block| shift_to_n * root.exp_u64(reversed(block, log_chunks) as u64) - F::ONE);
        let blocks: Vec<F> = vanishing.flat_map(|x| [x, x.inverse()]).collect();
        let blocks = stream.upload(words(&blocks))?;
        let inverses = match self.dag.has(Node::First) || self.dag.has(Node::Last) {
            true => denominators(self.kernels, engine, stream, &points, bits, EF::ONE)?,
            false => stream.zeros(degree * word)?,
        };
        let mut sums = engine.device().buffer((degree * word) << bits)?;
        for program in &*programs {
            let call = program.on(stream, 1).input("main", of.main).input("publics", &publics);
            let call = call.input("weights", &weights).input("blocks", &blocks).input("points", &points);
            call.input("inverses", &inverses).input("periodic", &periodic).output("sums", &mut sums).run()?;
        }
        let column = word << (log_n + of.added_bits);
        let mut extension = stream.zeros((degree << log_chunks) * column)?;
        for chunk in 0..1usize << log_chunks {
            let shift = F::GENERATOR * F::two_adic_generator(bits).exp_u64(chunk as u64);
            let transform = Transform::ExtendReversed(of.added_bits, shift, F::GENERATOR);
            let program = transform.program(engine, log_n, Layout::Columns { stride: 1 << log_n }, degree)?;
            let block = (degree * word) << log_n;
            let from = reversed(chunk, log_chunks) * block;
            let call = program.on(stream, degree).input("from", sums.slice(from..from + block)?);
            let to = chunk * degree * column..(chunk + 1) * degree * column;
            call.output("to", extension.slice_mut(to)?).run()?;
        }
        Ok(extension)
    }
}

/// Cuts constraints, in their order, into clusters that read few columns. Returns each with its number of operations.
fn clusters_of<F: EngineField>(dag: &Dag<F>) -> Vec<(Range<usize>, usize)> {
    let cost = |numbers: &BTreeSet<u32>| {
        let nodes = numbers.iter().map(|number| &dag.nodes[*number as usize]);
        let columns = nodes.clone().filter(|node| matches!(node, Node::Main(..))).count();
        (columns, nodes.filter(|node| node.is_operation()).count())
    };
    let mut clusters: Vec<(Range<usize>, usize)> = Vec::new();
    let (mut known, mut columns) = (BTreeSet::new(), 0);
    for (i, root) in dag.constraints.iter().enumerate() {
        let new = dag.needed(&[*root], &known);
        let (more_columns, more) = cost(&new);
        match clusters.last_mut() {
            Some((cluster, operations)) if columns + more_columns <= COLUMNS && *operations + more <= OPERATIONS => {
                known.extend(new);
                columns += more_columns;
                (cluster.end, *operations) = (i + 1, *operations + more);
            }
            _ => {
                // the values of earlier clusters are computed again
                known = dag.needed(&[*root], &BTreeSet::new());
                let operations;
                (columns, operations) = cost(&known);
                clusters.push((i..i + 1, operations));
            }
        }
    }
    clusters
}

/// The coefficients of elements, one after another.
pub(super) fn flat<F: EngineField, EF: ExtensionField<F>>(elements: &[EF]) -> Vec<F> {
    elements.iter().flat_map(|x| x.as_basis_coefficients_slice()).copied().collect()
}

/// The numbers from which kernels compute the points of the coset g·K of 2^bits elements. They are g, 1 / h and h for the
/// generator h of the trace's domain, and a factor for each bit of an index in bit-reversed order.
pub(super) fn points<F: EngineField>(bits: usize, log_n: usize) -> Vec<F> {
    let h = F::two_adic_generator(log_n);
    let factors = (0..bits).map(|bit| F::two_adic_generator(bit + 1));
    [F::GENERATOR, h.inverse(), h].into_iter().chain(factors).collect()
}

/// Enqueues 1 / (z − x) for all points x.
pub(super) fn denominators<F: EngineField, EF: ExtensionField<F>>(
    kernels: Kernels<F, EF>,
    engine: &Engine,
    stream: &Stream,
    points: &Buffer,
    bits: usize,
    z: EF,
) -> Result<Buffer> {
    let key = ("denominators", TypeId::of::<(F, EF)>(), bits);
    let program = engine.program_of(&key, |planner| kernels.denominators(planner, bits))?;
    let z = stream.upload(words(&flat(&[z])))?;
    let mut inverses = engine.device().buffer((EF::DIMENSION * size_of::<F>()) << bits)?;
    program.on(stream, 1).input("points", points).input("z", &z).output("inverses", &mut inverses).run()?;
    Ok(inverses)
}
