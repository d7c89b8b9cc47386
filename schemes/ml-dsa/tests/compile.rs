//! Tests that every kernel of this crate compiles with NVRTC, with almost no register spills.

use std::collections::BTreeSet;
use std::env;

use ringforge::cuda::{Resources, compile_check, is_compiler_present};
use ringforge::{Limits, Result};
use ringforge_testkit::Scheme;

use crate::sets;

/// Largest number of registers per thread that still allows enough occupancy to hide latency.
const REGISTERS: u32 = 128;
/// Largest number of spilled bytes: the compiler spills 4 bytes in `mldsa_respond` for sm_80.
const SPILLS: u32 = 4;

#[test]
fn kernels_compile_with_few_spills() -> Result<()> {
    if !is_compiler_present() {
        assert!(
            env::var_os("RINGFORGE_REQUIRE_NVRTC").is_none_or(|value| value != "1"),
            "RINGFORGE_REQUIRE_NVRTC=1, but NVRTC is not on this machine"
        );
        eprintln!("skipped: NVRTC is not on this machine");
        return Ok(());
    }
    for capability in [80, 90, 120] {
        let limits = Limits::of_capability(capability);
        let mut seen = BTreeSet::new();
        for named in sets::Sets::plans(&limits)? {
            // for other architectures, only the largest set
            if capability != 90 && !named.name.starts_with("ML-DSA-87") {
                continue;
            }
            for kernel in named.plan.kernels() {
                let about = format!("sm_{capability} {} of {}", kernel.name(), kernel.describe());
                if !kernel.name().starts_with("mldsa") || !seen.insert(about.clone()) {
                    continue;
                }
                let resources = compile_check(&**kernel, &limits, false)?;
                println!("{about}: {resources:?}");
                let Resources { registers, spill_stores, spill_loads, .. } = resources;
                assert!(registers <= REGISTERS && spill_stores.max(spill_loads) <= SPILLS, "{about}: {resources:?}");
            }
        }
    }
    Ok(())
}
