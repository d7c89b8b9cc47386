//! Multi-scalar multiplication on short Weierstrass curves, on CPUs and GPUs: sums of points times scalars.
//!
//! A [`Curve`] is data, so the curves of a user work like the named ones. [`Bases`] are points on a device. A sum is
//! affine and canonical, so its bytes are those of any other correct implementation.
//!
//! | file | contents |
//! | --- | --- |
//! | `curve.rs`, `field.rs`, `group.rs`, `digits.rs` | Curves, their fields and points, and the digits of scalars. |
//! | `cpu.rs` | Multiplication on a CPU. |
//! | `kernels.rs`, `kernels/`, `plans.rs` | Multiplication on a GPU. |
//! | `bases.rs`, `host.rs`, `error.rs` | The public interface of multiplication. |
//! | `vectors.rs`, `matrix.rs` | Vectors of field elements and sparse matrices: what provers compute in between. |

mod bases;
mod cpu;
mod curve;
mod digits;
mod error;
mod field;
mod group;
mod host;
mod kernels;
mod matrix;
#[cfg(feature = "testkit")]
mod multiples;
mod plans;
#[cfg(feature = "testkit")]
mod scheme;
mod vectors;

pub use bases::{Bases, Check, ScalarForm, Sums};
pub use curve::Curve;
pub use error::MsmError;
pub use host::HostBases;
pub use matrix::{DeviceMatrix, SparseMatrix};
#[cfg(feature = "testkit")]
pub use multiples::multiples;
#[cfg(feature = "testkit")]
pub use scheme::{Msm, WideMsm, full_plans};
pub use vectors::Vectors;
