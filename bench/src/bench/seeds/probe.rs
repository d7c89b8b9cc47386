//! One program, measured: its time, each of its launches, what it takes of the GPU's memory and power.

use std::thread;
use std::time::Duration;

use anyhow::Result;
use ringforge::testkit::Named;
use ringforge::{Buffer, Plan, Program};
use serde::Serialize;

use super::Seeds;
use crate::environment;
use crate::measure::{self, Times};
use crate::work::{Inputs, Work};

/// How long a GPU works before its power is read, which the driver averages over a second.
const LOADED: Duration = Duration::from_millis(1500);
/// Runs that are started before they are waited for, to keep a GPU busy.
const LOAD_RUNS: usize = 64;
/// Sets of buffers on a CPU, whose runs take long.
const CPU_SETS: usize = 2;
/// Runs whose launches are timed.
const TIMED_RUNS: usize = 7;

/// How much is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ask {
    /// Times, memory and results.
    Times,
    /// Each launch as well.
    Launches,
    /// And the power, which takes seconds.
    Power,
}

/// What a program was measured to take.
#[derive(Debug)]
pub(super) struct Probe {
    pub(super) times: Times,
    /// One of each step.
    pub(super) launches: Vec<Launch>,
    /// The GPU's memory for one run: arguments, tables and temporaries.
    pub(super) memory_bytes: Option<usize>,
    pub(super) watts: Option<f64>,
    /// What the last run left in each argument that it writes.
    pub(super) results: Named,
}

/// One launch of a kernel.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Launch {
    pub(super) kernel: &'static str,
    pub(super) median_seconds: f64,
    /// Share of all launches' time.
    pub(super) percent_of_time: f64,
    /// On a GPU.
    #[serde(flatten)]
    pub(super) resources: Option<Resources>,
}

/// What a kernel takes of a multiprocessor.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Resources {
    /// Of a block.
    pub(super) threads: u32,
    /// Of a thread.
    pub(super) registers: u32,
    /// Of a thread: stack and spilled registers.
    pub(super) local_bytes: u32,
    /// Of a block.
    pub(super) static_shared_bytes: u32,
    pub(super) dynamic_shared_bytes: u32,
    pub(super) blocks_per_multiprocessor: u32,
    /// Theoretical.
    pub(super) occupancy_percent: f64,
}

/// Measures runs of a plan on these inputs.
pub(super) fn probe(seeds: &Seeds, plan: &Plan, batch: usize, inputs: &Inputs<'_>, ask: Ask) -> Result<Probe> {
    let device = &seeds.bench.device;
    device.trim();
    let work = Work::of_plan(device, plan)?;
    let mut sets = vec![work.buffers(batch, inputs)?];
    work.start(batch, &mut sets[0])?;
    work.stream.synchronize()?;
    let memory_bytes = device.held_bytes();
    let most = if seeds.is_cpu() { CPU_SETS } else { usize::MAX };
    for _ in 1..measure::sets(&work, batch).min(most) {
        sets.push(work.buffers(batch, inputs)?);
    }
    let times = measure::measure(&work, batch, &mut sets, seeds.bench.effort)?;
    let launches = if ask >= Ask::Launches { launches(&work, batch, &mut sets)? } else { Vec::new() };
    let watts = if ask == Ask::Power && seeds.reads_power { watts(&work, batch, &mut sets)? } else { None };
    let results = sets.last().map(|buffers| work.results(buffers)).transpose()?.unwrap_or_default();
    Ok(Probe { times, launches, memory_bytes, watts, results })
}

/// Median times of each launch.
fn launches(work: &Work, batch: usize, sets: &mut [Vec<Buffer>]) -> Result<Vec<Launch>> {
    let kernels = work.program.plan().kernels();
    let mut seconds = vec![Vec::new(); kernels.len()];
    for run in 0..TIMED_RUNS {
        let set = run % sets.len();
        // an earlier run keeps the device busy until all launches are made
        work.start(batch, &mut sets[set])?;
        let taken = work.steps(batch, &mut sets[set])?;
        seconds.iter_mut().zip(taken).for_each(|(seconds, taken)| seconds.push(taken));
    }
    let medians: Vec<f64> =
        seconds.into_iter().map(|seconds| Times::of(seconds, 1, sets.len()).median_seconds).collect();
    let total: f64 = medians.iter().sum();
    let mut resources = resources(&work.program)?.into_iter();
    let launches = kernels.zip(medians).map(|(kernel, median_seconds)| Launch {
        kernel: kernel.name(),
        median_seconds,
        percent_of_time: 100.0 * median_seconds / total,
        resources: resources.next(),
    });
    Ok(launches.collect())
}

#[cfg(feature = "cuda")]
fn resources(program: &Program) -> Result<Vec<Resources>> {
    let of = |kernel: ringforge::cuda::Occupancy| Resources {
        threads: kernel.launch.threads,
        registers: kernel.registers,
        local_bytes: kernel.local_bytes,
        static_shared_bytes: kernel.static_shared_bytes,
        dynamic_shared_bytes: kernel.launch.shared_bytes,
        blocks_per_multiprocessor: kernel.blocks_per_multiprocessor,
        occupancy_percent: 100.0 * kernel.share(),
    };
    Ok(program.occupancy()?.into_iter().map(of).collect())
}

#[cfg(not(feature = "cuda"))]
fn resources(_: &Program) -> Result<Vec<Resources>> {
    Ok(Vec::new())
}

/// Watts that the GPU draws while it does nothing but this.
fn watts(work: &Work, batch: usize, sets: &mut [Vec<Buffer>]) -> Result<Option<f64>> {
    thread::scope(|scope| {
        let reading = scope.spawn(|| {
            thread::sleep(LOADED);
            environment::gpu_watts()
        });
        while !reading.is_finished() {
            for run in 0..LOAD_RUNS {
                let set = run % sets.len();
                work.start(batch, &mut sets[set])?;
            }
            work.stream.synchronize()?;
        }
        // a reading that failed is none
        Ok(reading.join().ok().flatten())
    })
}
