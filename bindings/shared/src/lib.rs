//! The common part of the C library and the Python package: the engine for callers without Rust types. Schemes are
//! selected by name, and elements are bytes. Guides in the repository: `docs/guides/c.md`, `docs/guides/python.md`.
//!
//! | items | contents |
//! | --- | --- |
//! | [`Operation`] | Transforms and products of ring elements in host memory. |
//! | [`run_lent`], [`run_new`] | Transforms and products in device memory of the caller, on the caller's streams. |
//! | [`Kem`], [`Sm2`], [`MlDsa`] | KEMs by name; SM2 signatures; ML-DSA signatures by name. |
//! | [`may_work`] | Detection of forked processes. |
//! | [`ErrorKind`], [`Fault`] | Kinds of errors; errors of single items, as a status word and a message. |

mod fault;
mod kem;
mod kind;
mod lent;
mod ml_dsa;
mod operation;
mod process;
mod sm2;

pub use fault::{Fault, NO_ATTEMPT_LEFT, NOT_REACHED, UNKNOWN, describe};
pub use kem::Kem;
pub use kind::ErrorKind;
pub use lent::{Lent, Operand, run_lent, run_new};
pub use ml_dsa::MlDsa;
pub use operation::{Evaluations, Operation, depth};
pub use process::may_work;
pub use ringforge_batch::Messages;
pub use ringforge_sm2::DEFAULT_ID;
pub use sm2::Sm2;
