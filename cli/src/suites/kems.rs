//! Key encapsulation, from seeds to the shared keys of both ends, with all data on the device, and from host memory to
//! host memory.
//!
//! The shared keys of both ends must agree. Each corrupted ciphertext must give another key: the hash of implicit
//! rejection. On a GPU, the results of the first items are compared with the CPU's.

mod host;
mod roofline;
mod sets;

use anyhow::Result;
use rayon::prelude::*;
use ringforge::Device;
use ringforge_batch::OK;
use ringforge_testkit::{Named, Random};
use sha3::{Digest, Sha3_512};

pub use sets::{Operation, Parameters, SETS, Set};

use crate::environment;
use crate::record::Measurement;
use crate::roofline::Roofline;
use crate::runs::Runs;
use crate::sample;
use crate::session::Bench;
use crate::suite::{Case, Quoted, Scope, Suite, Wanted};
use crate::work::{Work, slices};

/// The suite of CTRU and CNTR.
pub static CTRU: Suite = Suite {
    name: "CTRU",
    title: "CTRU and CNTR",
    about: "Operations with one key per item. Seeds (64 bytes for a key pair, 32 for an encapsulation), keys and \
            ciphertexts are on the device, and all hashing and expansion is included. From pinned host memory, the \
            roofline bound is that of the copies alone or of the device alone.",
    headline: Some(("CTRU-768", "Encaps")),
    quoted: CTRU_QUOTED,
    cases: |scope| Ok(cases(scope, |parameters| matches!(parameters, Parameters::Ctru(_)))),
    ..Suite::NONE
};

/// The suite of CTRU-Prime.
pub static CTRU_PRIME: Suite = Suite {
    name: "CTRU-Prime",
    title: "CTRU-Prime",
    about: "Operations with one key per item, or (EncapsOne, DecapsOne) with one prepared key for all. Seeds, keys and \
            ciphertexts are on the device, and all hashing and expansion is included. Products use transforms, or tensor \
            cores if the GPU has them.",
    headline: Some(("CTRU-Prime-761", "Encaps")),
    quoted: &[Quoted {
        case: "CTRU-Prime-761",
        peer: "the authors' code",
        source: "repaired and run by us on an H200, its copies included, batches of 8192",
        device: Some("H200"),
        seconds: &[("KeyGen", 1.0 / 0.207e6), ("Encaps", 1.0 / 4.2e6), ("Decaps", 1.0 / 1.8e6)],
    }],
    cases: |scope| Ok(cases(scope, |parameters| matches!(parameters, Parameters::Prime(_)))),
    ..Suite::NONE
};

/// The suite of ML-KEM, a third-party scheme.
pub static ML_KEM: Suite = Suite {
    name: "ML-KEM",
    title: "ML-KEM, a third-party scheme",
    about: "The crate of the guide to a scheme of your own, measured as the schemes above. No roofline bound is known \
            for it.",
    headline: Some(("ML-KEM-768", "Encaps")),
    cases: |scope| Ok(cases(scope, |parameters| matches!(parameters, Parameters::MlKem(_)))),
    ..Suite::NONE
};

