//! Lines about key encapsulation with keys, ciphertexts and seeds on the device.

use anyhow::{Context, Result};
use ringforge::testkit::{Named, Random};
use ringforge::{Device, Plan};
use ringforge_batch::{ENCAPSULATION_SEED, FINE, KEY_SEED};

use super::{Bench, Line, Options, What};
use crate::environment;
use crate::floor::Floor;
use crate::kems::{Operation, SETS, Set};
use crate::measure::{self, Effort};
use crate::sample;
use crate::work::{Inputs, Work, slices};

/// Batches on a GPU; the first one in a hurry.
const GPU_BATCHES: [usize; 2] = [1 << 16, 1 << 18];
/// Items of a CPU's batch for each thread.
const ITEMS_PER_THREAD: usize = 256;
/// One seed in this many may give no key; for n = 768 one in 31000 gives none.
const SEEDS_PER_FAILURE: usize = 1000;

/// A parameter set and a batch.
pub(super) struct Task {
    pub(super) set: &'static Set,
    pub(super) batch: usize,
    /// The operations whose lines are wanted; the others are run, for each needs the one before.
    wanted: Vec<Operation>,
}

impl Task {
    pub(super) fn title(&self) -> String {
        self.set.parameters.name().into()
    }

    pub(super) fn wants(&self, operation: Operation) -> bool {
        self.wanted.contains(&operation)
    }

    /// What an operation's line is about.
    pub(super) fn what(&self, operation: Operation) -> What {
        let parameters = &self.set.parameters;
        What { name: parameters.name(), ring: parameters.ring(), op: operation.to_string() }
    }

    /// How long to measure an operation.
    pub(super) fn effort(&self, operation: Operation, bench: &Bench) -> Effort {
        if self.wants(operation) { bench.effort } else { Effort::LEAST }
    }
}

/// What is to be measured.
pub(super) fn tasks(options: &Options, device: &Device) -> Vec<Task> {
    let batches = options.batches(|| match device.limits().is_cpu() {
        true => vec![ITEMS_PER_THREAD * environment::threads()],
        false if options.quick => vec![GPU_BATCHES[0]],
        false => GPU_BATCHES.to_vec(),
    });
    let mut tasks = Vec::new();
    for set in SETS.iter().filter(|set| set.quick || !options.quick) {
        let is_wanted = |op: &Operation| format!("{} {op}", set.parameters.name()).contains(&options.filter);
        let one = Operation::ONE.into_iter().filter(|_| set.parameters.prepares());
        let wanted: Vec<_> = Operation::EACH.into_iter().chain(one).filter(is_wanted).collect();
        if !wanted.is_empty() {
            tasks.extend(batches.iter().map(|&batch| Task { set, batch, wanted: wanted.clone() }));
        }
    }
    tasks
}

/// Takes items from their key's seed to both ends: `run` does an operation on some inputs and gives what it wrote. Gives
/// the keys, and whether both ends agree.
pub(super) fn round_trip(
    batch: usize,
    mut run: impl FnMut(Operation, &Inputs<'_>) -> Result<Named>,
) -> Result<(Named, bool)> {
    let mut random = Random::new(std::process::id().into());
    let mut seeds = |size| sample::bytes(random.bits(), size, batch);
    let keys = run(Operation::KeyGen, &[("seeds", &seeds(KEY_SEED)?)])?;
    let to = [("public keys", &keys["public keys"][..]), ("seeds", &seeds(ENCAPSULATION_SEED)?)];
    let sent = run(Operation::Encaps, &to)?;
    let from = [("secret keys", &keys["secret keys"][..]), ("ciphertexts", &sent["ciphertexts"])];
    let received = run(Operation::Decaps, &from)?;
    let right = both_ends_agree(batch, &keys, &sent, &received);
    Ok((keys, right))
}

/// Measures a task's lines.
pub(super) fn lines(task: &Task, bench: &Bench) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    let mut run = |operation, inputs: &Inputs<'_>| {
        let (line, results) = line(task, bench, operation, inputs)?;
        lines.extend(task.wants(operation).then_some(line));
        anyhow::Ok(results)
    };
    let (keys, mut right) = round_trip(task.batch, &mut run)?;
    if Operation::ONE.into_iter().any(|operation| task.wants(operation)) {
        let prepare = |what| {
            let first = &keys[what][..keys[what].len() / task.batch];
            let plan = plan(task, &bench.device, &format!("prepare {what}"))?;
            Work::of_plan(&bench.device, &plan)?.run(1, &[(what, first)])
        };
        let mut known = Named::from([
            ("prepared public key".into(), prepare("public keys")?),
            ("prepared secret key".into(), prepare("secret keys")?),
            ("seeds".into(), sample::bytes(1, ENCAPSULATION_SEED, task.batch)?),
        ]);
        known.extend(run(Operation::EncapsOne, &slices(&known))?);
        let received = run(Operation::DecapsOne, &slices(&known))?;
        right &= known["shared keys"] == received["shared keys"];
    }
    lines.iter_mut().for_each(|line| line.right = right);
    Ok(lines)
}

