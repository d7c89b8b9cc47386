//! Tests of the public interface of CKKS, on every device of this machine.

mod bytes;
mod circuits;
mod devices;
mod flooding;
mod guide;
mod integers;
mod scheme;
