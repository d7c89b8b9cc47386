//! Proves the run of a machine with three tables and lookups between them. A kernel makes the traces on the device.
//!
//! ```sh
//! cargo run --release -p ringforge-plonky3 --example machine
//! ```

mod air;

use std::error::Error;

use p3_batch_stark::{ProverData, verify_batch};
use p3_challenger::DuplexChallenger;
use p3_commit::ExtensionMmcs;
use p3_field::extension::BinomialExtensionField;
use p3_field::{PrimeCharacteristicRing, PrimeField32};
use p3_fri::FriParameters;
use p3_koala_bear::{
    KOALABEAR_POSEIDON2_RC_16_EXTERNAL_FINAL, KOALABEAR_POSEIDON2_RC_16_EXTERNAL_INITIAL,
    KOALABEAR_POSEIDON2_RC_16_INTERNAL, KoalaBear,
};
use p3_poseidon2::ExternalLayerConstants;
use p3_uni_stark::StarkConfig;
use ringforge::kernels::{Built, CustomKernel, Port};
use ringforge_plonky3::resident::{Matrix, Trace};
use ringforge_plonky3::ringforge;
use ringforge_plonky3::stark::BatchProver;
use ringforge_plonky3::{Dft, Engine, HashField, Mmcs, Pcs, Poseidon2};

use self::air::Machine;

type F = KoalaBear;
type Challenge = BinomialExtensionField<F, 4>;
type Challenger = DuplexChallenger<F, <F as HashField>::Permutation, 16, 8>;

/// log2 of the steps.
const LOG_N: usize = 12;

/// A thread makes a step and the row of its product. Words are Plonky3's: Montgomery form with R = 2^32.
const STEPS: &str = r#"
#include "word.cuh"
using namespace rf;

RF_FN u32 word(u64 x) { return (u32)((x << 32) % 2130706433); }

extern "C" __global__ void machine_steps(u32* steps, u32* products, u64 first, u64 end) {
    const u64 item = first + blockIdx.x * (u64)blockDim.x + threadIdx.x;
    if (item >= end) return;
    const u64 multiplies = item & 1, x = item * 7 % 256, y = (item >> 4) * 5 % 256;
    const u64 step[5] = {multiplies, x, y, multiplies ? x * y : x + y, item};
    const u64 product[4] = {x, y, x * y, multiplies};
    for (u32 i = 0; i < 5; i++) steps[item * 5 + i] = word(step[i]);
    for (u32 i = 0; i < 4; i++) products[item * 4 + i] = word(product[i]);
}
"#;

/// A thread counts how often a byte is an operand.
const BYTES: &str = r#"
#include "word.cuh"
using namespace rf;

RF_FN u32 word(u64 x) { return (u32)((x << 32) % 2130706433); }

extern "C" __global__ void machine_bytes(const u32* steps, u32* bytes, u64 rows, u64 first, u64 end) {
    const u64 item = first + blockIdx.x * (u64)blockDim.x + threadIdx.x;
    if (item >= end) return;
    u64 used = 0;
    for (u64 row = 0; row < rows; row++) used += (steps[row * 5 + 1] == word(item)) + (steps[row * 5 + 2] == word(item));
    bytes[item] = word(used);
}
"#;

fn word(x: u64) -> u32 {
    ((x << 32) % u64::from(F::ORDER_U32)) as u32
}

/// The kernel that makes the steps and their products, one of each for every item.
#[allow(unsafe_code)]
fn steps() -> CustomKernel {
    // SAFETY: a thread writes the rows of its own item, as the ports declare.
    unsafe {
        CustomKernel::new(
            ("machine_steps", STEPS, &[]),
            [Port::output(5 * 4), Port::output(4 * 4)],
            |_| Ok(Built::thread_per_item(128)),
            |items, args| {
                args.each(items, |item, (step, product): (&mut [u32], &mut [u32])| {
                    let item = item as u64;
                    let (multiplies, x, y) = (item & 1, item * 7 % 256, (item >> 4) * 5 % 256);
                    let z = if multiplies == 1 { x * y } else { x + y };
                    step.copy_from_slice(&[multiplies, x, y, z, item].map(word));
                    product.copy_from_slice(&[x, y, x * y, multiplies].map(word));
                    Ok(())
                })
            },
        )
    }
}

