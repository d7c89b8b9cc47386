//! Tests of the public interface of CKKS, on every device of this machine.

mod bootstrapping;
mod bytes;
mod circuits;
#[cfg(feature = "cuda")]
mod compile;
mod devices;
mod encoding;
mod flooding;
mod guide;
mod integers;
mod polynomials;
mod scheme;
