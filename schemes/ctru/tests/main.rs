//! Tests of the public interface of CTRU and CNTR, on every device of this machine.

mod batch;
mod kat;
mod ntt;
mod rustcrypto;
mod suite;
mod vectors;
