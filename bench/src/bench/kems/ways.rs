//! The two ways in which CTRU-Prime multiplies: by transforms, and on a GPU's tensor cores. Both must leave the same bytes.

use anyhow::{Context, Result};
use ringforge::testkit::{Named, NamedPlan};
use ringforge_batch::{ENCAPSULATION_SEED, KEY_SEED};
use ringforge_ctru_prime::{CtruPrime653, CtruPrime761, CtruPrime1277, ParameterSet, Parameters, named_plans};

use crate::bench::Bench;
use crate::bench::runs::Runs;
use crate::bench::suites::{Case, Scope};
use crate::memory;
use crate::record::Measurement;
use crate::sample;
use crate::work::{Work, slices};

/// From one item, whose latency shows, to full throughput.
const BATCHES: [usize; 5] = [1, 64, 1024, 8192, 1 << 15];
/// What the plans of each way add to their names, and the way.
const WAYS: [(&str, &str); 2] = [("", "by transforms"), (", tensor cores", "on tensor cores")];
/// Operations by the names of their plans, each after those whose outputs it takes.
const OPERATIONS: [&str; 6] = [
    "multiply",
    "generate from seeds",
    "encapsulate from seeds",
    "decapsulate",
    "encapsulate to one key from seeds",
    "decapsulate with one key",
];
const SETS: [Parameters; 3] = [CtruPrime761::PARAMETERS, CtruPrime653::PARAMETERS, CtruPrime1277::PARAMETERS];

/// Both ways of every set; on a CPU, which has one, that one in a batch alone.
pub(super) fn cases(scope: &Scope) -> Vec<Case> {
    let batches = scope.batches(scope.either(&BATCHES, &BATCHES[1..2]));
    let case = |&set: &Parameters| {
        let batches = batches.clone();
        Case::new(format!("{} ways", set.name), &OPERATIONS, move |bench, _| {
            Ok(batches.iter().map(|&batch| lines(bench, &set, batch)).collect::<Result<Vec<_>>>()?.concat())
        })
    };
    SETS.iter().filter(|_| !scope.quick).map(case).collect()
}

/// All operations: keys are made from seeds, and ciphertexts to them.
fn lines(bench: &Bench, set: &Parameters, batch: usize) -> Result<Vec<Measurement>> {
    let plans = named_plans(set, bench.device.limits())?;
    let product = find(&plans, set, "multiply", "").context("there is a product")?;
    memory::fits(batch, product.plan.floor_bytes_per_item())?;
    let ways: Vec<_> = WAYS.into_iter().filter(|(way, _)| find(&plans, set, "multiply", way).is_some()).collect();
    // what is known in each way: what is prepared of a key is another thing in each
    let mut known = vec![product.sample(7, batch); ways.len()];
    let (mut lines, mut right) = (Vec::new(), true);
    for operation in OPERATIONS {
        let fresh = match operation {
            "generate from seeds" => Some(("seeds", sample::bytes(8, KEY_SEED, batch)?)),
            "encapsulate from seeds" => Some(("seeds", sample::bytes(8, ENCAPSULATION_SEED, batch)?)),
            _ => None,
        };
        let mut found = Vec::new();
        for (known, (way, variant)) in known.iter_mut().zip(&ways) {
            known.extend(fresh.clone().map(|(name, bytes)| (name.to_owned(), bytes)));
            let plan = find(&plans, set, operation, way).with_context(|| format!("no plan does {operation}{way}"))?;
            let outcome = Runs::new(&plan.plan, batch, &slices(known)).measure(bench, bench.effort)?;
            right &= outcome.alike;
            let line = outcome.line(format!("{} ways", set.name), operation, batch);
            lines.push(line.varied(*variant).by(&plan.plan));
            found.push(outcome.results);
        }
        right &= found.windows(2).all(|pair| pair[0] == pair[1]);
        known.iter_mut().zip(found).for_each(|(known, found)| known.extend(found));
        if operation == "decapsulate" {
            prepare(bench, set, batch, &plans, known.iter_mut().zip(&ways))?;
        }
    }
    let checked = if ways.len() > 1 { "both ways leave the same bytes" } else { "all sets of buffers alike" };
    Ok(lines.into_iter().map(|line| line.checked(checked, right)).collect())
}

/// Prepares the first item's keys in each way.
fn prepare<'a>(
    bench: &Bench,
    set: &Parameters,
    batch: usize,
    plans: &[NamedPlan],
    ways: impl Iterator<Item = (&'a mut Named, &'a (&'a str, &'a str))>,
) -> Result<()> {
    for (known, (way, _)) in ways {
        for [key, prepared] in [["public keys", "prepared public key"], ["secret keys", "prepared secret key"]] {
            let first = &known[key][..known[key].len() / batch];
            let plan =
                find(plans, set, &format!("prepare {key}"), way).with_context(|| format!("no plan prepares {key}"))?;
            let bytes = Work::of_plan(&bench.device, &plan.plan)?.run(1, &[(key, first)])?;
            known.insert(prepared.into(), bytes);
        }
    }
    Ok(())
}

fn find<'a>(plans: &'a [NamedPlan], set: &Parameters, operation: &str, way: &str) -> Option<&'a NamedPlan> {
    let name = format!("{} {operation}{way}", set.name);
    plans.iter().find(|plan| plan.name == name)
}
