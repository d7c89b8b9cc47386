//! Tests of multi-scalar multiplication, on every device of this machine.

mod arkworks;
mod faults;
mod small;
mod suite;
mod vectors;
