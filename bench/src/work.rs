//! A job or a plan made ready on a device, with host memory in and out.

use anyhow::{Context, Result};
use ringforge::{Arg, Buffer, Device, Error, Job, Per, Plan, Planner, Program, Role, Stream};

use crate::memory;

/// A plan made ready on a device.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) program: Program,
    pub(crate) stream: Stream,
}

impl Work {
    /// The job on exactly this device.
    pub(crate) fn new(device: &Device, job: &Job) -> Result<Self> {
        Self::of_plan(device, &Planner::new(device.limits().clone()).plan(job)?)
    }

    /// The plan, made for this device.
    pub(crate) fn of_plan(device: &Device, plan: &Plan) -> Result<Self> {
        Ok(Self { program: device.compile(plan)?, stream: device.stream()? })
    }

    /// The job on this device as its planner plans it, or on the CPU where the device does not support it; then with the
    /// reason.
    pub(crate) fn with_fallback(device: &Device, planner: &Planner, job: &Job) -> Result<(Self, Option<String>)> {
        let planned = planner.plan(job).map_err(Into::into).and_then(|plan| Self::of_plan(device, &plan));
        match planned {
            Err(error) if !device.limits().is_cpu() => match error.downcast_ref::<Error>() {
                Some(Error::Unsupported { why, .. }) => {
                    let why = why.clone();
                    Ok((Self::new(&Device::cpu(), job)?, Some(why)))
                }
                _ => Err(error),
            },
            work => Ok((work?, None)),
        }
        .with_context(|| job.to_string())
    }

    /// The device.
    pub(crate) fn device(&self) -> &Device {
        self.program.device()
    }

    /// Bytes of all arguments for this many items.
    pub(crate) fn bytes(&self, batch: usize) -> usize {
        let args = self.program.plan().args().iter();
        let bytes = args.map(|arg| if arg.per == Per::Item { arg.bytes.saturating_mul(batch) } else { arg.bytes });
        bytes.fold(0, usize::saturating_add)
    }

    /// Buffers for one run: inputs are uploaded, in order; outputs are new.
    pub(crate) fn buffers(&self, batch: usize, inputs: &[&[u8]]) -> Result<Vec<Buffer>> {
        // a GPU has memory of its own, and says itself when there is no more
        if self.device().limits().is_cpu() {
            memory::fits(1, self.bytes(batch))?;
        }
        let mut inputs = inputs.iter();
        let args = self.program.plan().args().iter();
        let buffers = args.map(|arg| match arg.role {
            Role::Out => self.device().buffer(arg.bytes * batch),
            Role::In | Role::InOut => self.stream.upload(inputs.next().copied().unwrap_or_default()),
        });
        Ok(buffers.collect::<ringforge::Result<_>>()?)
    }

    /// Starts one run.
    pub(crate) fn start(&self, batch: usize, buffers: &mut [Buffer]) -> Result<()> {
        Ok(self.program.run(&self.stream, batch, &mut self.args(buffers))?)
    }

    /// Seconds of each step of one run.
    pub(crate) fn steps(&self, batch: usize, buffers: &mut [Buffer]) -> Result<Vec<f64>> {
        Ok(self.program.run_timed(&self.stream, batch, &mut self.args(buffers))?)
    }

    fn args<'b>(&self, buffers: &'b mut [Buffer]) -> Vec<Arg<'b>> {
        let args = buffers.iter_mut().zip(self.program.plan().args());
        args.map(|(buffer, arg)| if arg.role == Role::In { Arg::In(buffer) } else { Arg::Out(buffer) }).collect()
    }

    /// What a run left in its last argument.
    pub(crate) fn result(&self, buffers: &[Buffer]) -> Result<Vec<u8>> {
        let last = buffers.last().context("the plan has no arguments")?;
        Ok(self.stream.download(last)?)
    }

    /// What a run left in each argument that it writes, in order.
    pub(crate) fn results(&self, buffers: &[Buffer]) -> Result<Vec<Vec<u8>>> {
        let written = buffers.iter().zip(self.program.plan().args()).filter(|(_, arg)| arg.role != Role::In);
        written.map(|(buffer, _)| Ok(self.stream.download(buffer)?)).collect()
    }

    /// One run from host memory to host memory.
    pub(crate) fn call(&self, batch: usize, inputs: &[&[u8]]) -> Result<Vec<u8>> {
        let mut buffers = self.buffers(batch, inputs)?;
        self.start(batch, &mut buffers)?;
        self.result(&buffers)
    }
}
