//! The CUDA backend: NVIDIA GPUs through the driver, with kernels compiled at run time by NVRTC.
//!
//! Driver and compiler are loaded when first needed. On a machine without them only the CUDA backend returns errors.
//! Compiled kernels are stored in a folder, a [`Cache`](crate::cache::Cache): `kernels` in `RINGFORGE_CACHE_DIR`, or in
//! `ringforge` in the user's cache folder. `RINGFORGE_CACHE=off` disables it. With NVRTC, only entries of the same
//! compiler version are used; without NVRTC, entries of any version are. A [`Bundle`], which `RINGFORGE_BUNDLE` may
//! name, takes precedence over both.

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
pub(crate) use memory::{CudaMemory, Part};
pub(crate) use pinned::PinnedBytes;
pub(crate) use queue::{GpuStream, TimedEvent};
