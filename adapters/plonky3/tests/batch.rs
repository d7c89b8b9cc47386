//! Tests proofs of several tables made on the engine's device against those of the stock prover.

#[path = "../examples/machine/air.rs"]
pub(crate) mod machine;

use p3_air::Air;
use p3_baby_bear::BabyBear;
use p3_batch_stark::folder::{ProverConstraintFolderWithLookups, VerifierConstraintFolderWithLookups};
use p3_batch_stark::{BatchProof, ProverData, StarkInstance, prove_batch, verify_batch};
use p3_field::PrimeCharacteristicRing;
use p3_goldilocks::Goldilocks;
use p3_koala_bear::KoalaBear;
use p3_lookup::InteractionSymbolicBuilder;
use p3_matrix::Matrix;
use p3_matrix::dense::RowMajorMatrix;
use ringforge_plonky3::resident::{Matrix as DeviceMatrix, Trace};
use ringforge_plonky3::stark::BatchProver;
use ringforge_plonky3::{Dft, Engine, Error, HashField, Mmcs, Pcs, Poseidon2, testkit};
use ringforge_testkit::{Random, Target, seed};

use self::machine::Machine;
use crate::stark::airs::AnyTable;
use crate::stark::challengers::Least;
use crate::stark::config::{configurations, own_configuration};

