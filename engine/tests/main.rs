//! The engine from outside, on every device of this machine.

mod captured;
#[cfg(feature = "cuda")]
mod cuda;
mod deep;
mod doubles;
mod engine;
mod fusion;
mod group;
mod host;
mod lift;
mod lift_kernels;
mod long;
mod operations;
mod pipelines;
mod products;
mod random_pipelines;
mod rings;
mod samplers;
mod slices;
mod statuses;
#[cfg(target_os = "linux")]
mod threads;
mod transform;
mod transforms;
mod tuning;
