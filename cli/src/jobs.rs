//! Jobs on random operands, measured and checked in the same way for every ring. The suites about rings, RNS bases,
//! homomorphic encryption and proofs use them, and so do rings that the user names.
//!
//! On a GPU, every item is compared bit for bit with the CPU's. On a CPU, the results of transforms are transformed
//! back, which must give the operands again. On both, some items are compared with the mathematical definition.

use anyhow::{Context, Result};
use rayon::prelude::*;
use ringforge::kernels::{Role, Sharing};
use ringforge::{Device, Job, Op, Plan, PolyType};
use ringforge_testkit::{Named, Random};

use crate::job::with_op;
use crate::measure::{self, Effort};
use crate::oracle;
use crate::record::{Measurement, Memory};
use crate::roofline::Roofline;
use crate::runs::{Runs, repeatable};
use crate::sample;
use crate::session::Bench;
use crate::work::{Work, slices};

/// Target seconds of a run on a CPU, from which the batch is chosen.
const CPU_RUN_SECONDS: f64 = 0.02;
/// Maximum bytes of the arguments of a run on a CPU.
const CPU_BYTES: usize = 64 << 20;
/// Bytes of the arguments of a run on a GPU, unless the user asks for a batch.
const GPU_BYTES: usize = 1 << 30;
/// Number of items at the beginning of a batch that contain many edge cases. They are compared with the definition, as
/// is the last item.
const EDGES: usize = 4;

/// The definition of a job, as a check of one item. Takes the operands and the result of the item, and returns true if
/// the result is right.
pub type Definition<'a> = &'a (dyn Fn(&[&[u8]], &[u8], &mut Random) -> Result<bool> + Sync);

/// A job and how it is run.
pub struct Task<'a> {
    /// The job.
    pub job: &'a Job,
    /// Items per run.
    pub batch: usize,
    /// True if launches are captured once and replayed.
    pub captured: bool,
    /// Number of buffer sets, as in [`Runs`].
    pub sets: Option<usize>,
    /// The memory of the arguments before and after a run.
    pub memory: Memory,
    /// A plan to run instead of the planner's.
    pub plan: Option<Plan>,
    /// A definition against which results are checked, instead of the general ones in `oracle.rs`, with its description
    /// for the report.
    pub definition: Option<(&'a str, Definition<'a>)>,
}

impl<'a> Task<'a> {
    /// A task that runs a job on a batch, with default settings.
    pub fn new(job: &'a Job, batch: usize) -> Self {
        Self { job, batch, captured: false, sets: None, memory: Memory::Device, plan: None, definition: None }
    }

    /// Measures and checks the job. Returns the measurement with its roofline bound.
    pub fn line(&self, bench: &Bench, case: impl Into<String>, effort: Effort) -> Result<Measurement> {
        let (job, batch) = (self.job, self.batch);
        let plan = self.plan.clone().map_or_else(|| repeatable(&bench.planner, job), Ok)?;
        let mut random = Random::new(bench.seed);
        let inputs = operands(job, &plan, batch, &mut random)?;
        let named = slices(&inputs);
        let (captured, sets, memory) = (self.captured, self.sets, self.memory);
        let runs = Runs { captured, sets, memory, job: Some(job), ..Runs::new(&plan, batch, &named) };
        let outcome = runs.measure(bench, effort)?;
        let result = outcome.results.values().next().context("the job has no output")?;
        let right = outcome.alike && self.is_right(&bench.device, &inputs, result, random.bits())?;
        let line =
            outcome.line(case, job.op, batch).in_ring(&job.poly).by(&plan).checked(self.checked(&bench.device), right);
        // the roofline bound of a job does not include copies between host and device
        let floor = if memory == Memory::Device { floor(bench, job, &plan) } else { Roofline::default() };
        Ok(Measurement { memory, ..line.above(floor) })
    }

