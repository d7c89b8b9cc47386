//! One batch shared out among streams, each with a host thread, from host memory to host memory.

use std::thread;

use anyhow::{Context, Result};
use ringforge::kernels::Role;
use ringforge::testkit::Named;
use ringforge::{Buffer, Device, PinnedBuffer, Plan};

use super::Seeds;
use crate::measure::{self, Times};
use crate::work::{Inputs, Work};

/// Rounds of a thread in one measurement on a GPU, which hide what it takes to start it.
const ROUNDS: usize = 16;

/// A stream with its share of the items, all memory allocated before.
struct Lane {
    work: Work,
    batch: usize,
    buffers: Vec<Buffer>,
    /// What each argument is read from or written to.
    host: Vec<PinnedBuffer>,
}

/// Seconds of all items, and what was written; the arguments of the plan must each have an item's own bytes.
pub(super) fn measure(
    seeds: &Seeds,
    plan: &Plan,
    items: usize,
    streams: usize,
    inputs: &Inputs<'_>,
) -> Result<(Times, Named)> {
    let device = &seeds.bench.device;
    let program = device.compile(plan)?;
    let (share, rounds) = (items / streams, if seeds.is_cpu() { 1 } else { ROUNDS });
    let lane = |number: usize| {
        let inputs = inputs.iter().map(|(name, input)| {
            let size = input.len() / items;
            (*name, &input[number * share * size..][..share * size])
        });
        let work = Work { program: program.clone(), stream: device.stream()? };
        Lane::new(device, work, share, &inputs.collect::<Vec<_>>())
    };
    let mut lanes = (0..streams).map(lane).collect::<Result<Vec<_>>>()?;
    let times = measure::wall(seeds.bench.effort, || {
        thread::scope(|scope| {
            let runs: Vec<_> = lanes.iter_mut().map(|lane| scope.spawn(|| lane.run(rounds))).collect();
            runs.into_iter().try_for_each(|run| run.join().ok().context("a stream's thread failed")?)
        })
    })?;
    let of_round = |seconds: f64| seconds / rounds as f64;
    let (median_seconds, p95_seconds) = (of_round(times.median_seconds), of_round(times.p95_seconds));
    let times = Times { median_seconds, p95_seconds, runs_per_sample: rounds, ..times };
    let written = |arg: usize| lanes.iter().flat_map(|lane| lane.host[arg].iter().copied()).collect();
    let outputs = plan.args().iter().enumerate().filter(|(_, arg)| arg.role != Role::In);
    Ok((times, outputs.map(|(place, arg)| (arg.name.clone(), written(place))).collect()))
}

impl Lane {
    fn new(device: &Device, work: Work, batch: usize, inputs: &Inputs<'_>) -> Result<Self> {
        let buffers = work.buffers(batch, inputs)?;
        let mut host = Vec::new();
        for (buffer, arg) in buffers.iter().zip(work.program.plan().args()) {
            let mut memory = device.pinned(buffer.len())?;
            if let Some((_, input)) = inputs.iter().find(|(name, _)| *name == arg.name) {
                memory.copy_from_slice(input);
            }
            host.push(memory);
        }
        Ok(Self { work, batch, buffers, host })
    }

    /// Copies in, runs and copies out, again and again.
    fn run(&mut self, rounds: usize) -> Result<()> {
        let Self { work, batch, buffers, host } = self;
        let args = work.program.plan().args();
        for _ in 0..rounds {
            for ((buffer, memory), arg) in buffers.iter_mut().zip(&*host).zip(args) {
                if arg.role != Role::Out {
                    work.stream.write::<u8>(buffer, memory)?;
                }
            }
            work.start(*batch, buffers)?;
            for ((buffer, memory), arg) in buffers.iter().zip(&mut *host).zip(args) {
                if arg.role != Role::In {
                    work.stream.read::<u8>(buffer, memory)?;
                }
            }
        }
        Ok(())
    }
}
