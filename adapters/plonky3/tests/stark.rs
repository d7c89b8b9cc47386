//! Tests proofs made wholly on the engine's device against those of the stock prover.

use std::borrow::Cow;

use p3_air::{Air, AirBuilder, BaseAir, WindowAccess};
use p3_baby_bear::BabyBear;
use p3_challenger::DuplexChallenger;
use p3_commit::ExtensionMmcs;
use p3_dft::Radix2DitParallel;
use p3_field::PrimeCharacteristicRing;
use p3_field::extension::BinomialExtensionField;
use p3_fri::{FriParameters, TwoAdicFriPcs};
use p3_goldilocks::Goldilocks;
use p3_keccak_air::KeccakAir;
use p3_koala_bear::KoalaBear;
use p3_matrix::dense::RowMajorMatrix;
use p3_uni_stark::{StarkConfig, prove, verify};
use ringforge_plonky3::resident::Trace;
use ringforge_plonky3::stark::Prover;
use ringforge_plonky3::{Dft, Engine, Error, HashField, Mmcs, Pcs, Poseidon2, testkit};
use ringforge_testkit::{Random, Target, seed};

/// An AIR of products and sums of columns with selectors of every kind, of this degree. Its constraints need not hold: a
/// proof of any trace is defined.
struct Mixed {
    width: usize,
    degree: usize,
    next: bool,
    /// log2 of the periods of the periodic columns.
    periods: &'static [usize],
}

impl<F: PrimeCharacteristicRing + Sync> BaseAir<F> for Mixed {
    fn width(&self) -> usize {
        self.width
    }

    fn num_public_values(&self) -> usize {
        2
    }

    fn num_periodic_columns(&self) -> usize {
        self.periods.len()
    }

    fn periodic_columns(&self) -> Cow<'_, [Vec<F>]> {
        columns_of(self.periods)
    }

    fn main_next_row_columns(&self) -> Vec<usize> {
        if self.next { (0..self.width).collect() } else { vec![] }
    }
}

impl<AB: AirBuilder> Air<AB> for Mixed {
    fn eval(&self, builder: &mut AB) {
        if self.degree == 0 {
            return;
        }
        let main = builder.main();
        let [a, b] = [0, 1].map(|i| builder.public_values()[i]);
        let (local, next): (&[AB::Var], &[AB::Var]) = (main.current_slice(), main.next_slice());
        for i in 0..self.width {
            let x = local[i];
            let y = local[(i + 1) % self.width];
            let power = (1..self.degree).fold(AB::Expr::from(x), |power, _| power * y);
            builder.assert_zero(power.clone() - x);
            builder.when_first_row().assert_eq(x, a);
            builder.when_last_row().assert_eq(y, b);
            if self.next {
                builder.when_transition().assert_eq(next[i], x + y * AB::Expr::from_u64(i as u64 + 5));
            }
            if let Some(periodic) = builder.periodic_values().get(i) {
                let product = (*periodic).into() * x;
                builder.assert_zero(product - y);
            }
            // the same constraint again, a bare column, and a constant
            builder.assert_zero(power - x);
            builder.assert_zero(x);
            builder.assert_zero(AB::Expr::from_u64(3));
        }
    }
}

/// An expression of a row.
enum Expression {
    Local(usize),
    Next(usize),
    Public(usize),
    Periodic(usize),
    First,
    Last,
    Transition,
    Constant(u64),
    Add(Box<[Self; 2]>),
    Sub(Box<[Self; 2]>),
    Mul(Box<[Self; 2]>),
    Neg(Box<Self>),
}

/// An AIR with random constraints. They need not hold.
struct AnyAir {
    width: usize,
    publics: usize,
    periods: Vec<usize>,
    next: bool,
    constraints: Vec<Expression>,
}

impl Expression {
    /// A random expression of at most this degree and depth.
    fn random(random: &mut Random, of: &AnyAir, degree: usize, depth: usize) -> Self {
        let pair = |random: &mut Random, degrees: [usize; 2]| {
            Box::new(degrees.map(|degree| Self::random(random, of, degree, depth - 1)))
        };
        match (depth, random.below(8)) {
            (1.., 0..2) => Self::Add(pair(random, [degree; 2])),
            (1.., 2..4) => Self::Sub(pair(random, [degree; 2])),
            (1.., 4..6) if degree > 1 => {
                let first = 1 + random.below(degree - 1);
                Self::Mul(pair(random, [first, degree - first]))
            }
            (1.., 6) => Self::Neg(Box::new(Self::random(random, of, degree, depth - 1))),
            _ => match random.below(10) {
                0 if of.publics > 0 => Self::Public(random.below(of.publics)),
                1 if !of.periods.is_empty() => Self::Periodic(random.below(of.periods.len())),
                2 => Self::First,
                3 => Self::Last,
                4 => Self::Transition,
                // constants that are simplified, and others
                5 => Self::Constant([0, 1, 2, u64::MAX, random.bits()][random.below(5)]),
                6..8 if of.next => Self::Next(random.below(of.width)),
                _ => Self::Local(random.below(of.width)),
            },
        }
    }