    /// Returns true if the result of a run is right: compared with the CPU, inverted, and checked by definition.
    fn is_right(&self, device: &Device, inputs: &Named, result: &[u8], seed: u64) -> Result<bool> {
        let (job, batch) = (self.job, self.batch);
        let cpu = Device::cpu();
        if !device.limits().is_cpu() && Work::new(&cpu, job)?.run(batch, &slices(inputs))? != result {
            return Ok(false);
        }
        if device.limits().is_cpu()
            && let Some(undone) = undone(job)
        {
            let names = if job.in_place { ["data"; 2] } else { ["from", "to"] };
            if Work::new(&cpu, &undone)?.run(batch, &[(names[0], result)])? != inputs[names[0]] {
                return Ok(false);
            }
        }
        // the edge cases at the beginning of the batch, and the last item, which ends the last block
        let edges = batch.min(if self.job.poly.bytes() > 1 << 20 { 1 } else { EDGES });
        let items: Vec<usize> = (0..edges).chain((batch > edges).then_some(batch - 1)).collect();
        let agrees = |&item: &usize| {
            let random = &mut Random::new(seed ^ item as u64);
            let part = |bytes: &[u8]| bytes.len() / batch * item..bytes.len() / batch * (item + 1);
            let operands: Vec<&[u8]> = inputs.values().map(|input| &input[part(input)]).collect();
            let result = &result[part(result)];
            match self.definition {
                Some((_, definition)) => definition(&operands, result, random),
                None => oracle::agrees(job, &operands, result, random),
            }
        };
        Ok(items.par_iter().map(agrees).collect::<Result<Vec<_>>>()?.into_iter().all(|agrees| agrees))
    }

    fn checked(&self, device: &Device) -> String {
        let all = match device.limits().is_cpu() {
            false => "all items bit for bit with the CPU's; ",
            true if undone(self.job).is_some() => "all items by the transform back; ",
            true => "",
        };
        let definition = self.definition.map_or("some items with the definition", |(text, _)| text);
        format!("{all}{definition}")
    }
}

/// Returns the inverse of a transform job; `None` for other operations.
fn undone(job: &Job) -> Option<Job> {
    let op = match job.op {
        Op::Forward => Op::Inverse,
        Op::Inverse => Op::Forward,
        _ => return None,
    };
    Some(with_op(job, op))
}

/// Returns random operands, by the names of the plan's arguments.
fn operands(job: &Job, plan: &Plan, batch: usize, random: &mut Random) -> Result<Named> {
    let read = plan.args().iter().filter(|arg| arg.role != Role::Out);
    let mut bounds = job.bounds.into_iter();
    let operand = |arg: &ringforge::run::PlanArg| {
        let bound = bounds.next().flatten();
        let items = if arg.sharing == Sharing::PerItem { batch } else { 1 };
        let ring = arg.before.as_ref().unwrap_or(&job.poly);
        let residues = sample::elements(ring, random.bits(), EDGES, items)?;
        let bytes = match job.op {
            // integers below the product of all moduli, made from random residues
            Op::Decompose => {
                Work::new(&Device::cpu(), &Job::new(ring, Op::Compose))?.run(items, &[("from", &residues)])?
            }
            _ => bound.map_or_else(|| residues.clone(), |bound| within(bound, ring, &residues)),
        };
        anyhow::Ok((arg.name.clone(), bytes))
    };
    read.map(operand).collect()
}

/// Maps residues to residues of numbers in [−`bound`, `bound`], for a single modulus of at most 64 bits.
fn within(bound: u64, ring: &PolyType, residues: &[u8]) -> Vec<u8> {
    let q = u128::from(ring.basis()[0].value_u64().unwrap_or(u64::MAX));
    let width = ring.width().bytes();
    let small = residues.chunks_exact(width).flat_map(|word| {
        let mut wide = [0; 16];
        wide[..width].copy_from_slice(word);
        let small = u128::from_le_bytes(wide) % (2 * u128::from(bound) + 1);
        ((small + q - u128::from(bound)) % q).to_le_bytes().into_iter().take(width)
    });
    small.collect()
}

/// Returns the roofline bound of a job with this plan.
fn floor(bench: &Bench, job: &Job, plan: &Plan) -> Roofline {
    let bytes = plan.bytes_moved_per_item();
    match (&job.target, job.op) {
        (Some(to), Op::Convert | Op::ConvertFast) => Roofline::of_conversion(job, to, bytes, &bench.peaks),
        _ => Roofline::of(job, bytes, &bench.peaks, bench.device.limits()),
    }
}

/// Returns a suitable batch for the device. On a GPU, its arguments have about `GPU_BYTES`. On a CPU, it is 1 for large
/// items, else a power of two whose run takes about `CPU_RUN_SECONDS`.
pub fn suiting_batch(bench: &Bench, job: &Job) -> Result<usize> {
    let work = bench.work(job)?;
    let bytes = work.bytes(1).max(1);
    if !bench.device.limits().is_cpu() {
        return Ok((GPU_BYTES / bytes).max(1));
    }
    if bytes > CPU_BYTES / 16 {
        return Ok(1);
    }
    let items = (CPU_RUN_SECONDS / measure::estimate_item(&work)?) as usize;
    Ok(items.clamp(16, (CPU_BYTES / bytes).max(16)).next_power_of_two())
}

