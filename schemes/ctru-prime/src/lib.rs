//! CTRU-Prime.
mod inverse;
mod kem;
mod kernels;
#[cfg(feature = "testkit")]
mod naive;
mod params;
mod pke;
mod plans;
mod product;
mod radix;
#[cfg(feature = "testkit")]
mod scheme;
mod single;
mod symmetric;

pub use params::{CtruPrime653, CtruPrime761, CtruPrime1277, ParameterSet, Parameters};
pub use ringforge_batch::Reason;
#[cfg(feature = "testkit")]
pub use scheme::{CtruPrime, plans as named_plans};
pub use single::{check_secret_key, decapsulate, encapsulate, generate, is_canonical};
