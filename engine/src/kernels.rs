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

pub use draw::Draw;
pub use forward::Forward;
pub use inverse::Inverse;
pub use point_mul::PointMul;
pub use ring_mul::RingMul;
