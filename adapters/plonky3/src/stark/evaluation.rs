//! The evaluation of constraints in all rows of a domain, compiled or interpreted.

use core::any::TypeId;
use core::num::NonZero;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::{array, mem, slice};
use std::collections::{BTreeSet, HashMap};
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

use p3_air::symbolic::AirLayout;
use p3_field::ExtensionField;
#[cfg(feature = "testkit")]
use ringforge::Planner;
use ringforge::run::BufferSlice;
use ringforge::{Buffer, Engine, Error, Plan, Program, Result, Stream};

use super::dag::{Constraint, Dag, Node};
use super::elements::{Pack, canonical, ext, flat, reversed, upload};
use super::kernels::{Domain, Kernels, Shape};
use super::part::Part;
use super::unsupported;
use crate::field::EngineField;
use crate::layout::Layout;

/// The most operations of a kernel, and the most bytes of a row that a cluster reads. Longer kernels are slower, take
/// longer to compile, or need too many registers.
const OPERATIONS: usize = 500;
const BYTES: usize = 256;

/// The most instructions of an AIR whose constraints are compiled unless the caller asks for it.
const COMPILED: usize = 100_000;

/// Constraints as kernels, which add them or store them.
#[derive(Debug)]
pub(super) struct Evaluation<F, EF> {
    kernels: Kernels<F, EF>,
    layout: AirLayout,
    /// The number of the permutation's columns.
    permutation: usize,
    /// All constraints, to be interpreted.
    interpreted: Part<F>,
    /// Its clusters, each with its number of operations.
    clusters: Vec<(Range<usize>, usize)>,
    /// The constraints in parts, each to be compiled.
    compiled: OnceLock<Result<Vec<Part<F>>>>,
    /// Set once the interpreter was checked.
    interpreter: OnceLock<()>,
    /// The programs of each device and domain, compiled or interpreted.
    programs: Mutex<HashMap<(usize, Domain, bool), Programs>>,
}

/// The programs of all parts.
type Programs = Arc<[Kernel]>;

/// A program, and its instructions in the device's memory.
#[derive(Debug)]
struct Kernel {
    program: Program,
    code: Buffer,
}

/// The values that constraints are computed from.
pub(super) struct Inputs<'a, F, EF> {
    pub(super) domain: Domain,
    /// The domain's matrices; `None` for one without columns.
    pub(super) matrices: [Option<&'a Buffer>; 3],
    pub(super) publics: &'a [F],
    /// The values of the periodic columns, one column after another.
    pub(super) periodic: &'a [F],
    /// The challenge whose powers are the weights of constraints that are added.
    pub(super) alpha: EF,
    /// The shift of the domain.
    pub(super) shift: F,
    pub(super) interpreted: bool,
    /// The number of the device among those of a proof.
    pub(super) device: usize,
}

impl<F: EngineField, EF: ExtensionField<F>> Evaluation<F, EF> {
    /// The evaluation of constraints of a table with this layout and this many permutation columns. With `stores`, each
    /// constraint is stored as a column; otherwise their sum is.
    ///
    /// # Errors
    /// As [`Part::new`].
    pub(super) fn new(
        kernels: Kernels<F, EF>,
        layout: AirLayout,
        permutation: usize,
        dag: Dag<F>,
        stores: bool,
    ) -> Result<Self> {
        let (dag, publics) = (Arc::new(dag), layout.num_public_values);
        let clusters = clusters_of(&dag, EF::DIMENSION);
        let all = clusters.iter().map(|(cluster, _)| cluster.clone()).collect();
        let interpreted = Part { interpreted: true, stores, ..Part::new(dag.clone(), all, publics)? };
        let (compiled, interpreter, programs) = (OnceLock::new(), OnceLock::new(), Mutex::default());
        Ok(Self { kernels, layout, permutation, interpreted, clusters, compiled, interpreter, programs })
    }

