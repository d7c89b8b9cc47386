//! The suites of the `ringforge` command.

#[cfg(feature = "schemes")]
pub mod kems;
pub mod rings;
#[cfg(feature = "schemes")]
pub mod sm2;

#[cfg(feature = "cuda")]
use anyhow::Result;
#[cfg(all(feature = "cuda", feature = "schemes"))]
use ringforge::Planner;
#[cfg(feature = "cuda")]
use ringforge::{Limits, Plan};
#[cfg(all(feature = "cuda", feature = "schemes"))]
use ringforge_arkworks::{DevicePoint, EngineField, Groth16Device, Reduction};

use crate::suite::Suites;

/// All suites, in the order in which tables and pages show them.
pub static SUITES: Suites = &[
    &rings::SUITE,
    #[cfg(feature = "schemes")]
    &kems::CTRU,
    #[cfg(feature = "schemes")]
    &kems::CTRU_PRIME,
    #[cfg(feature = "schemes")]
    &kems::ML_KEM,
    #[cfg(feature = "schemes")]
    &sm2::SUITE,
    &rings::OWN,
];

/// Names of all schemes: KEMs and SM2.
#[cfg(all(feature = "cuda", feature = "schemes"))]
pub(crate) fn schemes() -> Vec<&'static str> {
    kems::SETS.iter().map(|set| set.parameters.name()).chain(["SM2"]).collect()
}

/// The empty list, because this build has no schemes.
#[cfg(all(feature = "cuda", not(feature = "schemes")))]
pub(crate) fn schemes() -> Vec<&'static str> {
    Vec::new()
}

/// Names of the provers.
#[cfg(feature = "cuda")]
pub(crate) const PROVERS: &[&str] =
    if cfg!(feature = "schemes") { &["groth16:bls12-381", "groth16:bn254"] } else { &[] };

/// The plans of Groth16 proofs over a curve, for domains of 2^10 to 2^24 points and keys of either reduction.
#[cfg(all(feature = "cuda", feature = "schemes"))]
fn proofs<E>(limits: &Limits) -> Result<Vec<Plan>>
where
    E: ark_ec::pairing::Pairing<ScalarField: EngineField, G1Affine: DevicePoint, G2Affine: DevicePoint>,
{
    let planner = Planner::new(limits.clone());
    let mut plans = Vec::new();
    for points in (10..=24).map(|log_n| 1 << log_n) {
        for reduction in [Reduction::Libsnark, Reduction::Circom] {
            plans.extend(Groth16Device::<E>::plans(&planner, points, points, reduction)?);
        }
    }
    Ok(plans)
}

/// All plans of the scheme or prover with this name.
#[cfg(all(feature = "cuda", feature = "schemes"))]
pub(crate) fn plans(scheme: &str, limits: &Limits) -> Result<Vec<Plan>> {
    match scheme {
        "groth16:bls12-381" => return proofs::<ark_bls12_381::Bls12_381>(limits),
        "groth16:bn254" => return proofs::<ark_bn254::Bn254>(limits),
        _ => {}
    }
    match kems::SETS.iter().find(|set| set.parameters.name() == scheme) {
        Some(set) => set.all_plans(limits),
        None => Ok(ringforge_sm2::full_plans(limits)?.into_iter().map(|named| named.plan).collect()),
    }
}

/// The empty list, because this build has no schemes.
#[cfg(all(feature = "cuda", not(feature = "schemes")))]
pub(crate) fn plans(_: &str, _: &Limits) -> Result<Vec<Plan>> {
    Ok(Vec::new())
}
