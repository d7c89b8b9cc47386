//! Lines about the two ways in which CTRU-Prime multiplies on a GPU: by transforms, and on tensor cores.

use anyhow::{Context, Result};
use ringforge::Device;
use ringforge::testkit::{Named, NamedPlan};
use ringforge_batch::{ENCAPSULATION_SEED, KEY_SEED};
use ringforge_ctru_prime::{CtruPrime653, CtruPrime761, CtruPrime1277, ParameterSet, Parameters, named_plans};
use serde::Serialize;

use super::{Bench, Options};
use crate::measure::{self, Times};
use crate::work::{Work, slices};
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

impl Task {
    pub(super) fn title(&self) -> String {
        format!("{} ways", self.set.name)
    }

    /// All operations: keys are made from seeds, and ciphertexts to them.
    pub(super) fn lines(&self, bench: &Bench) -> Result<Vec<Line>> {
        let plans = named_plans(&self.set, bench.device.limits())?;
        let product = self.plan(&plans, "multiply", WAYS[0])?;
        memory::fits(self.batch, product.plan.floor_bytes_per_item())?;
        let factors = product.sample(7, self.batch);
        // what is known in each way: what is prepared of a key is another thing in each
        let mut known = [factors.clone(), factors];
        let mut lines = vec![self.line(bench, &plans, "multiply", &mut known)?];
        for (operation, seed_bytes) in
            [("generate from seeds", KEY_SEED), ("encapsulate from seeds", ENCAPSULATION_SEED)]
        {
            let seeds = sample::bytes(8, seed_bytes, self.batch)?;
            known.iter_mut().for_each(|known| drop(known.insert("seeds".into(), seeds.clone())));
            lines.push(self.line(bench, &plans, operation, &mut known)?);
        }
        lines.push(self.line(bench, &plans, "decapsulate", &mut known)?);
        for (known, way) in known.iter_mut().zip(WAYS) {
            for [key, prepared] in [["public keys", "prepared public key"], ["secret keys", "prepared secret key"]] {
                let first = &known[key][..known[key].len() / self.batch];
                let plan = self.plan(&plans, &format!("prepare {key}"), way)?;
                let bytes = Work::of_plan(&bench.device, &plan.plan)?.run(1, &[(key, first)])?;
                known.insert(prepared.into(), bytes);
            }
        }
        for operation in ["encapsulate to one key from seeds", "decapsulate with one key"] {
            lines.push(self.line(bench, &plans, operation, &mut known)?);
        }
        Ok(lines)
    }

    /// Measures an operation on what is known in each way, which then includes what it wrote.
    fn line(&self, bench: &Bench, plans: &[NamedPlan], operation: &str, known: &mut [Named; 2]) -> Result<Line> {
        let measure = |way: usize| {
            let plan = self.plan(plans, operation, WAYS[way])?;
            measure::plan(&bench.device, &plan.plan, self.batch, &slices(&known[way]), bench.effort)
        };
        let ((transform, found), (tensor, other)) = (measure(0)?, measure(1)?);
        let ratio = transform.median_seconds / tensor.median_seconds;
        let name = format!("{} {operation}", self.set.name);
        let right = found == other;
        known.iter_mut().zip([found, other]).for_each(|(known, found)| known.extend(found));
        Ok(Line { name, batch: self.batch, transform, tensor, ratio, right })
    }

    fn plan<'a>(&self, plans: &'a [NamedPlan], operation: &str, way: &str) -> Result<&'a NamedPlan> {
        let name = format!("{} {operation}{way}", self.set.name);
        plans.iter().find(|plan| plan.name == name).with_context(|| format!("no plan is called {name}"))
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
