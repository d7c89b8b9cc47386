//! Tests that a verifier refuses the proofs of a prover whose constraints were changed.

use std::borrow::Cow;
use std::sync::Arc;

use p3_air::symbolic::AirLayout;
use p3_air::{Air, AirBuilder, BaseAir, WindowAccess};
use p3_challenger::DuplexChallenger;
use p3_commit::ExtensionMmcs;
use p3_field::PrimeCharacteristicRing;
use p3_field::extension::BinomialExtensionField;
use p3_fri::FriParameters;
use p3_koala_bear::KoalaBear;
use p3_matrix::dense::RowMajorMatrix;
use p3_uni_stark::{StarkConfig, verify_with_preprocessed};
use ringforge::Engine;
use ringforge_testkit::{Random, seed};

use super::dag::{Dag, Node, Source};
use super::evaluation::Evaluation;
use super::kernels::Kernels;
use super::prover::Prover;
use crate::resident::Trace;
use crate::{Dft, HashField, Mmcs, Pcs, testkit};

type F = KoalaBear;
type Challenge = BinomialExtensionField<F, 4>;
type Challenger = DuplexChallenger<F, <F as HashField>::Permutation, 16, 8>;
type Config = StarkConfig<Pcs<F, ExtensionMmcs<F, Challenge, Mmcs<F>>>, Challenge, Challenger>;

const ROWS: usize = 16;

/// An AIR with nodes of every kind, and a trace that satisfies it.
struct Every;

impl BaseAir<F> for Every {
    fn width(&self) -> usize {
        4
    }

    fn num_public_values(&self) -> usize {
        2
    }

    fn num_periodic_columns(&self) -> usize {
        2
    }

    fn periodic_columns(&self) -> Cow<'_, [Vec<F>]> {
        vec![vec![F::ONE, F::from_u64(5)], vec![F::TWO, F::from_u64(9)]].into()
    }

    fn preprocessed_width(&self) -> usize {
        2
    }

    fn preprocessed_trace(&self) -> Option<RowMajorMatrix<F>> {
        Some(RowMajorMatrix::new((0..2 * ROWS as u64).map(|i| F::from_u64(i * i + 7)).collect(), 2))
    }
}

impl<AB: AirBuilder<F = F>> Air<AB> for Every {
    fn eval(&self, builder: &mut AB) {
        let (main, preprocessed) = (builder.main(), builder.preprocessed().clone());
        let [a, b, c, d] = [0, 1, 2, 3].map(|i| main.current_slice()[i]);
        let [next_a, next_b] = [0, 1].map(|i| main.next_slice()[i]);
        let [first, last] = [0, 1].map(|i| builder.public_values()[i]);
        let period = builder.periodic_values()[0];
        let (here, after) = (preprocessed.current_slice()[0], preprocessed.next_slice()[1]);
        builder.when_first_row().assert_eq(a, first);
        builder.when_last_row().assert_eq(b, last);
        builder.when_transition().assert_eq(next_a, b);
        builder.when_transition().assert_eq(next_b, a + b);
        builder.assert_eq(c, a * period.into() - here.into());
        builder.assert_zero(-AB::Expr::from(d) + after.into() * AB::Expr::from_u64(11) * b);
    }
}

/// A trace that satisfies [`Every`], and its public values.
fn trace() -> (Vec<F>, [F; 2]) {
    let preprocessed = |row: usize, column: usize| F::from_usize((2 * row + column).pow(2) + 7);
    let [mut a, mut b] = [3, 4].map(F::from_u64);
    let (mut values, first) = (Vec::new(), a);
    for row in 0..ROWS {
        let c = a * [F::ONE, F::from_u64(5)][row % 2] - preprocessed(row, 0);
        let d = preprocessed((row + 1) % ROWS, 1) * F::from_u64(11) * b;
        values.extend([a, b, c, d]);
        (a, b) = (b, a + b);
    }
    (values, [first, a])
}