    fn eval<AB: AirBuilder>(&self, builder: &AB) -> AB::Expr {
        let main = builder.main();
        let both = |pair: &[Self; 2]| pair.each_ref().map(|x| x.eval(builder));
        match self {
            Self::Local(column) => main.current_slice()[*column].into(),
            Self::Next(column) => main.next_slice()[*column].into(),
            Self::Public(index) => builder.public_values()[*index].into(),
            Self::Periodic(column) => builder.periodic_values()[*column].into(),
            Self::First => builder.is_first_row(),
            Self::Last => builder.is_last_row(),
            Self::Transition => builder.is_transition_window(2),
            Self::Constant(u64::MAX) => AB::Expr::NEG_ONE,
            Self::Constant(x) => AB::Expr::from_u64(*x),
            Self::Add(pair) => both(pair).into_iter().sum(),
            Self::Mul(pair) => both(pair).into_iter().product(),
            Self::Sub(pair) => {
                let [x, y] = both(pair);
                x - y
            }
            Self::Neg(x) => -x.eval(builder),
        }
    }
}

impl AnyAir {
    /// Constraints of at most this degree, for traces of 2^log_n rows.
    fn random(random: &mut Random, degree: usize, log_n: usize) -> Self {
        let periods = (0..random.below(3)).map(|_| random.below(log_n + 1)).collect();
        let (width, publics, next) = (1 + random.below(12), random.below(3), random.below(4) > 0);
        let mut air = Self { width, publics, periods, next, constraints: Vec::new() };
        let constraints = (0..random.below(20)).map(|_| {
            let (degree, depth) = (1 + random.below(degree), random.below(7));
            Expression::random(random, &air, degree, depth)
        });
        air.constraints = constraints.collect();
        air
    }
}

impl<F: PrimeCharacteristicRing + Sync> BaseAir<F> for AnyAir {
    fn width(&self) -> usize {
        self.width
    }

    fn num_public_values(&self) -> usize {
        self.publics
    }

    fn num_periodic_columns(&self) -> usize {
        self.periods.len()
    }

    fn periodic_columns(&self) -> Cow<'_, [Vec<F>]> {
        columns_of(&self.periods)
    }

    fn main_next_row_columns(&self) -> Vec<usize> {
        if self.next { (0..self.width).collect() } else { vec![] }
    }
}

impl<AB: AirBuilder> Air<AB> for AnyAir {
    fn eval(&self, builder: &mut AB) {
        for constraint in &self.constraints {
            let value = constraint.eval(builder);
            builder.assert_zero(value);
        }
    }
}

/// Periodic columns with these logarithms of their periods.
fn columns_of<'a, F: PrimeCharacteristicRing>(periods: &[usize]) -> Cow<'a, [Vec<F>]> {
    let column = |(i, log): (usize, &usize)| (0..1 << log).map(|row| F::from_usize(7 * row + i)).collect();
    periods.iter().enumerate().map(column).collect()
}

/// FRI without proof of work, whose witnesses differ between runs.
fn parameters<M>(mmcs: M, log_blowup: usize, log_final_poly_len: usize, max_log_arity: usize) -> FriParameters<M> {
    FriParameters {
        log_blowup,
        log_final_poly_len,
        max_log_arity,
        num_queries: 20,
        batch_proof_of_work_bits: 0,
        commit_proof_of_work_bits: 0,
        query_proof_of_work_bits: 0,
        mmcs,
    }
}

/// Sizes of a case: log2 of the rows, log2 of the blow-up factor, of FRI's last polynomial and of its arity.
type Sizes = [usize; 4];

