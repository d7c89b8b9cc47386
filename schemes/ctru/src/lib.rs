//! CTRU and CNTR: key encapsulation over NTRU lattices with messages in E8, one by one and in batches.
//!
//! A parameter set is a type: [`Ctru768`], say. One key at a time, on the CPU, works with the traits of the crate `kem`
//! ([`EncapsulationKey`], [`DecapsulationKey`]); batches of any size, on a CPU or a GPU, with [`Batch`].
//!
//! ```
//! use kem::{Decapsulate, Decapsulator, Encapsulate, Generate};
//! use ringforge_ctru::{Ctru768, DecapsulationKey};
//!
//! # use rand::{SeedableRng, rngs::StdRng};
//! # let mut rng = StdRng::seed_from_u64(1); // of the system, in earnest
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
//! | file | what |
//! | --- | --- |
//! | `params.rs` | the numbers of each set, and all sizes that follow |
//! | `pke.rs`, `kem.rs` | arithmetic, and the encapsulation of `ringforge_e8` around them, one item on the CPU |
//! | `rustcrypto.rs` | the traits of the crate `kem` |
//! | `kernels.rs`, `kernels/` | the same in stages for batches: ports, what they mean on the CPU, CUDA text |
//! | `plans.rs` | stages put together, of which `Batch` makes plans |
//!
//! Source: Liang and others, *Compact and Efficient KEMs over NTRU Lattices*, ePrint 2022/579. `README.md` says which
//! sets rest on what, how the GPU does it, and what is not done.
//!
//! Batches draw their seeds on the device; `ringforge_batch` says what follows if they repeat.
//!
//! Feature `hazmat` adds entry points whose randomness comes from the caller; `testkit` adds the plans with samples.

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
