//! Tests of the public interface of ML-DSA, on every device of this machine.

mod batch;
mod bounds;
#[cfg(feature = "cuda")]
mod compile;
mod keys;
mod sets;
mod suite;
mod support;
mod vectors;
