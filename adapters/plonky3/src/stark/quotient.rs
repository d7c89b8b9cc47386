//! The constraints of an AIR, compiled, and the quotient of their sum.

use core::ops::Range;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use p3_field::ExtensionField;
use rayon::prelude::*;
use ringforge::{Buffer, Engine, Plan, Program, Result, Stream};

use super::dag::{Dag, Node};
use super::kernels::{Domain, Kernels, Part, reversed};
use crate::field::{EngineField, words};
use crate::layout::Layout;
use crate::transform::Transform;

/// The most operations of a kernel, and the most columns that a cluster reads. Longer kernels are slower, compile for longer, or
/// need too many registers.
const OPERATIONS: usize = 400;
const COLUMNS: usize = 96;

/// The constraints of an AIR as kernels.
#[derive(Debug)]
pub(super) struct Quotient<F, EF> {
    kernels: Kernels<F, EF>,
    parts: Vec<Part<F>>,
    /// The programs for the domain that was used last.
    programs: Mutex<Option<(Domain, Arc<[Program]>)>>,
}

/// What the quotient of a proof depends on.
pub(super) struct Row<'a, F, EF> {
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
        Self { kernels, parts, programs: Mutex::default() }
    }

    /// The number of constraints.
    fn constraints(&self) -> usize {
        self.parts.first().map_or(0, |part| part.dag.constraints.len())
    }

    fn programs(&self, engine: &Engine, domain: Domain) -> Result<Arc<[Program]>> {
        let mut kept = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, programs)) = kept.as_ref().filter(|(of, _)| *of == domain) {
            return Ok(programs.clone());
        }
        let plan = |part| self.kernels.constraints(engine.planner(), part, domain);
        let plans = self.parts.iter().map(plan).collect::<Result<Vec<_>>>()?;
        // kernels of an AIR are compiled side by side
        ringforge_cpu::threads::start();
        let compile = |plan: &Plan| engine.device().compile(plan);
        let programs: Arc<[Program]> = plans.par_iter().map(compile).collect::<Result<Vec<_>>>()?.into();
        *kept = Some((domain, programs.clone()));
        Ok(programs)
    }

    /// Enqueues the quotient's extension: D columns of each chunk, one after another.
    pub(super) fn extension(&self, engine: &Engine, stream: &Stream, of: &Row<'_, F, EF>) -> Result<Buffer> {
        let Domain { log_n, log_chunks, .. } = of.domain;
        let (bits, degree, word) = (log_n + log_chunks, EF::DIMENSION, size_of::<F>());
        let programs = self.programs(engine, of.domain)?;
        let mut weights: Vec<EF> = of.alpha.powers().collect_n(self.constraints().max(1));
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
        let dag = &self.parts[0].dag;
        let inverses = match dag.has(Node::First) || dag.has(Node::Last) {
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
    let mut clusters: Vec<(Range<usize>, usize)> = Vec::new();
    let (mut seen, mut columns, mut operations) = (HashSet::new(), 0, 0);
    for (i, root) in dag.constraints.iter().enumerate() {
        let (mut open, mut new) = (vec![*root], HashSet::new());
        while let Some(number) = open.pop() {
            if !seen.contains(&number) && new.insert(number) {
                open.extend(dag.nodes[number as usize].operands());
            }
        }
        let nodes = |new: &HashSet<u32>| {
            let nodes = new.iter().map(|number| &dag.nodes[*number as usize]);
            let columns = nodes.clone().filter(|node| matches!(node, Node::Main(..))).count();
            (columns, nodes.filter(|node| node.is_operation()).count())
        };
        let (more_columns, more_operations) = nodes(&new);
        let full = columns + more_columns > COLUMNS || operations + more_operations > OPERATIONS;
        match clusters.last_mut() {
            Some((cluster, cost)) if !full => {
                seen.extend(new);
                (columns, operations) = (columns + more_columns, operations + more_operations);
                (cluster.end, *cost) = (i + 1, operations);
            }
            _ => {
                // what earlier clusters computed is computed again
                let (mut open, mut all) = (vec![*root], HashSet::new());
                while let Some(number) = open.pop() {
                    if all.insert(number) {
                        open.extend(dag.nodes[number as usize].operands());
                    }
                }
                (columns, operations) = nodes(&all);
                seen = all;
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

/// What kernels compute the points of the coset g·K of 2^bits elements from: g; 1 / h and h for the generator h of the
/// trace's domain; and the factor of each bit of an index in bit-reversed order.
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
    let key = ("denominators", core::any::TypeId::of::<(F, EF)>(), bits);
    let program = engine.program_of(&key, |planner| kernels.denominators(planner, bits))?;
    let z = stream.upload(words(&flat(&[z])))?;
    let mut inverses = engine.device().buffer((EF::DIMENSION * size_of::<F>()) << bits)?;
    program.on(stream, 1).input("points", points).input("z", &z).output("inverses", &mut inverses).run()?;
    Ok(inverses)
}
