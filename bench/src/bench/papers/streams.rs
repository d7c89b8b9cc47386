//! One batch shared out among streams, each with a host thread, from host memory to host memory.

use std::thread;

use anyhow::{Context, Result};
use ringforge::kernels::Role;
use ringforge::testkit::Named;
use ringforge::{Buffer, Device, PinnedBuffer, Plan};

use crate::bench::Bench;
use crate::bench::kems::round_trip;
use crate::bench::suites::{Case, Kind, Suite};
use crate::kems::{Operation, SETS};
use crate::measure::{self, Times};
use crate::record::{Measurement, Memory};
use crate::work::{Inputs, Work};

pub(in crate::bench) static PRIME_STREAMS: Suite = Suite {
    name: "prime streams",
    kind: Kind::Paper,
    title: "CTRU-Prime paper, figure 7",
    about: "768 operations (32 on a CPU) shared out among streams with a host thread each, copies included. The source's \
            changes, −25.5 to +72.8 % of the time saved, are not told apart by operation in its text.",
    cases: |scope| {
        let items = scope.either(ITEMS, CPU_ITEMS);
        Ok(vec![Case::new(NAME, &Operation::EACH, move |bench, _| lines(bench, items))])
    },
    ..Suite::NONE
};

const NAME: &str = "CTRU-Prime-761";
/// Operations that are shared out, on a GPU and on a CPU, and over how many streams.
const ITEMS: usize = 768;
const CPU_ITEMS: usize = 32;
const STREAMS: [usize; 4] = [1, 2, 4, 8];
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

fn lines(bench: &Bench, items: usize) -> Result<Vec<Measurement>> {
    let set = SETS.iter().find(|set| set.parameters.name() == NAME).context("the set is there")?;
    let (mut lines, mut right) = (Vec::new(), true);
    let (_, agree) = round_trip(items, |operation, inputs| {
        let plan = (set.plan)(operation, bench.device.limits())?;
        let mut first = None;
        for streams in STREAMS {
            let (times, results) = measure(bench, &plan, items, streams, inputs)?;
            let variant = format!("{streams} stream{}", if streams == 1 { "" } else { "s" });
            let line = Measurement::new(NAME, operation, items, times).varied(variant).by(&plan);
            lines.push(Measurement { memory: Memory::Pinned, ..line });
            right &= *first.get_or_insert_with(|| results.clone()) == results;
        }
        first.context("one stream at least")
    })?;
    let checked = "all streams leave the same bytes, and both ends agree for every item that has a key";
    Ok(lines.into_iter().map(|line| line.checked(checked, right && agree)).collect())
}

/// Seconds of all items, and what was written; the arguments of the plan must each have an item's own bytes.
fn measure(bench: &Bench, plan: &Plan, items: usize, streams: usize, inputs: &Inputs<'_>) -> Result<(Times, Named)> {
    let device = &bench.device;
    let program = device.compile(plan)?;
    let (share, rounds) = (items / streams, if device.limits().is_cpu() { 1 } else { ROUNDS });
    let lane = |number: usize| {
        let inputs = inputs.iter().map(|(name, input)| {
            let size = input.len() / items;
            (*name, &input[number * share * size..][..share * size])
        });
        let work = Work { program: program.clone(), stream: device.stream()? };
        Lane::new(device, work, share, &inputs.collect::<Vec<_>>())
    };
    let mut lanes = (0..streams).map(lane).collect::<Result<Vec<_>>>()?;
    let times = measure::wall(bench.effort, || {
        thread::scope(|scope| {
            let runs: Vec<_> = lanes.iter_mut().map(|lane| scope.spawn(|| lane.run(rounds))).collect();
            runs.into_iter().try_for_each(|run| run.join().ok().context("a stream's thread failed")?)
        })
    })?;
    let written = |arg: usize| lanes.iter().flat_map(|lane| lane.host[arg].iter().copied()).collect();
    let outputs = plan.args().iter().enumerate().filter(|(_, arg)| arg.role != Role::In);
    Ok((times.of_each(rounds), outputs.map(|(place, arg)| (arg.name.clone(), written(place))).collect()))
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