    /// The constraints in parts of at most [`OPERATIONS`], unless a cluster has more.
    fn parts(&self) -> Result<Vec<Part<F>>> {
        let (mut groups, mut group, mut operations) = (Vec::new(), Vec::new(), 0);
        for (cluster, cost) in &self.clusters {
            if operations > 0 && operations + cost > OPERATIONS {
                groups.push(mem::take(&mut group));
                operations = 0;
            }
            operations += cost;
            group.push(cluster.clone());
        }
        groups.push(group);
        let last = groups.len() - 1;
        let part = |(i, clusters)| {
            let part = Part::new(self.interpreted.dag.clone(), clusters, self.layout.num_public_values)?;
            Ok(Part { continues: i > 0, ends: i == last, stores: self.interpreted.stores, ..part })
        };
        groups.into_iter().enumerate().map(part).collect()
    }

    /// Whether constraints are compiled unless the caller asks for it.
    pub(super) fn is_small(&self) -> bool {
        self.interpreted.code.instructions.len() <= COMPILED
    }

    /// The programs for a domain, which are kept.
    fn programs(&self, engine: &Engine, of: &Inputs<'_, F, EF>) -> Result<Programs> {
        let Inputs { device, domain, interpreted, .. } = *of;
        let mut kept = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernels) = kept.get(&(device, domain, interpreted)) {
            return Ok(kernels.clone());
        }
        let kernels = self.compile(engine, domain, interpreted, &AtomicBool::new(false))?;
        kept.insert((device, domain, interpreted), kernels.clone());
        Ok(kernels)
    }

    fn compile(&self, engine: &Engine, domain: Domain, interpreted: bool, cancelled: &AtomicBool) -> Result<Programs> {
        let parts = match interpreted {
            true => slice::from_ref(&self.interpreted),
            false => self.compiled.get_or_init(|| self.parts()).as_ref().map_err(Error::clone)?,
        };
        let plan = |part| self.kernels.constraints(engine.planner(), part, domain);
        let plans = parts.iter().map(plan).collect::<Result<Vec<_>>>()?;
        let programs = compile_all(engine, &plans, cancelled)?;
        let kernels = programs
            .into_iter()
            .zip(parts)
            .map(|(program, part)| Ok(Kernel { program, code: engine.stream()?.upload(part.port_of_code())? }));
        kernels.collect()
    }

    /// A domain that is large enough for a check.
    fn small_domain(&self) -> Domain {
        const LOG_N: usize = 4;
        let AirLayout { main_width, preprocessed_width, num_periodic_columns, .. } = self.layout;
        let log_chunks = usize::from(!self.interpreted.stores);
        let rows = 1 << (LOG_N + log_chunks);
        let shape = |columns| Shape { rows, columns, layout: Layout::Columns { stride: rows } };
        let matrices = [main_width, preprocessed_width, self.permutation].map(shape);
        Domain { matrices, log_n: LOG_N, log_chunks, periodic: num_periodic_columns, periods: rows }
    }

    /// The plans of all parts.
    #[cfg(feature = "testkit")]
    pub(super) fn plans(&self, planner: &Planner) -> Result<Vec<Plan>> {
        let parts = self.parts()?;
        parts.iter().map(|part| self.kernels.constraints(planner, part, self.small_domain())).collect()
    }

    /// Checks the interpreter, unless it passed before.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub(super) fn check_interpreter(&self, engine: &Engine) -> Result<()> {
        if self.interpreter.get().is_none() {
            self.check(engine, true, &AtomicBool::new(false))?;
            self.interpreter.get_or_init(|| ());
        }
        Ok(())
    }

    /// Compares the kernels on random rows with the instructions, run on the CPU.
    ///
    /// # Errors
    /// [`Error::Kernel`] if they differ; errors of the device and the compiler.
    pub(super) fn check(&self, engine: &Engine, interpreted: bool, cancelled: &AtomicBool) -> Result<()> {
        let domain = self.small_domain();
        let AirLayout { num_public_values, num_periodic_columns, .. } = self.layout;
        let mut state = 0u64;
        let mut random = |count: usize| -> Vec<F> {
            // Knuth's linear congruence
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                canonical(F::from_u64(state))
            };
            (0..count).map(|_| next()).collect()
        };
        let matrices = domain.matrices.map(|shape| random(shape.rows * shape.columns));
        let periodic = random(domain.periods * num_periodic_columns);
        let (publics, alpha) = (random(num_public_values), ext(&random(EF::DIMENSION)));
        let sums = |engine: &Engine, interpreted: bool| -> Result<Vec<F::Word>> {
            let stream = engine.device().stream()?;
            let mut uploaded = Vec::new();
            for matrix in &matrices {
                uploaded.push((!matrix.is_empty()).then(|| upload(&stream, matrix)).transpose()?);
            }
            let matrices = array::from_fn(|matrix| uploaded[matrix].as_ref());
            let (publics, periodic, shift) = (&publics, &periodic, F::GENERATOR);
            let inputs = Inputs { domain, matrices, publics, periodic, alpha, shift, interpreted, device: 0 };
            let kernels = self.compile(engine, domain, interpreted, cancelled)?;
            stream.download(&self.run(engine, &stream, &inputs, &kernels)?)
        };
        if bytemuck::cast_slice::<_, u8>(&sums(engine, interpreted)?)
            == bytemuck::cast_slice(&sums(&Engine::cpu(), true)?)
        {
            return Ok(());
        }
        let why = "its sums of constraints differ from those of the CPU".into();
        Err(Error::Kernel { kernel: "stark_constraints".into(), why })
    }

    /// Enqueues the evaluation: of each block of 2^log_n rows, the D columns of the quotient, or a column for each
    /// constraint.
    pub(super) fn columns(&self, engine: &Engine, stream: &Stream, of: &Inputs<'_, F, EF>) -> Result<Buffer> {
        self.run(engine, stream, of, &self.programs(engine, of)?)
    }

    fn run(&self, engine: &Engine, stream: &Stream, of: &Inputs<'_, F, EF>, kernels: &[Kernel]) -> Result<Buffer> {
        let Domain { log_n, log_chunks, .. } = of.domain;
        let (bits, Part { dag, stores, .. }) = (log_n + log_chunks, &self.interpreted);
        let powers: Vec<EF> = of.alpha.powers().collect_n(dag.number.max(1));
        let weight = |constraint: &Constraint| {
            let basis = EF::ith_basis_element(constraint.coordinate).unwrap_or_default();
            powers[dag.number - 1 - constraint.place] * basis
        };
        let mut weights: Vec<EF> = if *stores { Vec::new() } else { dag.constraints.iter().map(weight).collect() };
        weights.resize(weights.len().max(1), EF::ZERO);
        let (shift_to_n, root) = (of.shift.exp_power_of_2(log_n), F::two_adic_generator(log_chunks));
        let vanishing =
            (0..1 << log_chunks).map(|block| shift_to_n * root.exp_u64(reversed(block, log_chunks) as u64) - F::ONE);
        let blocks: Vec<F> = vanishing.flat_map(|x| [x, x.inverse()]).collect();
        let mut pack = Pack::new();
        let weights = pack.add(&flat(&weights));
        let publics = pack.add(&[of.publics, &dag.constants()].concat());
        // ports have no size 0
        let zero = [F::ZERO];
        let periodic = pack.add(if of.periodic.is_empty() { &zero } else { of.periodic });
        let points = pack.add(&points(bits, log_n, of.shift));
        let (blocks, none) = (pack.add(&blocks), pack.add(&vec![F::ZERO; EF::DIMENSION]));
        let pack = pack.upload(stream)?;
        let inverses = match !stores && (of.interpreted || dag.has(Node::First) || dag.has(Node::Last)) {
            true => Some(denominators(self.kernels, engine, stream, pack.slice(points.clone())?, bits, EF::ONE)?),
            false => None,
        };
        let [main, preprocessed, permutation] = of.matrices;
        let columns = if *stores { dag.constraints.len() } else { EF::DIMENSION };
        let mut sums = engine.device().buffer((columns * size_of::<F>()) << bits)?;
        for Kernel { program, code } in kernels {
            let mut call = program.on(stream, 1).input("code", code);
            for (name, matrix) in [("main", main), ("preprocessed", preprocessed), ("permutation", permutation)] {
                call = match matrix {
                    Some(matrix) => call.input(name, matrix),
                    None => call.input(name, pack.slice(none.start..none.start + size_of::<F>())?),
                };
            }
            let small = [
                ("publics", &publics),
                ("weights", &weights),
                ("blocks", &blocks),
                ("points", &points),
                ("periodic", &periodic),
            ];
            for (name, bytes) in small {
                call = call.input(name, pack.slice(bytes.clone())?);
            }
            call = match &inverses {
                Some(inverses) => call.input("inverses", inverses),
                None => call.input("inverses", pack.slice(none.clone())?),
            };
            call.output("sums", &mut sums).run()?;
        }
        Ok(sums)
    }
}

