//! Tests proofs of p3-uni-stark on the engine against those of the stock prover.

use p3_air::{Air, AirBuilder, BaseAir, WindowAccess};
use p3_baby_bear::BabyBear;
use p3_challenger::DuplexChallenger;
use p3_commit::ExtensionMmcs;
use p3_dft::Radix2DitParallel;
use p3_field::extension::BinomialExtensionField;
use p3_field::{PrimeCharacteristicRing, PrimeField64};
use p3_fri::{FriParameters, TwoAdicFriPcs};
use p3_goldilocks::Goldilocks;
use p3_keccak_air::KeccakAir;
use p3_koala_bear::KoalaBear;
use p3_matrix::dense::RowMajorMatrix;
use p3_uni_stark::{StarkConfig, prove, verify};
use ringforge_plonky3::resident::Trace;
use ringforge_plonky3::{Dft, Engine, HashField, Mmcs, Pcs, Poseidon2, stark, testkit};
use ringforge_testkit::{Random, devices, seed};

use crate::stark::config::own_configuration;

/// The AIR of a Fibonacci sequence with columns left and right. The public values are the first two numbers and the
/// last.
struct Fibonacci;

impl<F> BaseAir<F> for Fibonacci {
    fn width(&self) -> usize {
        2
    }

    fn num_public_values(&self) -> usize {
        3
    }
}

impl<AB: AirBuilder> Air<AB> for Fibonacci {
    fn eval(&self, builder: &mut AB) {
        let main = builder.main();
        let [a, b, last] = [0, 1, 2].map(|i| builder.public_values()[i]);
        let (local, next): (&[AB::Var], &[AB::Var]) = (main.current_slice(), main.next_slice());
        let (left, right, next_left, next_right) = (local[0], local[1], next[0], next[1]);
        let mut first_row = builder.when_first_row();
        first_row.assert_eq(left, a);
        first_row.assert_eq(right, b);
        let mut transition = builder.when_transition();
        transition.assert_eq(right, next_left);
        transition.assert_eq(left + right, next_right);
        builder.when_last_row().assert_eq(right, last);
    }
}

/// The Fibonacci trace of `rows` rows and its public values.
fn fibonacci<F: PrimeField64>(rows: usize) -> (RowMajorMatrix<F>, Vec<F>) {
    let (mut left, mut right) = (F::ZERO, F::ONE);
    let mut values = Vec::new();
    for _ in 0..rows {
        values.extend([left, right]);
        (left, right) = (right, left + right);
    }
    let last = values[2 * rows - 1];
    (RowMajorMatrix::new(values, 2), vec![F::ZERO, F::ONE, last])
}

/// FRI parameters without proof of work. Proof of work would make proofs differ, because a prover uses whichever
/// witness its search finds first.
fn parameters<M>(mmcs: M, cap: usize) -> FriParameters<M> {
    FriParameters {
        log_blowup: 1 + cap,
        log_final_poly_len: 0,
        max_log_arity: 1 + cap,
        num_queries: 20,
        batch_proof_of_work_bits: 0,
        commit_proof_of_work_bits: 0,
        query_proof_of_work_bits: 0,
        mmcs,
    }
}

macro_rules! proves {
    ($name:ident, $field:ty, $degree:literal, [$width:literal, $rate:literal], $trees:ident, $hash:expr, $stock:expr, $pcs:expr, $air:expr, $case:expr) => {
        /// Tests that proofs equal the stock prover's byte for byte and that the stock verifier accepts them. The proof
        /// of a changed trace must be rejected.
        #[test]
        fn $name() {
            type F = $field;
            type Challenge = BinomialExtensionField<F, $degree>;
            type Challenger = DuplexChallenger<F, <F as HashField>::Permutation, $width, $rate>;
            type Stock = <F as HashField>::$trees;
            type StockPcs = TwoAdicFriPcs<F, Radix2DitParallel<F>, Stock, ExtensionMmcs<F, Challenge, Stock>>;
            type StockConfig = StarkConfig<StockPcs, Challenge, Challenger>;
            type OwnMmcs = ExtensionMmcs<F, Challenge, Mmcs<F>>;

            testkit::refuse_stock();
            let mut random = Random::new(seed());
            let hash: Poseidon2<F> = $hash(&mut random);
            let challenger = || Challenger::new(hash.permutation().clone());
            for device in devices() {
                let large = device.limits().is_cpu();
                let cap = random.below(2);
                let (trace, public) = $case(large, &mut random);

                let stock_mmcs: Stock = $stock(&hash, cap);
                let fri = parameters(ExtensionMmcs::new(stock_mmcs.clone()), cap);
                let stock =
                    StockConfig::new(StockPcs::new(Radix2DitParallel::default(), stock_mmcs, fri), challenger());
                let wanted = prove(&stock, &$air, trace.clone(), &public).unwrap();
                let wanted = postcard::to_allocvec(&wanted).unwrap();

                let engine = Engine::on(device);
                let (dft, mmcs) = (Dft::on(&engine), Mmcs::new(&hash, cap).on(&engine));
                let fri = parameters(OwnMmcs::new(mmcs.clone()), cap);
                let own = StarkConfig::<_, Challenge, _>::new($pcs(dft, mmcs, fri), challenger());
                let found = prove(&own, &$air, trace.clone(), &public).unwrap();
                verify(&own, &$air, &found, &public).unwrap();
                let bytes = postcard::to_allocvec(&found).unwrap();
                assert!(bytes == wanted);
                let proof: p3_uni_stark::Proof<StockConfig> = postcard::from_bytes(&bytes).unwrap();
                verify(&stock, &$air, &proof, &public).unwrap();

                // in debug builds Plonky3's prover itself panics on a changed trace
                if !cfg!(debug_assertions) {
                    let mut changed = trace;
                    let at = random.below(changed.values.len());
                    changed.values[at] += F::ONE;
                    let proof = prove(&own, &$air, changed, &public).unwrap();
                    assert!(verify(&own, &$air, &proof, &public).is_err());
                }
            }
        }
    };
}

