//! Runs of a plan on inputs, as every suite measures them: over rotating sets of buffers, started one by one or captured.

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

/// How runs of a plan are made.
pub struct Runs<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Items of a run.
    pub batch: usize,
    /// What the plan reads.
    pub inputs: &'a Inputs<'a>,
    /// Whether launches are recorded once and replayed.
    pub captured: bool,
    /// Sets of buffers; as many as fill the caches, if not given.
    pub sets: Option<usize>,
    /// Where arguments lie before and after a run.
    pub memory: Memory,
    /// The job that the plan does, by which kernels' multiplications are counted.
    pub job: Option<&'a Job>,
}

/// What runs took and left.
pub struct Outcome {
    /// What a run took.
    pub times: Times,
    /// What each kernel took, where that was wanted.
    pub steps: Vec<Step>,
    /// What was written.
    pub results: Named,
    /// Whether every set of buffers was left with the same.
    pub alike: bool,
}

impl<'a> Runs<'a> {
    /// Runs that are started one by one.
    pub fn new(plan: &'a Plan, batch: usize, inputs: &'a Inputs<'a>) -> Self {
        Self { plan, batch, inputs, captured: false, sets: None, memory: Memory::Device, job: None }
    }

    /// Measures them, and each kernel where the bench wants that.
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

    /// Measures whole calls from host memory to host memory, of a plan that reads `from` and writes `to`.
    fn over_host_memory(&self, device: &Device, effort: Effort) -> Result<Outcome> {
        let Self { plan, batch, inputs, memory, .. } = *self;
        let program = Work::of_plan(device, plan)?.program;
        let (_, from) = inputs.iter().find(|(name, _)| *name == "from").context("what is read")?;
        let size = plan.arg("to").context("what is written")?.bytes * batch;
        let run = |from: &[u8], to: &mut [u8]| {
            let call = |to: &mut [u8]| Ok(program.on_host(batch).input("from", from).output("to", to).run()?);
            let times = measure::wall(effort, || call(to))?;
            // once more over other bytes, so that none of these is left from before
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

    /// Measures them as a whole.
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
            // timed runs went on from what they left
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
    /// What was measured of an operation of a case.
    pub fn line(&self, case: impl Into<String>, operation: impl ToString, batch: usize) -> Measurement {
        Measurement { steps: self.steps.clone(), ..Measurement::new(case, operation, batch, self.times) }
    }
}

/// Memory of a run.
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
                    let buffer = captured.buffer(name).context("arguments stay")?;
                    anyhow::Ok((name.to_owned(), work.stream.download(buffer)?))
                };
                written.map(|arg| read(&arg.name)).collect()
            }
        }
    }
}

/// The plan of a job; where it works in place, such that it may run on what it left.
pub fn repeatable(planner: &Planner, job: &Job) -> Result<Plan> {
    let plan = planner.plan(job)?;
    let Some(content) = plan.arg("data").and_then(|arg| arg.before.clone()) else { return Ok(plan) };
    let p = planner.pipeline(plan.title());
    let [left] = p.plan(&plan, &[p.elements("data", content.clone())]);
    p.output("data", left.holding(content));
    Ok(p.build()?)
}
