//! Tests that need several crates of the workspace.

#[cfg(feature = "cuda")]
mod compile;
mod emulator;
mod figures;
mod injection;
mod kernels;
mod shared_out;
mod suite;
mod threads;
