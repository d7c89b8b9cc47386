//! The CUDA backend: its errors without a GPU or a compiler, compilation with a compiler alone, and with a GPU its results,
//! order and copies.
//!
//! Without GPU or compiler tests are skipped, which `RINGFORGE_REQUIRE_GPU=1` and `RINGFORGE_REQUIRE_NVRTC=1` forbid.

mod compile;
mod copies;
mod device;
mod order;
mod secrets;
mod support;
