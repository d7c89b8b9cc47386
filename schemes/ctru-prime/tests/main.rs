//! CTRU-Prime from outside, on every device of this machine.

mod batch;
mod kat;
mod suite;
mod vectors;