/// Compiles plans at the same time, on threads of their own. A compiler takes long, and rayon's threads have other work.
fn compile_all(engine: &Engine, plans: &[Plan], cancelled: &AtomicBool) -> Result<Vec<Program>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut programs = Vec::new();
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(plan) = plans.get(i) else { return Ok(programs) };
            if cancelled.load(Ordering::Relaxed) {
                return Err(unsupported("its prover was dropped"));
            }
            programs.push((i, engine.device().compile(plan)?));
        }
    };
    let others = thread::available_parallelism().map_or(1, NonZero::get).min(plans.len()) - 1;
    let mut programs = thread::scope(|scope| {
        // fewer threads are slower, and nothing worse
        let others = (0..others).filter_map(|_| thread::Builder::new().spawn_scoped(scope, work).ok());
        let others: Vec<_> = others.collect();
        let own = work();
        let others = others.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        others.chain([own]).collect::<Result<Vec<_>>>()
    })?
    .concat();
    programs.sort_by_key(|(i, _)| *i);
    Ok(programs.into_iter().map(|(_, program)| program).collect())
}

/// Cuts constraints, in their order, into clusters that read few columns. Returns each with its number of operations, of
/// which `degree` add a constraint to the sum.
fn clusters_of<F: EngineField>(dag: &Dag<F>, degree: usize) -> Vec<(Range<usize>, usize)> {
    let cost = |numbers: &BTreeSet<u32>| {
        let nodes = numbers.iter().map(|number| &dag.nodes[*number as usize]);
        let columns = nodes.clone().filter(|node| matches!(node, Node::Column(..))).count();
        (columns, nodes.filter(|node| node.is_operation()).count() + degree)
    };
    let mut clusters: Vec<(Range<usize>, usize)> = Vec::new();
    let (mut known, mut columns) = (BTreeSet::new(), 0);
    for (i, Constraint { node: root, .. }) in dag.constraints.iter().enumerate() {
        let new = dag.needed(&[*root], &known);
        let (more_columns, more) = cost(&new);
        match clusters.last_mut() {
            Some((cluster, operations))
                if (columns + more_columns) * size_of::<F>() <= BYTES && *operations + more <= OPERATIONS =>
            {
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

/// The numbers from which kernels compute the points of the coset of 2^bits elements with this shift. They are the shift,
/// 1 / h and h for the generator h of the trace's domain, and a factor for each bit of an index in bit-reversed order.
pub(super) fn points<F: EngineField>(bits: usize, log_n: usize, shift: F) -> Vec<F> {
    let h = F::two_adic_generator(log_n);
    let factors = (0..bits).map(|bit| F::two_adic_generator(bit + 1));
    [shift, h.inverse(), h].into_iter().chain(factors).collect()
}

/// Enqueues 1 / (z − x) for all points x.
pub(super) fn denominators<F: EngineField, EF: ExtensionField<F>>(
    kernels: Kernels<F, EF>,
    engine: &Engine,
    stream: &Stream,
    points: BufferSlice<'_>,
    bits: usize,
    z: EF,
) -> Result<Buffer> {
    let key = ("denominators", TypeId::of::<(F, EF)>(), bits);
    let program = engine.program_of(&key, |planner| kernels.denominators(planner, bits))?;
    let z = upload(stream, &flat(&[z]))?;
    let mut inverses = engine.device().buffer((EF::DIMENSION * size_of::<F>()) << bits)?;
    program.on(stream, 1).input("points", points).input("z", &z).output("inverses", &mut inverses).run()?;
    Ok(inverses)
}

#[cfg(test)]
mod tests {
    use p3_field::extension::BinomialExtensionField;
    use p3_keccak_air::KeccakAir;
    use p3_koala_bear::KoalaBear;

    use super::*;

    type Challenge = BinomialExtensionField<KoalaBear, 4>;

    fn keccak() -> Evaluation<KoalaBear, Challenge> {
        let kernels = Kernels::<KoalaBear, Challenge>::new().expect("kernels");
        let layout = AirLayout::from_air::<KoalaBear>(&KeccakAir {});
        let dag = Dag::new::<Challenge, _>(&KeccakAir {}, layout, kernels.nonresidue).expect("constraints");
        Evaluation::new(kernels, layout, 0, dag, false).expect("an evaluation")
    }

    #[test]
    fn instructions_for_keccak_need_few_values_at_once() {
        let keccak = keccak();
        let code = &keccak.interpreted.code;
        assert!(code.slots <= 40, "{} slots", code.slots);
        assert!(keccak.is_small());
    }

    #[test]
    fn kernels_do_not_depend_on_heights() {
        let keccak = keccak();
        let (limits, small) = (ringforge::Limits::of_capability(90), keccak.small_domain());
        let parts = keccak.parts().expect("parts");
        let of_height = |log_n: usize| {
            let rows = 2 << log_n;
            let matrices =
                small.matrices.map(|shape| Shape { rows, layout: Layout::Columns { stride: rows }, ..shape });
            let domain = Domain { matrices, log_n, ..small };
            let planner = Planner::new(limits.clone());
            let plan = keccak.kernels.constraints(&planner, &parts[1], domain).expect("a plan");
            let sources = plan.kernels().map(|kernel| kernel.source(&limits).expect("a source").prelude().to_owned());
            sources.collect::<Vec<_>>()
        };
        assert_eq!(of_height(4), of_height(17));
    }

    #[test]
    fn kernels_that_differ_from_the_instructions_are_refused() {
        let (engine, cancelled) = (Engine::cpu(), AtomicBool::new(false));
        let mut evaluation = keccak();
        evaluation.check(&engine, false, &cancelled).expect("equal sums");
        let mut other = (*evaluation.interpreted.dag).clone();
        let sum = other.nodes.iter().position(|node| matches!(node, Node::Add(..))).expect("a sum");
        if let Node::Add(x, y) = other.nodes[sum] {
            other.nodes[sum] = Node::Sub(x, y);
        }
        let clusters = evaluation.interpreted.clusters.clone();
        evaluation.interpreted.code = Part::new(Arc::new(other), clusters, 0).expect("a part").code;
        let refused = evaluation.check(&engine, false, &cancelled);
        assert!(matches!(refused, Err(Error::Kernel { .. })), "{refused:?}");
        let refused = evaluation.check(&engine, false, &AtomicBool::new(true));
        assert!(matches!(refused, Err(Error::Unsupported { .. })), "{refused:?}");
    }
}
