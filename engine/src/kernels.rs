//! The built-in kernels on elements of a ring.

pub(crate) mod base;
pub(crate) mod combine;
pub(crate) mod convert;
pub(crate) mod crt;
pub(crate) mod decompose;
mod divisor256;
mod draw;
mod forward;
mod inverse;
pub(crate) mod lift;
mod lift_fold;
mod lift_load;
mod lift_store;
mod order;
mod point_mul;
mod rebuild;
mod ring_mul;
mod rns;
mod rows;
mod spread;
mod target;
pub(crate) mod tree;

pub use draw::Draw;
pub use forward::Forward;
pub use inverse::Inverse;
pub use point_mul::PointMul;
pub use ring_mul::RingMul;
