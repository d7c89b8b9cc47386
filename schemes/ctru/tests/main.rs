//! CTRU and CNTR from outside, on every device of this machine.

mod batch;
mod kat;
mod ntt;
mod rustcrypto;
mod suite;
mod vectors;
