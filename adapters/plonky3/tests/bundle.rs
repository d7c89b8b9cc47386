//! Tests that a bundle of `stark::plans` has all kernels that proofs on a GPU need.

use std::collections::BTreeSet;
use std::sync::Arc;

use p3_baby_bear::BabyBear;
use p3_batch_stark::ProverData;
use p3_field::PrimeCharacteristicRing;
use p3_goldilocks::Goldilocks;
use p3_koala_bear::KoalaBear;
use p3_matrix::Matrix as _;
use p3_matrix::dense::RowMajorMatrix;
use ringforge::kernels::Kernel;
use ringforge::{Limits, Planner};
use ringforge_plonky3::resident::{Matrix, Trace};
use ringforge_plonky3::stark::{self, BatchProver, Prover};
use ringforge_plonky3::{Dft, Engine, HashField, Mmcs, Pcs, Poseidon2, testkit};
use ringforge_testkit::{Random, rehearsal, seed};

use crate::batch::machine::Machine;
use crate::batch::machine_traces;
use crate::stark::airs::Mixed;
use crate::stark::config::own_configuration;

/// The names and CUDA sources of kernels, which are what a bundle's kernels are found by.
fn sources<'a>(kernels: impl IntoIterator<Item = &'a Arc<dyn Kernel>>, limits: &Limits) -> BTreeSet<[String; 2]> {
    let source = |kernel: &Arc<dyn Kernel>| {
        let source = kernel.source(limits).expect("a source");
        [kernel.name().to_owned(), source.prelude().to_owned()]
    };
    kernels.into_iter().map(source).collect()
}

/// Compares the kernels of proofs with the list for this blow-up factor, as its log2, and AIRs of at most this degree.
macro_rules! field {
    ($name:ident, $field:ty, $degree:literal, [$width:literal, $rate:literal], $internal:literal, $sizes:expr) => {
        #[test]
        fn $name() {
            own_configuration!($field, $degree, [$width, $rate], $internal);
            let mut random = Random::new(seed());
            let limits = Limits::of_capability(90);
            let hash = random_hash(&mut random);
            let (log_blowup, degree): (usize, usize) = $sizes;
            let plans = stark::plans::<F, Challenge>(&Planner::new(limits.clone()), &hash, degree, log_blowup, 1..=8);
            let plans = plans.expect("plans");
            let (device, bundled) = rehearsal::device(limits.clone());
            plans.iter().for_each(|plan| drop(device.compile(plan).expect("a program")));
            let bundled = sources(&bundled.kernels(), &limits);

            let gpu = Limits::h200();
            let (device, rehearsed) = rehearsal::device(gpu.clone());
            let engine = Engine::on(device);
            let (other, of_other) = rehearsal::device(gpu.clone());
            let group = Engine::group(&[engine.device().clone(), other]).expect("a group");
            let [config, on_group, on_cpu] =
                [&engine, &group, &Engine::cpu()].map(|engine| config(engine, &hash, 1, [log_blowup, 0, 2]));
            let stream = engine.device().stream().expect("a stream");
            for (log_n, of, width) in [(1, 2, 1), (4, 3, 6), (5, 5, 20), (6, 9, 100)] {
                let air = Mixed { width, degree: of.min(degree), next: log_n != 5, periods: &[] };
                let mut prover = Prover::new(&engine, &config, &air).expect("a prover").interpreted();
                let publics = [F::ONE, F::TWO];
                let values: Vec<F> = (0..width << log_n).map(F::from_usize).collect();
                let upload = || {
                    let rows = RowMajorMatrix::new(values.clone(), width);
                    Matrix::upload(&engine, &stream, &rows).expect("a matrix")
                };
                let resident = [upload(), upload().into_columns(&stream).expect("a matrix")];
                for again in [false, true] {
                    if again {
                        prover = prover.extending_again();
                    }
                    for trace in [
                        Trace::columns(&values, 1 << log_n, F::ONE),
                        Trace::rows(&values, width, F::ONE),
                        Trace::resident(&resident[0], F::ONE),
                        Trace::resident(&resident[1], F::ONE),
                    ] {
                        prover.prove(trace, &publics).expect("a proof");
                    }
                }
            }
            for (log_n, of, width) in [(4, 3, 6), (5, 5, 20)] {
                let air = Mixed { width, degree: of.min(degree), next: true, periods: &[] };
                let prover = Prover::new(&group, &on_group, &air).expect("a prover").interpreted();
                let values: Vec<F> = (0..width << log_n).map(F::from_usize).collect();
                for trace in [Trace::columns(&values, 1 << log_n, F::ONE), Trace::rows(&values, width, F::ONE)] {
                    prover.prove(trace, &[F::ONE, F::TWO]).expect("a proof");
                }
            }
            let traces = machine_traces::<F>(&mut random, 5);
            let bits = traces.each_ref().map(|trace| trace.height().ilog2() as usize);
            // Plonky3 commits to the preprocessed columns
            let data = ProverData::from_airs_and_degrees(&on_cpu, &Machine::ALL, &bits).expect("data");
            let inputs = traces.each_ref().map(|trace| (Trace::rows(&trace.values, trace.width, F::ONE), &[][..]));
            let prover = BatchProver::new(&engine, &config, &Machine::ALL, &data.common).expect("a prover");
            let prover = prover.interpreted();
            prover.prove(&inputs).expect("a proof");
            prover.extending_again().prove(&inputs).expect("a proof");

            let needed = [rehearsed.kernels(), of_other.kernels()].concat();
            let missing: Vec<_> = sources(&needed, &gpu).difference(&bundled).cloned().collect();
            assert!(missing.is_empty(), "{} of {}: {missing:#?}", missing.len(), bundled.len());
        }
    };
}

field!(bundles_have_all_kernels_over_baby_bear, BabyBear, 4, [16, 8], 13, (1, 9));
field!(bundles_have_all_kernels_over_koala_bear, KoalaBear, 4, [16, 8], 20, (2, 2));
field!(bundles_have_all_kernels_over_goldilocks, Goldilocks, 2, [8, 4], 22, (1, 5));