/// The kernel that counts the uses of bytes in these steps, one byte for every item.
#[allow(unsafe_code)]
fn bytes(rows: usize) -> CustomKernel {
    // SAFETY: a thread reads all steps, and writes the word of its own item, as the ports declare.
    unsafe {
        CustomKernel::new(
            ("machine_bytes", BYTES, &[]),
            [Port::shared(rows * 5 * 4), Port::output(4)],
            |_| Ok(Built::thread_per_item(128)),
            |items, args| {
                args.each(items, |item, (steps, used): (&[u32], &mut u32)| {
                    let own = word(item as u64);
                    let operands = steps.chunks_exact(5).flat_map(|step| &step[1..3]);
                    *used = word(operands.filter(|operand| **operand == own).count() as u64);
                    Ok(())
                })
            },
        )
        .with_numbers([rows as u64])
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let engine = Engine::best();
    let stream = engine.device().stream()?;
    // the traces, which stay on the device
    let rows = 1usize << LOG_N;
    let p = engine.pipeline("steps and products");
    let [made, products] = p.step(steps(), &[]);
    p.output("steps", made);
    p.output("products", products);
    let (mut made, mut products) = (engine.device().buffer(rows * 5 * 4)?, engine.device().buffer(rows * 4 * 4)?);
    engine.compile(p)?.on(&stream, rows).output("steps", &mut made).output("products", &mut products).run()?;
    let p = engine.pipeline("uses of bytes");
    let [used] = p.step(bytes(rows), &[p.input("steps")]);
    p.output("used", used);
    let mut used = engine.device().buffer(256 * 4)?;
    engine.compile(p)?.on(&stream, 256).input("steps", &made).output("used", &mut used).run()?;
    let traces = [(made, 5), (products, 4), (used, 1)];
    let traces = traces.map(|(rows, width)| Matrix::<F>::of_rows(&engine, rows, width)?.into_columns(&stream));
    let traces = traces.into_iter().collect::<ringforge::Result<Vec<_>>>()?;

    let (first, last) = (KOALABEAR_POSEIDON2_RC_16_EXTERNAL_INITIAL, KOALABEAR_POSEIDON2_RC_16_EXTERNAL_FINAL);
    let external = ExternalLayerConstants::new(first.to_vec(), last.to_vec());
    let hash = Poseidon2::new(&external, &KOALABEAR_POSEIDON2_RC_16_INTERNAL)?;
    let mmcs = Mmcs::new(&hash, 0).on(&engine);
    let fri = FriParameters::new_benchmark(ExtensionMmcs::<F, Challenge, _>::new(mmcs.clone()));
    let challenger = Challenger::new(hash.permutation().clone());
    let config = StarkConfig::<_, Challenge, _>::new(Pcs::new(Dft::on(&engine), mmcs, fri), challenger);

    let airs = Machine::ALL;
    let data = ProverData::from_airs_and_degrees(&config, &airs, &[LOG_N, LOG_N, 8]);
    let data = data.map_err(|error| format!("{error:?}"))?;
    let prover = BatchProver::new(&engine, &config, &airs, &data.common)?;
    let inputs: Vec<_> = traces.iter().map(|trace| (Trace::resident(trace, F::ONE), &[][..])).collect();
    let (proof, phases) = prover.prove_timed(&inputs)?;
    let none = vec![Vec::new(); airs.len()];
    verify_batch(&config, &airs, &proof, &none, &data.common).map_err(|error| format!("{error:?}"))?;
    println!("proved and verified {rows} steps on {}: {phases:?}", engine.device());
    Ok(())
}
