//! Runs of a plan on given inputs, as every suite measures them: over rotating buffer sets, launched kernel by kernel
//! or captured.

use anyhow::{Context, Result};
use ringforge::kernels::Role;
use ringforge::run::{Captured, CapturedArg};
use ringforge::{Buffer, Device, Job, Plan, Planner};
use ringforge_testkit::Named;

use crate::measure::{self, Effort, Times};
use crate::record::{Measurement, Memory, Step};
use crate::session::Bench;
use crate::steps;
use crate::work::{Inputs, Work};

/// A plan, its inputs, and how to run it.
pub struct Runs<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Items per run.
    pub batch: usize,
    /// Inputs of the plan.
    pub inputs: &'a Inputs<'a>,
    /// True if launches are captured once and replayed.
    pub captured: bool,
    /// Number of buffer sets; if `None`, enough to exceed the caches.
    pub sets: Option<usize>,
    /// The memory of the arguments before and after a run.
    pub memory: Memory,
    /// The job of the plan, from which multiplications of kernels are counted for a profile.
    pub job: Option<&'a Job>,
}

/// The times and results of runs.
pub struct Outcome {
    /// Time per run.
    pub times: Times,
    /// Time of each kernel, if requested.
    pub steps: Vec<Step>,
    /// Outputs by argument name.
    pub results: Named,
    /// True if all buffer sets hold the same results.
    pub alike: bool,
}

impl<'a> Runs<'a> {
    /// Runs that are launched kernel by kernel, with all data on the device.
    pub fn new(plan: &'a Plan, batch: usize, inputs: &'a Inputs<'a>) -> Self {
        Self { plan, batch, inputs, captured: false, sets: None, memory: Memory::Device, job: None }
    }

    /// Measures the runs, and each kernel if `bench.steps` is set.
    pub fn measure(&self, bench: &Bench, effort: Effort) -> Result<Outcome> {
        if self.memory != Memory::Device {
            return self.over_host_memory(&bench.device, effort);
        }
        let mut outcome = self.times(&bench.device, effort)?;
        if bench.steps {
            let work = Work::of_plan(&bench.device, self.plan)?;
            let mut buffers = work.buffers(self.batch, self.inputs)?;
            outcome.steps = steps::steps(bench, &work, self.batch, &mut buffers, self.job)?;
        }
        Ok(outcome)
    }

    /// Measures whole calls from host memory to host memory, for a plan that reads `from` and writes `to`.
    fn over_host_memory(&self, device: &Device, effort: Effort) -> Result<Outcome> {
        let Self { plan, batch, inputs, memory, .. } = *self;
        let program = Work::of_plan(device, plan)?.program;
        let (_, from) = inputs.iter().find(|(name, _)| *name == "from").context("the inputs lack \"from\"")?;
        let size = plan.arg("to").context("the plan has no argument \"to\"")?.bytes * batch;
        let run = |from: &[u8], to: &mut [u8]| {
            let call = |to: &mut [u8]| Ok(program.on_host(batch).input("from", from).output("to", to).run()?);
            let times = measure::wall(effort, || call(to))?;
            // run once more on overwritten memory, so that results of an earlier run cannot remain
            to.fill(0xa5);
            call(to)?;
            anyhow::Ok((times, to.to_vec()))
        };
        let (times, to) = if memory == Memory::Pinned {
            let (mut pinned, mut to) = (device.pinned(from.len())?, device.pinned(size)?);
            pinned.copy_from_slice(from);
            run(&pinned, &mut to)?
        } else {
            run(from, &mut vec![0; size])?
        };
        Ok(Outcome { times, steps: Vec::new(), results: Named::from([("to".into(), to)]), alike: true })
    }

    /// Measures runs with all data on the device, and downloads their results.
    fn times(&self, device: &Device, effort: Effort) -> Result<Outcome> {
        let Self { plan, batch, inputs, captured, .. } = *self;
        let work = Work::of_plan(device, plan)?;
        let set = || Set::new(&work, batch, inputs, captured);
        let count = match self.sets {
            _ if effort.samples == 0 => 1,
            Some(sets) => sets,
            None => measure::sets(&work, batch),
        };
        let mut sets = (0..count).map(|_| set()).collect::<Result<Vec<_>>>()?;
        let mut times = measure::runs(&work.stream, &mut sets, effort, |set| set.start(&work, batch))?;
        times.buffer_bytes = count * work.bytes(batch);
        let (results, alike) = if plan.args().iter().any(|arg| arg.role == Role::InOut) {
            // the timed runs used their own output as input, so a fresh run supplies the result
            drop(sets);
            let mut fresh = set()?;
            fresh.start(&work, batch)?;
            (fresh.results(&work)?, true)
        } else {
            let results = sets[0].results(&work)?;
            let others = sets[1..].iter().map(|set| Ok(set.results(&work)? == results));
            let alike = others.collect::<Result<Vec<_>>>()?.into_iter().all(|alike| alike);
            (results, alike)
        };
        Ok(Outcome { times, steps: Vec::new(), results, alike })
    }
}

impl Outcome {
    /// Returns the measurement of an operation of a case.
    pub fn line(&self, case: impl Into<String>, operation: impl ToString, batch: usize) -> Measurement {
        Measurement { steps: self.steps.clone(), ..Measurement::new(case, operation, batch, self.times) }
    }
}

/// The memory of a run: buffers, or a captured run that owns its buffers.
enum Set {
    Buffers(Vec<Buffer>),
    Captured(Captured),
}

impl Set {
    fn new(work: &Work, batch: usize, inputs: &Inputs<'_>, captured: bool) -> Result<Self> {
        let buffers = work.buffers(batch, inputs)?;
        if !captured {
            return Ok(Self::Buffers(buffers));
        }
        let names = work.program.plan().args().iter().map(|arg| arg.name.as_str());
        let args = names.zip(buffers.into_iter().map(CapturedArg::from)).collect();
        Ok(Self::Captured(work.program.capture(&work.stream, batch, args)?))
    }

    fn start(&mut self, work: &Work, batch: usize) -> Result<()> {
        match self {
            Self::Buffers(buffers) => work.start(batch, buffers),
            Self::Captured(captured) => Ok(captured.run()?),
        }
    }

    fn results(&self, work: &Work) -> Result<Named> {
        match self {
            Self::Buffers(buffers) => work.results(buffers),
            Self::Captured(captured) => {
                let written = work.program.plan().args().iter().filter(|arg| arg.role != Role::In);
                let read = |name: &str| {
                    let buffer = captured.buffer(name).context("the captured run lacks an argument of its plan")?;
                    anyhow::Ok((name.to_owned(), work.stream.download(buffer)?))
                };
                written.map(|arg| read(&arg.name)).collect()
            }
        }
    }
}

/// Returns the plan of a job. The plan of an in-place job accepts its own output as input, so that it can run
/// repeatedly.
pub fn repeatable(planner: &Planner, job: &Job) -> Result<Plan> {
    let plan = planner.plan(job)?;
    let Some(content) = plan.arg("data").and_then(|arg| arg.before.clone()) else { return Ok(plan) };
    let p = planner.pipeline(plan.title());
    let [left] = p.plan(&plan, &[p.elements("data", content.clone())]);
    p.output("data", left.holding(content));
    Ok(p.build()?)
}
