//! Kernels: the interface for your own kernels, and the built-in kernels.

pub(crate) mod compose;
pub(crate) mod convert;
pub(crate) mod copy;
pub(crate) mod crt;
pub(crate) mod decompose;
pub(crate) mod digits;
mod divisor256;
pub(crate) mod elementwise;
mod forward;
pub(crate) mod inner_product;
mod inverse;
mod layout;
pub(crate) mod lift;
mod lift_fold;
mod lift_load;
mod lift_mul;
mod lift_store;
mod point_mul;
mod random_block;
mod rebuild;
pub(crate) mod repeat;
mod ring_mul;
mod rns;
pub(crate) mod sample;
mod spread;
mod sums;
mod target;
pub(crate) mod tensor;
mod thresholds;

pub use crate::arithmetic::{Arithmetic, Cost};
pub use crate::layout::KernelLayout;
#[doc(hidden)]
pub use compose::Compose;
#[doc(hidden)]
pub use forward::Forward;
#[doc(hidden)]
pub use inverse::Inverse;
#[doc(hidden)]
pub use lift::LargerNtt;
#[doc(hidden)]
pub use point_mul::PointMul;
pub use random_block::RandomBlock;
#[doc(hidden)]
pub use ring_mul::RingMul;
pub use ringforge_kernels::Header;
#[cfg(feature = "cuda")]
pub use ringforge_runtime::cache::Cache;
#[doc(hidden)]
pub use ringforge_runtime::kernel::Combination;
pub use ringforge_runtime::kernel::Table;
pub use ringforge_runtime::kernel::{Args, CustomKernel, Kernel, Launch, Port, Role, Sharing};
pub use ringforge_runtime::kernel::{Built, Source};
pub use sample::Distribution;
