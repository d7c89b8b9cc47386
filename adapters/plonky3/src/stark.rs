//! Whole STARK proofs of Plonky3 on the device.
//!
//! [`Prover`] makes the proofs of `p3-uni-stark` for your AIR, and [`BatchProver`] those of `p3-batch-stark` for tables with
//! lookups between them. Their bytes are the stock provers', whose verifiers accept them. Traces are extended, constraints
//! are compiled to kernels and evaluated, and commitments, openings and FRI are computed where the traces are. Only roots,
//! opened values and challenges are copied. The transcripts are Plonky3's own.
//!
//! The example `own-air` has an AIR of its own, and `machine` has three tables whose traces are made on the device. The guide
//! in the repository is `docs/guides/plonky3.md`.
//!
//! | file | contents |
//! | --- | --- |
//! | `prover.rs`, `batch.rs` | The public interface, and the steps of proofs of one table and of several. |
//! | `once.rs` | One proof without a prover that lasts. |
//! | `plans.rs` | The plans of all kernels, for bundles. |
//! | `settings.rs`, `place.rs`, `memory.rs` | Choices of the caller, what the steps share, and the memory of a proof. |
//! | `table.rs`, `lookups.rs` | The constraints and the lookups of a table. |
//! | `dag.rs`, `code.rs`, `part.rs` | Constraints as a graph, as instructions, and as kernels. |
//! | `compilation.rs`, `evaluation.rs` | Their compilation in the background, and their evaluation. |
//! | `commitment.rs` | Extensions that are kept, or made again. |
//! | `openings.rs`, `fri.rs`, `work.rs` | Opened values, FRI, and proofs of work. |
//! | `elements.rs` | Elements as the device stores them. |
//! | `kernels.rs`, `samples.rs` | The kernels with their CPU references, and plans of them for tests. |

mod batch;
mod code;
mod commitment;
mod compilation;
mod dag;
mod elements;
mod evaluation;
mod fri;
mod kernels;
mod lookups;
mod memory;
mod once;
mod openings;
mod part;
mod place;
mod plans;
mod prover;
#[cfg(feature = "testkit")]
pub(crate) mod samples;
mod settings;
#[cfg(all(test, feature = "testkit"))]
mod spoiled;
mod table;
mod work;

use ringforge::Error;

pub use batch::BatchProver;
pub use memory::Memory;
pub use once::prove;
pub use place::Phases;
pub use plans::plans;
pub use prover::Prover;

fn unsupported(why: impl Into<String>) -> Error {
    Error::Unsupported { job: "a STARK proof".into(), why: why.into() }
}
