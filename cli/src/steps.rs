//! Profiles of a plan: the time of each kernel and which resource limits it.

use anyhow::Result;
use comfy_table::Table;
use ringforge::factorization::Factorization;
use ringforge::kernels::{Kernel, Role, Sharing};
use ringforge::{Buffer, Job, Limits, Op, Program};

use crate::job::with_op;
use crate::measure::Times;
use crate::record::{Measurement, Resources, Step};
use crate::roofline;
use crate::session::Bench;
use crate::show;
use crate::work::Work;

/// Number of runs in which the kernels are timed.
const TIMED_RUNS: usize = 7;
/// Minimum percentages of the peak throughput at which a kernel counts as limited by memory or by the multipliers.
const FULL_MEMORY: f64 = 70.0;
const FULL_MULTIPLIERS: f64 = 60.0;
/// Registers per multiprocessor, the same on all GPUs so far. Bytes of shared memory per block that the driver
/// reserves.
const REGISTERS: u32 = 1 << 16;
const RESERVED_SHARED: u32 = 1024;

/// The kernels of a measurement as a table.
pub(crate) fn table(line: &Measurement) -> Table {
    let headings = "kernel,time,of all,bytes,B/s,memory,multipliers,threads,registers,spills and stack,shared,resident \
                    blocks,limited by";
    let headings: Vec<&str> = headings.split(',').collect();
    let mut table = show::table(&headings, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    let total: f64 = line.steps.iter().map(|step| step.median_seconds).sum();
    for step in &line.steps {
        let of = |resource: fn(&Resources) -> String| step.resources.as_ref().map_or("–".into(), resource);
        table.add_row([
            format!("{}\n{}", step.kernel, step.about),
            show::time(step.median_seconds),
            format!("{:.0} %", 100.0 * step.median_seconds / total),
            show::short(step.bytes as f64),
            show::short(step.bytes as f64 / step.median_seconds),
            format!("{:.0} %", step.percent_of_memory),
            step.percent_of_multipliers.map_or("–".into(), |percent| format!("{percent:.0} %")),
            of(|resources| resources.threads.to_string()),
            of(|resources| resources.registers.to_string()),
            of(|resources| resources.local_bytes.to_string()),
            of(|resources| resources.shared_bytes.to_string()),
            of(|resources| format!("{} ({:.0} %)", resources.blocks_per_multiprocessor, resources.occupancy_percent)),
            step.limited_by.clone(),
        ]);
    }
    table
}

/// Bytes of memory that a GPU clears to stay busy while launches are queued: per kernel, and at most for all kernels.
const HELD_BYTES: usize = 64 << 20;
const MOST_HELD_BYTES: usize = 4 << 30;

/// Times each kernel of a program on these buffers. Multiplications are counted if a `job` is given.
pub(crate) fn steps(
    bench: &Bench,
    work: &Work,
    batch: usize,
    buffers: &mut [Buffer],
    job: Option<&Job>,
) -> Result<Vec<Step>> {
    let kernels = work.program.plan().kernels();
    let mut seconds = vec![Vec::new(); kernels.len()];
    for _ in 0..TIMED_RUNS {
        // clearing memory keeps the GPU busy until all launches are queued, even if launching takes longer than the
        // kernels
        let held = (HELD_BYTES * kernels.len()).min(MOST_HELD_BYTES);
        let busy = (!bench.device.limits().is_cpu()).then(|| work.stream.zeros(held)).transpose()?;
        let taken = work.steps(batch, buffers)?;
        drop(busy);
        seconds.iter_mut().zip(taken).for_each(|(seconds, taken)| seconds.push(taken));
    }
    let mut resources = resources(&work.program, batch)?.into_iter();
    let limits = bench.device.limits();
    let step = |(kernel, seconds): (&std::sync::Arc<dyn Kernel>, Vec<f64>)| {
        let median_seconds = Times::of(seconds, 1, 1).median_seconds.max(1e-9);
        let (bytes, resources) = (bytes(&**kernel, batch), resources.next());
        let percent_of_memory = 100.0 * bytes as f64 / median_seconds / bench.peaks.copy;
        let slots = job.and_then(|job| slots(job, &**kernel, limits)).zip(bench.peaks.pipes);
        let percent_of_multipliers =
            slots.map(|(slots, pipes)| 100.0 * slots * batch as f64 / median_seconds / pipes.multiply);
        let mut step = Step {
            kernel: kernel.name().into(),
            about: kernel.describe(),
            median_seconds,
            bytes,
            percent_of_memory,
            percent_of_multipliers,
            limited_by: String::new(),
            resources,
        };
        step.limited_by = limited_by(&step, limits);
        step
    };
    Ok(kernels.zip(seconds).map(step).collect())
}

/// Bytes that a kernel's ports read and write in a run.
fn bytes(kernel: &dyn Kernel, batch: usize) -> usize {
    let of_port = |port: &ringforge::kernels::Port| {
        let items = if port.sharing == Sharing::PerItem { batch } else { 1 };
        // a list of tables holds a pointer to each table
        let tables = port.bytes / size_of::<u64>() * port.tables;
        let times = if port.role == Role::InOut { 2 } else { 1 };
        (port.bytes * items + tables) * times
    };
    kernel.ports().iter().map(of_port).sum()
}

/// Multiply-add slots per item of one kernel of a job; `None` if the ring has no NTT or the kernel is not known.
fn slots(job: &Job, kernel: &dyn Kernel, limits: &Limits) -> Option<f64> {
    let of = |op| roofline::slots_per_item(&with_op(job, op), limits);
    let about = kernel.describe();
    let layers = about.split_once("layers ").and_then(|(_, rest)| {
        let (from, to) = rest.split([' ', ',']).next()?.split_once("..")?;
        Some(to.parse::<f64>().ok()? - from.parse::<f64>().ok()?)
    });
    // a kernel with some of the layers counts in proportion, as if all layers had the same cost
    let depth = f64::from(Factorization::of(&job.poly, job.depth).map_or(1, |split| split.depth()));
    match kernel.name() {
        "forward" | "inverse" => Some(of(Op::Forward)? * layers.unwrap_or(depth) / depth),
        "ring_mul" => of(Op::Mul),
        "point_mul" | "mul_add" => of(Op::PointMul),
        _ => None,
    }
}

#[cfg(feature = "cuda")]
fn resources(program: &Program, batch: usize) -> Result<Vec<Resources>> {
    let of = |kernel: ringforge::cuda::Occupancy| Resources {
        blocks: kernel.launch.blocks(batch).unwrap_or(0),
        threads: kernel.launch.threads,
        registers: kernel.registers,
        local_bytes: kernel.local_bytes,
        shared_bytes: kernel.static_shared_bytes + kernel.launch.shared_bytes,
        blocks_per_multiprocessor: kernel.blocks_per_multiprocessor,
        occupancy_percent: 100.0 * kernel.share(),
    };
    Ok(program.occupancy()?.into_iter().map(of).collect())
}

#[cfg(not(feature = "cuda"))]
fn resources(_: &Program, _: usize) -> Result<Vec<Resources>> {
    Ok(Vec::new())
}

/// Describes which resource limits a kernel.
fn limited_by(step: &Step, limits: &Limits) -> String {
    let is_full = |percent: Option<f64>, full: f64| percent.is_some_and(|percent| percent >= full);
    if step.percent_of_memory > 110.0 {
        return "caches: it moves more than the memory could".into();
    }
    if step.percent_of_memory >= FULL_MEMORY {
        return "memory bandwidth".into();
    }
    let Some(resources) = &step.resources else { return "arithmetic: memory could give more".into() };
    let Resources { blocks, threads, registers, local_bytes, shared_bytes, occupancy_percent, .. } = *resources;
    if blocks < limits.multiprocessors as usize {
        return format!("few blocks: {blocks} on {} multiprocessors", limits.multiprocessors);
    }
    if is_full(step.percent_of_multipliers, FULL_MULTIPLIERS) {
        return "multipliers".into();
    }
    if local_bytes > 0 {
        return format!("local memory: {local_bytes} bytes of spilled registers and stack a thread");
    }
    let by_registers = REGISTERS / (registers * threads).max(1);
    let by_shared = limits.block_shared_bytes / (shared_bytes + RESERVED_SHARED);
    let held_back = match occupancy_percent {
        90.0.. => "",
        _ if by_registers <= by_shared => ", more would take fewer registers",
        _ => ", more would take less shared memory",
    };
    format!("latency: neither is full, with {occupancy_percent:.0} % of the threads resident{held_back}")
}

#[cfg(test)]
mod tests {
    use ringforge::{Modulus, Planner, PolyType, Ring};

    use super::*;

    #[test]
    fn limits_are_described() {
        let full = &crate::record::tests::full().measurements[0].steps[0];
        let with = |memory, multipliers, change: fn(&mut Resources)| {
            let mut step = Step { percent_of_memory: memory, percent_of_multipliers: multipliers, ..full.clone() };
            step.resources.iter_mut().for_each(change);
            step
        };
        for (step, words) in [
            (with(85.0, None, |_| ()), "memory bandwidth"),
            (with(130.0, None, |_| ()), "caches"),
            (with(20.0, Some(70.0), |_| ()), "multipliers"),
            (with(20.0, None, |r| r.blocks = 8), "few blocks: 8 on 132"),
            (with(20.0, None, |r| r.local_bytes = 16), "local memory: 16 bytes"),
            (with(20.0, Some(20.0), |r| r.registers = 168), "fewer registers"),
            (with(20.0, Some(20.0), |r| r.shared_bytes = 90_000), "less shared memory"),
            (with(20.0, None, |r| r.occupancy_percent = 100.0), "100 % of the threads resident"),
            (Step { resources: None, ..with(20.0, None, |_| ()) }, "arithmetic"),
        ] {
            let found = limited_by(&step, &Limits::h200());
            assert!(found.contains(words), "{found}, not {words}");
        }
    }

    #[test]
    fn multiplications_of_kernels_add_up_to_the_job() -> Result<()> {
        let limits = Limits::h200();
        let ring = PolyType::from(Ring::rns(1 << 16, &Modulus::ntt_primes(1 << 17, 60, 2)?)?);
        let job = Job::new(&ring, Op::Forward);
        let plan = Planner::new(limits.clone()).plan(&job)?;
        assert!(plan.kernels().len() > 1);
        let all: Option<f64> = plan.kernels().map(|kernel| slots(&job, &**kernel, &limits)).sum();
        assert!(
            all.zip(roofline::slots_per_item(&job, &limits)).is_some_and(|(all, job)| (all / job - 1.0).abs() < 1e-9)
        );
        // residues in and out, and the twiddle table
        assert!(plan.kernels().all(|kernel| bytes(&**kernel, 3) > 3 * 2 * ring.bytes()));
        Ok(())
    }
}
