//! CTRU-Prime: key encapsulation over NTRU lattices in the fields `Z_q[x]/(x^n − x − 1)`, with messages encoded in the
//! E8 lattice, for single items and batches.
//!
//! A parameter set is a type, for example [`CtruPrime761`]. Use [`generate`], [`encapsulate`] and [`decapsulate`] for
//! one key at a time on the CPU, and [`Batch`] for batches of any size on a CPU or a GPU.
//!
//! | file | contents |
//! | --- | --- |
//! | `params.rs` | The numbers of each set, and all derived sizes. |
//! | `radix.rs`, `product.rs`, `inverse.rs` | Packing of public keys, products over the integers, inverses. |
//! | `pke.rs`, `kem.rs`, `single.rs` | One item on the CPU: arithmetic, and the encapsulation of `ringforge_e8`. |
//! | `kernels.rs`, `kernels/` | The kernels of batches: ports, CPU reference, CUDA source. |
//! | `plans.rs`, `one_key.rs` | Plans of these kernels, for `Batch` and for one key that many items share. |
//!
//! The guide `docs/guides/batches.md` in the repository shows the functions in use.
//! `README.md` explains the origin of the format, the GPU implementation, and the limits of this crate.
//!
//! Batches generate their seeds on the device; `ringforge_batch` explains the consequences of repeated seeds.
//!
//! Feature `hazmat` adds functions that take all randomness from the caller; `testkit` adds plans with test samples.

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
