//! Tests of the runtime on plans that `ringforge` makes.

#[cfg(feature = "cuda")]
mod flow;
#[cfg(all(feature = "cuda", target_os = "linux"))]
mod symbols;