macro_rules! field {
    ($name:ident, $field:ty, $degree:literal, [$width:literal, $rate:literal], $internal:literal) => {
        mod $name {
            use super::*;

            configurations!($field, $degree, [$width, $rate], $internal);

            /// Compares proofs of traces. Returns whether the stock verifier accepts them.
            fn agrees<A>(
                target: Target,
                airs: &[A],
                traces: &[RowMajorMatrix<F>],
                publics: &[Vec<F>],
                fri: [usize; 3],
            ) -> Option<bool>
            where
                A: Air<InteractionSymbolicBuilder<F, Challenge>>
                    + for<'a> Air<ProverConstraintFolderWithLookups<'a, StockConfig>>
                    + for<'a> Air<VerifierConstraintFolderWithLookups<'a, StockConfig>>
                    + for<'a> Air<p3_air::DebugConstraintBuilder<'a, F, Challenge>>
                    + Clone,
            {
                let device = target.device()?;
                testkit::refuse_stock();
                let (engine, mut random) = (Engine::on(device), Random::new(seed()));
                let (hash, cap) = (random_hash(&mut random), random.below(3));
                let (stock, config) = (stock_config(&hash, cap, fri), config(&engine, &hash, cap, fri));
                let of: Vec<&RowMajorMatrix<F>> = traces.iter().collect();
                let instances = StarkInstance::new_multiple(airs, &of, publics);
                let data = ProverData::from_instances(&stock, &instances).expect("the tables' data");
                let wanted = prove_batch(&stock, &instances, &data).expect("the stock proof");
                let wanted = postcard::to_allocvec(&wanted).expect("bytes");

                let bits: Vec<usize> = traces.iter().map(|trace| trace.height().ilog2() as usize).collect();
                let own = ProverData::from_airs_and_degrees(&config, airs, &bits).expect("the tables' data");
                let mut prover = BatchProver::new(&engine, &config, airs, &own.common).expect("a prover");
                let stream = engine.device().stream().expect("a stream");
                let resident: Vec<DeviceMatrix<F>> = traces
                    .iter()
                    .map(|trace| {
                        let matrix = DeviceMatrix::upload(&engine, &stream, trace).expect("a matrix");
                        matrix.into_columns(&stream).expect("columns")
                    })
                    .collect();
                for (tail, on_device) in [(9, false), (0, true), (3, false), (8, true), (7, false)] {
                    if tail == 8 {
                        prover = prover.extending_again();
                    }
                    if tail == 3 && target != Target::Cpu {
                        prover = prover.compiled().expect("kernels");
                    }
                    prover = prover.with_tail(tail);
                    let input = |(i, trace): (usize, &'_ RowMajorMatrix<F>)| -> Trace<'_, F> {
                        match on_device {
                            true => Trace::resident(&resident[i], F::ONE),
                            false => Trace::rows(&traces[i].values, trace.width, F::ONE),
                        }
                    };
                    let inputs: Vec<_> =
                        traces.iter().enumerate().map(input).zip(publics.iter().map(Vec::as_slice)).collect();
                    let proof = prover.prove(&inputs).expect("a proof");
                    let found = postcard::to_allocvec(&proof).expect("bytes");
                    assert!(found == wanted, "{bits:?} on {engine:?}, tail of {tail}");
                }
                let proof: BatchProof<StockConfig> = postcard::from_bytes(&wanted).expect("a proof");
                Some(verify_batch(&stock, airs, &proof, publics, &data.common).is_ok())
            }

            #[test]
            fn proofs_of_a_machine_are_those_of_plonky3() {
                let mut random = Random::new(seed());
                for (target, log_n) in
                    [(Target::Cpu, 1), (Target::Cpu, 9), (Target::Emulator, 3), (Target::Cuda, 2), (Target::Cuda, 14)]
                {
                    let traces = machine_traces::<F>(&mut random, log_n);
                    let none = vec![Vec::new(); 3];
                    let accepted = agrees(target, &Machine::ALL, &traces, &none, [1, 0, 2]);
                    assert!(accepted != Some(false));
                }
            }

            #[test]
            fn spoiled_lookups_are_refused() {
                // in debug builds Plonky3's prover itself panics on lookups that do not balance
                if cfg!(debug_assertions) {
                    return;
                }
                let mut random = Random::new(seed());
                let traces = machine_traces::<F>(&mut random, 4);
                for (table, column) in [(0, 1), (0, 3), (1, 0), (1, 3), (2, 0)] {
                    let mut spoiled = traces.clone();
                    spoiled[table].values[column] += F::ONE;
                    let accepted = agrees(Target::Cpu, &Machine::ALL, &spoiled, &vec![Vec::new(); 3], [1, 0, 1]);
                    assert_eq!(accepted, Some(false), "table {table}, column {column}");
                }
            }

            #[test]
            fn proofs_of_random_tables_are_those_of_plonky3() {
                if cfg!(debug_assertions) {
                    return;
                }
                let mut random = Random::new(seed());
                let count = std::env::var("RINGFORGE_AIRS").ok().and_then(|count| count.parse().ok()).unwrap_or(17);
                for i in 0..count {
                    let log_ns: Vec<usize> = (0..1 + random.below(4)).map(|_| 1 + random.below(6)).collect();
                    let tables = log_ns.iter().map(|log_n| AnyTable::random(&mut random, 1 + random_degree(i), *log_n));
                    let tables: Vec<AnyTable> = tables.collect();
                    let mut trace = |(table, log_n): (&AnyTable, &usize)| {
                        let width = p3_air::BaseAir::<F>::width(table);
                        let value = |place: usize| match place % width {
                            0 => F::from_u64(random.bits() & 1),
                            _ => F::from_u64(random.bits()),
                        };
                        RowMajorMatrix::new((0..width << log_n).map(value).collect(), width)
                    };
                    let traces: Vec<_> = tables.iter().zip(&log_ns).map(&mut trace).collect();
                    let mut public =
                        |table: &AnyTable| (0..table.publics()).map(|_| F::from_u64(random.bits())).collect();
                    let publics: Vec<Vec<F>> = tables.iter().map(&mut public).collect();
                    let sizes = [1 + random.below(2), 0, 1 + random.below(2)];
                    agrees(Target::Cpu, &tables, &traces, &publics, sizes);
                    if i % 3 == 0 {
                        agrees(Target::Cuda, &tables, &traces, &publics, sizes);
                    }
                }
            }

            #[test]
            fn failing_devices_give_errors() {
                let mut random = Random::new(seed());
                let (device, fault) = ringforge_testkit::failing::device();
                let engine = Engine::on(device);
                let config = config(&engine, &random_hash(&mut random), 0, [1, 0, 1]);
                let traces = machine_traces::<F>(&mut random, 2);
                let bits = traces.each_ref().map(|trace| trace.height().ilog2() as usize);
                let data = ProverData::from_airs_and_degrees(&config, &Machine::ALL, &bits).expect("data");
                let prover = BatchProver::new(&engine, &config, &Machine::ALL, &data.common).expect("a prover");
                let prover = prover.with_tail(3);
                let inputs = traces.each_ref().map(|trace| (Trace::rows(&trace.values, trace.width, F::ONE), &[][..]));
                let proof = || prover.prove(&inputs).map(|proof| postcard::to_allocvec(&proof).expect("bytes"));
                let wanted = proof().expect("a proof");
                let held = || engine.device().backend().peak_bytes();
                let before = (held(), held()).1;
                let mut calls = 0;
                loop {
                    fault.at(calls + 1);
                    let found = proof();
                    if !fault.happened() {
                        break;
                    }
                    let failed = matches!(&found, Err(Error::Driver { message, .. }) if message == "injected");
                    assert!(failed, "call {calls}: {:?}", found.err());
                    assert_eq!((held(), held()).1, before, "call {calls}: memory is still held");
                    calls += 1 + calls / 12;
                }
                assert!(calls > 300, "{calls} calls");
                fault.at(0);
                assert!(proof().expect("a proof") == wanted);
            }

            #[test]
            fn memory_is_told_before_a_proof() {
                let mut random = Random::new(seed());
                for (log_n, log_blowup) in [(10, 1), (8, 3)] {
                    let engine = Engine::on(ringforge::Device::cpu());
                    let config = config(&engine, &random_hash(&mut random), 0, [log_blowup, 0, 1]);
                    let traces = machine_traces::<F>(&mut random, log_n);
                    let bits = traces.each_ref().map(|trace| trace.height().ilog2() as usize);
                    let data = ProverData::from_airs_and_degrees(&config, &Machine::ALL, &bits).expect("data");
                    let mut prover = BatchProver::new(&engine, &config, &Machine::ALL, &data.common).expect("a prover");
                    let inputs =
                        traces.each_ref().map(|trace| (Trace::rows(&trace.values, trace.width, F::ONE), &[][..]));
                    let memory = prover.memory(&inputs.map(|(trace, _)| trace)).expect("a size");
                    for (again, promised) in [(false, memory.kept), (true, memory.again)] {
                        if again {
                            prover = prover.extending_again();
                        }
                        // the first proof makes tables
                        prover.prove(&inputs).expect("a proof");
                        let held = engine.device().backend().peak_bytes();
                        let held = held.min(engine.device().backend().peak_bytes());
                        prover.prove(&inputs).expect("a proof");
                        let used = engine.device().backend().peak_bytes() - held;
                        let ratio = used as f64 / promised as f64;
                        assert!((0.95..=1.0).contains(&ratio), "{log_n}, {log_blowup}, {again}: {used} of {promised}");
                    }
                }
            }

            #[test]
            fn what_does_not_fit_is_refused() {
                let (engine, mut random) = (Engine::cpu(), Random::new(1));
                let config = config(&engine, &random_hash(&mut random), 0, [1, 0, 1]);
                let traces = machine_traces::<F>(&mut random, 3);
                let bits = traces.each_ref().map(|trace| trace.height().ilog2() as usize);
                let data = ProverData::from_airs_and_degrees(&config, &Machine::ALL, &bits).expect("the tables' data");
                let refused = BatchProver::new(&engine, &config, &Machine::ALL[..2], &data.common).err();
                assert!(matches!(refused, Some(Error::Length { .. })), "{refused:?}");
                // the preprocessed columns are those of another table
                let [steps, products, bytes] = Machine::ALL;
                let refused = BatchProver::new(&engine, &config, &[bytes, products, steps], &data.common).err();
                assert!(matches!(refused, Some(Error::Unsupported { .. })), "{refused:?}");
                // several devices
                let group = Engine::group(&[(); 2].map(|()| ringforge::Device::cpu())).expect("a group");
                let refused = BatchProver::new(&group, &config, &Machine::ALL, &data.common).err();
                assert!(matches!(refused, Some(Error::Unsupported { .. })), "{refused:?}");
                let prover = BatchProver::new(&engine, &config, &Machine::ALL, &data.common).expect("a prover");
                let inputs = traces.each_ref().map(|trace| (Trace::rows(&trace.values, trace.width, F::ONE), &[][..]));
                prover.prove(&inputs).expect("a proof");
                let public = [F::ONE];
                let (steps, bytes) = (&traces[0].values, &traces[2].values);
                for refused in [
                    prover.prove(&inputs[..2]),
                    prover.prove(&[(inputs[0].0, &public), inputs[1], inputs[2]]),
                    prover.prove(&[(Trace::rows(steps, 4, F::ONE), &[]), inputs[1], inputs[2]]),
                    prover.prove(&[inputs[0], inputs[1], (Trace::rows(&bytes[..128], 1, F::ONE), &[])]),
                    prover.prove(&[(Trace::rows(&steps[..5], 5, F::ONE), &[]), inputs[1], inputs[2]]),
                ] {
                    assert!(matches!(refused, Err(Error::Length { .. })), "{:?}", refused.err());
                }
                let cancelled = std::sync::Arc::new(core::sync::atomic::AtomicBool::new(true));
                let prover = prover.cancelled_by(cancelled.clone());
                assert!(matches!(prover.prove(&inputs), Err(Error::Cancelled { .. })));
                cancelled.store(false, core::sync::atomic::Ordering::Relaxed);
                prover.prove(&inputs).expect("a proof");
            }
        }
    };
}

/// The traces of 2^log_n random steps of a machine, of their products, and of all bytes.
pub(crate) fn machine_traces<F: PrimeCharacteristicRing + Send + Sync>(
    random: &mut Random,
    log_n: usize,
) -> [RowMajorMatrix<F>; 3] {
    let (mut steps, mut products, mut used) = (Vec::new(), Vec::new(), [0u64; 256]);
    for clock in 0..1 << log_n {
        let [multiplies, x, y] = [2, 256, 256].map(|below| random.below(below) as u64);
        let z = if multiplies == 1 { x * y } else { x + y };
        steps.extend([multiplies, x, y, z, clock].map(F::from_u64));
        if multiplies == 1 {
            products.extend([x, y, z, 1].map(F::from_u64));
        }
        used[x as usize] += 1;
        used[y as usize] += 1;
    }
    let rows = (products.len() / 4).next_power_of_two().max(2);
    products.resize(rows * 4, F::ZERO);
    let used = used.map(F::from_u64).to_vec();
    [RowMajorMatrix::new(steps, 5), RowMajorMatrix::new(products, 4), RowMajorMatrix::new(used, 1)]
}

/// Degrees of tables: mostly small, since Plonky3 takes long for others.
fn random_degree(i: usize) -> usize {
    [1, 2, 1, 4][i % 4]
}

field!(baby_bear, BabyBear, 4, [16, 8], 13);
field!(koala_bear, KoalaBear, 4, [16, 8], 20);
field!(goldilocks, Goldilocks, 2, [8, 4], 22);
