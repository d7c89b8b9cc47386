//! Proofs for as long as the caller wants, of several AIRs and heights at once.

use std::time::{Duration, Instant};
use std::{env, thread};

use p3_baby_bear::BabyBear;
use p3_batch_stark::{ProverData, verify_batch};
use p3_field::PrimeCharacteristicRing;
use p3_goldilocks::Goldilocks;
use p3_keccak_air::KeccakAir;
use p3_koala_bear::KoalaBear;
use p3_matrix::Matrix as _;
use ringforge::Device;
use ringforge_plonky3::resident::{Matrix, Trace};
use ringforge_plonky3::stark::{BatchProver, Prover};
use ringforge_plonky3::{Dft, Engine, HashField, Mmcs, Pcs, Poseidon2, testkit};
use ringforge_testkit::{Random, Target, seed};

use crate::batch::machine::Machine;
use crate::batch::machine_traces;
use crate::stark::config::own_configuration;

/// Proofs that are made at once.
const AT_ONCE: usize = 3;
/// log2 of the most rows of Keccak, whose rows are long.
const MOST_OF_HASHES: usize = 11;

/// How long proofs are made, in seconds from `RINGFORGE_SOAK`.
fn time() -> Duration {
    let seconds = env::var("RINGFORGE_SOAK").ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(10))
}

macro_rules! field {
    ($name:ident, $field:ty, $degree:literal, [$width:literal, $rate:literal], $internal:literal) => {
        mod $name {
            use super::*;

            own_configuration!($field, $degree, [$width, $rate], $internal);

            /// Makes and verifies proofs, [`AT_ONCE`] at a time. After each round, the device must hold as much memory as
            /// before it.
            fn soak(device: Device, log_ns: &[usize]) {
                testkit::refuse_stock();
                let (engine, mut random) = (Engine::on(device), Random::new(seed()));
                let config = config(&engine, &random_hash(&mut random), 1, [1, 0, 2]);
                let airs = [2, 14, 70].map(|columns| testkit::Sequences { columns });
                let prover = |air| Prover::new(&engine, &config, air).expect("a prover");
                let provers = airs.each_ref().map(|air| {
                    let [compiled, interpreted, again] = [prover(air), prover(air), prover(air)];
                    [
                        compiled.compiled().expect("kernels"),
                        interpreted.interpreted(),
                        again.interpreted().extending_again(),
                    ]
                });
                let of_keccak = Prover::new(&engine, &config, &KeccakAir {}).expect("a prover").interpreted();

                let (airs, provers) = (&airs, &provers);
                let of_sequences = |log_n: usize, which: usize, how: usize, from: usize| {
                    let (air, prover) = (&airs[which], &provers[which][how]);
                    let stream = engine.device().stream().expect("a stream");
                    let trace = air.trace::<F>(1 << log_n);
                    let columns = trace.transpose();
                    let upload = || Matrix::upload(&engine, &stream, &trace).expect("a matrix");
                    let proof = match from {
                        0 => prover.prove(Trace::rows(&trace.values, trace.width, F::ONE), &[]),
                        1 => prover.prove(Trace::columns(&columns.values, 1 << log_n, F::ONE), &[]),
                        _ => {
                            let resident = upload().into_columns(&stream).expect("a matrix");
                            prover.prove(Trace::resident(&resident, F::ONE), &[])
                        }
                    };
                    p3_uni_stark::verify(&config, air, &proof.expect("a proof"), &[])
                        .expect("a proof that is accepted");
                };
                let of_hashes = |log_n: usize| {
                    let inputs = (0..(1u64 << log_n).div_ceil(24)).map(|i| [i; 25]).collect();
                    let trace = p3_keccak_air::generate_trace_rows::<F>(inputs, 0);
                    let proof = of_keccak.prove(Trace::rows(&trace.values, trace.width, F::ONE), &[]);
                    let proof = proof.expect("a proof");
                    p3_uni_stark::verify(&config, &KeccakAir {}, &proof, &[]).expect("a proof that is accepted");
                };
                let of_machine = |log_n: usize| {
                    // always the same heights
                    let traces = machine_traces::<F>(&mut Random::new(1), log_n);
                    let bits = traces.each_ref().map(|trace| trace.height().ilog2() as usize);
                    let data = ProverData::from_airs_and_degrees(&config, &Machine::ALL, &bits).expect("data");
                    let prover = BatchProver::new(&engine, &config, &Machine::ALL, &data.common).expect("a prover");
                    let inputs =
                        traces.each_ref().map(|trace| (Trace::rows(&trace.values, trace.width, F::ONE), &[][..]));
                    let proof = prover.interpreted().prove(&inputs).expect("a proof");
                    let accepted = verify_batch(&config, &Machine::ALL, &proof, &vec![Vec::new(); 3], &data.common);
                    accepted.expect("a proof that is accepted");
                };
                let (of_sequences, of_hashes, of_machine) = (&of_sequences, &of_hashes, &of_machine);
                let held = || {
                    let backend = engine.device().backend();
                    (backend.peak_bytes(), backend.peak_bytes()).1
                };
                // fills the caches
                for &log_n in log_ns {
                    (0..27).for_each(|i| of_sequences(log_n, i % 3, i / 3 % 3, i / 9));
                    of_hashes(log_n.min(MOST_OF_HASHES));
                    of_machine(log_n);
                }
                let (before, start, mut rounds) = (held(), Instant::now(), 0);
                while start.elapsed() < time() {
                    thread::scope(|scope| {
                        for _ in 0..AT_ONCE {
                            let [kind, which, how, from] = [8, 3, 3, 3].map(|below| random.below(below));
                            let log_n = log_ns[random.below(log_ns.len())];
                            scope.spawn(move || match kind {
                                0 => of_hashes(log_n.min(MOST_OF_HASHES)),
                                1 => of_machine(log_n),
                                _ => of_sequences(log_n, which, how, from),
                            });
                        }
                    });
                    rounds += 1;
                    assert_eq!(held(), before, "round {rounds}: the device holds other memory than before");
                }
                println!("{} proofs over {} on {engine:?}", rounds * AT_ONCE, stringify!($name));
            }

            #[test]
            #[ignore = "as long as RINGFORGE_SOAK says"]
            fn proofs_in_a_row() {
                match Target::Cuda.device() {
                    Some(device) => soak(device, &[2, 5, 8, 11, 14, 16]),
                    None => soak(Device::cpu(), &[2, 4, 6]),
                }
            }
        }
    };
}

field!(baby_bear, BabyBear, 4, [16, 8], 13);
field!(koala_bear, KoalaBear, 4, [16, 8], 20);
field!(goldilocks, Goldilocks, 2, [8, 4], 22);
