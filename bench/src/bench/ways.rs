//! Lines about the two ways in which CTRU-Prime multiplies on a GPU: by transforms, and on tensor cores.

use anyhow::{Context, Result};
use ringforge::Device;
use ringforge::testkit::NamedPlan;
use ringforge_ctru_prime::{CtruPrime653, CtruPrime761, CtruPrime1277, ParameterSet, Parameters, named_plans};
use serde::Serialize;

use super::{Bench, Options};
use crate::measure::{self, Times};
use crate::show;
use crate::work::Work;

/// From one item, whose latency shows, to full throughput.
const BATCHES: [usize; 5] = [1, 64, 1024, 8192, 1 << 15];

/// What the plans of the second way add to their names.
const TENSOR: &str = ", tensor cores";

/// Plans that exist in both ways.
const OPERATIONS: [&str; 5] = [
    "multiply",
    "encapsulate from seeds",
    "decapsulate",
    "encapsulate to one key from seeds",
    "decapsulate with one key",
];

const SETS: [Parameters; 3] = [CtruPrime761::PARAMETERS, CtruPrime653::PARAMETERS, CtruPrime1277::PARAMETERS];

/// An operation and a batch.
pub(super) struct Task {
    set: Parameters,
    operation: &'static str,
    batch: usize,
}

/// Both ways side by side.
#[derive(Debug, Serialize)]
pub(super) struct Line {
    name: String,
    batch: usize,
    transform: Times,
    tensor: Times,
    /// How many times as fast tensor cores are.
    ratio: f64,
    /// Whether both ways give the same.
    pub(super) right: bool,
}

/// What is to be measured: nothing on a CPU, which has one way.
pub(super) fn tasks(options: &Options, device: &Device) -> Vec<Task> {
    if device.limits().is_cpu() || options.quick {
        return Vec::new();
    }
    let batches = options.batches(|| BATCHES.to_vec());
    let named = SETS.iter().flat_map(|set| OPERATIONS.map(|operation| (set, operation)));
    let wanted = named.filter(|(set, operation)| format!("{} ways, {operation}", set.name).contains(&options.filter));
    wanted.flat_map(|(&set, operation)| batches.iter().map(move |&batch| Task { set, operation, batch })).collect()
}

impl Task {
    pub(super) fn title(&self) -> String {
        format!("{} {}", self.set.name, self.operation)
    }

    pub(super) fn line(&self, bench: &Bench) -> Result<Line> {
        let plans = named_plans(&self.set, bench.device.limits())?;
        let plan = |suffix: &str| {
            let name = self.title() + suffix;
            plans.iter().find(|plan| plan.name == name).with_context(|| format!("no plan is called {name}"))
        };
        let (transform, tensor) = (self.measure(plan("")?, bench)?, self.measure(plan(TENSOR)?, bench)?);
        let ratio = transform.0.median_seconds / tensor.0.median_seconds;
        let right = transform.1 == tensor.1;
        Ok(Line { name: self.title(), batch: self.batch, transform: transform.0, tensor: tensor.0, ratio, right })
    }

    /// Times, and what a run wrote.
    fn measure(&self, plan: &NamedPlan, bench: &Bench) -> Result<(Times, Vec<Vec<u8>>)> {
        let work = Work::of_plan(&bench.device, &plan.plan)?;
        let samples = plan.sample(7, self.batch);
        let inputs: Vec<&[u8]> = samples.iter().map(Vec::as_slice).collect();
        let sets = (0..measure::sets(&work, self.batch)).map(|_| work.buffers(self.batch, &inputs));
        let mut sets = sets.collect::<Result<Vec<_>>>()?;
        let times = measure::measure(&work, self.batch, &mut sets, bench.effort)?;
        let results = sets.last().map(|buffers| work.results(buffers)).transpose()?.unwrap_or_default();
        Ok((times, results))
    }
}

/// The lines as a table.
pub(super) fn table(lines: &[Line]) -> String {
    let headings = ["name", "batch", "transforms", "tensor cores", "items/s", "items/s", "ratio", "right"];
    let mut table = show::table(&headings, &[1, 2, 3, 4, 5, 6]);
    for line in lines {
        let rate = |times: &Times| show::short(line.batch as f64 / times.median_seconds);
        table.add_row([
            line.name.clone(),
            line.batch.to_string(),
            show::time(line.transform.median_seconds),
            show::time(line.tensor.median_seconds),
            rate(&line.transform),
            rate(&line.tensor),
            format!("{:.2}", line.ratio),
            show::yes_or_no(line.right),
        ]);
    }
    table.to_string()
}
