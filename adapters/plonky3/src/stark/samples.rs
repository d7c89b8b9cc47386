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

use super::dag::{Constraint, Dag, Node, Source};
use super::elements::canonical;
use super::evaluation::Evaluation;
use super::kernels::{Domain, Kernels, SUMMED, Shape};
use super::part::Part;
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
    let by_rows = Shape { layout: Layout::Rows, ..shape(rows, columns) };
    for (of, n, both) in [(shape(rows, columns), 4, false), (by_rows, 4, true), (shape(700, columns), 700, true)] {
        let inputs = [
            ("matrix", Size::Shared(of.rows * columns)),
            ("here", Size::Shared(n * degree)),
            ("next", Size::Shared(if both { n * degree } else { degree })),
            ("at", Size::Each(2 * degree)),
        ];
        add(
            &format!("openings of {n} rows, {:?}, both {both}", of.layout),
            &inputs,
            kernels.opened(planner, of, n, both)?,
        );
    }
    for flags @ [next, both, continues] in
        [[false, false, false], [true, true, false], [false, true, true], [true, true, true], [false, true, false]]
    {
        let columns = if both { 2 * degree } else { degree };
        let mut inputs = vec![
            ("matrix", Size::Shared(rows * 3)),
            ("powers", Size::Shared(3 * degree)),
            ("factor", Size::Shared(degree)),
        ];
        if continues {
            inputs.push(("combined", Size::Each(columns << 2)));
        }
        let plan = kernels.combined(planner, shape(rows, 3), 2, flags)?;
        add(&format!("combined, next {next}, both {both}, continues {continues}"), &inputs, plan);
    }
    for both in [false, true] {
        let (columns, next) = if both { (2 * degree, rows * degree) } else { (degree, degree) };
        let inputs = [
            ("combined", Size::Shared(columns * rows)),
            ("constants", Size::Shared(2 * degree)),
            ("here", Size::Shared(rows * degree)),
            ("next", Size::Shared(next)),
        ];
        add(&format!("reduced, both {both}"), &inputs, kernels.reduced(planner, rows, both)?);
    }
    for (log_rows, log_arity, joins) in [(0, 1, false), (2, 1, true), (1, 3, true), (2, 4, false)] {
        let joined = if joins { degree << log_rows } else { degree };
        let inputs = [
            ("elements", Size::Each(degree << (log_rows + log_arity))),
            ("challenges", Size::Shared((log_arity + 1) * degree)),
            ("joined", Size::Each(joined)),
        ];
        let name = format!("folding 2^{log_rows} rows of 2^{log_arity}, joins {joins}");
        add(&name, &inputs, kernels.folded(planner, log_rows, log_arity, joins)?);
    }
    for (log_n, lookups) in [(0, 1), (3, 2), (10, 9)] {
        let inputs = [("terms", Size::Each((2 * lookups * degree) << log_n))];
        let name = format!("fractions of {lookups} lookups, 2^{log_n} rows");
        add(&name, &inputs, kernels.fractions(planner, log_n, lookups)?);
        let columns = (lookups + 1) * degree;
        let before = degree * (1usize << log_n).div_ceil(SUMMED);
        let inputs = [("before", Size::Each(before)), ("columns", Size::Each(columns << log_n))];
        add(&format!("running sums of 2^{log_n} rows"), &inputs, kernels.accumulated(planner, log_n, columns)?);
    }
    let dag = Arc::new(every_node::<F>());
    let public: Vec<F> = iter::once(F::from_u64(7)).chain(dag.constants()).map(canonical).collect();
    let public = words(&public).iter().flat_map(bytemuck::bytes_of).copied().collect::<Vec<u8>>();
    let sums = Part { ends: false, ..Part::new(dag.clone(), vec![0..3, 3..6], 1)? };
    let sum = |interpreted, continues| Part { interpreted, continues, ends: !continues, ..sums.clone() };
    let stores = |interpreted| Part { interpreted, stores: true, ..sums.clone() };
    for (log_n, log_chunks, part) in [
        (2, 1, sum(false, false)),
        (0, 2, sum(false, false)),
        (1, 0, sum(false, true)),
        (2, 1, sum(true, false)),
        (0, 1, sum(true, false)),
        (3, 0, stores(false)),
        (3, 0, stores(true)),
        (0, 0, stores(true)),
    ] {
        let (rows, bits) = (2usize << (log_n + log_chunks), log_n + log_chunks);
        let matrices = [2, 3, 1].map(|columns| shape(rows, columns));
        let domain = Domain { matrices, log_n, log_chunks, periodic: 2, periods: 2 };
        let code = part.port_of_code().iter().flat_map(|word| word.to_ne_bytes()).collect();
        let mut inputs = vec![
            ("main", Size::Shared(rows * 2)),
            ("preprocessed", Size::Shared(rows * 3)),
            ("permutation", Size::Shared(rows)),
            ("publics", Size::Bytes(public.clone())),
            ("weights", Size::Shared(if part.stores { degree } else { dag.constraints.len() * degree })),
            ("blocks", Size::Shared(2 << log_chunks)),
            ("points", Size::Shared(3 + bits)),
            ("inverses", Size::Shared(if part.stores { degree } else { degree << bits })),
            ("periodic", Size::Shared(4)),
            ("code", Size::Bytes(code)),
        ];
        if part.continues {
            inputs.push(("sums", Size::Each(degree << bits)));
        }
        let plan = kernels.constraints(planner, &part, domain)?;
        let how = if part.interpreted { "interpreted" } else { "compiled" };
        let how = if part.stores { format!("{how}, stored") } else { how.into() };
        add(&format!("constraints of 2^{log_n} in 2^{log_chunks} chunks, {how}"), &inputs, plan);
    }
    Ok(plans)
}

/// Constraints with nodes of every kind, over two columns, three preprocessed ones and one of the permutation.
fn every_node<F: EngineField>() -> Dag<F> {
    let nodes = vec![
        Node::Column(Source::Main, 0, false),
        Node::Column(Source::Main, 1, true),
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
        Node::Column(Source::Preprocessed, 0, false),
        Node::Column(Source::Preprocessed, 2, true),
        Node::Sub(15, 16),
        Node::Column(Source::Permutation, 0, false),
        Node::Column(Source::Permutation, 0, true),
        Node::Mul(18, 19),
        Node::Add(17, 20),
    ];
    let constraints = [(9, 0, 0), (11, 1, 0), (14, 2, 0), (0, 3, 0), (6, 4, 0), (21, 4, 1)];
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
    Evaluation::new(kernels, layout, 0, dag, false)?.plans(planner)
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
