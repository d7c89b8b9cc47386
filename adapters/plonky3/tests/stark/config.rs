//! Configurations of Plonky3 for tests of the provers: its own types, and those of this crate.

use p3_fri::FriParameters;

/// FRI with a little proof of work. The sizes are log2 of the blow-up factor, of the last polynomial's length and of the
/// arity.
pub(crate) fn parameters<M>(mmcs: M, [log_blowup, log_final_poly_len, max_log_arity]: [usize; 3]) -> FriParameters<M> {
    FriParameters {
        log_blowup,
        log_final_poly_len,
        max_log_arity,
        num_queries: 20,
        batch_proof_of_work_bits: 3,
        commit_proof_of_work_bits: 1,
        query_proof_of_work_bits: 5,
        mmcs,
    }
}

/// Defines the types of this crate's configuration over a field, and functions that make it.
macro_rules! own_configuration {
    ($field:ty, $degree:literal, [$width:literal, $rate:literal], $internal:literal) => {
        type F = $field;
        type Challenge = p3_field::extension::BinomialExtensionField<F, $degree>;
        type Challenger = p3_challenger::DuplexChallenger<F, <F as HashField>::Permutation, $width, $rate>;
        type Extended<M> = p3_commit::ExtensionMmcs<F, Challenge, M>;
        type Config = p3_uni_stark::StarkConfig<Pcs<F, Extended<Mmcs<F>>>, Challenge, Challenger>;

        fn random_hash(random: &mut Random) -> Poseidon2<F> {
            testkit::random::<F, $width>(random, $internal).expect("a hash")
        }

        fn challenger(hash: &Poseidon2<F>) -> Challenger {
            Challenger::new(hash.permutation().clone())
        }

        fn config(engine: &Engine, hash: &Poseidon2<F>, cap: usize, fri: [usize; 3]) -> Config {
            let mmcs = Mmcs::new(hash, cap).on(engine);
            let pcs =
                Pcs::new(Dft::on(engine), mmcs.clone(), $crate::stark::config::parameters(Extended::new(mmcs), fri));
            let config = Config::new(pcs, challenger(hash));
            config.with_ood_proof_of_work_bits(2).with_lookup_proof_of_work_bits(1)
        }
    };
}
pub(crate) use own_configuration;

/// The same, with Plonky3's own configuration.
macro_rules! configurations {
    ($field:ty, $degree:literal, [$width:literal, $rate:literal], $internal:literal) => {
        own_configuration!($field, $degree, [$width, $rate], $internal);

        type Stock = <F as HashField>::Binary;
        type StockPcs = p3_fri::TwoAdicFriPcs<F, p3_dft::Radix2DitParallel<F>, Stock, Extended<Stock>>;
        type StockConfig = p3_uni_stark::StarkConfig<StockPcs, Challenge, Least<Challenger>>;

        fn stock_config(hash: &Poseidon2<F>, cap: usize, fri: [usize; 3]) -> StockConfig {
            let mmcs: Stock = F::binary(hash.permutation(), cap);
            let fri = $crate::stark::config::parameters(Extended::new(mmcs.clone()), fri);
            let pcs = StockPcs::new(p3_dft::Radix2DitParallel::default(), mmcs, fri);
            let config = StockConfig::new(pcs, Least(challenger(hash)));
            config.with_ood_proof_of_work_bits(2).with_lookup_proof_of_work_bits(1)
        }
    };
}
pub(crate) use configurations;
