//! Tests that need several crates of the workspace.

mod algorithms;
#[cfg(feature = "cuda")]
mod compile;
mod emulator;
mod errors;
mod figures;
mod injection;
mod kernels;
mod links;
mod quotations;
mod shared_out;
mod sources;
mod suite;
mod threads;
