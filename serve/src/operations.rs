//! The operations of KEMs and signature schemes.

mod kem;
mod signatures;
#[cfg(feature = "sm2")]
mod sm2;

pub use kem::{Decapsulate, Encapsulate, Generate};
pub use signatures::{GenerateSigningKeys, Sign, Verify};
#[cfg(feature = "sm2")]
pub use sm2::{SignSm2, VerifySm2};

use ringforge::{Error, Result};
use ringforge_batch::{BatchStatus, SchemeError};

/// The parts of an answer.
fn parts<'a, 'b, const N: usize>(outputs: &'a mut [&'b mut [u8]]) -> Result<&'a mut [&'b mut [u8]; N]> {
    let got = outputs.len();
    outputs.try_into().map_err(|_| Error::Length { what: "parts of an answer", expected: N, got })
}

/// Turns an error of an item in an example, where none is expected, into one of the whole call.
fn all_ok<E: SchemeError>(status: BatchStatus<E>) -> Result<()> {
    let job = || "an example of a request".to_string();
    status.into_result().map_err(|error| Error::Unsupported { job: job(), why: error.to_string() })
}
