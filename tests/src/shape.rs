//! Proof of the shape: an untuned stub of each kind of client, put together from outside the engine.

pub mod curve;
pub mod kem;
pub mod mma;
pub mod slow;

use ringforge::testkit::{NamedPlan, Scheme};
use ringforge::{Error, Limits, Result, U256};

/// All stubs.
#[derive(Debug)]
pub struct Shape;

impl Scheme for Shape {
    const NAME: &'static str = "shape";

    fn plans(limits: &Limits) -> Result<Vec<NamedPlan>> {
        Ok(vec![kem::plan(limits)?, curve::plan()?, mma::plan()?])
    }
}

/// 256 bits, least significant byte first.
fn from_bytes(bytes: &[u8]) -> U256 {
    U256::from_le_slice(bytes)
}

/// 256 bits, least significant byte first.
fn to_bytes(x: &U256) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(x.to_le_bytes().as_ref());
    bytes
}

/// Numbers of two bytes, least significant first.
fn halves(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(2).map(|b| u64::from(b[0]) | u64::from(b[1]) << 8).collect()
}

fn broken(kernel: &str, why: impl Into<String>) -> Error {
    Error::Kernel { kernel: kernel.into(), why: why.into() }
}
