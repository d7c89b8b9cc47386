//! ML-DSA (FIPS 204) in batches, on CPUs and GPUs, built only on the public interface of the engine.
//!
//! Each parameter set is a [`SignatureScheme`](ringforge_batch::SignatureScheme). A
//! [`Signatures`](ringforge_batch::Signatures) runs it.
//!
//! ```
//! use ringforge::Engine;
//! use ringforge_batch::{Messages, Signatures};
//! use ringforge_ml_dsa::MlDsa65;
//!
//! let engine = Engine::best(); // a CUDA GPU where there is one, else the CPU
//! let dsa = Signatures::<MlDsa65>::new(&engine)?;
//! let sizes = dsa.sizes();
//! let (mut public_keys, mut secret_keys) = (vec![0; 2 * sizes.public_key], vec![0; 2 * sizes.secret_key]);
//! dsa.generate(&mut public_keys, &mut secret_keys)?.into_result()?;
//!
//! let messages = Messages::new(&[&b"first"[..], b"the second one"]).with_context(b"docs")?;
//! let mut signatures = vec![0; 2 * sizes.signature];
//! dsa.sign(&secret_keys, &messages, &mut signatures)?.into_result()?;
//! dsa.verify(&public_keys, &messages, &signatures)?.into_result()?;
//!
//! signatures[7] ^= 1;
//! assert_eq!(dsa.verify(&public_keys, &messages, &signatures)?.errors()[0].item, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | contents |
//! | --- | --- |
//! | `params.rs` | Parameter sets and derived sizes. |
//! | `item.rs`, `coding.rs` | CPU reference of each stage; encodings, samplers and rounding. |
//! | `error.rs` | Errors of signatures. |
//! | `kernels.rs`, `kernels/` | The stages as kernels: ports and CUDA source. |
//! | `plans.rs` | Operations as sequences of stages, for `ringforge_batch::Signatures`. |

mod coding;
mod error;
mod item;
mod kernels;
mod params;
mod plans;

pub use error::SignatureError;
pub use params::{MlDsa44, MlDsa65, MlDsa87, Parameters};
