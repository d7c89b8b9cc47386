//! Tests proofs made wholly on the engine's device against those of the stock prover.

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
use ringforge_plonky3::{Dft, Engine, HashField, Mmcs, Pcs, Poseidon2, testkit};
use ringforge_testkit::{Random, Target, seed};

/// An AIR of products and sums of columns with selectors of every kind, of this degree. Its constraints need not hold: a
/// proof of any trace is defined.
struct Mixed {
    width: usize,
    degree: usize,
    next: bool,
}

impl<F> BaseAir<F> for Mixed {
    fn width(&self) -> usize {
        self.width
    }

    fn num_public_values(&self) -> usize {
        2
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
            // the same constraint again, a bare column, and a constant
            builder.assert_zero(power - x);
            builder.assert_zero(x);
            builder.assert_zero(AB::Expr::from_u64(3));
        }
    }
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
                holds: bool,
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
                    assert_eq!(verify(&stock, air, &proof, public).is_ok(), holds);
                }
            }

            fn mixed(target: Target, random: &mut Random, sizes: Sizes, air: &Mixed) {
                let values = (0..air.width << sizes[0]).map(|_| F::from_u64(random.bits())).collect();
                let public = [F::from_u64(random.bits()), F::from_u64(random.bits())];
                let holds = air.degree == 0;
                agrees(target, air, &RowMajorMatrix::new(values, air.width), &public, sizes, holds);
            }

            #[test]
            fn proofs_of_mixed_constraints_are_those_of_plonky3() {
                // in debug builds Plonky3's prover itself panics on a trace that does not satisfy the AIR
                if cfg!(debug_assertions) {
                    return;
                }
                let mut random = Random::new(seed());
                for (sizes, width, degree, next) in [
                    ([3, 1, 0, 1], 3, 2, true),
                    ([5, 2, 1, 2], 2, 5, true),
                    ([4, 3, 0, 3], 5, 8, false),
                    ([6, 2, 2, 4], 1, 3, true),
                    ([1, 1, 0, 1], 2, 3, true),
                    // no constraints
                    ([4, 1, 0, 1], 2, 0, true),
                ] {
                    let air = Mixed { width, degree, next };
                    mixed(Target::Cpu, &mut random, sizes, &air);
                    mixed(Target::Cuda, &mut random, sizes, &air);
                }
                mixed(Target::Emulator, &mut random, [3, 2, 0, 2], &Mixed { width: 2, degree: 4, next: true });
                mixed(Target::Cuda, &mut random, [14, 1, 0, 1], &Mixed { width: 9, degree: 3, next: true });
            }

            #[test]
            fn proofs_of_keccak_are_those_of_plonky3() {
                let mut random = Random::new(seed());
                for (target, count) in [(Target::Cpu, 1), (Target::Cuda, 50)] {
                    let inputs = (0..count).map(|_| core::array::from_fn(|_| random.bits())).collect();
                    let trace = p3_keccak_air::generate_trace_rows::<F>(inputs, 0);
                    agrees(target, &KeccakAir {}, &trace, &[], [0, 1, 0, 1], true);
                }
            }
        }
    };
}

field!(baby_bear, BabyBear, 4, [16, 8], 13);
field!(koala_bear, KoalaBear, 4, [16, 8], 20);
field!(goldilocks, Goldilocks, 2, [8, 4], 22);
