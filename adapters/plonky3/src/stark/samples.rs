//! Plans of a prover's kernels with samples of their inputs, for the engine's tests.

use core::iter;
use std::sync::Arc;

use p3_air::Air;
use p3_air::symbolic::{AirLayout, SymbolicAirBuilder};
use p3_field::ExtensionField;
use p3_field::extension::BinomialExtensionField;
use p3_goldilocks::Goldilocks;
use p3_koala_bear::KoalaBear;
use ringforge::{Limits, Plan, Planner, Result};
use ringforge_testkit::{NamedPlan, Random};

use super::dag::{Constraint, Dag, Node};
use super::kernels::{Domain, Kernels, Shape, canonical};
use super::part::Part;
use super::quotient::Quotient;
use crate::field::{EngineField, words};
use crate::layout::Layout;

/// The plans over fields of both sizes.
pub(crate) fn plans(limits: &Limits) -> Result<Vec<NamedPlan>> {
    let planner = Planner::new(limits.clone());
    let koala_bear = of_field::<KoalaBear, BinomialExtensionField<KoalaBear, 4>>("KoalaBear", &planner)?;
    Ok([koala_bear, of_field::<Goldilocks, BinomialExtensionField<Goldilocks, 2>>("Goldilocks", &planner)?].concat())
}