/// Figures from table 4 of the CTRU paper.
const CTRU_QUOTED: &[Quoted] = {
    const fn paper(case: &'static str, seconds: &'static [(&'static str, f64)]) -> Quoted {
        const SOURCE: &str = "CTRU paper, table 4: RTX 4090, batches of 1000";
        Quoted { case, peer: "the paper's", source: SOURCE, device: None, seconds }
    }
    &[
        paper("CTRU-768", &[("KeyGen", 1.0 / 11.71e6), ("Encaps", 1.0 / 9.27e6), ("Decaps", 1.0 / 3.15e6)]),
        paper("CNTR-768", &[("KeyGen", 1.0 / 11.17e6), ("Encaps", 1.0 / 9.72e6), ("Decaps", 1.0 / 3.22e6)]),
    ]
};

/// Batches on a GPU; with `--quick` only the first is measured.
const GPU_BATCHES: [usize; 2] = [1 << 16, 1 << 18];
/// Items per CPU thread in a batch on a CPU.
const ITEMS_PER_THREAD: usize = 64;
/// A batch is right if at most one seed in this many fails to give a key. For n = 768, one in 31000 fails.
const SEEDS_PER_FAILURE: usize = 1000;
/// Number of items, from the first on, whose ciphertexts are corrupted. On a GPU, the results of these items are also
/// compared with the CPU's.
const COMPARED: usize = 1000;

fn cases(scope: &Scope, is_of: fn(&Parameters) -> bool) -> Vec<Case> {
    let usual = match (scope.cpu, scope.quick) {
        (true, _) => vec![ITEMS_PER_THREAD * environment::threads()],
        (false, true) => GPU_BATCHES[..1].to_vec(),
        _ => GPU_BATCHES.to_vec(),
    };
    let sets = SETS.iter().filter(|set| is_of(&set.parameters) && scope.wants(set.quick));
    let case = |set: &'static Set| {
        let batches = scope.batches(&usual);
        // a check omits the operations with one key for all items, which need further kernels
        let operations = &set.operations()[..if scope.check { 3 } else { set.operations().len() }];
        Case::new(set.parameters.name(), operations, move |bench, wanted| {
            let mut lines = Vec::new();
            for &batch in &batches {
                let resident = resident(bench, wanted, set, batch)?;
                lines.extend((set.host)(bench, wanted, batch, &resident)?);
                lines.extend(resident);
            }
            Ok(lines)
        })
    };
    sets.map(case).collect()
}

/// Measures a set's operations with all data on the device, each on the results of the previous operations. An
/// operation that is not wanted runs once. Operations with one key for all items are skipped unless one of them is
/// wanted.
pub fn resident(bench: &Bench, wanted: &Wanted, set: &Set, batch: usize) -> Result<Vec<Measurement>> {
    let (parameters, limits, few) = (&set.parameters, bench.device.limits(), batch.min(COMPARED));
    let (mut known, mut random) = (Named::new(), Random::new(bench.seed));
    let (mut lines, mut right, mut has_key) = (Vec::new(), true, Vec::new());
    let wants_one = set.operations().iter().any(|operation| operation.has_one_key() && wanted.has(operation));
    for &operation in set.operations().iter().filter(|operation| wants_one || !operation.has_one_key()) {
        if let Some(size) = operation.seed() {
            known.insert("seeds".into(), sample::bytes(random.bits(), size, batch)?);
        }
        if operation == Operation::EncapsOne {
            has_key = vec![true; batch];
            for (keys, prepared) in [("public keys", "prepared public key"), ("secret keys", "prepared secret key")] {
                let plan = set.with_sample(&format!("prepare {keys}"), limits)?.plan;
                let first = &known[keys][..known[keys].len() / batch];
                known.insert(prepared.into(), Work::of_plan(&bench.device, &plan)?.run(1, &[(keys, first)])?);
            }
        }
        let plan = set.plan(operation, limits)?;
        let outcome = Runs::new(&plan, batch, &slices(&known)).measure(bench, wanted.effort(operation, bench))?;
        let floor = Roofline::of_kem(parameters, operation, plan.bytes_moved_per_item(), &bench.peaks, limits)?;
        let line = outcome.line(parameters.name(), operation, batch).by(&plan).above(floor);
        lines.push(Measurement { ring: Some(parameters.ring()), ..line });
        let results = outcome.results;
        right &= outcome.alike;
        if !limits.is_cpu() && !operation.has_one_key() {
            let cpu = Device::cpu();
            let work = Work::of_plan(&cpu, &set.plan(operation, cpu.limits())?)?;
            let wanted = work.run_all(few, &slices(&firsts(&known, batch, few)))?;
            right &= wanted == firsts(&results, batch, few);
        }
        // operations that cannot fail have no statuses, so all items are ok
        let fine = results.get("statuses").map_or(vec![true; batch], |statuses| are_ok(statuses));
        match operation {
            Operation::KeyGen => {
                right &= fine.iter().filter(|fine| !**fine).count() <= batch.div_ceil(SEEDS_PER_FAILURE);
                has_key = fine;
            }
            Operation::Encaps | Operation::EncapsOne => right &= !fine.contains(&false),
            Operation::Decaps | Operation::DecapsOne => {
                right &= !fine.contains(&false);
                right &= ends_agree(&has_key, &known["shared keys"], &results["shared keys"]);
            }
        }
        if operation == Operation::Decaps {
            let mut spoilt = firsts(&known, batch, few);
            spoil(&mut spoilt, few, &mut random);
            let work = Work::of_plan(&bench.device, &plan)?;
            let keys = &work.run_all(few, &slices(&spoilt))?["shared keys"];
            right &= are_rejected(parameters, &has_key[..few], &spoilt, keys);
        }
        known.extend(results);
    }
    let checked = "both ends agree for every item that has a key; spoilt ciphertexts are rejected";
    Ok(lines.into_iter().map(|line| line.checked(checked, right)).collect())
}

/// Returns the first `few` items of each argument.
fn firsts(named: &Named, batch: usize, few: usize) -> Named {
    named.iter().map(|(name, bytes)| (name.clone(), bytes[..bytes.len() / batch * few].to_vec())).collect()
}

/// Returns true for each item whose status is ok.
pub fn are_ok(statuses: &[u8]) -> Vec<bool> {
    statuses.chunks(4).map(|status| status == OK.to_ne_bytes()).collect()
}

/// Returns true if the shared keys of both ends agree, for all items that have a key.
pub fn ends_agree(has_key: &[bool], sent: &[u8], received: &[u8]) -> bool {
    let keys = sent.chunks_exact(32).zip(received.chunks_exact(32));
    sent.len() == 32 * has_key.len() && has_key.iter().zip(keys).all(|(has_key, (a, b))| !has_key || a == b)
}

/// Flips a random bit of each ciphertext.
fn spoil(known: &mut Named, items: usize, random: &mut Random) {
    if let Some(ciphertexts) = known.get_mut("ciphertexts") {
        let size = ciphertexts.len() / items;
        for ciphertext in ciphertexts.chunks_exact_mut(size) {
            let bit = random.below(8 * ciphertext.len());
            ciphertext[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

/// Returns true if corrupted ciphertexts gave keys other than those sent. If the layout of secret keys is known, each
/// key must be the hash of implicit rejection: of the public key's first 33 bytes, the secret z and the ciphertext.
fn are_rejected(parameters: &Parameters, has_key: &[bool], spoilt: &Named, keys: &[u8]) -> bool {
    let items = has_key.len();
    let part = |bytes: &[u8], item: usize| bytes[bytes.len() / items * item..][..bytes.len() / items].to_vec();
    let is_right = |item: usize| {
        let (secret_key, ciphertext) = (part(&spoilt["secret keys"], item), part(&spoilt["ciphertexts"], item));
        let hash = parameters.encryption().map(|sizes| {
            let (public_key, z) = secret_key[sizes.pke_key..].split_at(secret_key.len() - sizes.pke_key - 32);
            Sha3_512::new().chain_update(&public_key[..33]).chain_update(z).chain_update(&ciphertext).finalize()
        });
        let key = part(keys, item);
        !has_key[item] || key != part(&spoilt["shared keys"], item) && hash.is_none_or(|hash| key == hash[..key.len()])
    };
    (0..items).into_par_iter().all(is_right)
}

#[cfg(test)]
mod tests {
    use ringforge_testkit::Target;

    use super::*;

    #[test]
    fn different_shared_keys_are_detected() {
        let (keys, mut other) = ([7; 64], [7; 64]);
        other[40] = 8;
        assert!(ends_agree(&[true; 2], &keys, &keys) && !ends_agree(&[true; 2], &keys, &other));
        // an item without a key is ignored, but the number of items must be right
        assert!(ends_agree(&[true, false], &keys, &other) && !ends_agree(&[true; 3], &keys, &keys));
        let statuses = [OK, 1].map(u32::to_ne_bytes).concat();
        assert_eq!(are_ok(&statuses), [true, false]);
    }

    /// Tests that measurements of CUDA kernels are right, in the emulator and, if there is one, on a GPU.
    #[test]
    fn lines_of_a_gpu_are_right() -> Result<()> {
        for device in [Target::Emulator, Target::Cuda].into_iter().filter_map(Target::device) {
            let bench = Bench { device, ..Bench::of_cpu() };
            let set = Set::named("CTRU-768")?;
            let wanted = Wanted(set.operations().iter().map(ToString::to_string).collect());
            assert!(resident(&bench, &wanted, set, 3)?.iter().all(|line| line.right));
        }
        Ok(())
    }

    #[test]
    fn keys_of_corrupted_ciphertexts_must_be_hashes() -> Result<()> {
        let (set, random) = (Set::named("CTRU-768")?, &mut Random::new(1));
        let sizes = set.parameters.encryption().ok_or(anyhow::anyhow!("sizes"))?;
        let mut known = Named::from([
            ("secret keys".into(), sample::bytes(1, sizes.pke_key + 1000, 2)?),
            ("ciphertexts".into(), sample::bytes(2, sizes.ciphertext, 2)?),
            ("shared keys".into(), vec![7; 64]),
        ]);
        let before = known.clone();
        spoil(&mut known, 2, random);
        assert!(known["ciphertexts"] != before["ciphertexts"]);
        assert!(!are_rejected(&set.parameters, &[true; 2], &known, &[7; 64]));
        assert!(!are_rejected(&set.parameters, &[true; 2], &known, &[8; 64]));
        assert!(are_rejected(&Set::named("ML-KEM-768")?.parameters, &[true; 2], &known, &[8; 64]));
        Ok(())
    }
}
