//! Tests of `ringforge-runtime` with plans that `ringforge` makes.

#[cfg(feature = "cuda")]
mod flow;
#[cfg(all(feature = "cuda", target_os = "linux"))]
mod symbols;
