//! Tests of the public interface of the components, on every device of this machine.

mod suite;
mod vectors;
