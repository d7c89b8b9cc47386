//! CTRU-Prime.
mod inverse;
mod kem;
mod kernels;
#[cfg(feature = "testkit")]
mod naive;
mod params;
mod pke;
mod product;
mod radix;
mod single;
mod symmetric;

pub use params::{CtruPrime653, CtruPrime761, CtruPrime1277, ParameterSet, Parameters};
pub use ringforge_batch::Reason;
pub use single::{check_secret_key, decapsulate, encapsulate, generate, is_canonical};
