//! CKKS from outside, on every device of this machine.

mod bytes;
mod circuits;
mod devices;
mod flooding;
mod guide;
mod integers;
mod scheme;
