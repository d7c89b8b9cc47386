//! The CUDA backend: NVIDIA GPUs through the driver, with kernels compiled at run time by NVRTC.
//!
//! The driver and the compiler are loaded when they are first needed. On a machine without them, only functions of this
//! backend return errors. Compiled kernels are stored in a cache folder, a [`Cache`](crate::cache::Cache): `kernels`
//! inside `RINGFORGE_CACHE_DIR`, or inside `ringforge` in the user's cache folder. `RINGFORGE_CACHE=off` disables the
//! cache. If NVRTC is installed, only entries of its version are used; otherwise, entries of any version. A [`Bundle`]
//! (file of compiled kernels) takes precedence over the cache and the compiler. `RINGFORGE_BUNDLE` may name such a
//! file.

#![allow(unsafe_code)]

mod bundle;
mod cache;
pub(crate) mod code;
pub(crate) mod copy;
pub(crate) mod driver;
mod graph;
pub(crate) mod launch;
pub(crate) mod memory;
#[doc(hidden)]
pub mod nccl;
mod nvrtc;
pub(crate) mod pinned;
pub(crate) mod pool;
pub(crate) mod queue;
mod resources;
pub(crate) mod staging;
#[doc(hidden)]
pub mod symbols;
mod text;

pub use bundle::Bundle;
pub use code::Occupancy;
pub use resources::{Resources, compile_check, is_compiler_present};
pub use ringforge_math::error::BundleFault;

pub(crate) use driver::Gpu;
pub(crate) use graph::CudaRecording;
pub(crate) use memory::{CudaMemory, GpuSlice};
pub(crate) use pinned::PinnedBytes;
pub(crate) use queue::{GpuStream, TimedEvent};
