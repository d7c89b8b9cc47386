//! Code shared by the tests of the workspace.
//!
//! The types `Slot` and `Step`, which bind the steps of a plan, are private to the engine:
//!
//! ```compile_fail,E0432
//! use ringforge::Slot;
//! ```
//!
//! ```compile_fail,E0432
//! use ringforge::Step;
//! ```

pub mod catalogue;
pub mod mix;
pub mod shared_out;

/// Runs the examples of documentation pages that belong to no crate.
#[cfg(doctest)]
#[doc = include_str!("../../docs/fhe.md")]
#[doc = include_str!("../../docs/scale.md")]
#[doc = include_str!("../../docs/zk.md")]
struct Pages;
