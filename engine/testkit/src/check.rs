//! Checks of plans and schemes: results on the CPU are compared with an oracle (a slow and simple implementation), and
//! results on other devices with those on the CPU.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rayon::prelude::*;

#[cfg(feature = "cuda")]
use ringforge_math::error::Result;
use ringforge_runtime::device::Device;
use ringforge_runtime::limits::Limits;

use super::compare::{Compiled, difference};
use super::emulator;
use super::samples;
use super::scheme::{Named, NamedPlan, Scheme};
use super::stages::first_difference;
use super::target::Target;

/// The smallest batch sizes, which are always tested.
const SMALLEST: [usize; 3] = [1, 2, 3];

/// A batch size that includes every kind of sample ([`samples::residues`]). It is used if no device is an emulator and
/// the plan names no batch sizes.
const SAMPLES: usize = 16;

/// Runs a plan on all devices with the same samples and compares the results with the first device's: bit for bit, or
/// modulo q for lazy residues. Batch sizes are 1, 2, 3 and those around the number of items per block; without an
/// emulator, also those of [`NamedPlan::batches`]. With an emulator, [`NamedPlan::few_emulated`] limits them to 1, 2,
/// 3.
///
/// Afterwards each step is run and compared alone, unless the plan is [compared as a whole](NamedPlan::compared_whole).
/// Each step starts from the memory that the earlier steps left on the first device, and again from the plan's samples
/// for this step, if there are any.
///
/// # Panics
/// If a run fails or results differ.
pub fn check_plan(named: &NamedPlan, devices: &[Device], seed: u64) {
    let name = &named.name;
    let compiled: Vec<(&Device, Compiled)> = devices
        .iter()
        .map(|device| (device, Compiled::new(named, device).unwrap_or_else(|e| panic!("{name} on {device}: {e}"))))
        .collect();
    let limits: Vec<&Limits> = devices.iter().map(Device::limits).collect();
    for batch in batches(named, &limits) {
        let inputs = named.sample(seed, batch);
        let mut first: Option<Named> = None;
        for (device, compiled) in &compiled {
            let about = format!("{name} on {device}, batch {batch}, RINGFORGE_SEED={seed}");
            let found = compiled.run(batch, &inputs).unwrap_or_else(|e| panic!("{about}: {e}"));
            match &first {
                None => first = Some(found),
                Some(expected) => {
                    if let Some(wrong) = difference(&named.plan, expected, &found) {
                        let step = first_difference(named, [&devices[0], device], seed, (batch, &inputs));
                        let step = step.unwrap_or_else(|error| Some(error.to_string()));
                        panic!("{about}: {wrong}; first difference: {}", step.unwrap_or("in no single step".into()));
                    }
                }
            }
        }
    }
    // in a plan of one step, the step has already been compared
    if named.plan.steps.len() > 1 && named.steps_agree {
        let batch = SMALLEST[2];
        let inputs = named.sample(seed, batch);
        for device in devices.iter().skip(1) {
            let about = format!("{name} on {device}, batch {batch}, RINGFORGE_SEED={seed}");
            let wrong = first_difference(named, [&devices[0], device], seed, (batch, &inputs));
            let wrong = wrong.unwrap_or_else(|error| panic!("{about}: {error}"));
            assert!(wrong.is_none(), "{about}: {}", wrong.unwrap_or_default());
        }
    }
}

/// The batch sizes to test a plan with: the smallest ones, the number of items per block, and that number plus and
/// minus one. Without an emulator, also those that the plan names, or [`SAMPLES`]. With an emulator, a plan may be
/// limited to the smallest ones.
fn batches(named: &NamedPlan, devices: &[&Limits]) -> BTreeSet<usize> {
    let mut batches = BTreeSet::from(SMALLEST);
    let is_emulated = devices.iter().any(|limits| emulator::is_emulator(limits));
    if named.few_emulated && is_emulated {
        return batches;
    }
    if !is_emulated {
        batches.extend(named.batches.as_deref().unwrap_or(&[SAMPLES]));
    }
    for limits in devices.iter().filter(|limits| !limits.is_cpu()) {
        // a kernel that does not fit the device is left out; an error is reported when the plan is compiled for the
        // device
        let tiles = named.plan.kernels().filter_map(|kernel| kernel.source(limits).ok());
        for tile in tiles.map(|source| (source.launch().items_per_block * source.launch().together) as usize) {
            batches.extend([tile.saturating_sub(1), tile, tile + 1]);
        }
    }
    batches.remove(&0);
    batches
}

