//! Whole STARK proofs of `p3-uni-stark` and `p3-batch-stark` over KoalaBear, on the device and by Plonky3's own provers.

mod tables;

use std::time::Instant;

use anyhow::{Result, anyhow};
use p3_air::Air;
use p3_air::symbolic::SymbolicAirBuilder;
use p3_challenger::DuplexChallenger;
use p3_commit::ExtensionMmcs;
use p3_dft::Radix2DitParallel;
use p3_field::PrimeCharacteristicRing;
use p3_field::extension::BinomialExtensionField;
use p3_fri::{FriParameters, TwoAdicFriPcs};
use p3_keccak_air::{KeccakAir, generate_trace_rows};
use p3_koala_bear::KoalaBear;
use p3_matrix::Matrix as _;
use p3_matrix::dense::RowMajorMatrix;
use p3_uni_stark::{Proof, QuotientAir, StarkConfig, VerifierConstraintFolder, prove, verify};
use ringforge::{Device, Engine};
use ringforge_plonky3::resident::{Matrix, Pinned, Trace};
use ringforge_plonky3::stark::Prover;
use ringforge_plonky3::testkit::{self, Sequences};
use ringforge_plonky3::{Dft, HashField, Mmcs, Pcs};
use ringforge_testkit::Random;

use ringforge_cli::measure::{self, Times};
use ringforge_cli::record::{Measurement, Memory};
use ringforge_cli::session::Bench;
use ringforge_cli::suite::{Case, Figure, Scope, Suite};

pub(crate) static SUITE: Suite = Suite {
    name: "proofs",
    title: "STARK proofs",
    about: "Whole proofs of Plonky3's uni-stark and batch-stark over KoalaBear with its extension of degree 4. A proof begins with a \
            trace in device memory or in host memory, and ends when the proof is on the host. The blow-up factor is 2, and \
            there are 100 queries and 16 bits of proof of work. Plonky3's own prover runs beside, with the vector \
            instructions that the command is compiled for. By the host's clock.",
    figure: Figure::Item,
    headline: Some(("KoalaBear 2^20 x 64", "trace on the device")),
    cases,
    ..Suite::NONE
};

type F = KoalaBear;
type Challenge = BinomialExtensionField<F, 4>;
type Challenger = DuplexChallenger<F, <F as HashField>::Permutation, 16, 8>;
type Stock = <F as HashField>::Binary;
type StockMmcs = ExtensionMmcs<F, Challenge, Stock>;
type StockConfig = StarkConfig<TwoAdicFriPcs<F, Radix2DitParallel<F>, Stock, StockMmcs>, Challenge, Challenger>;
type OwnMmcs = ExtensionMmcs<F, Challenge, Mmcs<F>>;
type OwnConfig = StarkConfig<Pcs<F, OwnMmcs>, Challenge, Challenger>;

pub(crate) const ON_DEVICE: &str = "trace on the device";
const FROM_HOST: &str = "rows in host memory";
const FROM_PINNED: &str = "columns in page-locked memory";
const ROWS_PINNED: &str = "rows in page-locked memory";
const INTERPRETED: &str = "trace on the device, constraints interpreted";
const OPERATIONS: [&str; 5] = [ON_DEVICE, FROM_PINNED, ROWS_PINNED, FROM_HOST, INTERPRETED];

const LINE_OF_PLONKY3: &str = "Plonky3, 16 threads";

/// log2 of the rows, and the number of columns.
const SEQUENCES: &[(u32, usize)] = &[(20, 64), (20, 256), (22, 400)];
const CPU_SEQUENCES: &[(u32, usize)] = &[(8, 4)];
/// log2 of the rows of a trace of Keccak permutations.
const KECCAK: &[u32] = &[17];
const INTERNAL: usize = 20;
/// Runs of Plonky3's prover, which takes seconds, for traces of fewer elements than [`LARGE`]. Others have one.
const RUNS: usize = 3;
const LARGE: usize = 1 << 30;

fn cases(scope: &Scope) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for &(log_n, columns) in scope.either(SEQUENCES, CPU_SEQUENCES).iter().filter(|(_, c)| scope.wants(*c <= 64)) {
        let (name, log_n) = (format!("KoalaBear 2^{log_n} x {columns}"), scope.log_n(log_n));
        cases.push(Case::new(name.clone(), &OPERATIONS, move |bench, _| {
            let air = Sequences { columns };
            lines(bench, &name, &air, &air.trace(1 << log_n))
        }));
    }
    for &log_n in scope.either(KECCAK, &[]).iter().filter(|_| scope.wants(false)) {
        let name = format!("Keccak 2^{log_n}");
        cases.push(Case::new(name.clone(), &OPERATIONS, move |bench, _| {
            let mut random = Random::new(bench.seed);
            let inputs = (0..(1usize << log_n) / 24).map(|_| core::array::from_fn(|_| random.bits())).collect();
            lines(bench, &name, &KeccakAir {}, &generate_trace_rows::<F>(inputs, 0))
        }));
    }
    let heights = scope.either(&tables::HEIGHTS[..], &[8, 7, 4]);
    if scope.wants(false) {
        let name = format!("KoalaBear, {} tables of {} columns", heights.len(), tables::COLUMNS);
        cases.push(Case::new(name.clone(), &tables::OPERATIONS, move |bench, _| tables::lines(bench, &name, heights)));
    }
    Ok(cases)
}

