//! The CUDA backend: what it answers where there is no GPU and no compiler, that kernels compile where there is only a
//! compiler, and that results, order and copies are right where there is a GPU.
//!
//! Without GPU or compiler tests are skipped, which `RINGFORGE_REQUIRE_GPU=1` and `RINGFORGE_REQUIRE_NVRTC=1` forbid.

mod compile;
mod copies;
mod device;
mod order;
mod secrets;
mod support;
