//! Lines about ML-KEM by the example crate, with seeds, keys and ciphertexts on the device. A stranger to the engine, it has
//! no floor.

use anyhow::Result;
use ringforge::Device;
use ringforge_batch::KemScheme;
use ringforge_example_ml_kem::{MlKem512, MlKem768, MlKem1024};
use serde::Serialize;

use super::{Bench, Options, kems};
use crate::kems::{PlanOf, plan};
use crate::{environment, measure, show};

/// Items of a batch on a GPU.
const GPU_BATCH: usize = 1 << 16;
/// Items of a CPU's batch for each thread.
const ITEMS_PER_THREAD: usize = 64;

/// A parameter set.
struct Set {
    name: &'static str,
    plan: PlanOf,
}

const fn set<M: KemScheme>() -> Set {
    Set { name: M::NAME, plan: plan::<M> }
}

const SETS: &[Set] = &[set::<MlKem512>(), set::<MlKem768>(), set::<MlKem1024>()];

/// A parameter set and a batch.
pub(super) struct Task {
    set: &'static Set,
    batch: usize,
}

/// Operations a second of a set.
#[derive(Debug, Serialize)]
pub(super) struct Line {
    name: &'static str,
    batch: usize,
    key_generation: f64,
    encapsulation: f64,
    decapsulation: f64,
    /// Whether both ends get the same keys for all items.
    pub(super) right: bool,
}

/// What is to be measured: nothing in a hurry.
pub(super) fn tasks(options: &Options, device: &Device) -> Vec<Task> {
    let wanted = SETS.iter().filter(|set| !options.quick && set.name.contains(&options.filter));
    let batches = options.batches(|| match device.limits().is_cpu() {
        true => vec![ITEMS_PER_THREAD * environment::threads()],
        false => vec![GPU_BATCH],
    });
    wanted.flat_map(|set| batches.iter().map(move |&batch| Task { set, batch })).collect()
}

impl Task {
    pub(super) fn title(&self) -> String {
        self.set.name.into()
    }

    /// All operations, from the seeds of keys to both ends.
    pub(super) fn line(&self, bench: &Bench) -> Result<Line> {
        let Self { set, batch } = *self;
        let mut rates = Vec::new();
        let (_, right) = kems::round_trip(batch, |operation, inputs| {
            let plan = (set.plan)(operation, bench.device.limits())?;
            let (times, results) = measure::plan(&bench.device, &plan, batch, inputs, bench.effort)?;
            rates.push(batch as f64 / times.median_seconds);
            Ok(results)
        })?;
        let [key_generation, encapsulation, decapsulation] = rates[..] else { anyhow::bail!("three operations") };
        Ok(Line { name: set.name, batch, key_generation, encapsulation, decapsulation, right })
    }
}

/// The lines as a table.
pub(super) fn table(lines: &[Line]) -> String {
    let mut table = show::table(&["name", "batch", "KeyGen/s", "Encaps/s", "Decaps/s", "right"], &[1, 2, 3, 4]);
    for line in lines {
        table.add_row([
            line.name.into(),
            line.batch.to_string(),
            show::short(line.key_generation),
            show::short(line.encapsulation),
            show::short(line.decapsulation),
            show::yes_or_no(line.right),
        ]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_right() -> Result<()> {
        let line = Task { set: &SETS[0], batch: 3 }.line(&Bench::of_cpu())?;
        assert!(line.right && line.name == "ML-KEM-512" && line.decapsulation > 0.0);
        Ok(())
    }
}
