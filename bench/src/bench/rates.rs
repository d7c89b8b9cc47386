//! `ringforge bench rates`: what the pipes of a GPU do at best, each alone, as a record from which floors come.
//!
//! Every block's output is what the operation means, compared on the CPU for the first and the last blocks.

use core::ops::Range;

use anyhow::{Result, ensure};
use ringforge::kernels::{Args, Built, Kernel, Launch, Port, Source};
use ringforge::testkit::Random;
use ringforge::{Device, Error, Limits, Pipeline, Plan, Planner};

use super::Bench;
use super::suites::{Case, Kind, Scope, Suite};
use crate::measure;
use crate::record::Measurement;
use crate::work::Work;

pub(super) static SUITE: Suite = Suite {
    name: "rates",
    kind: Kind::Rates,
    title: "What a GPU's pipes do at best",
    about: "Operations of one pipe in dependent chains, with enough threads to fill the chip: an item is one operation of a \
            lane. Floors are made from the rates of multiply and logic.",
    cases,
    ..Suite::NONE
};

/// Threads of a block, which is an item.
const THREADS: usize = 256;
/// Chains of a thread, and steps of a chain: no multiple of 32, so that shuffles end elsewhere than where they began.
const CHAINS: usize = 8;
const STEPS: usize = 1000;
/// Steps between two looks at the counter of the loop.
const UNROLLED: usize = 8;
/// Blocks for each multiprocessor: as many as it can hold, sixteen times.
const BLOCKS: usize = 8 * 16;
/// Blocks at either end that are compared with the CPU.
const COMPARED: usize = 2;

/// An operation of one pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Multiply,
    WideMultiply,
    Logic,
    Double,
    Shuffle,
    Tensor,
}

impl Operation {
    const ALL: [Self; 6] = [Self::Multiply, Self::WideMultiply, Self::Logic, Self::Double, Self::Shuffle, Self::Tensor];

    fn name(self) -> &'static str {
        match self {
            Self::Multiply => "multiply",
            Self::WideMultiply => "wide_multiply",
            Self::Logic => "logic",
            Self::Double => "double",
            Self::Shuffle => "shuffle",
            Self::Tensor => "tensor",
        }
    }

    /// What is counted.
    fn unit(self) -> &'static str {
        match self {
            Self::Multiply => "multiply-adds of 32 bits (IMAD)",
            Self::WideMultiply => "32 × 32 + 64 bits (IMAD.WIDE)",
            Self::Logic => "rotations and exclusive ors of 32 bits",
            Self::Double => "multiply-adds of doubles (DFMA)",
            Self::Shuffle => "words of 32 bits from another lane (SHFL)",
            Self::Tensor => "multiply-adds of 8 bits (mma m16n8k32)",
        }
    }

    /// How many of these a thread does in a step.
    fn count(self) -> usize {
        match self {
            Self::Logic => 2,
            Self::Tensor => 16 * 8 * 32 / 32,
            _ => 1,
        }
    }

    /// What the threads of a block with these seeds leave.
    fn run(self, seeds: &[u32], out: &mut [u64]) {
        let a = seeds[0];
        let chains = |thread: usize| (0..CHAINS as u32).map(move |chain| seeds[thread].wrapping_add(chain));
        let words = |x: u32, step: &dyn Fn(u32) -> u32| u64::from((0..STEPS).fold(x, |x, _| step(x)));
        for (thread, out) in out.iter_mut().enumerate() {
            let end = |x: u32| match self {
                Self::Multiply => words(x, &|x| x.wrapping_mul(a).wrapping_add(a)),
                Self::WideMultiply => {
                    let start = u64::from(a) << 32 | u64::from(x);
                    (0..STEPS).fold(start, |x, _| (x & u64::from(u32::MAX)).wrapping_mul(x >> 32).wrapping_add(x))
                }
                Self::Logic => words(x, &|x| x.rotate_left(1) ^ a),
                Self::Double => {
                    let f = f64::from(a & 255).mul_add(1.0 / 1024.0, 0.5);
                    (0..STEPS).fold(f64::from(x), |x, _| x.mul_add(f, 1.0)).to_bits()
                }
                Self::Shuffle => {
                    let lane = (thread + a as usize * STEPS) % 32;
                    u64::from(seeds[thread / 32 * 32 + lane].wrapping_add(x.wrapping_sub(seeds[thread])))
                }
                Self::Tensor => {
                    let squares: u32 =
                        a.to_le_bytes().map(|byte| u32::from(byte.cast_signed().unsigned_abs()).pow(2)).iter().sum();
                    4 * u64::from(x.wrapping_add((8 * squares).wrapping_mul(STEPS as u32)))
                }
            };
            *out = chains(thread).map(end).fold(0, u64::wrapping_add);
        }
    }
}

/// Chains of an operation in every thread of a block.
#[derive(Debug)]
struct Chains(Operation);

