//! Tests that NVIDIA's compiler compiles the kernels within budgets of registers and spills; no GPU is needed.

use std::collections::BTreeSet;
use std::env;

use p3_field::PrimeCharacteristicRing;
use p3_field::extension::BinomialExtensionField;
use p3_goldilocks::Goldilocks;
use p3_keccak_air::KeccakAir;
use p3_koala_bear::{GenericPoseidon2LinearLayersKoalaBear, KoalaBear};
use p3_poseidon2_air::{RoundConstants, VectorizedPoseidon2Air};
use rayon::prelude::*;
use ringforge::cuda::{Resources, compile_check, is_compiler_present};
use ringforge::{Limits, Plan, Planner, Result};
use ringforge_plonky3::testkit::{Hashes, Proofs, Sequences, plans_of};
use ringforge_testkit::Scheme;

/// Maximum registers per thread, which leaves room for enough threads to hide latencies.
const REGISTERS: u32 = 128;

/// The assembler moves loads to the front until registers are used up, and then spills a few.
const OF_CONSTRAINTS: Budget = Budget { registers: REGISTERS, spills: 16 };
const OF_GOLDILOCKS: Budget = Budget { registers: 168, spills: 128 };

/// The most registers, and bytes of spills, of a thread.
struct Budget {
    registers: u32,
    spills: u32,
}

/// The plans of four AIRs' constraints.
fn airs(planner: &Planner) -> Result<Vec<Plan>> {
    type Challenge = BinomialExtensionField<KoalaBear, 4>;
    type Layers = GenericPoseidon2LinearLayersKoalaBear;
    let rounds = core::array::from_fn(|i| core::array::from_fn(|j| KoalaBear::from_usize(16 * i + j)));
    let internal = core::array::from_fn(KoalaBear::from_usize);
    let poseidon2 = VectorizedPoseidon2Air::<KoalaBear, Layers, 16, 3, 0, 4, 20, 8>::new(RoundConstants::new(
        rounds, internal, rounds,
    ));
    Ok([
        plans_of::<KoalaBear, Challenge, _>(&Sequences { columns: 64 }, planner)?,
        plans_of::<KoalaBear, Challenge, _>(&KeccakAir {}, planner)?,
        plans_of::<KoalaBear, Challenge, _>(&poseidon2, planner)?,
        plans_of::<Goldilocks, BinomialExtensionField<Goldilocks, 2>, _>(&KeccakAir {}, planner)?,
    ]
    .concat())
}

#[test]
fn kernels_compile_within_their_budgets() -> Result<()> {
    if !is_compiler_present() {
        let wanted = env::var_os("RINGFORGE_REQUIRE_NVRTC").is_some_and(|value| value == "1");
        assert!(!wanted, "RINGFORGE_REQUIRE_NVRTC=1, but NVRTC is not on this machine");
        return Ok(());
    }
    let mut kernels = Vec::new();
    // an AIR's kernels are many, and alike
    let is_whole = env::var_os("RINGFORGE_CATALOGUE").is_some_and(|value| value == "whole");
    let limits = Limits::of_capability(90);
    for (number, plan) in airs(&Planner::new(limits.clone()))?.iter().enumerate() {
        if is_whole || number % 25 == 0 {
            kernels.extend(plan.kernels().map(|kernel| (limits.clone(), kernel.clone())));
        }
    }
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
        let budget = match about.split_once(", constraints") {
            Some((before, _)) if before.ends_with("18446744069414584321") => OF_GOLDILOCKS,
            Some(_) => OF_CONSTRAINTS,
            None => Budget { registers: REGISTERS, spills: 0 },
        };
        let is_within = registers <= budget.registers && spill_stores.max(spill_loads) <= budget.spills;
        assert!(is_within, "{about}: {resources:?}");
        println!("{about}: {registers} registers");
        Ok(())
    })
}