macro_rules! proves_by_two {
    ($name:ident, $field:ty, $degree:literal, [$width:literal, $rate:literal], $internal:literal, $pcs:expr, $air:expr, $case:expr) => {
        proves!(
            $name,
            $field,
            $degree,
            [$width, $rate],
            Binary,
            |random: &mut Random| testkit::random::<$field, $width>(random, $internal).unwrap(),
            |hash: &Poseidon2<$field>, cap: usize| <$field>::binary(hash.permutation(), cap),
            $pcs,
            $air,
            $case
        );
    };
}

/// A Fibonacci trace of 8 rows, or of 8 to 256 rows if `large`.
fn numbers<F: PrimeField64>(large: bool, random: &mut Random) -> (RowMajorMatrix<F>, Vec<F>) {
    fibonacci(if large { 8 << random.below(6) } else { 8 })
}

proves_by_two!(fibonacci_over_baby_bear, BabyBear, 4, [16, 8], 13, Pcs::new, Fibonacci, numbers);
proves_by_two!(fibonacci_over_koala_bear, KoalaBear, 4, [16, 8], 20, Pcs::new, Fibonacci, numbers);
// tests `Dft` and `Mmcs` in Plonky3's own commitment scheme, without `Pcs`
proves_by_two!(fibonacci_by_plugs, KoalaBear, 4, [16, 8], 20, TwoAdicFriPcs::new, Fibonacci, numbers);
proves_by_two!(fibonacci_over_goldilocks, Goldilocks, 2, [8, 4], 22, Pcs::new, Fibonacci, numbers);
proves!(
    fibonacci_over_koala_bear_with_trees_of_arity_4,
    KoalaBear,
    4,
    [16, 8],
    Quaternary,
    |random: &mut Random| {
        let rows = testkit::random::<KoalaBear, 16>(random, 20).unwrap();
        testkit::of_arity_4::<KoalaBear, 32>(rows, random, 31).unwrap()
    },
    |hash: &Poseidon2<KoalaBear>, cap: usize| {
        KoalaBear::quaternary(hash.permutation(), hash.wide_permutation().unwrap(), cap)
    },
    Pcs::new,
    Fibonacci,
    numbers
);

/// A trace of one Keccak permutation, or of five if `large`.
fn permutations<F: PrimeField64>(large: bool, random: &mut Random) -> (RowMajorMatrix<F>, Vec<F>) {
    let inputs = (0..if large { 5 } else { 1 }).map(|_| core::array::from_fn(|_| random.bits())).collect();
    (p3_keccak_air::generate_trace_rows(inputs, 0), Vec::new())
}

proves_by_two!(keccak_over_koala_bear, KoalaBear, 4, [16, 8], 20, Pcs::new, KeccakAir {}, permutations);
proves_by_two!(keccak_over_goldilocks, Goldilocks, 2, [8, 4], 22, Pcs::new, KeccakAir {}, permutations);

/// Our prover does not check traces, in debug builds either, where Plonky3's panics.
#[test]
fn proofs_of_wrong_traces_are_refused() {
    own_configuration!(KoalaBear, 4, [16, 8], 20);
    let (engine, mut random) = (Engine::cpu(), Random::new(seed()));
    let config = config(&engine, &random_hash(&mut random), 0, [1, 0, 1]);
    let is_accepted = |trace: &RowMajorMatrix<F>, publics: &[F]| {
        let proof = stark::prove(&engine, &config, &Fibonacci, Trace::rows(&trace.values, 2, F::ONE), publics);
        verify(&config, &Fibonacci, &proof.expect("a proof"), publics).is_ok()
    };
    let (trace, publics) = fibonacci::<F>(8);
    assert!(is_accepted(&trace, &publics));
    for cell in 0..trace.values.len() {
        let mut wrong = trace.clone();
        wrong.values[cell] += F::ONE;
        assert!(!is_accepted(&wrong, &publics), "cell {cell}");
    }
    for value in 0..publics.len() {
        let mut wrong = publics.clone();
        wrong[value] += F::ONE;
        assert!(!is_accepted(&trace, &wrong), "public value {value}");
    }
}
