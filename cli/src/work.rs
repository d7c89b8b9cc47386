//! A job or a plan, compiled for a device, with inputs and outputs in host memory.

use anyhow::{Context, Result, ensure};
use ringforge::kernels::{Role, Sharing};
use ringforge::run::{Call, PlanArg};
use ringforge::{Buffer, Device, Job, Plan, Planner, Program, Stream};
use ringforge_testkit::Named;

use crate::memory;

/// Inputs of a plan, by argument name.
pub type Inputs<'a> = [(&'a str, &'a [u8])];

/// Borrows named bytes as [`Inputs`].
pub fn slices(named: &Named) -> Vec<(&str, &[u8])> {
    named.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect()
}

/// Bytes of an argument for a batch.
pub fn bytes(arg: &PlanArg, batch: usize) -> usize {
    if arg.sharing == Sharing::PerItem { arg.bytes.saturating_mul(batch) } else { arg.bytes }
}

/// A plan compiled for a device.
#[derive(Debug)]
pub struct Work {
    /// The compiled plan.
    pub program: Program,
    /// The stream that the program runs on.
    pub stream: Stream,
}

impl Work {
    /// Plans and compiles a job for this device, without tuning.
    pub fn new(device: &Device, job: &Job) -> Result<Self> {
        Self::of_plan(device, &Planner::new(device.limits().clone()).plan(job)?)
    }

    /// Compiles a plan that was made for this device.
    pub fn of_plan(device: &Device, plan: &Plan) -> Result<Self> {
        Ok(Self { program: device.compile(plan)?, stream: device.stream()? })
    }

    /// The device that the plan is compiled for.
    pub fn device(&self) -> &Device {
        self.program.device()
    }

    /// Bytes of all arguments for a batch.
    pub fn bytes(&self, batch: usize) -> usize {
        self.program.plan().args().iter().map(|arg| bytes(arg, batch)).fold(0, usize::saturating_add)
    }

    /// Makes buffers for one run, in the order of the plan's arguments. Inputs are uploaded; the contents of other
    /// buffers are unspecified.
    pub fn buffers(&self, batch: usize, inputs: &Inputs<'_>) -> Result<Vec<Buffer>> {
        // a GPU has its own memory and reports an error when the memory is full
        if self.device().limits().is_cpu() {
            memory::fits(1, self.bytes(batch))?;
        }
        let buffers = self.program.plan().args().iter().map(|arg| {
            if arg.role == Role::Out {
                return Ok(self.device().buffer(bytes(arg, batch))?);
            }
            let input = inputs.iter().find(|(name, _)| *name == arg.name);
            let (_, bytes) = input.with_context(|| format!("argument {} is missing from the inputs", arg.name))?;
            Ok(self.stream.upload(bytes)?)
        });
        buffers.collect()
    }

    /// Enqueues one run on the stream.
    pub fn start(&self, batch: usize, buffers: &mut [Buffer]) -> Result<()> {
        Ok(self.call(batch, buffers).run()?)
    }

    /// Runs once and returns the seconds of each step.
    pub fn steps(&self, batch: usize, buffers: &mut [Buffer]) -> Result<Vec<f64>> {
        Ok(self.call(batch, buffers).run_timed()?)
    }

    fn call<'a>(&'a self, batch: usize, buffers: &'a mut [Buffer]) -> Call<'a> {
        let args = self.program.plan().args().iter().zip(buffers);
        args.fold(self.program.on(&self.stream, batch), |call, (arg, buffer)| match arg.role {
            Role::In => call.input(&arg.name, buffer),
            Role::Out | Role::InOut => call.output(&arg.name, buffer),
        })
    }

    /// Downloads every argument that a run writes.
    pub fn results(&self, buffers: &[Buffer]) -> Result<Named> {
        let written = self.program.plan().args().iter().zip(buffers).filter(|(arg, _)| arg.role != Role::In);
        written.map(|(arg, buffer)| Ok((arg.name.clone(), self.stream.download(buffer)?))).collect()
    }

    /// Downloads the only argument that a run writes.
    pub fn result(&self, buffers: &[Buffer]) -> Result<Vec<u8>> {
        self.only(self.results(buffers)?)
    }

    fn only(&self, results: Named) -> Result<Vec<u8>> {
        ensure!(results.len() == 1, "{} must write exactly one argument", self.program.plan().title());
        results.into_values().next().context("one argument")
    }

    /// Runs once, from host memory to host memory. Returns every argument that the run writes.
    pub fn run_all(&self, batch: usize, inputs: &Inputs<'_>) -> Result<Named> {
        let mut buffers = self.buffers(batch, inputs)?;
        self.start(batch, &mut buffers)?;
        self.results(&buffers)
    }

    /// Runs once, from host memory to host memory, a plan that writes one argument. Returns this argument.
    pub fn run(&self, batch: usize, inputs: &Inputs<'_>) -> Result<Vec<u8>> {
        self.only(self.run_all(batch, inputs)?)
    }
}
