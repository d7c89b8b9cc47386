//! The KEMs of this crate's parameter sets, one item at a time on the CPU.

use std::sync::OnceLock;

use ringforge::Result;

use crate::params::{Parameters, SETS};
use crate::pke::{Pke, Polynomials};

/// The KEM of one parameter set.
pub(crate) type Kem = ringforge_e8::Kem<Pke>;
/// Working memory of one item, wiped when dropped.
pub(crate) type Memory = ringforge_e8::Memory<Polynomials>;

/// Returns the KEM of a parameter set. The first call creates it.
///
/// # Errors
/// The errors of [`Kem::of`]: if `parameters` is not one of this crate's sets, or if the transforms of the set cannot
/// be planned.
pub(crate) fn kem(parameters: &Parameters) -> Result<&'static Kem> {
    static ALL: [OnceLock<Kem>; SETS.len()] = [const { OnceLock::new() }; SETS.len()];
    Kem::of(parameters, &SETS, &ALL, Pke::new)
}
