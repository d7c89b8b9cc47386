//! The CUDA backend. Without a GPU or compiler, its errors; with a compiler, compilation; with a GPU, its results,
//! the order of work, and copies.
//!
//! Tests that need a GPU or a compiler are skipped without one. `RINGFORGE_REQUIRE_GPU=1` and
//! `RINGFORGE_REQUIRE_NVRTC=1` make this a failure.

mod compile;
mod copies;
mod device;
mod order;
mod secrets;
mod support;