/// Runs every plan of a scheme on a target. On the CPU, results are compared with the plan's oracle; on other targets,
/// with the results on the CPU. Does nothing if this machine lacks the device, unless the environment requires it.
///
/// # Panics
/// If planning or a run fails, results differ, the secret arguments are not the expected ones, or a required device is
/// missing.
pub fn check_scheme<S: Scheme>(target: Target) {
    let Some(device) = target.device() else { return };
    let plans = S::plans(device.limits()).unwrap_or_else(|e| panic!("{}: {e}", S::NAME));
    let seed = samples::seed();
    ringforge_cpu::threads::start();
    let check = |named: &NamedPlan| {
        named.check_secrets();
        if target == Target::Cpu {
            check_oracle(named, &device, seed);
        } else {
            check_plan(named, &[Device::cpu(), device.clone()], seed);
        }
    };
    // a panic in a thread of rayon is reported here, because its output may go to another test
    let failed = plans.par_iter().filter_map(|named| {
        let panic = catch_unwind(AssertUnwindSafe(|| check(named))).err()?;
        let message = panic.downcast_ref::<String>().cloned();
        Some(message.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).into())).unwrap_or_default())
    });
    let failed: Vec<String> = failed.collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Compares the outputs of a plan on the CPU with those of its oracle. A plan without an oracle is only run.
fn check_oracle(named: &NamedPlan, cpu: &Device, seed: u64) {
    let compiled = Compiled::new(named, cpu).unwrap_or_else(|e| panic!("{}: {e}", named.name));
    for batch in batches(named, &[cpu.limits()]) {
        let inputs = named.sample(seed, batch);
        let found = compiled.run(batch, &inputs).unwrap_or_else(|e| panic!("{}: {e}", named.name));
        let wrong = named.expected(batch, &inputs).and_then(|expected| difference(&named.plan, &expected, &found));
        assert!(wrong.is_none(), "{}, batch {batch}, RINGFORGE_SEED={seed}: {}", named.name, wrong.unwrap_or_default());
    }
}

/// Compiles the kernels of plans with NVRTC for the compute capabilities 8.0, 9.0 and 12.0: those whose name starts with
/// `prefix`. `plans` returns the plans for a device with these limits. Only prints a line if this machine lacks NVRTC,
/// unless the environment requires it.
///
/// # Panics
/// If planning or compilation fails, a thread of a kernel needs more registers or spills more bytes, there is no such
/// kernel, or a required compiler is missing.
#[cfg(feature = "cuda")]
pub fn check_registers(plans: impl Fn(&Limits) -> Result<Vec<NamedPlan>>, prefix: &str, registers: u32, spills: u32) {
    use ringforge::cuda::{compile_check, is_compiler_present};

    if !is_compiler_present() {
        let required = std::env::var_os("RINGFORGE_REQUIRE_NVRTC").is_some_and(|value| value == "1");
        assert!(!required, "RINGFORGE_REQUIRE_NVRTC=1, but NVRTC is not on this machine");
        eprintln!("skipped: NVRTC is not on this machine");
        return;
    }
    for capability in [80, 90, 120] {
        let limits = Limits::of_capability(capability);
        let mut seen = BTreeSet::new();
        for named in plans(&limits).unwrap_or_else(|e| panic!("plans for sm_{capability}: {e}")) {
            for kernel in named.plan.kernels().filter(|kernel| kernel.name().starts_with(prefix)) {
                let about = format!("sm_{capability} {} of {}", kernel.name(), kernel.describe());
                if seen.insert(about.clone()) {
                    let used = compile_check(&**kernel, &limits, false).unwrap_or_else(|e| panic!("{about}: {e}"));
                    println!("{about}: {used:?}");
                    let spilled = used.spill_stores.max(used.spill_loads);
                    assert!(used.registers <= registers && spilled <= spills, "{about}: {used:?}");
                }
            }
        }
        assert!(!seen.is_empty(), "no kernel's name starts with {prefix}");
    }
}

/// Defines tests that run every plan of a [`Scheme`](crate::Scheme) on the CPU, in the emulator under sanitizers, and
/// on a GPU.
#[macro_export]
macro_rules! suite {
    ($scheme:ty) => {
        $crate::suite!(@ $scheme, cpu Cpu, emulator EmulatorSanitized, cuda Cuda);
    };
    (@ $scheme:ty, $($name:ident $target:ident),*) => {$(
        #[test]
        fn $name() {
            $crate::check_scheme::<$scheme>($crate::Target::$target);
        }
    )*};
}
