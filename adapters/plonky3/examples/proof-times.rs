//! Times whole proofs of `p3-uni-stark` over KoalaBear in five ways: by Plonky3's own prover, with `Dft`, with `Dft`
//! and `Mmcs`, with `Pcs`, and by `stark::Prover`, which keeps all data on the device. Its first proof, and those with
//! interpreted constraints, have lines of their own.
//!
//! ```sh
//! cargo run --release -p ringforge-plonky3 --example proof-times -- 20 64 16
//! cargo run --release -p ringforge-plonky3 --example proof-times -- 17 keccak 16
//! ```
//!
//! Set `RUSTFLAGS="-C target-cpu=native"`, because Plonky3 chooses its vector instructions at compile time.
//!
//! The arguments are log2 of the number of rows of the trace, its number of columns, and the bits of proof of work.
//! Each pair of columns is a Fibonacci sequence. With `keccak` instead of a number of columns, the trace is that of
//! Keccak permutations. The defaults are small. Every proof is verified, and a time is the median of three.
//!
//! A fourth argument is log2 of the blow-up factor. With it, only `stark::Prover` runs. It also makes extensions again, to
//! save memory, and the lines end with the memory that `Prover::memory` tells and that a GPU holds after a proof. A fifth
//! argument is the number of GPUs, a power of two. Several make no extension again, and the trace is on the first one:
//!
//! ```sh
//! cargo run --release -p ringforge-plonky3 --example proof-times -- 22 400 16 1 2
//! ```

use std::error::Error;
use std::time::Instant;

use p3_challenger::DuplexChallenger;
use p3_commit::ExtensionMmcs;
use p3_dft::Radix2DitParallel;
use p3_field::PrimeCharacteristicRing;
use p3_field::extension::BinomialExtensionField;
use p3_fri::{FriParameters, TwoAdicFriPcs};
use p3_keccak_air::{KeccakAir, generate_trace_rows};
use p3_koala_bear::KoalaBear;
use p3_matrix::Matrix as _;
use p3_uni_stark::{StarkConfig, prove, verify};
use ringforge::Device;
use ringforge_plonky3::resident::{Matrix, Trace};
use ringforge_plonky3::stark::Prover;
use ringforge_plonky3::testkit::{self, Sequences};
use ringforge_plonky3::{Dft, Engine, HashField, Mmcs, Pcs};
use ringforge_testkit::Random;

type F = KoalaBear;
type Challenge = BinomialExtensionField<F, 4>;
type Challenger = DuplexChallenger<F, <F as HashField>::Permutation, 16, 8>;
type Stock = <F as HashField>::Binary;

const RUNS: usize = 3;

/// FRI parameters with 100 queries.
fn parameters<M>(mmcs: M, work: usize, log_blowup: usize) -> FriParameters<M> {
    FriParameters { query_proof_of_work_bits: work, log_blowup, ..FriParameters::new_benchmark(mmcs) }
}

/// Makes and verifies `RUNS` proofs with a commitment scheme, and prints the median proving time.
macro_rules! time {
    ($what:literal, $pcs:expr, $challenger:expr, $air:expr, $trace:expr) => {{
        let config = StarkConfig::<_, Challenge, _>::new($pcs, $challenger);
        let mut times = Vec::new();
        for _ in 0..RUNS {
            let trace = $trace.clone();
            let start = Instant::now();
            let proof = prove(&config, $air, trace, &[]).map_err(|e| format!("{e:?}"))?;
            times.push(start.elapsed());
            verify(&config, $air, &proof, &[]).map_err(|e| format!("{e:?}"))?;
        }
        times.sort();
        println!("{:>14}: {:7.1} ms", $what, times[RUNS / 2].as_secs_f64() * 1e3);
    }};
}

