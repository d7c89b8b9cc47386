//! Tests of the public interface of CTRU-Prime, on every device of this machine.

mod batch;
mod kat;
mod suite;
mod vectors;
