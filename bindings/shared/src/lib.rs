//! The common part of the C library and the Python package: the engine for callers without Rust types, with schemes by
//! name and elements as bytes.
//!
//! | file | contents |
//! | --- | --- |
//! | `operation.rs` | Transforms and products of ring elements in host memory. |
//! | `lent.rs` | The same on device memory and streams of the caller. |
//! | `kem.rs`, `sm2.rs` | KEMs by name; SM2 signatures. |
//! | `process.rs` | Detection of forked processes. |
//! | `kind.rs`, `fault.rs` | Kinds of errors; errors of single items, as a word and a message. |

mod fault;
mod kem;
mod kind;
mod lent;
mod operation;
mod process;
mod sm2;

pub use fault::{Fault, NOT_REACHED, UNKNOWN, describe};
pub use kem::Kem;
pub use kind::Kind;
pub use lent::{Lent, Operand, run_lent, run_new};
pub use operation::{Evaluations, Operation, depth};
pub use process::may_work;
pub use ringforge_sm2::DEFAULT_ID;
pub use sm2::Sm2;
