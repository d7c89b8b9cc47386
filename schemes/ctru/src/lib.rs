//! CTRU and CNTR: key encapsulation over NTRU lattices with messages encoded in the E8 lattice, for single items and
//! batches.
//!
//! A parameter set is a type, for example [`Ctru768`]. For one key at a time on the CPU, use the traits of the crate
//! `kem` with [`EncapsulationKey`] and [`DecapsulationKey`]. For batches of any size, on a CPU or a GPU, use [`Batch`].
//!
//! The guide in the repository is `docs/guides/batches.md`.
//!
//! ```
//! use kem::{Decapsulate, Decapsulator, Encapsulate, Generate};
//! use ringforge_ctru::{Ctru768, DecapsulationKey};
//!
//! # use rand::{SeedableRng, rngs::StdRng};
//! # let mut rng = StdRng::seed_from_u64(1); // in production, use the system's generator
//! let key = DecapsulationKey::<Ctru768>::generate_from_rng(&mut rng);
//! let (ciphertext, sent) = key.encapsulation_key().encapsulate_with_rng(&mut rng);
//! assert_eq!(key.decapsulate(&ciphertext), sent);
//! ```
//!
//! ```
//! use ringforge::Engine;
//! use ringforge_ctru::{Batch, Ctru768};
//!
//! let engine = Engine::best(); // a CUDA GPU where there is one, else the CPU
//! let kem = Batch::<Ctru768>::new(&engine)?;
//! let sizes = kem.sizes();
//! let (mut public_keys, mut secret_keys) = (vec![0; 3 * sizes.public_key], vec![0; 3 * sizes.secret_key]);
//! kem.generate(&mut public_keys, &mut secret_keys)?.into_result()?;
//!
//! let (mut ciphertexts, mut sent) = (vec![0; 3 * sizes.ciphertext], vec![0; 3 * sizes.shared_key]);
//! kem.encapsulate(&public_keys, &mut ciphertexts, &mut sent)?.into_result()?;
//!
//! let mut received = vec![0; 3 * sizes.shared_key];
//! kem.decapsulate(&secret_keys, &ciphertexts, &mut received)?.into_result()?;
//! assert_eq!(sent, received);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | contents |
//! | --- | --- |
//! | `params.rs` | The numbers of each set, and all derived sizes. |
//! | `pke.rs`, `kem.rs` | One item on the CPU: arithmetic, and the encapsulation of `ringforge_e8`. |
//! | `rustcrypto.rs` | The traits of the crate `kem`. |
//! | `kernels.rs`, `kernels/` | The kernels of batches: ports, CPU reference, CUDA source. |
//! | `plans.rs` | The pipelines of kernels, from which `Batch` makes plans. |
//!
//! The schemes are defined in Liang and others, *Compact and Efficient KEMs over NTRU Lattices*, ePrint 2022/579.
//! `README.md` explains the origin of each set, the GPU implementation, and the limits of this crate.
//!
//! Batches generate their seeds on the device; `ringforge_batch` explains the consequences of repeated seeds.
//!
//! Feature `hazmat` adds functions that take all randomness from the caller; `testkit` adds plans with test samples.

mod kem;
mod kernels;
#[cfg(feature = "testkit")]
mod naive;
mod params;
mod pke;
mod plans;
mod rustcrypto;
#[cfg(feature = "testkit")]
mod scheme;
mod sets;

pub use params::Parameters;
pub use ringforge_batch::Batch;
pub use ringforge_e8::{EncryptionSizes, KeyError};
pub use rustcrypto::{DecapsulationKey, EncapsulationKey};
#[cfg(feature = "testkit")]
pub use scheme::{Ctru, named_plans};
pub use sets::{Cntr512, Cntr768, Cntr1024, Ctru512, Ctru768, Ctru1024, ParameterSet};
