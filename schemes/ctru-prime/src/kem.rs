//! Key encapsulation for this crate's parameter sets, one item at a time.

use std::sync::OnceLock;

use ringforge::Result;

use crate::params::{Parameters, SETS};
use crate::pke::{Pke, Polynomials};

/// Key encapsulation of one parameter set.
pub(crate) type Kem = ringforge_e8::Kem<Pke>;
/// Working memory of one item, wiped when dropped.
pub(crate) type Memory = ringforge_e8::Memory<Polynomials>;

/// The key encapsulation of a parameter set, created on the first call.
///
/// # Errors
/// As [`Kem::of`].
pub(crate) fn kem(parameters: &Parameters) -> Result<&'static Kem> {
    static ALL: [OnceLock<Kem>; SETS.len()] = [const { OnceLock::new() }; SETS.len()];
    Kem::of(parameters, &SETS, &ALL, Pke::new)
}
