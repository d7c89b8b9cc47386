//! CTRU and CNTR.

mod batch;
mod kem;
mod kernels;
mod params;
mod pke;
mod plans;
mod rustcrypto;
#[cfg(feature = "testkit")]
mod scheme;
mod symmetric;

pub use batch::{Batch, Ciphertexts, PublicKeys, SecretKeys, SharedKeys};
pub use params::{Cntr512, Cntr768, Cntr1024, Ctru512, Ctru768, Ctru768R, Ctru1024, ParameterSet, Parameters};
pub use ringforge_batch::Reason;
pub use rustcrypto::{DecapsulationKey, EncapsulationKey};
#[cfg(feature = "testkit")]
pub use scheme::{Ctru, plans as named_plans};
pub use symmetric::Profile;