/// Other nodes of the same operands or kind.
fn spoiled(node: Node<F>) -> Vec<Node<F>> {
    match node {
        Node::Column(source, column, next) => {
            let columns = if source == Source::Main { 4 } else { 2 };
            vec![Node::Column(source, (column + 1) % columns, next), Node::Column(source, column, !next)]
        }
        Node::Public(index) => vec![Node::Public(1 - index)],
        Node::Periodic(column) => vec![Node::Periodic(1 - column)],
        Node::First => vec![Node::Last, Node::Transition],
        Node::Last => vec![Node::First, Node::Transition],
        Node::Transition => vec![Node::First, Node::Last],
        Node::Constant(c) => vec![Node::Constant(c + F::ONE), Node::Constant(-c)],
        Node::Add(x, y) => vec![Node::Sub(x, y), Node::Mul(x, y), Node::Add(x, x)],
        Node::Sub(x, y) => vec![Node::Sub(y, x), Node::Add(x, y), Node::Mul(x, y)],
        Node::Mul(x, y) => vec![Node::Add(x, y), Node::Sub(x, y), Node::Mul(x, x)],
        Node::Neg(x) => vec![Node::Add(x, x)],
    }
}

#[test]
fn proofs_of_spoiled_constraints_are_refused() {
    let mut random = Random::new(seed());
    let hash = testkit::random::<F, 16>(&mut random, 20).expect("a hash");
    let engine = Engine::cpu();
    let mmcs = Mmcs::new(&hash, 0).on(&engine);
    let fri = FriParameters {
        log_blowup: 2,
        log_final_poly_len: 0,
        max_log_arity: 1,
        num_queries: 30,
        batch_proof_of_work_bits: 0,
        commit_proof_of_work_bits: 0,
        query_proof_of_work_bits: 0,
        mmcs: ExtensionMmcs::new(mmcs.clone()),
    };
    let config = Config::new(Pcs::new(Dft::on(&engine), mmcs, fri), Challenger::new(hash.permutation().clone()));
    let mut prover = Prover::new(&engine, &config, &Every).expect("a prover");
    let (values, publics) = trace();
    let accepts = |prover: &Prover<'_, F, Challenge, Config, Every>, values: &[F], publics: &[F]| {
        let proof = prover.prove(Trace::rows(values, 4, F::ONE), publics).expect("a proof");
        let key = prover.verifier_key();
        verify_with_preprocessed(&config, &Every, &proof, publics, key.as_ref()).is_ok()
    };
    assert!(accepts(&prover, &values, &publics));
    for cell in 0..values.len() {
        let mut spoiled = values.clone();
        spoiled[cell] += F::ONE;
        assert!(!accepts(&prover, &spoiled, &publics), "cell {cell}");
    }
    for index in 0..2 {
        let mut spoiled = publics;
        spoiled[index] += F::ONE;
        assert!(!accepts(&prover, &values, &spoiled), "public value {index}");
    }

    let kernels = Kernels::<F, Challenge>::new().expect("kernels");
    let layout = AirLayout { preprocessed_width: 2, ..AirLayout::from_air::<F>(&Every) };
    let dag = Dag::new::<Challenge, _>(&Every, layout, kernels.nonresidue).expect("constraints");
    let mut others: Vec<Dag<F>> = Vec::new();
    for number in 0..dag.nodes.len() {
        for node in spoiled(dag.nodes[number]) {
            let mut other = dag.clone();
            other.nodes[number] = node;
            others.push(other);
        }
    }
    for i in 0..dag.constraints.len() {
        let mut other = dag.clone();
        other.constraints[i].place = (i + 1) % dag.constraints.len();
        others.push(other);
        let mut other = dag.clone();
        other.constraints[i].coordinate = 1;
        others.push(other);
    }
    assert!(others.len() > 50);
    for other in others {
        let about = format!("{other:?}");
        let evaluation = Evaluation::new(kernels, layout, 0, other, false).expect("an evaluation");
        prover.table.constraints = Arc::new(evaluation);
        assert!(!accepts(&prover, &values, &publics), "{about}");
    }
}
