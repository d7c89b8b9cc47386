//! Tests of the engine's public interface, on every device of this machine.

mod algebra;
mod arithmetic;
mod captured;
mod chain;
mod columns;
mod cosets;
#[cfg(feature = "cuda")]
mod cuda;
mod deep;
mod doubles;
mod engine;
mod fhe;
mod fixtures;
mod fusion;
mod generated;
mod golden;
mod group;
mod groups;
mod host;
mod lift;
mod lift_kernels;
mod long;
mod operations;
mod peers;
mod pipelines;
mod products;
mod random;
mod random_pipelines;
mod refusal;
mod repetition;
mod rings;
mod rns;
mod samplers;
mod slices;
mod sponge;
mod statuses;
mod stored;
mod support;
#[cfg(target_os = "linux")]
mod threads;
mod transform;
mod transforms;
mod tuning;
mod views;