macro_rules! field {
    ($name:ident, $field:ty, $degree:literal, [$width:literal, $rate:literal], $internal:literal) => {
        mod $name {
            use super::*;

            type F = $field;
            type Challenge = BinomialExtensionField<F, $degree>;
            type Challenger = DuplexChallenger<F, <F as HashField>::Permutation, $width, $rate>;
            type Stock = <F as HashField>::Binary;
            type StockPcs = TwoAdicFriPcs<F, Radix2DitParallel<F>, Stock, ExtensionMmcs<F, Challenge, Stock>>;
            type StockConfig = StarkConfig<StockPcs, Challenge, Challenger>;
            type OwnMmcs = ExtensionMmcs<F, Challenge, Mmcs<F>>;
            type Config = StarkConfig<Pcs<F, OwnMmcs>, Challenge, Challenger>;

            /// Compares proofs of a trace, and has the stock verifier accept or refuse both.
            pub(super) fn agrees<A>(
                target: Target,
                air: &A,
                trace: &RowMajorMatrix<F>,
                public: &[F],
                sizes: Sizes,
                holds: Option<bool>,
            ) where
                A: p3_uni_stark::QuotientAir<StockConfig>
                    + p3_uni_stark::QuotientAir<Config>
                    + for<'a> Air<p3_uni_stark::VerifierConstraintFolder<'a, StockConfig>>
                    + for<'a> Air<p3_air::DebugConstraintBuilder<'a, F>>,
            {
                let Some(device) = target.device() else { return };
                testkit::refuse_stock();
                let [_, log_blowup, log_last, log_arity] = sizes;
                let mut random = Random::new(seed());
                let hash: Poseidon2<F> = testkit::random::<F, $width>(&mut random, $internal).expect("a hash");
                let challenger = || Challenger::new(hash.permutation().clone());
                let cap = random.below(3);
                let stock_mmcs: Stock = F::binary(hash.permutation(), cap);
                let fri = parameters(ExtensionMmcs::new(stock_mmcs.clone()), log_blowup, log_last, log_arity);
                let pcs = StockPcs::new(Radix2DitParallel::default(), stock_mmcs, fri);
                let stock = StockConfig::new(pcs, challenger());
                let wanted = prove(&stock, air, trace.clone(), public).expect("the stock proof");
                let wanted = postcard::to_allocvec(&wanted).expect("bytes");

                let engine = Engine::on(device);
                let (dft, mmcs) = (Dft::on(&engine), Mmcs::new(&hash, cap).on(&engine));
                let fri = parameters(OwnMmcs::new(mmcs.clone()), log_blowup, log_last, log_arity);
                let config = Config::new(Pcs::new(dft, mmcs, fri), challenger());
                let mut prover = Prover::new(&engine, &config, air).expect("a prover");
                let width = BaseAir::<F>::width(air);
                for tail in [0, 3, 9] {
                    prover = prover.with_tail(tail);
                    let trace = Trace::rows(&trace.values, width, F::ONE);
                    let proof = prover.prove(trace, public).expect("a proof");
                    let found = postcard::to_allocvec(&proof).expect("bytes");
                    assert!(found == wanted, "{sizes:?} on {engine:?}");
                    let proof: p3_uni_stark::Proof<StockConfig> = postcard::from_bytes(&found).expect("a proof");
                    let accepted = verify(&stock, air, &proof, public).is_ok();
                    assert!(holds.is_none_or(|holds| holds == accepted));
                }
            }

            fn mixed(target: Target, random: &mut Random, sizes: Sizes, air: &Mixed) {
                let values = (0..air.width << sizes[0]).map(|_| F::from_u64(random.bits())).collect();
                let public = [F::from_u64(random.bits()), F::from_u64(random.bits())];
                let holds = air.degree == 0;
                agrees(target, air, &RowMajorMatrix::new(values, air.width), &public, sizes, Some(holds));
            }

            #[test]
            fn proofs_of_mixed_constraints_are_those_of_plonky3() {
                // in debug builds Plonky3's prover itself panics on a trace that does not satisfy the AIR
                if cfg!(debug_assertions) {
                    return;
                }
                let mut random = Random::new(seed());
                for (sizes, width, degree, next, periods) in [
                    ([3, 1, 0, 1], 3, 2, true, &[2, 3, 0][..]),
                    ([5, 2, 1, 2], 2, 5, true, &[]),
                    ([4, 3, 0, 3], 5, 8, false, &[1, 4]),
                    ([6, 2, 2, 4], 1, 3, true, &[5]),
                    ([1, 1, 0, 1], 2, 3, true, &[]),
                    // no constraints
                    ([4, 1, 0, 1], 2, 0, true, &[]),
                ] {
                    let air = Mixed { width, degree, next, periods };
                    mixed(Target::Cpu, &mut random, sizes, &air);
                    mixed(Target::Cuda, &mut random, sizes, &air);
                }
                mixed(
                    Target::Emulator,
                    &mut random,
                    [3, 2, 0, 2],
                    &Mixed { width: 2, degree: 4, next: true, periods: &[1] },
                );
                mixed(
                    Target::Cuda,
                    &mut random,
                    [14, 1, 0, 1],
                    &Mixed { width: 9, degree: 3, next: true, periods: &[4, 8] },
                );
            }

            #[test]
            fn what_does_not_fit_is_refused() {
                let mut random = Random::new(1);
                let hash: Poseidon2<F> = testkit::random::<F, $width>(&mut random, $internal).expect("a hash");
                let other: Poseidon2<F> = testkit::random::<F, $width>(&mut random, $internal).expect("a hash");
                let engine = Engine::cpu();
                let config = |of_fri: &Poseidon2<F>, log_blowup| {
                    let [mmcs, of_fri] = [&hash, of_fri].map(|hash| Mmcs::new(hash, 0).on(&engine));
                    let fri = parameters(OwnMmcs::new(of_fri), log_blowup, 0, 1);
                    Config::new(Pcs::new(Dft::on(&engine), mmcs, fri), Challenger::new(hash.permutation().clone()))
                };
                let unsupported = |error: &Error| matches!(error, Error::Unsupported { .. });
                let air = |degree| Mixed { width: 2, degree, next: true, periods: &[] };
                // four chunks of the quotient, and FRI over another hash
                let refused = Prover::new(&engine, &config(&hash, 1), &air(5)).err();
                assert!(refused.as_ref().is_some_and(unsupported), "{refused:?}");
                let refused = Prover::new(&engine, &config(&other, 1), &air(2)).err();
                assert!(refused.as_ref().is_some_and(unsupported), "{refused:?}");

                // no blow-up
                let refused = Prover::new(&engine, &config(&hash, 0), &air(2)).err();
                assert!(refused.as_ref().is_some_and(unsupported), "{refused:?}");

                let (config, air) = (config(&hash, 1), air(2));
                let prover = Prover::new(&engine, &config, &air).expect("a prover");
                let refused = |values: usize, width: usize, publics: usize| {
                    let values = F::zero_vec(values);
                    prover.prove(Trace::rows(&values, width, F::ONE), &F::zero_vec(publics)).err()
                };
                for (values, width, publics) in [(24, 3, 2), (12, 2, 2), (0, 2, 2), (2, 2, 2), (16, 2, 1), (16, 2, 3)] {
                    let refused = refused(values, width, publics);
                    assert!(matches!(refused, Some(Error::Length { .. })), "{values}, {width}, {publics}: {refused:?}");
                }
                // periods that do not divide the height
                let air = Mixed { width: 2, degree: 2, next: true, periods: &[5] };
                let prover = Prover::new(&engine, &config, &air).expect("a prover");
                let values = F::zero_vec(16);
                let refused = prover.prove(Trace::rows(&values, 2, F::ONE), &F::zero_vec(2)).err();
                assert!(refused.as_ref().is_some_and(unsupported), "{refused:?}");
            }

            #[test]
            fn proofs_of_random_constraints_are_those_of_plonky3() {
                if cfg!(debug_assertions) {
                    return;
                }
                let mut random = Random::new(seed());
                for i in 0..34 {
                    let log_n = 1 + random.below(5);
                    let air = AnyAir::random(&mut random, 4, log_n);
                    let values = (0..air.width << log_n).map(|_| F::from_u64(random.bits())).collect();
                    let trace = RowMajorMatrix::new(values, air.width);
                    let public: Vec<F> = (0..air.publics).map(|_| F::from_u64(random.bits())).collect();
                    // selectors and periodic columns may need more chunks of the quotient than the degree alone
                    let sizes = [log_n, 3, 0, 1 + random.below(2)];
                    let holds = air.constraints.is_empty().then_some(true);
                    agrees(Target::Cpu, &air, &trace, &public, sizes, holds);
                    if i % 3 == 0 {
                        agrees(Target::Cuda, &air, &trace, &public, sizes, holds);
                    }
                }
            }

            #[test]
            fn proofs_of_keccak_are_those_of_plonky3() {
                let mut random = Random::new(seed());
                for (target, count) in [(Target::Cpu, 1), (Target::Cuda, 50)] {
                    let inputs = (0..count).map(|_| core::array::from_fn(|_| random.bits())).collect();
                    let trace = p3_keccak_air::generate_trace_rows::<F>(inputs, 0);
                    agrees(target, &KeccakAir {}, &trace, &[], [0, 1, 0, 1], Some(true));
                }
            }
        }
    };
}

field!(baby_bear, BabyBear, 4, [16, 8], 13);
field!(koala_bear, KoalaBear, 4, [16, 8], 20);
field!(goldilocks, Goldilocks, 2, [8, 4], 22);
