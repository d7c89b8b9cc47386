//! The built-in kernels on elements of a ring.

pub(crate) mod base;
pub(crate) mod combine;
pub(crate) mod convert;
pub(crate) mod crt;
pub(crate) mod decompose;
mod draw;
mod forward;
mod inverse;
pub(crate) mod lift;
pub(crate) mod lift_fold;
pub(crate) mod lift_load;
pub(crate) mod lift_store;
mod order;
mod point_mul;
mod ring_mul;
mod rns;
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
pub use point_mul::PointMul;
pub use ring_mul::RingMul;
pub(crate) use twiddles::{Layout, factors_of_row, table};

/// The table of a ring's moduli as this device arithmetic wants them, one after another; then, where moduli come again,
/// the number of each row's modulus.
pub(crate) fn moduli(ring: &Ring, arithmetic: Arithmetic) -> Table {
    let constants = ring.moduli().iter().flat_map(|q| arithmetic.constants(q));
    let map = ring.row_moduli().iter().filter(|_| ring.is_mapped()).map(|&modulus| modulus as u32);
    Table::Bytes(constants.chain(map).flat_map(u32::to_le_bytes).collect())
}
