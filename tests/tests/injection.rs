//! Tests that the emulator, which runs the CUDA source of kernels on the CPU, finds defects injected into kernels, such
//! as deleted barriers, swapped table entries, and halved shared memory.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rayon::prelude::*;
use ringforge::{Device, Planner, Result};
use ringforge_testkit::inject::{Injection, injections};
use ringforge_testkit::{NamedPlan, Target, check_plan};
use ringforge_tests::catalogue::catalogue;
use ringforge_tests::mix::{self, Mix};

/// The seed of all inputs. It is fixed, so that chance does not decide whether a defect is found.
const SEED: u64 = 1;

/// Number of items of a batch. With three, the second half of a thread block has work even if only every second item
/// does any work.
const ITEMS: usize = 3;

/// Number of items for a second attempt on defects that the first one missed, because few items may read a given entry
/// of a large table.
const MORE_ITEMS: usize = 48;

/// Returns the defects that no plan reveals. A defect counts as found if one plan reveals it, because not every plan
/// reaches every barrier of a header.
fn not_found(plans: &[NamedPlan]) -> Result<Vec<String>> {
    let Some(device) = Target::Emulator.device() else { return Ok(Vec::new()) };
    let mut defects: BTreeMap<String, Vec<(&NamedPlan, Injection)>> = BTreeMap::new();
    for plan in plans {
        for injection in injections(plan, device.limits())? {
            defects.entry(injection.what.clone()).or_default().push((plan, injection));
        }
    }
    let missed = defects.into_par_iter().filter_map(|(what, carriers)| {
        let looks =
            [ITEMS, MORE_ITEMS].into_iter().flat_map(|items| carriers.iter().map(move |carrier| (items, carrier)));
        for (items, (plan, injection)) in looks {
            match injection.found(plan, &device, SEED, items) {
                Ok(true) => {
                    println!("found {what}");
                    return None;
                }
                Ok(false) => {}
                Err(error) => return Some(Err(error)),
            }
        }
        println!("MISSED {what}");
        Some(Ok(what))
    });
    missed.collect()
}

#[test]
fn in_the_small_kernel() -> Result<()> {
    assert_eq!(not_found(&[mix::plan(Mix)?])?, Vec::<String>::new());
    Ok(())
}

#[test]
fn in_the_catalogue() -> Result<()> {
    let Some(device) = Target::Emulator.device() else { return Ok(()) };
    assert_eq!(not_found(&catalogue(device.limits())?)?, Vec::<String>::new());
    Ok(())
}

/// Checks that the failure message of a kernel mismatch names the first step and port that differ.
#[test]
fn a_mismatch_names_its_step_and_port() -> Result<()> {
    let Some(device) = Target::Emulator.device() else { return Ok(()) };
    let p = Planner::new(device.limits().clone()).pipeline("three times");
    let [once] = p.step(Mix, &[p.bytes("words", 4 * mix::N)]);
    let [twice] = p.step(mix::with("3 *", "5 *"), &[once]);
    let [mixed] = p.step(Mix, &[twice]);
    p.output("mixed", mixed);
    let (named, devices) = (NamedPlan::new("three times", p.build()?), [Device::cpu(), device]);
    let failed = catch_unwind(AssertUnwindSafe(|| check_plan(&named, &devices, SEED))).expect_err("a mismatch");
    let told = failed.downcast_ref::<String>().expect("a message");
    assert!(told.contains("mixed, item 0") && told.contains("first difference: step 1, mix, port 2 "), "{told}");
    Ok(())
}
