//! Every kernel of the workspace runs in the catalogue, on every device, with the CPU's results.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use rayon::prelude::*;
use ringforge::testkit::{Target, check_plan, seed};
use ringforge::{Device, Limits, Result, Slot, Table};
use ringforge_tests::catalogue::catalogue;

fn check(target: Target) -> Result<()> {
    let Some(device) = target.device() else { return Ok(()) };
    let seed = seed();
    let devices = [Device::cpu(), device];
    let plans = catalogue(devices[1].limits())?;
    plans.par_iter().for_each(|plan| check_plan(plan, &devices, seed));
    Ok(())
}

#[test]
fn text_is_cpu() -> Result<()> {
    check(Target::Text)
}

#[test]
fn text_is_cpu_under_sanitizers() -> Result<()> {
    check(Target::TextSanitized)
}

#[test]
fn cuda_is_cpu() -> Result<()> {
    check(Target::Cuda)
}

#[test]
fn no_kernel_is_left_out() -> Result<(), Box<dyn std::error::Error>> {
    let mut covered = BTreeSet::new();
    for plan in catalogue(&Limits::of_capability(90))? {
        for step in plan.plan.steps() {
            covered.insert(step.kernel.name());
            step.slots.iter().for_each(|slot| {
                if let Slot::Table(table) = slot {
                    makers(table, &mut covered);
                }
            });
        }
    }
    let left_out: Vec<String> = kernels()?.into_iter().filter(|name| !covered.contains(name.as_str())).collect();
    assert!(left_out.is_empty(), "no plan of tests/src/catalogue.rs runs {}", left_out.join(", "));
    Ok(())
}

/// The kernels that make a table.
fn makers(table: &Table, names: &mut BTreeSet<&'static str>) {
    if let Table::Made { kernel, inputs, .. } = table {
        names.insert(kernel.name());
        inputs.iter().for_each(|input| makers(input, names));
    }
}

/// The stems of all `.cu` files in the sources of `kernels` and of the schemes.
fn kernels() -> io::Result<BTreeSet<String>> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut open: Vec<PathBuf> = vec![workspace.join("kernels/src")];
    if let Ok(schemes) = fs::read_dir(workspace.join("schemes")) {
        for scheme in schemes {
            open.push(scheme?.path().join("src"));
        }
    }
    let mut names = BTreeSet::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            for entry in fs::read_dir(path)? {
                open.push(entry?.path());
            }
        } else if path.extension().is_some_and(|extension| extension == "cu") {
            names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    Ok(names)
}
