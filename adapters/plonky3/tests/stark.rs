//! Tests proofs made wholly on the engine's device against those of the stock prover.

pub(crate) mod airs;
pub(crate) mod challengers;
pub(crate) mod config;

use p3_air::Air;
use p3_air::symbolic::SymbolicAirBuilder;
use p3_baby_bear::{BabyBear, GenericPoseidon2LinearLayersBabyBear};
use p3_blake3_air::Blake3Air;
use p3_field::{Field, PrimeCharacteristicRing};
use p3_fri::FriParameters;
use p3_goldilocks::{GenericPoseidon2LinearLayersGoldilocks, Goldilocks};
use p3_keccak_air::KeccakAir;
use p3_koala_bear::{GenericPoseidon2LinearLayersKoalaBear, KoalaBear};
use p3_matrix::Matrix as _;
use p3_matrix::dense::RowMajorMatrix;
use p3_poseidon2_air::{Poseidon2Air, RoundConstants, generate_trace_rows};
use p3_uni_stark::{
    PreprocessedVerifierKey, StarkConfig, prove_with_preprocessed, setup_preprocessed, verify_with_preprocessed,
};
use ringforge::Device;
use ringforge_plonky3::resident::{Matrix, Trace};
use ringforge_plonky3::stark::{self, Prover};
use ringforge_plonky3::{Dft, Engine, Error, HashField, Mmcs, Pcs, Poseidon2, testkit};
use ringforge_testkit::{Random, Target, seed};

use self::airs::{AnyAir, Mixed};
use self::challengers::{Constant, Least};
use self::config::{configurations, own_configuration, parameters};

/// Two and four CPUs, and all GPUs. Where there is one GPU, it is opened twice.
fn groups() -> Vec<Engine> {
    let cpus = [2, 4].map(|count| (0..count).map(|_| Device::cpu()).collect::<Vec<_>>());
    let mut gpus: Vec<Device> = match Target::Cuda.device() {
        Some(first) => core::iter::once(first).chain((1..).map_while(|i| Device::cuda(i).ok())).collect(),
        None => Vec::new(),
    };
    if gpus.len() == 1 {
        gpus.extend(Device::cuda(0));
    }
    gpus.truncate(1 << gpus.len().max(1).ilog2());
    let groups = cpus.into_iter().chain([gpus]).filter(|devices| !devices.is_empty());
    groups.map(|devices| Engine::group(&devices).expect("a group")).collect()
}

/// The engine of a target, if this machine has one.
fn on(target: Target) -> Option<Engine> {
    target.device().map(Engine::on)
}

/// Sizes of a case: log2 of the rows, log2 of the blow-up factor, of FRI's last polynomial and of its arity.
type Sizes = [usize; 4];

