//! Tests of the public interface of SM2, on every device of this machine.

mod batch;
mod encodings;
mod field;
mod skipped;
mod suite;
mod support;
mod vectors;