fn of_field<F: EngineField, EF: ExtensionField<F>>(field: &str, planner: &Planner) -> Result<Vec<NamedPlan>> {
    let (kernels, degree) = (Kernels::<F, EF>::new()?, EF::DIMENSION);
    let shape = |rows, columns| Shape { rows, columns, layout: Layout::Columns { stride: rows } };
    let mut plans = Vec::new();
    let mut add = |name: &str, inputs: &[(&'static str, Size)], plan: Plan| {
        plans.push(sampled::<F>(format!("{field} {name}"), inputs, plan));
    };
    for bits in [0, 3, 5] {
        let plan = kernels.denominators(planner, bits)?;
        add(&format!("1 / (z − x), 2^{bits}"), &[("points", Size::Shared(3 + bits)), ("z", Size::Each(degree))], plan);
    }
    let (rows, columns) = (8, 6);
    let inputs =
        [("matrix", Size::Shared(rows * columns)), ("inverses", Size::Shared(4 * degree)), ("at", Size::Each(degree))];
    add("openings", &inputs, kernels.opened(planner, shape(rows, columns), 4)?);
    let by_rows = Shape { layout: Layout::Rows, ..shape(rows, columns) };
    add("openings of rows", &inputs, kernels.opened(planner, by_rows, 4)?);
    for (next, of_preprocessed) in [(false, 0), (true, 0), (true, 2)] {
        let inputs = [
            ("trace", Size::Shared(rows * 3)),
            ("quotient", Size::Shared(rows * 2)),
            ("preprocessed", Size::Shared((rows * of_preprocessed).max(1))),
            ("powers", Size::Shared((5 + of_preprocessed) * degree)),
            ("constants", Size::Shared(4 * degree)),
            ("here", Size::Shared(rows * degree)),
            ("next", Size::Shared(if next { rows * degree } else { degree })),
        ];
        let plan = kernels.reduced(planner, [shape(rows, 3), shape(rows, 2), shape(rows, of_preprocessed)], next)?;
        add(&format!("reduced, {of_preprocessed} preprocessed, next {next}"), &inputs, plan);
    }
    for (log_rows, log_arity) in [(0, 1), (2, 1), (1, 3), (2, 4)] {
        let elements = degree << (log_rows + log_arity);
        let inputs = [("elements", Size::Each(elements)), ("challenges", Size::Shared(log_arity * degree))];
        let name = format!("folding 2^{log_rows} rows of 2^{log_arity}");
        add(&name, &inputs, kernels.folded(planner, log_rows, log_arity)?);
    }
    let dag = Arc::new(every_node::<F>());
    let public: Vec<F> = iter::once(F::from_u64(7)).chain(dag.constants()).map(canonical).collect();
    let public = words(&public).iter().flat_map(bytemuck::bytes_of).copied().collect::<Vec<u8>>();
    for (log_n, log_chunks, interpreted, continues) in
        [(2, 1, false, false), (0, 2, false, false), (1, 0, false, true), (2, 1, true, false), (0, 1, true, false)]
    {
        let part = Part::new(dag.clone(), vec![0..3, 3..6], 1)?;
        let part = Part { interpreted, continues, ends: !continues, ..part };
        let rows = 2usize << (log_n + log_chunks);
        let (main, preprocessed) = (shape(rows, 2), shape(rows, 3));
        let domain = Domain { main, preprocessed, log_n, log_chunks, periodic: 2, periods: 2 };
        let code = part.port_of_code().iter().flat_map(|word| word.to_ne_bytes()).collect();
        let mut inputs = vec![
            ("main", Size::Shared(rows * 2)),
            ("preprocessed", Size::Shared(rows * 3)),
            ("publics", Size::Bytes(public.clone())),
            ("weights", Size::Shared(dag.constraints.len() * degree)),
            ("blocks", Size::Shared(2 << log_chunks)),
            ("points", Size::Shared(3 + log_n + log_chunks)),
            ("inverses", Size::Shared(degree << (log_n + log_chunks))),
            ("periodic", Size::Shared(4)),
            ("code", Size::Bytes(code)),
        ];
        if continues {
            inputs.push(("sums", Size::Each(degree << (log_n + log_chunks))));
        }
        let plan = kernels.constraints(planner, &part, domain)?;
        let how = if interpreted { "interpreted" } else { "compiled" };
        add(&format!("constraints of 2^{log_n} in 2^{log_chunks} chunks, {how}"), &inputs, plan);
    }
    Ok(plans)
}

/// Constraints with nodes of every kind, over two columns and three preprocessed ones.
fn every_node<F: EngineField>() -> Dag<F> {
    let nodes = vec![
        Node::Main(0, false),
        Node::Main(1, true),
        Node::Public(0),
        Node::First,
        Node::Last,
        Node::Transition,
        // of Goldilocks, a word above the modulus
        Node::Constant(F::NEG_ONE + F::from_u64(12_346)),
        Node::Add(0, 1),
        Node::Sub(7, 2),
        Node::Mul(8, 3),
        Node::Mul(1, 4),
        Node::Neg(10),
        Node::Mul(6, 5),
        Node::Periodic(1),
        Node::Mul(12, 13),
        Node::Preprocessed(0, false),
        Node::Preprocessed(2, true),
        Node::Sub(15, 16),
    ];
    let constraints = [(9, 0, 0), (11, 1, 0), (14, 2, 0), (0, 3, 0), (6, 4, 0), (17, 4, 1)];
    let constraints = constraints.map(|(node, place, coordinate)| Constraint { node, place, coordinate }).into();
    Dag { nodes, constraints, number: 5 }
}

/// The plans of an AIR's constraints, as [`Prover`](super::Prover) compiles them.
///
/// # Errors
/// Those of [`Prover::new`](super::Prover::new).
pub fn plans_of<F, EF, A>(air: &A, planner: &Planner) -> Result<Vec<Plan>>
where
    F: EngineField,
    EF: ExtensionField<F>,
    A: Air<SymbolicAirBuilder<F, EF>>,
{
    let (kernels, layout) = (Kernels::<F, EF>::new()?, AirLayout::from_air::<F>(air));
    let dag = Dag::new::<EF, A>(air, layout, kernels.nonresidue)?;
    Quotient::new(kernels, layout, dag)?.plans(planner)
}

/// The number of an input's elements: for each item, or for all of them.
#[derive(Debug, Clone)]
enum Size {
    Each(usize),
    Shared(usize),
    /// These bytes, for all items.
    Bytes(Vec<u8>),
}

/// Adds random elements as inputs. They are below the modulus.
fn sampled<F: EngineField>(name: String, inputs: &[(&'static str, Size)], plan: Plan) -> NamedPlan {
    let inputs = inputs.to_vec();
    NamedPlan::new(name, plan).sampled(move |seed, batch| {
        let mut random = Random::new(seed);
        let q = F::ORDER_U64;
        let mut element = || match random.below(4) {
            0 => q - 1,
            _ => random.bits() % q,
        };
        let mut elements = |count: usize| {
            let bytes = |word: u64| word.to_le_bytes().into_iter().take(size_of::<F>());
            (0..count).flat_map(|_| bytes(element())).collect()
        };
        let mut contents = |size: &Size| match size {
            Size::Each(each) => elements(each * batch),
            Size::Shared(all) => elements(*all),
            Size::Bytes(bytes) => bytes.clone(),
        };
        inputs.iter().map(|(name, size)| (*name, contents(size))).collect()
    })
}
