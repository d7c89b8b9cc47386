//! The built-in kernels on elements of a ring.

pub(crate) mod base;
pub(crate) mod combine;
pub(crate) mod crt;
mod draw;
mod forward;
mod inverse;
pub(crate) mod lift;
pub(crate) mod lift_fold;
pub(crate) mod lift_load;
pub(crate) mod lift_store;
mod mul_add;
mod order;
mod point_mul;
mod ring_mul;
mod rows;
mod spread;
pub(crate) mod tree;
mod twiddles;

use crate::arithmetic::Arithmetic;
use crate::plan::Table;
use crate::ring::Ring;

pub use draw::Draw;
pub use forward::Forward;
pub use inverse::Inverse;
pub use mul_add::MulAdd;
pub use point_mul::PointMul;
pub use ring_mul::RingMul;
pub(crate) use twiddles::{Layout, factors_of_row, table};

/// The table of a ring's moduli as this device arithmetic wants them, one after another.
pub(crate) fn moduli(ring: &Ring, arithmetic: Arithmetic) -> Table {
    let words = ring.basis().iter().flat_map(|q| arithmetic.constants(q));
    Table::Bytes(words.flat_map(u32::to_le_bytes).collect())
}
