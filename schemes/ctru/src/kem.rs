//! The key encapsulations of this crate's sets, one item at a time.

use std::sync::OnceLock;

use ringforge::{Error, Result};

use crate::params::{Parameters, SETS};
use crate::pke::{Pke, Polynomials};

/// Key encapsulation of one parameter set.
pub(crate) type Kem = ringforge_e8::Kem<Pke>;
/// One item at work, wiped when dropped.
pub(crate) type Memory = ringforge_e8::Memory<Polynomials>;

/// The one of this set, made at the first call.
///
/// # Errors
/// [`Error::Unsupported`] for numbers that are no set of this crate.
pub(crate) fn kem(parameters: &Parameters) -> Result<&'static Kem> {
    static ALL: [OnceLock<Kem>; SETS.len()] = [const { OnceLock::new() }; SETS.len()];
    let place = SETS.iter().position(|set| set == parameters).ok_or_else(|| Error::Unsupported {
        job: format!("key encapsulation with {parameters:?}"),
        why: "this is no parameter set of the crate".into(),
    })?;
    if let Some(kem) = ALL[place].get() {
        return Ok(kem);
    }
    let kem = Kem { pke: Pke::new(parameters)? };
    Ok(ALL[place].get_or_init(|| kem))
}