/// Times proofs of a trace in each way.
macro_rules! time_all {
    ($air:expr, $trace:expr, $work:expr, $log_blowup:expr, $devices:expr) => {{
        let (air, trace, engine) = (&$air, $trace, engine($devices)?);
        println!("{} rows of {} on {engine:?}", trace.height(), trace.width);
        let hash = testkit::random::<F, 16>(&mut Random::new(1), 20)?;
        let challenger = || Challenger::new(hash.permutation().clone());

        let (dft, mmcs) = (Dft::on(&engine), Mmcs::new(&hash, 0).on(&engine));
        let log_blowup = $log_blowup.unwrap_or(1);
        let fri = || parameters(ExtensionMmcs::<F, Challenge, _>::new(mmcs.clone()), $work, log_blowup);
        if $log_blowup.is_none() {
            let mmcs_of_plonky3: Stock = F::binary(hash.permutation(), 0);
            let of_plonky3 = || parameters(ExtensionMmcs::<F, Challenge, _>::new(mmcs_of_plonky3.clone()), $work, 1);
            let stock = Radix2DitParallel::default();
            time!("stock", TwoAdicFriPcs::new(stock, mmcs_of_plonky3.clone(), of_plonky3()), challenger(), air, trace);
            let pcs = TwoAdicFriPcs::new(dft.clone(), mmcs_of_plonky3.clone(), of_plonky3());
            time!("Dft", pcs, challenger(), air, trace);
            time!("Dft and Mmcs", TwoAdicFriPcs::new(dft.clone(), mmcs.clone(), fri()), challenger(), air, trace);
            time!("Pcs", Pcs::new(dft.clone(), mmcs.clone(), fri()), challenger(), air, trace);
        }

        let config = StarkConfig::<_, Challenge, _>::new(Pcs::new(dft, mmcs.clone(), fri()), challenger());
        let stream = engine.device().stream()?;
        let resident = Matrix::upload(&engine, &stream, &trace)?.into_columns(&stream)?;
        let seconds = |what, start: Instant| println!("{what:>14}: {:7.1} ms", start.elapsed().as_secs_f64() * 1e3);
        let start = Instant::now();
        let prover = Prover::new(&engine, &config, air)?;
        seconds("Prover::new", start);
        let (rows, resident) = (Trace::rows(&trace.values, trace.width, F::ONE), Trace::resident(&resident, F::ONE));
        let start = Instant::now();
        let first = prover.prove(resident, &[])?;
        seconds("first proof", start);
        verify(&config, air, &first, &[]).map_err(|e| format!("{e:?}"))?;
        let prover = prover.compiled()?;
        seconds("compiled after", start);
        let interpreter = Prover::new(&engine, &config, air)?.interpreted();
        let memory = prover.memory(resident)?;
        let saving = Prover::new(&engine, &config, air)?.compiled()?.within(memory.again);
        let ways = [
            ("from the host", &prover, rows, prover.memory(rows)?.kept),
            ("on the device", &prover, resident, memory.kept),
            ("interpreted", &interpreter, resident, memory.kept),
            ("made again", &saving, resident, memory.again),
        ];
        for (what, prover, trace, told) in ways {
            engine.trim();
            let held = engine.device().held_bytes();
            let mut times = Vec::new();
            for _ in 0..2 * RUNS + 1 {
                let start = Instant::now();
                let (proof, phases) = prover.prove_timed(trace, &[])?;
                times.push((start.elapsed(), phases));
                verify(&config, air, &proof, &[]).map_err(|e| format!("{e:?}"))?;
            }
            times.sort_by_key(|(time, _)| *time);
            let (time, phases) = times[times.len() / 2];
            let used = engine.device().held_bytes().zip(held).map_or(0, |(after, before)| after - before);
            let mebibytes = [told, used].map(|bytes| bytes >> 20);
            println!("{what:>14}: {:7.1} ms {phases:?}, {mebibytes:?} MiB told and used", time.as_secs_f64() * 1e3);
        }
    }};
}

/// An engine on this many GPUs, or on as many CPU devices where there is no GPU.
fn engine(devices: usize) -> ringforge::Result<Engine> {
    if devices == 1 {
        return Ok(Engine::best());
    }
    let device = |i| if Device::cuda(0).is_ok() { Device::cuda(i) } else { Ok(Device::cpu()) };
    Engine::group(&(0..devices).map(device).collect::<ringforge::Result<Vec<_>>>()?)
}

/// Trace rows per Keccak permutation.
const ROUNDS: usize = 24;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let ([log_rows, columns, work], rest) = match &arguments[..] {
        [log_rows, columns, work, rest @ ..] => ([log_rows, columns, work].map(String::as_str), rest),
        _ => (["8", "4", "0"], &[][..]),
    };
    let log_blowup: Option<usize> = rest.first().map(|bits| bits.parse()).transpose()?;
    let devices: usize = rest.get(1).map_or(Ok(1), |count| count.parse())?;
    let (log_rows, work): (u32, usize) = (log_rows.parse()?, work.parse()?);
    if log_rows > 24 {
        return Err("the logarithm of the number of rows must be at most 24".into());
    }
    if columns == "keccak" {
        let mut random = Random::new(1);
        let inputs = (0..(1usize << log_rows) / ROUNDS).map(|_| core::array::from_fn(|_| random.bits())).collect();
        time_all!(KeccakAir {}, generate_trace_rows::<F>(inputs, 0), work, log_blowup, devices);
        return Ok(());
    }
    let columns = columns.parse()?;
    if columns % 2 > 0 {
        return Err("the number of columns must be even".into());
    }
    let air = Sequences { columns };
    let trace = air.trace(1 << log_rows);
    time_all!(air, trace, work, log_blowup, devices);
    Ok(())
}
