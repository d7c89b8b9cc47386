//! `ringforge bench rates`: what the pipes of a GPU do at best, each alone, as a record from which floors come.
//!
//! Every block's output is what the operation means, compared on the CPU for the first and the last blocks.

use core::ops::Range;

use anyhow::{Result, ensure};
use ringforge::kernels::{Args, Built, Kernel, Launch, Port, Source};
use ringforge::testkit::Random;
use ringforge::{Device, Error, Limits, Pipeline, Plan, Planner};

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
/// Chains of a thread, and steps of a chain.
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
    Logic,
}

impl Operation {
    /// Each with its name, what is counted, and how many of these a thread does in a step.
    const ALL: [(Self, &str, &str, usize); 2] = [
        (Self::Multiply, "multiply", "multiply-adds of 32 bits (IMAD)", 1),
        (Self::Logic, "logic", "rotations and exclusive ors of 32 bits", 2),
    ];

    /// What a step makes of a word.
    fn step(self, x: u32, a: u32) -> u32 {
        match self {
            Self::Multiply => x.wrapping_mul(a).wrapping_add(a),
            Self::Logic => x.rotate_left(1) ^ a,
        }
    }

    /// What the threads of a block with these seeds leave.
    fn run(self, seeds: &[u32], out: &mut [u64]) {
        for (seed, out) in seeds.iter().zip(out) {
            let end = |chain| (0..STEPS).fold(seed.wrapping_add(chain), |x, _| self.step(x, seeds[0]));
            *out = (0..CHAINS as u32).map(|chain| u64::from(end(chain))).sum();
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
    fn source(&self, _: &Limits) -> ringforge::Result<Source> {
        let Self(operation) = self;
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
    let case = |(operation, name, unit, count)| {
        Case::of_batches(name, unit, vec![1], move |bench, _| {
            let work = Work::of_plan(&bench.device, &plan(operation)?)?;
            let batch = BLOCKS * bench.device.limits().multiprocessors as usize;
            let mut random = Random::new(bench.seed);
            let seeds: Vec<u8> = (0..batch * THREADS).flat_map(|_| (random.bits() as u32).to_le_bytes()).collect();
            let mut sets = [work.buffers(batch, &[("seeds", &seeds)])?];
            let times = measure::measure(&work, batch, &mut sets, bench.effort)?;
            let right = is_right(operation, batch, &seeds, &work.result(&sets[0])?)?;
            let line = Measurement::new(name, unit, batch * THREADS * CHAINS * STEPS * count, times);
            Ok(line.checked("the first and the last blocks with the CPU's", right))
        })
    };
    Ok(Operation::ALL.map(case).into())
}

fn plan(operation: Operation) -> Result<Plan> {
    let p = Pipeline::new(format!("chains of {operation:?}"), &Planner::default());
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
            for (operation, ..) in Operation::ALL {
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
        for (operation, ..) in Operation::ALL {
            for capability in [80, 90, 120] {
                let resources =
                    ringforge::cuda::compile_check(&Chains(operation), &Limits::of_capability(capability), false);
                assert!(resources.is_ok_and(|resources| resources.spill_stores == 0), "{operation:?} sm_{capability}");
            }
        }
    }
}
