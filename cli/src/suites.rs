//! The suites of the `ringforge` command.

#[cfg(feature = "schemes")]
pub mod kems;
pub mod rings;
#[cfg(feature = "schemes")]
pub mod sm2;

#[cfg(feature = "cuda")]
use anyhow::Result;
#[cfg(feature = "cuda")]
use ringforge::{Limits, Plan};

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

/// All plans of the scheme with this name.
#[cfg(all(feature = "cuda", feature = "schemes"))]
pub(crate) fn plans(scheme: &str, limits: &Limits) -> Result<Vec<Plan>> {
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
