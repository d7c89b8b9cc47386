//! Lines about the two ways in which CTRU-Prime multiplies on a GPU: by transforms, and on tensor cores.

use anyhow::{Context, Result};
use ringforge::Device;
use ringforge::testkit::NamedPlan;
use ringforge_batch::{ENCAPSULATION_SEED, KEY_SEED};
use ringforge_ctru_prime::{CtruPrime653, CtruPrime761, CtruPrime1277, ParameterSet, Parameters, named_plans};
use serde::Serialize;

use super::{Bench, Options};
use crate::measure::{self, Times};
use crate::work::Work;
use crate::{memory, sample, show};

/// From one item, whose latency shows, to full throughput.
const BATCHES: [usize; 5] = [1, 64, 1024, 8192, 1 << 15];

/// What the plans of each way add to their names: by transforms, and on tensor cores.
const WAYS: [&str; 2] = ["", ", tensor cores"];

const SETS: [Parameters; 3] = [CtruPrime761::PARAMETERS, CtruPrime653::PARAMETERS, CtruPrime1277::PARAMETERS];

/// A parameter set and a batch.
pub(super) struct Task {
    set: Parameters,
    batch: usize,
}

/// An operation in both ways.
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
    let wanted = SETS.iter().filter(|set| format!("{} ways", set.name).contains(&options.filter));
    wanted.flat_map(|&set| batches.iter().map(move |&batch| Task { set, batch })).collect()
}

/// Buffers in host memory.
type Buffers = Vec<Vec<u8>>;

impl Task {
    pub(super) fn title(&self) -> String {
        format!("{} ways", self.set.name)
    }

    /// All operations: keys are made from seeds, and ciphertexts to them.
    pub(super) fn lines(&self, bench: &Bench) -> Result<Vec<Line>> {
        let plans = named_plans(&self.set, bench.device.limits())?;
        let mut lines = Vec::new();
        let product = self.plan(&plans, "multiply", WAYS[0])?;
        memory::fits(self.batch, product.plan.floor_bytes_per_item())?;
        let factors = product.sample(7, self.batch);
        self.line(bench, &plans, "multiply", &[factors.clone(), factors], &mut lines)?;
        let seeds = vec![sample::bytes(8, KEY_SEED, self.batch)?];
        let keys = self.line(bench, &plans, "generate from seeds", &[seeds.clone(), seeds], &mut lines)?;
        let (public_keys, secret_keys) = (&keys[0], &keys[1]);
        let seeds = sample::bytes(9, ENCAPSULATION_SEED, self.batch)?;
        let to_each = vec![public_keys.clone(), seeds.clone()];
        let sent = self.line(bench, &plans, "encapsulate from seeds", &[to_each.clone(), to_each], &mut lines)?;
        let by_each = vec![secret_keys.clone(), sent[0].clone()];
        self.line(bench, &plans, "decapsulate", &[by_each.clone(), by_each], &mut lines)?;

        // what is prepared of a key is another thing in each way
        let prepare = |operation: &str, keys: &[u8], way| -> Result<Vec<u8>> {
            let key = &keys[..keys.len() / self.batch];
            Work::of_plan(&bench.device, &self.plan(&plans, operation, way)?.plan)?.call(1, &[key])
        };
        let public = |way| prepare("prepare public keys", public_keys, way);
        let secret = |way| prepare("prepare secret keys", secret_keys, way);
        let [public, secret] = [[public(WAYS[0])?, public(WAYS[1])?], [secret(WAYS[0])?, secret(WAYS[1])?]];
        let to_one = public.clone().map(|key| vec![key, seeds.clone()]);
        let sent = self.line(bench, &plans, "encapsulate to one key from seeds", &to_one, &mut lines)?;
        let [transform, tensor] = secret;
        let by_one =
            [vec![transform, public[0].clone(), sent[0].clone()], vec![tensor, public[1].clone(), sent[0].clone()]];
        self.line(bench, &plans, "decapsulate with one key", &by_one, &mut lines)?;
        Ok(lines)
    }

    /// Measures an operation with the inputs of each way; returns what it wrote.
    fn line(
        &self,
        bench: &Bench,
        plans: &[NamedPlan],
        operation: &str,
        inputs: &[Buffers; 2],
        lines: &mut Vec<Line>,
    ) -> Result<Buffers> {
        let measure = |way: usize| self.measure(self.plan(plans, operation, WAYS[way])?, &inputs[way], bench);
        let ((transform, found), (tensor, other)) = (measure(0)?, measure(1)?);
        let ratio = transform.median_seconds / tensor.median_seconds;
        let name = format!("{} {operation}", self.set.name);
        lines.push(Line { name, batch: self.batch, transform, tensor, ratio, right: found == other });
        Ok(found)
    }

    fn plan<'a>(&self, plans: &'a [NamedPlan], operation: &str, way: &str) -> Result<&'a NamedPlan> {
        let name = format!("{} {operation}{way}", self.set.name);
        plans.iter().find(|plan| plan.name == name).with_context(|| format!("no plan is called {name}"))
    }

    /// Times, and what a run wrote.
    fn measure(&self, plan: &NamedPlan, inputs: &[Vec<u8>], bench: &Bench) -> Result<(Times, Buffers)> {
        let work = Work::of_plan(&bench.device, &plan.plan)?;
        let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
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
