//! ML-KEM (FIPS 203) in batches, on CPUs and GPUs, built only on the public interface of the engine.
//!
//! Each parameter set is a [`KemScheme`](ringforge_batch::KemScheme). A [`Batch`](ringforge_batch::Batch) runs it.
//!
//! Guides in the repository: `docs/guides/batches.md` shows its use, `docs/guides/scheme.md` how it is built.
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
//! | file | contents |
//! | --- | --- |
//! | `params.rs` | Parameter sets and derived sizes. |
//! | `item.rs`, `coding.rs` | CPU reference of each stage; encodings and samplers. |
//! | `error.rs` | Errors of keys. |
//! | `kernels.rs`, `kernels/` | The stages as kernels: ports and CUDA source. |
//! | `plans.rs` | Operations as sequences of stages, for `ringforge_batch::Batch`. |
//!
//! Seeds are derived on the device. The documentation of `ringforge_batch` says what happens if seeds repeat.

mod coding;
mod error;
mod item;
mod kernels;
mod params;
mod plans;

pub use coding::is_canonical;
pub use error::KeyError;
pub use params::{MlKem512, MlKem768, MlKem1024, Parameters};