impl Kernel for Chains {
    fn name(&self) -> &'static str {
        "rates"
    }

    fn ports(&self) -> &[Port] {
        const PORTS: &[Port] = &[Port::input(THREADS * 4), Port::output(THREADS * 8)];
        PORTS
    }

    #[allow(unsafe_code)]
    fn source(&self, limits: &Limits) -> ringforge::Result<Source> {
        let Self(operation) = self;
        if *operation == Operation::Tensor && limits.capability < 80 {
            let why = format!("{} has no such tensor cores", limits.name);
            return Err(Error::Unsupported { job: operation.unit().into(), why });
        }
        let launch = Launch { threads: THREADS as u32, items_per_block: 1, blocks_per_item: 1, shared_bytes: 0 };
        let prelude = format!(
            "#pragma once\n\
             constexpr unsigned THREADS = {THREADS}, CHAINS = {CHAINS}, STEPS = {STEPS}, UNROLLED = {UNROLLED};\n\
             using Task = struct {operation:?};\n"
        );
        let built = Built { prelude, launch };
        // SAFETY: a thread of rates.cu reads one word and writes one result, of its own item.
        Ok(unsafe { Source::new(self, include_str!("rates.cu"), &[], built) })
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> ringforge::Result<()> {
        args.each(items, |_, (seeds, out): (&[u32], &mut [u64])| {
            self.0.run(seeds, out);
            Ok(())
        })
    }
}

/// A case for each operation.
///
/// # Errors
/// [`Error::Unsupported`] on a CPU.
fn cases(scope: &Scope) -> Result<Vec<Case>> {
    if scope.cpu {
        let why = "it measures the pipes of a GPU, and this is a CPU".into();
        return Err(Error::Unsupported { job: "bench rates".into(), why }.into());
    }
    let case = |operation: Operation| {
        let run = move |bench: &Bench, _| line(operation, bench);
        Case::of_batches(operation.name(), operation.unit(), vec![1], run)
    };
    Ok(Operation::ALL.map(case).into())
}

/// Measures an operation.
fn line(operation: Operation, bench: &Bench) -> Result<Measurement> {
    let work = Work::of_plan(&bench.device, &plan(operation)?)?;
    let batch = BLOCKS * bench.device.limits().multiprocessors as usize;
    let mut random = Random::new(std::process::id().into());
    let seeds: Vec<u8> = (0..batch * THREADS).flat_map(|_| (random.bits() as u32).to_le_bytes()).collect();
    let mut sets = [work.buffers(batch, &[("seeds", &seeds)])?];
    let times = measure::measure(&work, batch, &mut sets, bench.effort)?;
    let right = is_right(operation, batch, &seeds, &work.result(&sets[0])?)?;
    let operations = batch * THREADS * CHAINS * STEPS * operation.count();
    let line = Measurement::new(operation.name(), operation.unit(), operations, times);
    Ok(line.checked("the first and the last blocks with the CPU's", right))
}

fn plan(operation: Operation) -> Result<Plan> {
    let p = Pipeline::new(format!("chains of {}", operation.name()), &Planner::default());
    let [ends] = p.step(Chains(operation), &[p.input("seeds")]);
    p.output("ends", ends);
    Ok(p.build()?)
}

/// Whether the first and the last blocks left what the operation means.
fn is_right(operation: Operation, batch: usize, seeds: &[u8], found: &[u8]) -> Result<bool> {
    ensure!(found.len() == batch * THREADS * 8 && seeds.len() == batch * THREADS * 4, "blocks are missing");
    let cpu = Work::of_plan(&Device::cpu(), &plan(operation)?)?;
    let count = COMPARED.min(batch);
    let mut right = true;
    for first in [0, batch - count] {
        let part = |bytes: usize| first * THREADS * bytes..(first + count) * THREADS * bytes;
        right &= cpu.run(count, &[("seeds", &seeds[part(4)])])? == found[part(8)];
    }
    Ok(right)
}

#[cfg(test)]
mod tests {
    use ringforge::testkit::Target;

    use super::*;

    #[test]
    fn the_text_is_what_the_operations_mean() -> Result<()> {
        let seeds: Vec<u8> =
            (0..3 * THREADS as u32).flat_map(|i| (i.wrapping_mul(0x9e37_79b9) ^ 77).to_le_bytes()).collect();
        for device in [Target::Emulator, Target::Cuda].into_iter().filter_map(Target::device) {
            for operation in Operation::ALL {
                let mut found = Work::of_plan(&device, &plan(operation)?)?.run(3, &[("seeds", &seeds)])?;
                assert!(is_right(operation, 3, &seeds, &found)?, "{operation:?} on {device}");
                found[8 * THREADS - 1] ^= 1;
                assert!(!is_right(operation, 3, &seeds, &found)?);
            }
        }
        Ok(())
    }

    #[cfg(feature = "cuda")]
    #[test]
    fn the_text_compiles() {
        let is_required = std::env::var_os("RINGFORGE_REQUIRE_NVRTC").is_some_and(|value| value == "1");
        if !ringforge::cuda::is_compiler_present() {
            assert!(!is_required, "NVRTC is not on this machine");
            return eprintln!("skipped: NVRTC is not on this machine");
        }
        for operation in Operation::ALL {
            for capability in [80, 90, 120] {
                let resources =
                    ringforge::cuda::compile_check(&Chains(operation), &Limits::of_capability(capability), false);
                println!("{operation:?} sm_{capability}: {resources:?}");
                assert!(resources.is_ok_and(|resources| resources.spill_stores == 0), "{operation:?} sm_{capability}");
            }
        }
        let old = Limits::of_capability(75);
        assert!(matches!(Chains(Operation::Tensor).source(&old), Err(Error::Unsupported { .. })));
        assert!(ringforge::cuda::compile_check(&Chains(Operation::Logic), &old, false).is_ok());
    }
}
