//! RNS-CKKS (eprint 2018/931): arithmetic on encrypted complex numbers, in batches, on CPUs and GPUs.
//!
//! The guide in the repository is `docs/guides/encrypted.md`.
//!
//! ```
//! use ringforge_ckks::ringforge::Engine;
//! use ringforge_ckks::{Ckks, Complex64, Parameters, Randomness};
//!
//! let ckks = Ckks::new(&Engine::best(), Parameters::new(13, &[50, 38, 38, 38], &[50])?)?;
//! let mut random = Randomness::system();
//! let secret = ckks.keys().secret_key(&mut random)?;
//! let public = ckks.keys().public_key(&secret, &mut random)?;
//! let relinearise = ckks.keys().relinearisation_key(&secret, &mut random)?;
//! let rotate = ckks.keys().galois_keys(&secret, &[1], false, &mut random)?;
//!
//! let numbers = |factor: f64| (0..4096).map(|i| Complex64::from(f64::from(i) * factor)).collect::<Vec<_>>();
//! let top = ckks.parameters().top_level();
//! let [a, b] = [0.001, 0.002].map(|factor| ckks.encode(&[numbers(factor)], top));
//! let (a, b) = (ckks.encrypt(&a?, &public, &mut random)?, ckks.encrypt(&b?, &public, &mut random)?);
//! let product = ckks.multiply_rescale(&a, &b, &relinearise)?;
//! let rotated = ckks.rotate(&product, 1, &rotate)?;
//!
//! let found = ckks.decrypt(&rotated, &secret)?;
//! assert!((found[0][99].re - 0.1 * 0.2).abs() < 1e-5);
//! # Ok::<(), ringforge_ckks::Error>(())
//! ```
//!
//! | file | contents |
//! | --- | --- |
//! | `params.rs` | Degree, primes, scale; the bound of 128-bit security. |
//! | `embedding.rs` | The canonical embedding, by which numbers are encoded as polynomials. |
//! | `fixed.rs` | The same in fixed point, for large scales. |
//! | `kernels.rs` | The kernels that encode and decode. |
//! | `steps.rs` | Operations as steps of a pipeline: [`Level`]. |
//! | `scheme.rs` | [`Ckks`]: engine, parameters, levels. |
//! | `messages.rs` | Encoding, encryption, decryption. |
//! | `operations.rs` | Operations on ciphertexts. |
//! | `programs.rs` | Plan and program of each operation. |
//! | `flooding.rs` | Noise flooding for decrypted numbers. |
//! | `memory.rs` | Prediction of device memory. |
//! | `polynomial.rs` | Polynomials with real coefficients, and the order of products in which they are evaluated. |
//! | `evaluation.rs` | Evaluation of polynomials on ciphertexts. |
//! | `linear.rs` | Linear maps of slots. |
//! | `sums.rs` | Sums over slots. |
//! | `bootstrapping.rs` | Bootstrapping; its linear maps, polynomial and raising. |
//! | `types.rs` | Plaintexts and ciphertexts on the device. |
//! | `bytes.rs` | Serialisation of ciphertexts. |
//! | `error.rs` | Errors. |
//!
//! Keys, encryption and key switching are in [`ringforge_rlwe`]. Encoding and decoding have kernels of their own; all other
//! operations are built from those of the engine. The README of the crate says
//! what CKKS does not guarantee.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod bootstrapping;
mod bytes;
mod embedding;
mod error;
mod evaluation;
mod fixed;
mod flooding;
mod kernels;
mod linear;
mod memory;
mod messages;
mod operations;
mod params;
mod polynomial;
mod programs;
mod roots;
mod scheme;
mod steps;
mod sums;
mod types;

pub use bootstrapping::{BootstrapKeys, BootstrapPlan, Bootstrapper};
pub use error::{Error, Result};
pub use flooding::Flooding;
pub use linear::LinearMap;
pub use memory::Memory;
pub use num_complex::Complex64;
pub use params::Parameters;
pub use polynomial::Polynomial;
pub use ringforge;
pub use ringforge_rlwe::{
    self as rlwe, Errors, GaloisKeys, KeyGenerator, PublicKey, Randomness, RelinearisationKey, SecretKey,
};
pub use scheme::Ckks;
pub use steps::Level;
pub use types::{Ciphertext, Plaintext};
