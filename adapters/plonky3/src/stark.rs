//! Whole STARK proofs of Plonky3 on the device.
//!
//! [`Prover`] makes the proofs of `p3-uni-stark` for your AIR: their bytes are the stock prover's, and its verifier accepts
//! them. The trace is extended, the constraints are compiled to kernels and evaluated, and commitments, openings and FRI
//! are computed where the trace is. Only roots, opened values and challenges are copied. The transcripts are Plonky3's own.
//!
//! The example `own-air` has an AIR of its own, and the guide in the repository is `docs/guides/plonky3.md`.
//!
//! | file | contents |
//! | --- | --- |
//! | `prover.rs` | The public interface, and the steps of a proof. |
//! | `dag.rs`, `part.rs`, `quotient.rs` | The constraints of an AIR, compiled, and their quotient. |
//! | `openings.rs`, `fri.rs` | Opened values, and FRI. |
//! | `kernels.rs`, `samples.rs` | The kernels with their CPU references, and plans of them for tests. |

mod dag;
mod fri;
mod kernels;
mod openings;
mod part;
mod prover;
mod quotient;
#[cfg(feature = "testkit")]
pub(crate) mod samples;

pub use prover::{Phases, Prover};
