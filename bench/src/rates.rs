//! `ringforge-bench bench rates`: measures the peak throughput of each execution pipe of a GPU alone. Roofline bounds
//! are computed from the record.
//!
//! The outputs of the first and the last threads are compared with the CPU's.

use core::fmt::Display;

use anyhow::Result;
use ringforge::kernels::{Built, CustomKernel, Port};
use ringforge::{Device, Error, Plan, Planner};
use ringforge_testkit::Random;

use ringforge_cli::measure;
use ringforge_cli::record::Measurement;
use ringforge_cli::session::Bench;
use ringforge_cli::suite::{Case, Scope, Suite, SuiteKind};
use ringforge_cli::work::Work;

pub(crate) static SUITE: Suite = Suite {
    name: "rates",
    kind: SuiteKind::Rates,
    title: "Peak rates of a GPU's pipes",
    about: "Dependent chains of operations of one execution pipe, with enough threads to fill the chip. An item is one \
            operation of one lane. Roofline bounds use the rates of multiply and logic.",
    cases,
    ..Suite::NONE
};

/// An operation that one execution pipe executes.
struct Operation {
    name: &'static str,
    /// Unit of the throughput.
    unit: &'static str,
    /// Number of units per thread and step.
    count: usize,
    /// CUDA expression of a step, and its CPU reference.
    text: &'static str,
    step: fn(u32, u32) -> u32,
}

static OPERATIONS: [Operation; 2] = [
    Operation {
        name: "multiply",
        unit: "multiply-adds of 32 bits (IMAD)",
        count: 1,
        text: "x * a + a",
        step: |x, a| x.wrapping_mul(a).wrapping_add(a),
    },
    Operation {
        name: "logic",
        unit: "rotations and exclusive ors of 32 bits",
        count: 2,
        text: "rf::rotate_left(x, 1) ^ a",
        step: |x, a| x.rotate_left(1) ^ a,
    },
];

/// Threads per block.
const THREADS: usize = 256;
/// Chains per thread. Steps per chain.
const CHAINS: u32 = 8;
const STEPS: usize = 1000;
/// Steps per iteration of the unrolled loop.
const UNROLLED: usize = 8;
/// Blocks per multiprocessor: sixteen times the number that is resident at once.
const BLOCKS: usize = 8 * 16;

impl Operation {
    /// A kernel that runs `CHAINS` chains of the operation in every thread.
    #[allow(unsafe_code)]
    fn kernel(&self) -> CustomKernel {
        let Self { name, text, step, .. } = *self;
        let constants: [(_, &dyn Display); 4] =
            [("threads", &THREADS), ("chains", &CHAINS), ("steps", &STEPS), ("unrolled", &UNROLLED)];
        let built = Built::thread_per_item(THREADS as u32)
            .constants("Rates", &constants)
            .lines(&format!("RF_FN rf::u32 step(rf::u32 x, rf::u32 a) {{ return {text}; }}\n"));
        // SAFETY: a thread of rates.cu reads one word and writes one result, of its own item.
        let kernel = unsafe {
            CustomKernel::new(
                ("rates", include_str!("rates.cu"), &[]),
                [Port::input(4), Port::output(8)],
                move |_| Ok(built.clone()),
                move |items, args| {
                    args.each(items, |_, (seed, out): (&u32, &mut u64)| {
                        let end = |chain| (0..STEPS).fold(seed.wrapping_add(chain), |x, _| step(x, *seed));
                        *out = (0..CHAINS).map(|chain| u64::from(end(chain))).sum();
                        Ok(())
                    })
                },
            )
        };
        kernel.described(name)
    }

    fn plan(&self) -> Result<Plan> {
        let p = Planner::default().pipeline(format!("chains of {}", self.name));
        let [ends] = p.step(self.kernel(), &[p.input("seeds")]);
        p.output("ends", ends);
        Ok(p.build()?)
    }

    fn line(&self, bench: &Bench, items: usize) -> Result<Measurement> {
        let work = Work::of_plan(&bench.device, &self.plan()?)?;
        let mut random = Random::new(bench.seed);
        let seeds: Vec<u8> = (0..items).flat_map(|_| (random.bits() as u32).to_le_bytes()).collect();
        let mut sets = [work.buffers(items, &[("seeds", &seeds)])?];
        let times = measure::measure(&work, items, &mut sets, bench.effort)?;
        let (found, cpu) = (work.result(&sets[0])?, Work::of_plan(&Device::cpu(), &self.plan()?)?);
        let mut right = true;
        for first in [0, items - THREADS] {
            let part = |bytes: usize| first * bytes..(first + THREADS) * bytes;
            right &= cpu.run(THREADS, &[("seeds", &seeds[part(4)])])? == found[part(8)];
        }
        let line = Measurement::new(self.name, self.unit, items * CHAINS as usize * STEPS * self.count, times);
        Ok(line.checked("the first and the last threads with the CPU's", right))
    }
}

/// A case for each operation.
///
/// # Errors
/// [`Error::Unsupported`] on a CPU.
fn cases(scope: &Scope) -> Result<Vec<Case>> {
    if scope.cpu {
        let why = "it measures the pipes of a GPU: use --device cuda".into();
        return Err(Error::Unsupported { job: "bench rates".into(), why }.into());
    }
    let case = |operation: &'static Operation| {
        Case::of_batches(operation.name, operation.unit, vec![1], move |bench, _| {
            operation.line(bench, BLOCKS * THREADS * bench.device.limits().multiprocessors as usize)
        })
    };
    Ok(OPERATIONS.iter().map(case).collect())
}

#[cfg(test)]
mod tests {
    use ringforge::Limits;
    use ringforge_testkit::Target;

    use super::*;

    #[test]
    fn kernels_match_the_cpu_reference() -> Result<()> {
        for device in [Target::Emulator, Target::Cuda].into_iter().filter_map(Target::device) {
            let bench = Bench { device, ..Bench::of_cpu() };
            for operation in &OPERATIONS {
                assert!(operation.line(&bench, 3 * THREADS)?.right, "{}", operation.name);
            }
        }
        Ok(())
    }

    #[cfg(feature = "cuda")]
    #[test]
    fn the_kernels_compile() {
        if ringforge::cuda::is_compiler_present() {
            for operation in &OPERATIONS {
                let found = ringforge::cuda::compile_check(&operation.kernel(), &Limits::h200(), false);
                assert!(found.is_ok_and(|resources| resources.spill_stores == 0), "{}", operation.name);
            }
        }
    }
}