#[cfg(test)]
mod tests {
    use ringforge::{Modulus, Order, Planner, Ring};

    use super::*;
    use crate::peaks::{Peaks, Pipes};

    const OPS: [Op; 10] = [
        Op::Forward,
        Op::Inverse,
        Op::PointMul,
        Op::MulAdd,
        Op::Mul,
        Op::Compose,
        Op::Decompose,
        Op::Convert,
        Op::ConvertCentred,
        Op::ConvertFast,
    ];

    /// Tests that results of all operations are found right in small rings (conversions in an RNS ring only). A flipped
    /// bit in the first or last residue of a result must be detected.
    #[test]
    fn right_and_wrong_results_are_told_apart() -> Result<()> {
        let bench = Bench::of_cpu();
        let primes = Modulus::ntt_primes(128, 30, 4)?;
        let (rns, to) = (PolyType::from(Ring::rns(64, &primes[..2])?), PolyType::from(Ring::rns(64, &primes[2..])?));
        for ring in [&"3329:x^64+1".parse()?, &"12289:x^16-7".parse()?, &rns] {
            for op in OPS {
                let conversion = matches!(op, Op::Convert | Op::ConvertCentred | Op::ConvertFast);
                let integers = matches!(op, Op::Compose | Op::Decompose);
                if (conversion || integers) && ring.basis().len() == 1 {
                    continue;
                }
                let job = Job::new(ring, op);
                let job = if conversion { job.to(&to) } else { job };
                let natural = job.clone().order(Order::Natural).in_place();
                let others = if matches!(op, Op::Forward | Op::Inverse) { vec![natural] } else { vec![] };
                for (job, captured) in others.iter().flat_map(|job| [(job, false), (job, true)]).chain([(&job, false)])
                {
                    let line = Task { captured, ..Task::new(job, 3) }.line(&bench, "own", Effort::NONE);
                    let line = line.with_context(|| job.to_string())?;
                    assert!(line.right && line.operation == op.to_string(), "{job}");
                }
                let plan = bench.planner.plan(&job)?;
                let inputs = operands(&job, &plan, 3, &mut Random::new(1))?;
                let found = Work::of_plan(&bench.device, &plan)?.run(3, &slices(&inputs))?;
                let task = Task::new(&job, 3);
                assert!(task.is_right(&bench.device, &inputs, &found, 1)?, "{job}");
                for place in [0, found.len() - ring.width().bytes()] {
                    let mut wrong = found.clone();
                    wrong[place] ^= 1;
                    assert!(!task.is_right(&bench.device, &inputs, &wrong, 1)?, "{job} at {place}");
                }
            }
        }
        Ok(())
    }

    /// Tests that measurements of CUDA kernels are right, in the emulator and, if there is one, on a GPU.
    #[test]
    fn lines_of_a_gpu_are_right() -> Result<()> {
        use ringforge_testkit::Target;
        for device in [Target::Emulator, Target::Cuda].into_iter().filter_map(Target::device) {
            let (planner, pipes) = (Planner::new(device.limits().clone()), Pipes::of(device.limits()));
            let bench = Bench { device, planner, peaks: Peaks { copy: 1e9, pipes }, steps: true, ..Bench::of_cpu() };
            let ring: PolyType = "3329:x^64+1".parse()?;
            for (job, captured) in [
                (Job::new(&ring, Op::Mul), false),
                (Job::new(&ring, Op::MulAdd), false),
                (Job::new(&ring, Op::Forward).in_place(), true),
                (Job::new(&ring, Op::Inverse).order(Order::Natural), true),
            ] {
                let task = Task { captured, sets: Some(2), ..Task::new(&job, 3) };
                let line = task.line(&bench, "own", Effort::NONE).with_context(|| job.to_string())?;
                assert!(line.right && line.checked.contains("the CPU's"), "{job}");
                assert!(line.floor.0.iter().any(|bound| bound.by == "multiply" && bound.seconds.is_some()), "{job}");
                assert!(line.steps.iter().all(|step| step.percent_of_multipliers.is_some()), "{job}");
                assert!(!line.steps.is_empty() && line.steps.iter().all(|step| step.bytes > 0), "{job}");
            }
        }
        Ok(())
    }
}