/// Measures an operation, and gives what it wrote; whether that is right is not known yet.
fn line(task: &Task, bench: &Bench, operation: Operation, inputs: &Inputs<'_>) -> Result<(Line, Named)> {
    let (Bench { device, ceilings, .. }, parameters) = (bench, &task.set.parameters);
    let plan = &match operation {
        Operation::EncapsOne => plan(task, device, "encapsulate to one key from seeds")?,
        Operation::DecapsOne => plan(task, device, "decapsulate with one key")?,
        _ => (task.set.plan)(operation, device.limits())?,
    };
    let (times, results) = measure::plan(device, plan, task.batch, inputs, task.effort(operation, bench))?;
    let floor = Floor::of_kem(parameters, operation, plan.floor_bytes_per_item(), ceilings, device.limits())?;
    Ok((Line::new(task.what(operation), task.batch, plan, times, floor, false), results))
}

/// The plan of a task's set that has this name, in the way that comes last: the fastest on a GPU.
fn plan(task: &Task, device: &Device, what: &str) -> Result<Plan> {
    let parameters = &task.set.parameters;
    let name = format!("{} {what}", parameters.name());
    let plans = parameters.one_key_plans(device.limits())?;
    let plan = plans.into_iter().rfind(|plan| plan.name.starts_with(&name));
    Ok(plan.with_context(|| format!("no plan is called {name}"))?.plan)
}

/// Which items are fine, by their statuses.
pub(super) fn are_fine(statuses: &[u8]) -> Vec<bool> {
    statuses.chunks(4).map(|status| status == FINE.to_ne_bytes()).collect()
}

/// Whether shared keys agree wherever there is a key, as there is nearly everywhere, and every other status is fine.
fn both_ends_agree(batch: usize, keys: &Named, sent: &Named, received: &Named) -> bool {
    // operations that cannot fail have no statuses
    let are_fine = |made: &Named| made.get("statuses").map_or(vec![true; batch], |statuses| are_fine(statuses));
    let [here, there] = [sent, received].map(|end| end["shared keys"].chunks_exact(32));
    let items = are_fine(keys).into_iter().zip(here.zip(there));
    let (with_key, without): (Vec<_>, Vec<_>) = items.partition(|(has_key, _)| *has_key);
    with_key.len() + without.len() == batch
        && without.len() <= batch.div_ceil(SEEDS_PER_FAILURE)
        && with_key.iter().all(|(_, (here, there))| here == there)
        && [sent, received].into_iter().flat_map(are_fine).all(|is_fine| is_fine)
}

#[cfg(test)]
mod tests {
    use super::super::host;
    use super::*;

    #[test]
    fn lines_are_right_and_have_limits() -> Result<()> {
        let bench = Bench::of_cpu();
        let task = Task { set: &SETS[1], batch: 9, wanted: vec![Operation::KeyGen, Operation::Decaps] };
        let resident = lines(&task, &bench)?;
        assert_eq!(resident.iter().map(|line| line.what.op.as_str()).collect::<Vec<_>>(), ["KeyGen", "Decaps"]);
        assert!(resident.iter().all(|line| line.right));
        let host = host::lines(&task, &bench, &resident)?;
        assert_eq!(host.len(), 2);
        let task = Task { set: &SETS[6], batch: 5, wanted: vec![Operation::Encaps, Operation::DecapsOne] };
        let resident = lines(&task, &bench)?;
        assert_eq!(resident.iter().map(|line| line.what.op.as_str()).collect::<Vec<_>>(), ["Encaps", "DecapsOne"]);
        assert!(resident.iter().all(|line| line.right));
        assert!(host.iter().all(|line| line.right && line.percent_of_limit.is_some_and(|percent| percent > 0.0)));
        Ok(())
    }

    #[test]
    fn ends_that_differ_are_noticed() {
        let (fine, keys) = (FINE.to_ne_bytes().repeat(2), [7; 64]);
        let made = |shared: &[u8], statuses: &[u8]| {
            Named::from([("shared keys".into(), shared.to_vec()), ("statuses".into(), statuses.to_vec())])
        };
        let agree = |statuses: &[u8], received: &[u8], last: &[u8]| {
            both_ends_agree(2, &made(&[], statuses), &made(&keys, &fine), &made(received, last))
        };
        let mut other = keys;
        other[40] = 8;
        assert!(agree(&fine, &keys, &fine));
        assert!(!agree(&fine, &other, &fine));
        // the second item has no key
        let without = [FINE, 1].map(u32::to_ne_bytes).concat();
        assert!(agree(&without, &other, &fine));
        assert!(!agree(&without, &other, &without));
        assert!(!agree(&[1; 8], &keys, &fine));
    }
}
