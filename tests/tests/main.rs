//! Tests that cross crates.

mod algebra;
mod arithmetic;
mod chain;
mod columns;
#[cfg(feature = "cuda")]
mod compile;
mod cosets;
mod draws;
mod emulator;
mod fhe;
mod figures;
mod golden;
mod groups;
mod injection;
mod kernels;
mod peers;
mod refusal;
mod rns;
mod shared_out;
mod sponge;
mod stored;
mod suite;
mod support;
mod threads;
mod views;
