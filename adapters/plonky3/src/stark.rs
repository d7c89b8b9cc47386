//! Whole STARK proofs of Plonky3 on the device.
//!
//! [`Prover`] makes the proofs of `p3-uni-stark` for any AIR: their bytes are the stock prover's, and its verifier accepts
//! them. The trace is extended, the constraints are compiled to kernels and evaluated, and commitments, openings and FRI
//! are computed where the trace is. Only roots, opened values and challenges are copied. The transcripts are Plonky3's own.

mod dag;
mod fri;
mod kernels;
mod openings;
mod prover;
mod quotient;
#[cfg(feature = "testkit")]
pub(crate) mod samples;

pub use prover::{Phases, Prover};
