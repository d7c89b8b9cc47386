//! Key encapsulation from seeds to both ends, with everything on the device, and from host memory to host memory.

mod host;
mod ways;

use anyhow::{Context, Result};
use ringforge::testkit::{Named, Random};
use ringforge::{Device, Plan};
use ringforge_batch::{ENCAPSULATION_SEED, FINE, KEY_SEED};

use super::Bench;
use super::runs::{Outcome, Runs};
use super::suites::{Case, Quoted, Scope, Suite, Wanted};
use crate::environment;
use crate::floor::Floor;
use crate::kems::{ML_KEM as ML_KEM_SETS, Operation, Parameters, SETS, Set};
use crate::measure::Effort;
use crate::record::Measurement;
use crate::sample;
use crate::work::{Inputs, Work, slices};

pub(super) static CTRU: Suite = Suite {
    name: "CTRU",
    title: "CTRU and CNTR",
    about: "Operations with a key for each item; seeds (64 bytes for a key pair, 32 for an encapsulation), keys and \
            ciphertexts on the device, all hashing and expansion included. From pinned host memory, the floor is what the \
            copies alone or the device alone would allow.",
    headline: Some(("CTRU-768", "Encaps")),
    quoted: CTRU_QUOTED,
    cases: |scope| Ok(cases(scope, SETS, |parameters| matches!(parameters, Parameters::Ctru(_)))),
    ..Suite::NONE
};

pub(super) static CTRU_PRIME: Suite = Suite {
    name: "CTRU-Prime",
    title: "CTRU-Prime",
    about: "Operations with a key for each item, or (EncapsOne, DecapsOne) with one prepared key for all; seeds, keys and \
            ciphertexts on the device, all hashing and expansion included. Products go by transforms, or on tensor cores \
            where a GPU has them: both ways are beside one another.",
    headline: Some(("CTRU-Prime-761", "Encaps")),
    quoted: PRIME_QUOTED,
    cases: |scope| {
        let mut cases = cases(scope, SETS, |parameters| matches!(parameters, Parameters::Prime(_)));
        cases.extend(ways::cases(scope));
        Ok(cases)
    },
    ..Suite::NONE
};

pub(super) static ML_KEM: Suite = Suite {
    name: "ML-KEM",
    title: "ML-KEM, a stranger's scheme",
    about: "The example crate that a walk through a scheme of one's own makes, on the same terms as the schemes above. It \
            has no floor of its own.",
    headline: Some(("ML-KEM-768", "Encaps")),
    cases: |scope| Ok(cases(scope, ML_KEM_SETS, |_| true)),
    ..Suite::NONE
};

