//! The C library from outside.

#[cfg(unix)]
mod examples;
mod header;
#[cfg(unix)]
mod library;
mod refusals;
#[cfg(unix)]
mod symbols;
