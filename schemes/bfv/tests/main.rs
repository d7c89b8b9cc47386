//! Tests of the public interface of BFV, on every device of this machine.

mod circuits;
mod devices;
mod refusals;
mod scheme;