/// Table 4 of the CTRU paper.
pub(super) const CTRU_QUOTED: &[Quoted] = {
    const fn paper(case: &'static str, seconds: &'static [(&'static str, f64)]) -> Quoted {
        const SOURCE: &str = "CTRU paper, table 4: RTX 4090, batches of 1000";
        Quoted { case, peer: "the paper's", source: SOURCE, device: None, seconds }
    }
    &[
        paper("CTRU-768", &[("KeyGen", 1.0 / 11.71e6), ("Encaps", 1.0 / 9.27e6), ("Decaps", 1.0 / 3.15e6)]),
        paper("CNTR-768", &[("KeyGen", 1.0 / 11.17e6), ("Encaps", 1.0 / 9.72e6), ("Decaps", 1.0 / 3.22e6)]),
    ]
};

const PRIME_QUOTED: &[Quoted] = &[Quoted {
    case: "CTRU-Prime-761",
    peer: "the authors' code",
    source: "repaired and run by us on an H200, its copies included, batches of 8192",
    device: Some("H200"),
    seconds: &[("KeyGen", 1.0 / 0.207e6), ("Encaps", 1.0 / 4.2e6), ("Decaps", 1.0 / 1.8e6)],
}];

/// Batches on a GPU; the first one in a hurry.
const GPU_BATCHES: [usize; 2] = [1 << 16, 1 << 18];
/// Items of a CPU's batch for each thread.
const ITEMS_PER_THREAD: usize = 64;
/// One seed in this many may give no key; for n = 768 one in 31000 gives none.
const SEEDS_PER_FAILURE: usize = 1000;

fn cases(scope: &Scope, sets: &'static [Set], is_of: fn(&Parameters) -> bool) -> Vec<Case> {
    let usual = match (scope.cpu, scope.quick) {
        (true, _) => vec![ITEMS_PER_THREAD * environment::threads()],
        (false, true) => GPU_BATCHES[..1].to_vec(),
        _ => GPU_BATCHES.to_vec(),
    };
    let sets = sets.iter().filter(|set| is_of(&set.parameters) && scope.wants(set.quick));
    let case = |set: &'static Set| {
        let batches = scope.batches(&usual);
        Case::new(set.parameters.name(), &operations(set), move |bench, wanted| {
            let mut lines = Vec::new();
            for &batch in &batches {
                let resident = resident(bench, wanted, set, batch)?;
                lines.extend(host::lines(bench, wanted, set, batch, &resident)?);
                lines.extend(resident);
            }
            Ok(lines)
        })
    };
    sets.map(case).collect()
}

/// The operations of a set.
fn operations(set: &Set) -> Vec<Operation> {
    let one = Operation::ONE.into_iter().filter(|_| set.parameters.prepares());
    Operation::EACH.into_iter().chain(one).collect()
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

/// A set's operations with everything on the device. Those that are not wanted are run as briefly as can be.
pub(super) fn resident(bench: &Bench, wanted: &Wanted, set: &Set, batch: usize) -> Result<Vec<Measurement>> {
    let (parameters, limits) = (&set.parameters, bench.device.limits());
    let (mut lines, mut alike) = (Vec::new(), true);
    let mut run = |operation: Operation, inputs: &Inputs<'_>| {
        let plan = &match operation {
            Operation::EncapsOne => one_key_plan(parameters, &bench.device, "encapsulate to one key from seeds")?,
            Operation::DecapsOne => one_key_plan(parameters, &bench.device, "decapsulate with one key")?,
            _ => (set.plan)(operation, limits)?,
        };
        let effort = if wanted.has(&operation.to_string()) { bench.effort } else { Effort::LEAST };
        let outcome = Runs::new(plan, batch, inputs).measure(bench, effort)?;
        let floor = Floor::of_kem(parameters, operation, plan.floor_bytes_per_item(), &bench.ceilings, limits)?;
        let line = outcome.line(parameters.name(), operation, batch).by(plan).above(floor);
        lines.push(Measurement { ring: Some(parameters.ring()), ..line });
        let Outcome { results, alike: these, .. } = outcome;
        alike &= these;
        anyhow::Ok(results)
    };
    let (keys, mut right) = round_trip(batch, &mut run)?;
    if Operation::ONE.into_iter().any(|operation| wanted.has(&operation.to_string())) {
        let prepare = |what| {
            let first = &keys[what][..keys[what].len() / batch];
            let plan = one_key_plan(parameters, &bench.device, &format!("prepare {what}"))?;
            Work::of_plan(&bench.device, &plan)?.run(1, &[(what, first)])
        };
        let mut known = Named::from([
            ("prepared public key".into(), prepare("public keys")?),
            ("prepared secret key".into(), prepare("secret keys")?),
            ("seeds".into(), sample::bytes(1, ENCAPSULATION_SEED, batch)?),
        ]);
        known.extend(run(Operation::EncapsOne, &slices(&known))?);
        let received = run(Operation::DecapsOne, &slices(&known))?;
        right &= known["shared keys"] == received["shared keys"];
    }
    right &= alike;
    Ok(lines.into_iter().map(|line| line.checked("both ends agree for every item that has a key", right)).collect())
}

/// The plan of a set that has this name, in the way that comes last: the fastest on a GPU.
fn one_key_plan(parameters: &Parameters, device: &Device, what: &str) -> Result<Plan> {
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
    use super::*;

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
