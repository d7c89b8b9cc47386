//! The kernels of key generation, encapsulation and decapsulation.

pub(crate) mod status;
