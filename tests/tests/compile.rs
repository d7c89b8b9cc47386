//! Checks that NVRTC alone compiles the kernels of the catalogue, within a budget of registers and spilled bytes. By
//! default, all kernels are compiled for one architecture only, and samples for the others. The budgets are in
//! `tests/golden/resources.txt`: one line per kernel and architecture, set by the instance that needs most.
//! `RINGFORGE_BLESS=1` with `RINGFORGE_CATALOGUE=whole` rewrites that file.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::{env, fs};

use rayon::prelude::*;
use ringforge::cuda::{Resources, compile_check, is_compiler_present};
use ringforge::kernels::{Kernel, Table};
use ringforge::{Limits, Result};
use ringforge_tests::catalogue::at_full_size;

/// The architecture for which the whole catalogue is compiled.
const IN_FULL: u32 = 90;
/// Architectures for which a sample is compiled, or the whole catalogue with `RINGFORGE_CATALOGUE=whole`.
const SAMPLED: [u32; 5] = [75, 80, 89, 100, 120];
/// Samples contain one kernel in every `ONE_IN`.
const ONE_IN: usize = 16;
/// Number of registers by which a kernel may exceed its budget. Different builds of the same compiler version differ by
/// less.
const SLACK: u32 = 4;

/// The resources that a kernel may use on one architecture.
struct Budget {
    registers: u32,
    /// Number of bytes that may be spilled. A few bytes are allowed where the higher occupancy gains more than spilling
    /// costs, and in the smallest shapes of the catalogue.
    spilled: u32,
}

/// Returns the distinct kernels of the catalogue as planned for one architecture, each with the name of the first plan
/// that contains it.
fn kernels(limits: &Limits) -> Result<Vec<(String, Arc<dyn Kernel>)>> {
    let mut seen = BTreeSet::new();
    let mut kernels = Vec::new();
    for named in at_full_size(limits)? {
        let mut all: Vec<Arc<dyn Kernel>> = Vec::new();
        all.extend(named.plan.kernels().cloned());
        named.plan.tables().for_each(|table| makers(&mut all, table));
        let new = all.into_iter().filter(|kernel| seen.insert(format!("{kernel:?}")));
        kernels.extend(new.enumerate().map(|(i, kernel)| (format!("{} {i} of {}", kernel.name(), named.name), kernel)));
    }
    Ok(kernels)
}

/// Appends the kernels that compute a table, and recursively those that compute the tables that these kernels read.
fn makers(kernels: &mut Vec<Arc<dyn Kernel>>, table: &Table) {
    if let Table::Made { kernel, inputs, .. } = table {
        kernels.push(kernel.clone());
        inputs.iter().for_each(|input| makers(kernels, input));
    }
}

fn budget_file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden/resources.txt")
}

/// Parses the budget file, whose lines are `registers spilled architecture kernel`. The keys are `architecture kernel`.
fn budgets() -> BTreeMap<String, Budget> {
    let text = fs::read_to_string(budget_file()).unwrap_or_default();
    let line = |line: &str| {
        let (registers, rest) = line.split_once(' ')?;
        let (spilled, what) = rest.split_once(' ')?;
        Some((what.to_owned(), Budget { registers: registers.parse().ok()?, spilled: spilled.parse().ok()? }))
    };
    text.lines().filter_map(line).collect()
}

fn spilled(resources: &Resources) -> u32 {
    resources.spill_stores.max(resources.spill_loads)
}

/// Returns the key of an instance's budget: its first two words, the architecture and the kernel name.
fn budget_of(instance: &str) -> &str {
    instance.match_indices(' ').nth(1).map_or(instance, |(end, _)| &instance[..end])
}

#[test]
fn the_catalogue_compiles_within_its_budget() -> Result<()> {
    if !is_compiler_present() {
        assert!(
            env::var_os("RINGFORGE_REQUIRE_NVRTC").is_none_or(|value| value != "1"),
            "RINGFORGE_REQUIRE_NVRTC=1, but NVRTC is not on this machine"
        );
        eprintln!("skipped: NVRTC is not on this machine");
        return Ok(());
    }
    let mut instances: Vec<(u32, String, Arc<dyn Kernel>)> = Vec::new();
    // skips kernels that differ only in launch arguments, because they have the same CUDA source
    let mut texts = HashSet::new();
    let is_whole = env::var_os("RINGFORGE_CATALOGUE").is_some_and(|value| value == "whole");
    let sampled = if is_whole { 1 } else { ONE_IN };
    for (capability, every) in SAMPLED.map(|capability| (capability, sampled)).into_iter().chain([(IN_FULL, 1)]) {
        let limits = Limits::of_capability(capability);
        for (name, kernel) in kernels(&limits)?.into_iter().step_by(every) {
            let source = kernel.source(&limits)?;
            let text = (source.cuda_source().to_owned(), source.prelude().to_owned(), source.headers().to_vec());
            if texts.insert((capability, text)) {
                instances.push((capability, name, kernel));
            }
        }
    }
    let compile = |(capability, name, kernel): &(u32, String, Arc<dyn Kernel>)| {
        let resources = compile_check(&**kernel, &Limits::of_capability(*capability), false)?;
        Ok((format!("sm_{capability} {name}"), resources))
    };
    let compiled: BTreeMap<String, Resources> = instances.par_iter().map(compile).collect::<Result<_>>()?;
    assert_eq!(compiled.len(), instances.len(), "two instances have the same name, so one was not checked");
    println!("{} kernels compiled", compiled.len());
    if env::var_os("RINGFORGE_BLESS").is_some_and(|value| value == "1") {
        let mut worst: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
        for (instance, found) in &compiled {
            let (registers, bytes) = worst.entry(budget_of(instance)).or_default();
            (*registers, *bytes) = (found.registers.max(*registers), spilled(found).max(*bytes));
        }
        let lines = worst.iter().map(|(what, (registers, bytes))| format!("{registers} {bytes} {what}\n"));
        fs::write(budget_file(), lines.collect::<String>()).expect("the budget file can be written");
    }
    let budgets = budgets();
    let mut broken = Vec::new();
    for (what, found) in &compiled {
        let (registers, spilled) = (found.registers, spilled(found));
        let takes = format!("{what} takes {registers} registers and spills {spilled} bytes");
        match budgets.get(budget_of(what)) {
            Some(budget) if registers <= budget.registers + SLACK && spilled <= budget.spilled => {}
            Some(Budget { registers, spilled }) => {
                broken.push(format!("{takes}, but its budget is {registers} and {spilled}"));
            }
            None => broken.push(format!("{takes}, but it has no budget")),
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    Ok(())
}
