//! Tests of the C library through its public interface.

#[cfg(unix)]
mod examples;
mod header;
#[cfg(unix)]
mod library;
mod refusals;
#[cfg(unix)]
mod symbols;
