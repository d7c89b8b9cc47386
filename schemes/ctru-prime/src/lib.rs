//! CTRU-Prime: key encapsulation over NTRU lattices in the fields `Z_q[x]/(x^n − x − 1)`, with messages in E8, one by one
//! and in batches.
//!
//! A parameter set is a type: [`CtruPrime761`], say. One key at a time, on the CPU, works with [`generate`],
//! [`encapsulate`] and [`decapsulate`]; batches of any size, on a CPU or a GPU, with [`Batch`].
//!
//! | file | what |
//! | --- | --- |
//! | `params.rs` | the numbers of each set, and all sizes that follow |
//! | `radix.rs`, `product.rs`, `inverse.rs` | public keys as bytes, products by way of the integers, inverses |
//! | `pke.rs`, `kem.rs`, `single.rs` | arithmetic, and the encapsulation of `ringforge_e8` around it, one item on the CPU |
//! | `kernels.rs`, `kernels/` | the same in stages for batches: ports, what they mean on the CPU, CUDA text |
//! | `plans.rs`, `one_key.rs` | stages put together, which `Batch` runs; one key that serves many items |
//!
//! `README.md` says what the format rests on, how the GPU does it, and what is not done.
//!
//! Batches draw their seeds on the device; `ringforge_batch` says what follows if they repeat.
//!
//! Feature `hazmat` adds entry points whose randomness comes from the caller; `testkit` adds the plans with samples.

mod inverse;
mod kem;
mod kernels;
#[cfg(feature = "testkit")]
mod naive;
mod one_key;
mod params;
mod pke;
mod plans;
mod product;
mod radix;
#[cfg(feature = "testkit")]
mod scheme;
mod sets;
mod single;

pub use one_key::{OneKey, PreparedPublicKey, PreparedSecretKey};
pub use params::Parameters;
pub use ringforge_batch::Batch;
pub use ringforge_e8::{EncryptionSizes, KeyError};
#[cfg(feature = "testkit")]
pub use scheme::{CtruPrime, named_plans};
pub use sets::{CtruPrime653, CtruPrime761, CtruPrime1277, ParameterSet};
pub use single::{check_secret_key, decapsulate, encapsulate, generate, is_canonical};