/// Measures the proof of a trace that is on the first of some devices, by all of them and by the first one alone.
pub(crate) fn on_all(
    bench: &Bench,
    name: &str,
    (log_n, columns): (u32, usize),
    devices: &[Device],
) -> Result<Measurement> {
    let air = Sequences { columns };
    let trace = air.trace::<F>(1 << log_n);
    let (mut measured, mut right) = (Vec::new(), true);
    for devices in [&devices[..1], devices] {
        let engine = Engine::group(devices)?;
        let (_, config) = configs(bench, &engine)?;
        let prover = Prover::new(&engine, &config, &air)?.compiled()?;
        let stream = engine.device().stream()?;
        let resident = Matrix::upload(&engine, &stream, &trace)?.into_columns(&stream)?;
        let mut last: Option<Proof<OwnConfig>> = None;
        measured.push(measure::wall(bench.effort, || {
            last = Some(prover.prove(Trace::resident(&resident, F::ONE), &[])?);
            Ok(())
        })?);
        right &= last.is_some_and(|proof| verify(&config, &air, &proof, &[]).is_ok());
    }
    let [one, all] = &measured[..] else { anyhow::bail!("one device and all were measured") };
    let line = Measurement::new(name, ON_DEVICE, 1, *all).varied(format!("{} devices", devices.len()));
    Ok(line.beside("one of them", one.median_seconds).checked("Plonky3's verifier", right))
}

/// The configurations of Plonky3's provers and of this project's.
fn configs(bench: &Bench, engine: &Engine) -> Result<(StockConfig, OwnConfig)> {
    let hash = testkit::random::<F, 16>(&mut Random::new(bench.seed), INTERNAL)?;
    let challenger = || Challenger::new(hash.permutation().clone());
    let mmcs: Stock = F::binary(hash.permutation(), 0);
    let fri = FriParameters::new_benchmark(StockMmcs::new(mmcs.clone()));
    let stock = StockConfig::new(TwoAdicFriPcs::new(Radix2DitParallel::default(), mmcs, fri), challenger());
    let mmcs = Mmcs::new(&hash, 0).on(engine);
    let fri = FriParameters::new_benchmark(OwnMmcs::new(mmcs.clone()));
    Ok((stock, OwnConfig::new(Pcs::new(Dft::on(engine), mmcs, fri), challenger())))
}

fn lines<A>(bench: &Bench, name: &str, air: &A, trace: &RowMajorMatrix<F>) -> Result<Vec<Measurement>>
where
    A: QuotientAir<StockConfig>
        + Air<SymbolicAirBuilder<F, Challenge>>
        + for<'a> Air<VerifierConstraintFolder<'a, StockConfig>>
        + for<'a> Air<VerifierConstraintFolder<'a, OwnConfig>>
        + for<'a> Air<p3_air::DebugConstraintBuilder<'a, F>>,
{
    let engine = Engine::on(bench.device.clone());
    let (stock, config) = configs(bench, &engine)?;
    let mut seconds = Vec::new();
    for _ in 0..if bench.effort.samples == 0 || trace.values.len() >= LARGE { 1 } else { RUNS } {
        let trace = trace.clone();
        let start = Instant::now();
        prove(&stock, air, trace, &[]).map_err(|error| anyhow!("{error:?}"))?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    let of_plonky3 = Times::of(seconds, 1, 1).median_seconds;

    let prover = Prover::new(&engine, &config, air)?.compiled()?;
    let interpreter = Prover::new(&engine, &config, air)?.interpreted();
    let stream = bench.device.stream()?;
    let resident = Matrix::upload(&engine, &stream, trace)?.into_columns(&stream)?;
    let pinned = |values: &[F]| {
        let mut pinned = Pinned::new(&bench.device, values.len())?;
        pinned.copy_from_slice(values);
        Ok::<_, ringforge::Error>(pinned)
    };
    let (columns, rows) = (pinned(&trace.transpose().values)?, pinned(&trace.values)?);
    let resident = Trace::resident(&resident, F::ONE);
    let traces = [
        (&prover, resident, Memory::Device),
        (&prover, Trace::columns(&columns, trace.height(), F::ONE), Memory::Pinned),
        (&prover, Trace::rows(&rows, trace.width, F::ONE), Memory::Pinned),
        (&prover, Trace::rows(&trace.values, trace.width, F::ONE), Memory::Pageable),
        (&interpreter, resident, Memory::Device),
    ];
    let mut lines = Vec::new();
    for (operation, (prover, trace, memory)) in OPERATIONS.into_iter().zip(traces) {
        let mut last: Option<Proof<OwnConfig>> = None;
        let times = measure::wall(bench.effort, || {
            last = Some(prover.prove(trace, &[])?);
            Ok(())
        })?;
        let right = last.is_some_and(|proof| verify(&config, air, &proof, &[]).is_ok());
        let line = Measurement { memory, ..Measurement::new(name, operation, 1, times) };
        lines.push(line.beside(LINE_OF_PLONKY3, of_plonky3).checked("Plonky3's verifier", right));
    }
    Ok(lines)
}
