//! The components from outside, on every device of this machine.

mod suite;
mod vectors;