macro_rules! field {
    ($name:ident, $field:ty, $layers:ty, $degree:literal, [$width:literal, $rate:literal], $internal:literal, $sbox:literal, $registers:literal) => {
        mod $name {
            use super::*;

            configurations!($field, $degree, [$width, $rate], $internal);

            /// Compares proofs of a trace by an engine, if there is one, and has the stock verifier accept or refuse both.
            pub(super) fn agrees<A>(
                engine: Option<&Engine>,
                air: &A,
                trace: &RowMajorMatrix<F>,
                public: &[F],
                sizes: Sizes,
                holds: Option<bool>,
            ) where
                A: p3_uni_stark::QuotientAir<StockConfig>
                    + p3_uni_stark::QuotientAir<Config>
                    + Air<SymbolicAirBuilder<F, Challenge>>
                    + for<'a> Air<p3_uni_stark::VerifierConstraintFolder<'a, StockConfig>>
                    + for<'a> Air<p3_air::DebugConstraintBuilder<'a, F>>,
            {
                let Some(engine) = engine else { return };
                testkit::refuse_stock();
                let [_, fri @ ..] = sizes;
                let mut random = Random::new(seed());
                let hash = random_hash(&mut random);
                let cap = random.below(3);
                let stock = stock_config(&hash, cap, fri);
                let bits = trace.height().ilog2() as usize;
                let (data, key) = setup_preprocessed(&stock, air, bits).expect("a commitment").unzip();
                let wanted = prove_with_preprocessed(&stock, air, trace.clone(), public, data.as_ref());
                let wanted = postcard::to_allocvec(&wanted.expect("the stock proof")).expect("bytes");

                let config = config(engine, &hash, cap, fri);
                // the first proof is interpreted, and begins to compile; the CPU never does, and large AIRs take long
                let mut prover = Prover::new(engine, &config, air).expect("a prover");
                let compiles = !engine.device().limits().is_cpu() && trace.width < 200;
                if !compiles {
                    prover = prover.interpreted();
                }
                let own_key = prover.verifier_key();
                let own_key = own_key.map(|of| (of.width, of.degree_bits, of.commitment));
                assert_eq!(own_key, key.as_ref().map(|of| (of.width, of.degree_bits, of.commitment.clone())));
                let columns = trace.transpose();
                let stream = engine.device().stream().expect("a stream");
                let resident = Matrix::upload(engine, &stream, trace).expect("a matrix");
                let traces = [
                    Trace::rows(&trace.values, trace.width, F::ONE),
                    Trace::columns(&columns.values, trace.height(), F::ONE),
                    Trace::resident(&resident, F::ONE),
                ];
                // a group copies traces in ways of its own, also from its last device
                let last = Engine::on(engine.devices().last().expect("a device").clone());
                let stream = last.device().stream().expect("a stream");
                let rows = || Matrix::upload(&last, &stream, trace).expect("a matrix");
                let there = [rows(), rows().into_columns(&stream).expect("a matrix")];
                let traces = traces.into_iter().chain(there.each_ref().map(|matrix| Trace::resident(matrix, F::ONE)));
                let of_group = if trace.height() < 8 { 3 } else { 5 };
                let traces: Vec<_> = traces.take(if engine.devices().count() > 1 { of_group } else { 1 }).collect();
                for tail in [0, 3, 9, 8] {
                    if tail == 8 {
                        prover = prover.extending_again();
                    }
                    if tail == 9 && compiles {
                        prover = prover.compiled().expect("kernels");
                    }
                    prover = prover.with_tail(tail);
                    for trace in &traces {
                        let proof = prover.prove(*trace, public).expect("a proof");
                        let found = postcard::to_allocvec(&proof).expect("bytes");
                        assert!(found == wanted, "{sizes:?} on {engine:?}, tail of {tail}");
                    }
                }
                let proof: p3_uni_stark::Proof<StockConfig> = postcard::from_bytes(&wanted).expect("a proof");
                let key: Option<PreprocessedVerifierKey<StockConfig>> = key;
                let accepted = verify_with_preprocessed(&stock, air, &proof, public, key.as_ref()).is_ok();
                assert!(holds.is_none_or(|holds| holds == accepted));
            }

            fn mixed(target: Target, random: &mut Random, sizes: Sizes, air: &Mixed) {
                let values = (0..air.width << sizes[0]).map(|_| F::from_u64(random.bits())).collect();
                // the first is a word above the modulus of Goldilocks
                let public = [F::NEG_ONE + F::from_u64(1 + random.bits() % 9), F::from_u64(random.bits())];
                let holds = air.degree == 0;
                agrees(on(target).as_ref(), air, &RowMajorMatrix::new(values, air.width), &public, sizes, Some(holds));
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
                    // more chunks of the quotient than the blow-up factor
                    ([4, 1, 0, 2], 3, 8, true, &[2]),
                    ([3, 1, 0, 1], 2, 4, false, &[]),
                    // no constraints
                    ([4, 1, 0, 1], 2, 0, true, &[]),
                ] {
                    let air = Mixed { width, degree, next, periods };
                    mixed(Target::Cpu, &mut random, sizes, &air);
                    mixed(Target::Cuda, &mut random, sizes, &air);
                }
                let air = airs::Hiding(Mixed { width: 2, degree: 2, next: true, periods: &[] });
                let trace = RowMajorMatrix::new((0..2 << 3).map(F::from_usize).collect(), 2);
                agrees(on(Target::Cpu).as_ref(), &air, &trace, &[F::ONE, F::TWO], [3, 1, 0, 1], Some(false));
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
            fn proofs_of_a_group_are_those_of_plonky3() {
                if cfg!(debug_assertions) {
                    return;
                }
                let mut random = Random::new(seed());
                let emulators: Vec<_> = (0..2).filter_map(|_| Target::Emulator.device()).collect();
                if let Ok(engine) = Engine::group(&emulators) {
                    let air = Mixed { width: 2, degree: 3, next: true, periods: &[1] };
                    let trace = RowMajorMatrix::new((0..2 << 3).map(F::from_usize).collect(), 2);
                    agrees(Some(&engine), &air, &trace, &[F::ONE, F::TWO], [3, 1, 0, 1], Some(false));
                }
                for engine in groups() {
                    for (sizes, width, degree, next, periods) in [
                        ([3, 1, 0, 1], 3, 2, true, &[2, 3, 0][..]),
                        ([5, 2, 1, 2], 19, 5, true, &[3]),
                        ([4, 3, 0, 3], 5, 8, false, &[1, 4]),
                        ([6, 1, 0, 1], 33, 3, true, &[5, 2]),
                        // more chunks of the quotient than the blow-up factor
                        ([4, 1, 0, 2], 3, 8, true, &[2]),
                        // too few rows for a group
                        ([1, 1, 0, 1], 2, 3, true, &[]),
                    ] {
                        let air = Mixed { width, degree, next, periods };
                        let values = (0..air.width << sizes[0]).map(|_| F::from_u64(random.bits())).collect();
                        let public = [F::ONE, F::from_u64(random.bits())];
                        let trace = RowMajorMatrix::new(values, air.width);
                        agrees(Some(&engine), &air, &trace, &public, sizes, Some(false));
                    }
                    // preprocessed columns
                    for log_n in [3, 5] {
                        let air = AnyAir::random(&mut random, 3, log_n);
                        let values = (0..air.width << log_n).map(|_| F::from_u64(random.bits())).collect();
                        let trace = RowMajorMatrix::new(values, air.width);
                        let public: Vec<F> = (0..air.publics).map(|_| F::from_u64(random.bits())).collect();
                        agrees(Some(&engine), &air, &trace, &public, [log_n, 1, 0, 1], None);
                    }
                }
            }

            #[test]
            fn what_does_not_fit_is_refused() {
                let mut random = Random::new(1);
                let hash = random_hash(&mut random);
                let other = random_hash(&mut random);
                let engine = Engine::cpu();
                let unsupported = |error: &Error| matches!(error, Error::Unsupported { .. });
                let air = |degree| Mixed { width: 2, degree, next: true, periods: &[] };
                // three devices
                let three = Engine::group(&[(); 3].map(|()| Device::cpu())).expect("a group");
                let refused = Prover::new(&three, &config(&three, &hash, 0, [1, 0, 1]), &air(2)).err();
                assert!(refused.as_ref().is_some_and(unsupported), "{refused:?}");
                // FRI over another hash
                let [mmcs, of_fri] = [&hash, &other].map(|hash| Mmcs::new(hash, 0).on(&engine));
                let pcs = Pcs::new(Dft::on(&engine), mmcs, parameters(Extended::new(of_fri), [1, 0, 1]));
                let refused = Prover::new(&engine, &Config::new(pcs, challenger(&hash)), &air(2)).err();
                assert!(refused.as_ref().is_some_and(unsupported), "{refused:?}");

                // no blow-up
                let refused = Prover::new(&engine, &config(&engine, &hash, 0, [0, 0, 1]), &air(2)).err();
                assert!(refused.as_ref().is_some_and(unsupported), "{refused:?}");

                let (config, air) = (config(&engine, &hash, 0, [1, 0, 1]), air(2));
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
            fn plonky3_takes_over_where_it_is_asked_to() {
                let mut random = Random::new(seed());
                let hash = random_hash(&mut random);
                let (device, fault) = ringforge_testkit::failing::device();
                let (engine, cpu) = (Engine::on(device), Engine::cpu());
                let config = config(&cpu, &hash, 0, [1, 0, 1]);
                let air = testkit::Sequences { columns: 2 };
                let trace = air.trace::<F>(8);
                let columns = trace.transpose();
                let prover = Prover::new(&engine, &config, &air).expect("a prover").or_plonky3();
                for rows in [Trace::rows(&trace.values, 2, F::ONE), Trace::columns(&columns.values, 8, F::ONE)] {
                    let (_, phases) = prover.prove_timed(rows, &[]).expect("a proof");
                    assert!(!phases.fell_back);
                    fault.at(40);
                    let (proof, phases) = prover.prove_timed(rows, &[]).expect("a proof");
                    assert!(phases.fell_back);
                    p3_uni_stark::verify(&config, &air, &proof, &[]).expect("a proof that is accepted");
                }
                // what does not fit is told before the device is asked
                for (rows, width) in [(16, 1), (12, 2), (0, 2)] {
                    fault.at(1);
                    let refused = prover.prove(Trace::rows(&trace.values[..rows], width, F::ONE), &[]).err();
                    assert!(matches!(refused, Some(Error::Length { .. })), "{refused:?}");
                }
            }

            #[test]
            fn a_device_of_a_group_that_fails_gives_an_error() {
                let mut random = Random::new(seed());
                let hash = random_hash(&mut random);
                let [first, second] = [(); 2].map(|()| ringforge_testkit::failing::device());
                let group = Engine::group(&[first.0, second.0]).expect("a group");
                let config = config(&group, &hash, 0, [1, 0, 1]);
                let air = testkit::Sequences { columns: 2 };
                let trace = air.trace::<F>(8);
                let rows = Trace::rows(&trace.values, 2, F::ONE);
                let prover = Prover::new(&group, &config, &air).expect("a prover");
                let proof = || prover.prove(rows, &[]).map(|proof| postcard::to_allocvec(&proof).expect("bytes"));
                let wanted = proof().expect("a proof");
                for fault in [first.1, second.1] {
                    let mut calls = 0;
                    loop {
                        fault.at(calls + 1);
                        let found = proof();
                        if !fault.happened() {
                            break;
                        }
                        let failed = matches!(&found, Err(Error::Driver { message, .. }) if message == "injected");
                        assert!(failed, "call {calls}: {:?}", found.err());
                        calls += 1 + calls / 12;
                    }
                    assert!(calls > 30, "{calls} calls");
                    fault.at(0);
                    assert!(proof().expect("a proof") == wanted);
                }
            }

            #[test]
            fn memory_is_told_before_a_proof() {
                let mut random = Random::new(seed());
                let hash = random_hash(&mut random);
                let group = Engine::group(&[Device::cpu(), Device::cpu()]).expect("a group");
                let one = Engine::on(Device::cpu());
                let air = testkit::Sequences { columns: 40 };
                for (engine, log_n, log_blowup) in [(one.clone(), 9, 1), (one, 7, 3), (group, 8, 1)] {
                    let alone = engine.devices().count() == 1;
                    let config = config(&engine, &hash, 0, [log_blowup, 0, 1]);
                    let mut prover = Prover::new(&engine, &config, &air).expect("a prover");
                    let trace = air.trace::<F>(1 << log_n);
                    let columns = trace.transpose();
                    let stream = engine.device().stream().expect("a stream");
                    let rows =
                        || ringforge_plonky3::resident::Matrix::upload(&engine, &stream, &trace).expect("a matrix");
                    let resident = [rows(), rows().into_columns(&stream).expect("a matrix")];
                    let [by_rows, by_columns] = resident.each_ref().map(|matrix| Trace::resident(matrix, F::ONE));
                    let from_host =
                        [Trace::rows(&trace.values, 40, F::ONE), Trace::columns(&columns.values, 1 << log_n, F::ONE)];
                    for again in if alone { &[false, true][..] } else { &[false] } {
                        let again = *again;
                        if again {
                            prover = prover.extending_again();
                        }
                        for (i, trace) in [from_host[0], from_host[1], by_rows, by_columns].into_iter().enumerate() {
                            let memory = prover.memory(trace).expect("a size");
                            let told = if again { memory.again } else { memory.kept };
                            // the first proof makes tables
                            prover.prove(trace, &[]).expect("a proof");
                            let backend = engine.device().backend();
                            let held = (backend.peak_bytes(), backend.peak_bytes()).1;
                            prover.prove(trace, &[]).expect("a proof");
                            let ratio = (backend.peak_bytes() - held) as f64 / told as f64;
                            let about =
                                format!("trace {i} of 2^{log_n}, {log_blowup}, again {again} on {engine:?}: {ratio}");
                            assert!((0.95..=1.0).contains(&ratio), "{about}");
                        }
                    }
                }
            }

            #[test]
            fn one_proof_is_that_of_a_prover() {
                let engine = Engine::cpu();
                let config = config(&engine, &random_hash(&mut Random::new(seed())), 0, [1, 0, 1]);
                let air = testkit::Sequences { columns: 2 };
                let trace = air.trace::<F>(8);
                let rows = Trace::rows(&trace.values, 2, F::ONE);
                let once = |publics: &[F]| stark::prove(&engine, &config, &air, rows, publics);
                let bytes = |proof| postcard::to_allocvec(&proof).expect("bytes");
                let proof = once(&[]).expect("a proof");
                p3_uni_stark::verify(&config, &air, &proof, &[]).expect("a proof that is accepted");
                let prover = Prover::new(&engine, &config, &air).expect("a prover");
                assert!(bytes(proof) == bytes(prover.prove(rows, &[]).expect("a proof")));
                let refused = once(&[F::ONE]).err();
                assert!(matches!(refused, Some(Error::Length { .. })), "{refused:?}");
            }

            #[test]
            fn deep_constraints_are_proved() {
                let engine = Engine::cpu();
                let hash = random_hash(&mut Random::new(1));
                let config = config(&engine, &hash, 0, [1, 0, 1]);
                let prover = Prover::new(&engine, &config, &airs::Deep).expect("a prover");
                let trace = F::zero_vec(2 << 2);
                let proof = prover.prove(Trace::rows(&trace, 2, F::ONE), &[]).expect("a proof");
                // Plonky3's verifier recurses as deeply as the constraint is
                let verify = || p3_uni_stark::verify(&config, &airs::Deep, &proof, &[]).is_ok();
                let accepted = std::thread::scope(|scope| {
                    let thread = std::thread::Builder::new().stack_size(256 << 20).spawn_scoped(scope, verify);
                    thread.expect("a thread").join().expect("no panic")
                });
                assert!(accepted);
            }

            #[test]
            fn points_of_the_extension_are_refused() {
                let mut random = Random::new(seed());
                let hash = random_hash(&mut random);
                let engine = Engine::cpu();
                let mmcs = Mmcs::new(&hash, 0).on(&engine);
                let fri = parameters(Extended::new(mmcs.clone()), [1, 0, 1]);
                let pcs = Pcs::new(Dft::on(&engine), mmcs, FriParameters { batch_proof_of_work_bits: 0, ..fri });
                // every challenge is g, a point of the extension
                let constant =
                    Constant { challenger: challenger(&hash), element: F::GENERATOR, degree: $degree, drawn: 0 };
                let config: StarkConfig<_, Challenge, _> = StarkConfig::new(pcs, constant);
                let air = testkit::Sequences { columns: 2 };
                let prover = Prover::new(&engine, &config, &air).expect("a prover");
                let trace = air.trace::<F>(8);
                let refused = prover.prove(Trace::rows(&trace.values, 2, F::ONE), &[]).err();
                assert!(matches!(refused, Some(Error::Unsupported { .. })), "{refused:?}");
            }

            #[test]
            fn proofs_of_random_constraints_are_those_of_plonky3() {
                if cfg!(debug_assertions) {
                    return;
                }
                let mut random = Random::new(seed());
                let count = std::env::var("RINGFORGE_AIRS").ok().and_then(|count| count.parse().ok()).unwrap_or(34);
                for i in 0..count {
                    let log_n = 1 + random.below(5);
                    let degree = 1 + random.below(8);
                    let air = AnyAir::random(&mut random, degree, log_n);
                    let values = (0..air.width << log_n).map(|_| F::from_u64(random.bits())).collect();
                    let trace = RowMajorMatrix::new(values, air.width);
                    let public: Vec<F> = (0..air.publics).map(|_| F::from_u64(random.bits())).collect();
                    let sizes = [log_n, 1 + random.below(3), 0, 1 + random.below(2)];
                    let holds = air.constraints.is_empty().then_some(true);
                    agrees(on(Target::Cpu).as_ref(), &air, &trace, &public, sizes, holds);
                    if i % 3 == 0 {
                        agrees(on(Target::Cuda).as_ref(), &air, &trace, &public, sizes, holds);
                    }
                }
            }

            #[test]
            fn proofs_of_hashes_are_those_of_plonky3() {
                let mut random = Random::new(seed());
                for (target, count) in [(Target::Cpu, 1), (Target::Cuda, 50)] {
                    let inputs = (0..count).map(|_| core::array::from_fn(|_| random.bits())).collect();
                    let trace = p3_keccak_air::generate_trace_rows::<F>(inputs, 0);
                    agrees(on(target).as_ref(), &KeccakAir {}, &trace, &[], [0, 1, 0, 1], Some(true));
                }
                let mut element = || F::from_u64(random.bits());
                let mut rounds = || core::array::from_fn(|_| core::array::from_fn(|_| element()));
                let (first, last) = (rounds(), rounds());
                let constants: RoundConstants<F, $width, 4, $internal> =
                    RoundConstants::new(first, core::array::from_fn(|_| element()), last);
                for (target, count) in [(Target::Cpu, 4), (Target::Cuda, 64)] {
                    let inputs: Vec<[F; $width]> = (0..count).map(|_| core::array::from_fn(|_| element())).collect();
                    let trace = generate_trace_rows::<F, $layers, $width, $sbox, $registers, 4, $internal>(
                        inputs, &constants, 0,
                    );
                    let air =
                        Poseidon2Air::<F, $layers, $width, $sbox, $registers, 4, $internal>::new(constants.clone());
                    agrees(on(target).as_ref(), &air, &trace, &[], [0, 1, 0, 1], Some(true));
                }
            }

            /// Proves 2^22 rows of 400 columns with a blow-up factor of 8 in 24 GiB, and prints the times.
            #[test]
            #[ignore = "takes nearly all memory of a GPU of 80 GiB or more"]
            fn large_extensions_are_made_again() {
                let (log_n, log_blowup, most) = (22, 3, 24usize << 30);
                // the other fields have no domain of this size, or twice as long words
                if stringify!($name) != "baby_bear" {
                    return;
                }
                let Some(device) = Target::Cuda.device() else { return };
                let (engine, mut random) = (Engine::on(device), Random::new(seed()));
                let hash = random_hash(&mut random);
                let config = config(&engine, &hash, 0, [log_blowup, 0, 1]);
                let air = testkit::Sequences { columns: 400 };
                let stream = engine.device().stream().expect("a stream");
                let trace = air.trace::<F>(1 << log_n);
                let trace = ringforge_plonky3::resident::Matrix::upload(&engine, &stream, &trace).expect("a trace");
                let trace = trace.into_columns(&stream).expect("a trace");
                let bytes = trace.elements().len();
                let trace = Trace::resident(&trace, F::ONE);
                let mut prover = Prover::new(&engine, &config, &air).expect("a prover").compiled().expect("kernels");
                let memory = prover.memory(trace).expect("a size");
                println!("told in MiB beside the trace: {} kept, {} made again", memory.kept >> 20, memory.again >> 20);
                assert!(memory.again + bytes <= most);
                let mut proofs = Vec::new();
                let mut held = Vec::new();
                for (limit, told) in [(usize::MAX, memory.kept), (most - bytes, memory.again)] {
                    prover = prover.within(limit);
                    engine.trim();
                    // other buffers hold what is above the limit
                    while limit < usize::MAX
                        && let Ok(buffer) = engine.device().buffer(1 << 30)
                    {
                        held.push(buffer);
                    }
                    held.truncate(held.len().saturating_sub(limit.checked_shr(30).unwrap_or(0)));
                    engine.trim();
                    for i in 0..4 {
                        let backend = engine.device().backend();
                        let before = (backend.peak_bytes(), backend.peak_bytes()).1;
                        let start = std::time::Instant::now();
                        let (proof, phases) = prover.prove_timed(trace, &[]).expect("a proof");
                        println!("{:?} {phases:?}", start.elapsed());
                        let used = backend.peak_bytes() - before;
                        // the first proof makes tables
                        assert!(i == 0 || used <= told && used >= told / 20 * 19, "{used} bytes of {told}");
                        p3_uni_stark::verify(&config, &air, &proof, &[]).expect("a proof that is accepted");
                        proofs.push(postcard::to_allocvec(&proof).expect("bytes"));
                    }
                }
                assert!(proofs.windows(2).all(|pair| pair[0] == pair[1]));
            }

            #[test]
            fn many_proofs_of_a_trace_are_one() {
                let mut random = Random::new(seed());
                let hash = random_hash(&mut random);
                for device in ringforge_testkit::devices() {
                    let engine = Engine::on(device);
                    let config = config(&engine, &hash, 0, [1, 0, 1]);
                    let air = testkit::Sequences { columns: 4 };
                    let trace = air.trace::<F>(1 << 6);
                    let prover = Prover::new(&engine, &config, &air).expect("a prover");
                    let proof = || {
                        let rows = Trace::rows(&trace.values, trace.width, F::ONE);
                        postcard::to_allocvec(&prover.prove(rows, &[]).expect("a proof")).expect("bytes")
                    };
                    let first = proof();
                    std::thread::scope(|scope| {
                        for _ in 0..4 {
                            scope.spawn(|| assert!((0..25).all(|_| proof() == first)));
                        }
                    });
                }
            }
        }
    };
}

field!(baby_bear, BabyBear, GenericPoseidon2LinearLayersBabyBear, 4, [16, 8], 13, 7, 1);
field!(koala_bear, KoalaBear, GenericPoseidon2LinearLayersKoalaBear, 4, [16, 8], 20, 3, 0);
field!(goldilocks, Goldilocks, GenericPoseidon2LinearLayersGoldilocks, 2, [8, 4], 22, 7, 1);

#[test]
fn proofs_of_blake3_are_those_of_plonky3() {
    let mut random = Random::new(seed());
    for (target, count) in [(Target::Cpu, 2), (Target::Cuda, 64)] {
        let inputs = (0..count).map(|_| core::array::from_fn(|_| random.bits() as u32)).collect();
        let trace = p3_blake3_air::generate_trace_rows::<KoalaBear>(inputs, 0);
        koala_bear::agrees(on(target).as_ref(), &Blake3Air {}, &trace, &[], [0, 1, 0, 1], Some(true));
    }
}
