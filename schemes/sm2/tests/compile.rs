//! Every kernel at full size compiles to machine code with NVIDIA's compiler alone, with hardly a spill.

#![cfg(feature = "cuda")]

use std::collections::BTreeSet;
use std::env;
use std::sync::Arc;

use ringforge::cuda::{compile_check, is_compiler_present};
use ringforge::{Kernel, Limits, Result, Slot, Table};
use ringforge_sm2::full_plans;

/// Bytes that a kernel may spill: on sm_120 verification has 44, on sm_80 and sm_90 nothing does.
const SPILLS: u32 = 48;

#[test]
fn kernels_compile_without_spills() -> Result<()> {
    if !is_compiler_present() {
        assert!(env::var_os("RINGFORGE_REQUIRE_NVRTC").is_none(), "NVRTC is required and not there");
        eprintln!("skipped: NVRTC is not on this machine");
        return Ok(());
    }
    for capability in [80, 90, 120] {
        let limits = Limits::of_capability(capability);
        let mut seen = BTreeSet::new();
        for plan in full_plans(&limits)? {
            let makers = plan.steps().iter().flat_map(|step| &step.slots).filter_map(|slot| match slot {
                Slot::Table(Table::Made { kernel, .. }) => Some(kernel),
                _ => None,
            });
            let kernels: Vec<&Arc<dyn Kernel>> = plan.steps().iter().map(|step| &step.kernel).chain(makers).collect();
            for kernel in kernels {
                if seen.insert(format!("{kernel:?}")) {
                    let resources = compile_check(&**kernel, &limits, false)?;
                    println!("sm_{capability} {} {}: {resources:?}", kernel.name(), kernel.describe());
                    assert!(resources.spill_stores.max(resources.spill_loads) <= SPILLS, "{kernel:?}: {resources:?}");
                }
            }
        }
    }
    Ok(())
}
