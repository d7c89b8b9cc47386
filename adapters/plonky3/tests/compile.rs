//! Tests that NVIDIA's compiler compiles the kernels without register spills; no GPU is needed.

use std::collections::BTreeSet;
use std::env;

use rayon::prelude::*;
use ringforge::cuda::{Resources, compile_check, is_compiler_present};
use ringforge::{Limits, Result};
use ringforge_plonky3::testkit::{Hashes, Proofs};
use ringforge_testkit::Scheme;

/// Maximum registers per thread, which leaves room for enough threads to hide latencies.
const REGISTERS: u32 = 128;

#[test]
fn kernels_compile_without_a_spill() -> Result<()> {
    if !is_compiler_present() {
        let wanted = env::var_os("RINGFORGE_REQUIRE_NVRTC").is_some_and(|value| value == "1");
        assert!(!wanted, "RINGFORGE_REQUIRE_NVRTC=1, but NVRTC is not on this machine");
        return Ok(());
    }
    let mut kernels = Vec::new();
    for capability in [80, 90, 120] {
        let limits = Limits::of_capability(capability);
        let mut seen = BTreeSet::new();
        for named in [Hashes::plans(&limits)?, Proofs::plans(&limits)?].concat() {
            for kernel in named.plan.kernels() {
                // matrix widths and heights are run-time constants, so they do not change the CUDA source
                if seen.insert((kernel.name().to_owned(), kernel.source(&limits)?.prelude().to_owned())) {
                    kernels.push((limits.clone(), kernel.clone()));
                }
            }
        }
    }
    kernels.par_iter().try_for_each(|(limits, kernel)| {
        let about = format!("sm_{} {} of {}", limits.capability, kernel.name(), kernel.describe());
        let resources = compile_check(&**kernel, limits, false)?;
        let Resources { registers, spill_stores, spill_loads, .. } = resources;
        assert!(registers <= REGISTERS && spill_stores.max(spill_loads) == 0, "{about}: {resources:?}");
        println!("{about}: {registers} registers");
        Ok(())
    })
}
