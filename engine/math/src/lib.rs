//! The mathematics of Ringforge: moduli, primes, rings `Z_Q[x]/(f)`, the factorisation of f, and the storage of
//! elements. This crate contains no kernels and uses no device. The crate `ringforge` re-exports all of it under the
//! same names.

#[doc(hidden)]
pub mod decimal;
#[doc(hidden)]
pub mod error;
pub mod factorization;
#[doc(hidden)]
pub mod modulus;
#[doc(hidden)]
pub mod poly;
#[doc(hidden)]
pub mod primes;
#[doc(hidden)]
pub mod ring;

pub use crypto_bigint::U256;

pub use error::{BundleFault, Error, NoDevice, Result};
pub use modulus::{Modulus, Width};
pub use poly::{Form, Order, PolyType};
pub use ring::{Quotient, Ring};
