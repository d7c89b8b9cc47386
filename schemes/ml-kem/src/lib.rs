//! ML-KEM (FIPS 203) in batches, on CPUs and GPUs, written against the public interface of the engine alone.
//!
//! A parameter set is a [`KemScheme`](ringforge_batch::KemScheme), made ready on a device by
//! [`Batch`](ringforge_batch::Batch).
//!
//! ```
//! use ringforge::Engine;
//! use ringforge_batch::Batch;
//! use ringforge_ml_kem::MlKem768;
//!
//! let engine = Engine::best(); // a CUDA GPU where there is one, else the CPU
//! let kem = Batch::<MlKem768>::new(&engine)?;
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
//! | `item.rs`, `coding.rs` | what each stage does to one item on the CPU, and its codes and samplers |
//! | `error.rs` | what can be wrong with a key |
//! | `kernels.rs`, `kernels/` | the stages as kernels: what they read and write, and their CUDA text |
//! | `plans.rs` | stages put together, of which `ringforge_batch::Batch` makes plans |
//!
//! Batches draw their seeds on the device; `ringforge_batch` says what follows if they repeat.

mod coding;
mod error;
mod item;
mod kernels;
mod params;
mod plans;

pub use error::KeyError;
pub use params::{MlKem512, MlKem768, MlKem1024, Parameters};
