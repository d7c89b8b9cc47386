//! What the workspace's tests share.
//!
//! How a plan binds its steps is nobody's business but the engine's:
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

/// The examples of pages that no package has, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../docs/fhe.md")]
#[doc = include_str!("../../docs/scale.md")]
#[doc = include_str!("../../docs/zk.md")]
struct Pages;
