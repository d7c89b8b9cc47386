//! The CUDA backend. Without a GPU or compiler, the tests check its errors; with a compiler, compilation; with a GPU,
//! its results, the order of work, and copies.
//!
//! Tests that need a GPU or a compiler are skipped if there is none. `RINGFORGE_REQUIRE_GPU=1` and
//! `RINGFORGE_REQUIRE_NVRTC=1` make them fail instead.

mod compile;
mod copies;
mod device;
mod order;
mod secrets;
mod support;
