//! What the C library and the Python package have in common: the engine with everything by name and as bytes, for callers who
//! have no Rust types.
//!
//! | file | what |
//! | --- | --- |
//! | `operation.rs` | transforms and products of ring elements, on host memory |
//! | `lent.rs` | the same on device memory and streams that belong to the caller |
//! | `kem.rs`, `sm2.rs` | mechanisms by name, SM2 signatures |
//! | `process.rs` | which process may work |
//! | `kind.rs`, `fault.rs` | errors by what can be done about them; what is wrong with single items, as a word and a text |

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
