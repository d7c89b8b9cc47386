//! Checks that kernels give the same results on the CPU, in the emulator and on a GPU. Also checks that the catalogue
//! contains every kernel, except those of schemes with a compile test of their own.

use core::ops::Range;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use rayon::prelude::*;
use ringforge::kernels::{Args, Kernel, Port, Source, Table};
use ringforge::{Device, Limits, Result};
use ringforge_testkit::inject::Altered;
use ringforge_testkit::one_step;
use ringforge_testkit::{self, Compiled, NamedPlan, Target, check_plan, emulator, seed};
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
fn emulator_matches_cpu() -> Result<()> {
    check(Target::EmulatorSanitized)
}

/// Wraps a kernel and hides its tables, so that their contents are supplied as inputs, like those of any other port.
#[derive(Debug)]
struct Bare(Arc<dyn Kernel>);

impl Kernel for Bare {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn ports(&self) -> &[Port] {
        self.0.ports()
    }

    fn source(&self, limits: &Limits) -> Result<Source> {
        self.0.source(limits)
    }

    fn on_views(&self, firsts: &[usize], strides: &[usize]) -> Option<Arc<dyn Kernel>> {
        self.0.on_views(firsts, strides).map(|kernel| Arc::new(Self(kernel)) as _)
    }

    /// Keeps lists of pointers to tables, because only the engine can bind them.
    fn table(&self, port: usize) -> Option<Table> {
        self.0.table(port).filter(|table| matches!(table, Table::List(_)))
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        self.0.on_cpu(items, args)
    }
}

/// Returns the distinct kernels of the catalogue, each with the name of the first plan that contains it.
fn distinct_kernels(limits: &Limits) -> Result<Vec<(String, Arc<dyn Kernel>)>> {
    let mut seen = BTreeSet::new();
    let plans = catalogue(limits)?;
    let all = plans.iter().flat_map(|named| named.plan.kernels().map(|kernel| (named.name.clone(), kernel.clone())));
    Ok(all.filter(|(_, kernel)| seen.insert(format!("{kernel:?}"))).collect())
}

/// Checks that kernels stay within their buffers for any contents of tables, constants and evaluations. A GPU checks no
/// bounds, so a kernel must not derive an address from such contents. Pointers to tables are an exception, because only
/// the engine can bind them.
#[test]
fn kernels_stay_within_their_ports_for_any_contents() -> Result<()> {
    let Some(device) = sanitized() else { return Ok(()) };
    distinct_kernels(device.limits())?.into_par_iter().try_for_each(|(name, kernel)| {
        let about = format!("{} of {name}, RINGFORGE_SEED={}", kernel.name(), seed());
        let found = strays(kernel, &device)?;
        assert!(found.is_empty(), "{about}: {found:?}");
        Ok(())
    })
}

/// Checks that kernels that derive addresses from their inputs are detected, by removing a bounds check from
/// `lift_fold.cu`.
#[test]
fn addresses_from_ports_are_found() -> Result<()> {
    let Some(device) = sanitized() else { return Ok(()) };
    let texts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels");
    let (file, bound) = ("lift_fold.cu", "(u32)exponent[i] < n - gap");
    let text = fs::read_to_string(texts.join("src").join(file)).expect("the kernel's text");
    assert!(text.contains(bound), "{file} has another form");
    let kernels = distinct_kernels(device.limits())?;
    let trusting = kernels.par_iter().filter(|(_, kernel)| kernel.name() == "lift_fold");
    let trusting = trusting.map(|(_, kernel)| Altered::new(kernel).with_text(file, text.replace(bound, "true")));
    let found = trusting.map(|kernel| strays(Arc::new(kernel), &device)).collect::<Result<Vec<_>>>()?;
    assert!(found.concat().iter().any(|why| why.contains("AddressSanitizer")), "{found:?}");
    Ok(())
}

/// Returns an emulator with sanitizers and a single schedule, because results for meaningless inputs may depend on the
/// schedule.
fn sanitized() -> Option<Device> {
    Target::EmulatorSanitized.device()?;
    emulator::device(emulator::Options { sanitize: true, schedules: vec![0], ..emulator::Options::default() }).ok()
}

/// Runs a kernel on meaningless inputs and returns the errors. Errors about excessive shift counts are left out,
/// because a GPU clamps the counts.
fn strays(kernel: Arc<dyn Kernel>, device: &Device) -> Result<Vec<String>> {
    let ones = |bytes: usize| vec![0xff_u8; bytes];
    // small words, which are valid shift counts, so that the sanitizer does not stop at a shift
    let small = |bytes: usize| {
        ringforge_testkit::bytes(seed(), bytes)
            .iter()
            .zip(0..)
            .map(|(b, i)| if i % 4 == 0 { b % 64 } else { 0 })
            .collect()
    };
    let names: Vec<String> = (0..kernel.ports().len()).map(|port| format!("port {port}")).collect();
    let names: Vec<&str> = names.iter().map(|name| &**name).collect();
    let wild = NamedPlan::new("wild", one_step(Bare(kernel), &names)?);
    let compiled = Compiled::new(&wild, device)?;
    let mut found = Vec::new();
    for fill in [&ones as &dyn Fn(usize) -> Vec<u8>, &small] {
        let inputs = wild.sample(seed(), 2).into_iter().map(|(name, bytes)| (name, fill(bytes.len()))).collect();
        let outcome = compiled.run(2, &inputs).map_err(|error| error.to_string());
        found.extend(outcome.err().filter(|why| !why.contains("shift exponent")));
    }
    Ok(found)
}

#[test]
fn cuda_matches_cpu() -> Result<()> {
    check(Target::Cuda)
}

#[test]
fn every_kernel_is_in_the_catalogue() -> Result<(), Box<dyn std::error::Error>> {
    let mut covered = BTreeSet::new();
    for plan in catalogue(&Limits::of_capability(90))? {
        covered.extend(plan.plan.kernels().map(|kernel| kernel.name().to_owned()));
        plan.plan.tables().for_each(|table| makers(table, &mut covered));
    }
    let left_out: Vec<String> = kernels()?.into_iter().filter(|name| !covered.contains(name.as_str())).collect();
    assert!(left_out.is_empty(), "no plan of tests/src/catalogue.rs runs {}", left_out.join(", "));
    Ok(())
}

/// Collects the names of the kernels that compute a table, and recursively of those that compute the tables that these
/// kernels read.
fn makers(table: &Table, names: &mut BTreeSet<String>) {
    match table {
        Table::Made { kernel, inputs, .. } => {
            names.insert(kernel.name().into());
            inputs.iter().for_each(|input| makers(input, names));
        }
        Table::List(tables) => tables.iter().for_each(|table| makers(table, names)),
        Table::Bytes(_) => {}
    }
}

/// Returns the stems of all `.cu` files of `kernels` and of the schemes. Skips schemes with a compile test of their
/// own, because their kernels are not in the catalogue.
fn kernels() -> io::Result<BTreeSet<String>> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut open: Vec<PathBuf> = vec![workspace.join("kernels/src")];
    if let Ok(schemes) = fs::read_dir(workspace.join("schemes")) {
        for scheme in schemes {
            let scheme = scheme?.path();
            if !scheme.join("tests/compile.rs").exists() {
                open.push(scheme.join("src"));
            }
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
