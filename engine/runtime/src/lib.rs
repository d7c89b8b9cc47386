//! The runtime: runs kernels on a CPU or a CUDA GPU. It defines kernels, plans (lists of kernels and the memory between
//! them), compiled programs, devices, streams and buffers. The crate `ringforge`, which plans transforms and products,
//! re-exports the public types under its own paths.

#[doc(hidden)]
pub mod backend;
#[cfg(any(feature = "cuda", feature = "testkit"))]
#[doc(hidden)]
pub mod cache;
#[doc(hidden)]
pub mod captured;
#[doc(hidden)]
pub mod communicator;
#[cfg(feature = "cuda")]
pub mod cuda;
#[doc(hidden)]
pub mod device;
#[doc(hidden)]
pub mod event;
mod guarded;
#[doc(hidden)]
pub mod kernel;
#[doc(hidden)]
pub mod launch;
#[doc(hidden)]
pub mod limits;
#[doc(hidden)]
pub mod memory;
#[doc(hidden)]
pub mod pinned;
#[doc(hidden)]
pub mod plan;
#[doc(hidden)]
pub mod program;
#[doc(hidden)]
pub mod random;
#[doc(hidden)]
pub mod threads;
#[doc(hidden)]
pub mod tiles;
#[doc(hidden)]
pub mod transfer;

pub use captured::{Captured, CapturedArg};
#[cfg(feature = "cuda")]
pub use device::raw;
pub use device::{Buffer, BufferSlice, BufferSliceMut, Device, Stream};
pub use event::Event;
pub use launch::Rank;
pub use limits::Limits;
pub use pinned::PinnedBuffer;
pub use plan::{Plan, PlanArg};
pub use program::Program;
pub use program::call::{Call, HostCall};
pub use random::RandomKey;
