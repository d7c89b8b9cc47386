//! Tests that cross crates.

#[cfg(feature = "cuda")]
mod compile;
mod emulator;
mod figures;
mod injection;
mod kernels;
mod shared_out;
mod suite;
mod threads;
