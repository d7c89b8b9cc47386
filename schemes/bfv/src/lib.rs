//! BFV (eprint 2012/144): exact arithmetic on encrypted integers, in batches, on CPUs and GPUs.
//!
//! A plaintext is a vector of N integers modulo t, in two rows of N/2. Sums and products are those of slots.
//!
//! ```
//! use ringforge_bfv::ringforge::Engine;
//! use ringforge_bfv::{Bfv, Parameters, Randomness};
//!
//! let bfv = Bfv::new(&Engine::best(), Parameters::new(13, 65537, &[53; 3], &[54])?)?;
//! let mut random = Randomness::system();
//! let secret = bfv.keys().secret_key(&mut random)?;
//! let public = bfv.keys().public_key(&secret, &mut random)?;
//! let relinearise = bfv.keys().relinearisation_key(&secret, &mut random)?;
//! let turn = bfv.keys().galois_keys(&secret, &[1], false, &mut random)?;
//!
//! let [a, b] = [[3, 5], [-7, 11]].map(|numbers| bfv.encode_signed(&[numbers]));
//! let (a, b) = (bfv.encrypt(&a?, &public, &mut random)?, bfv.encrypt(&b?, &public, &mut random)?);
//! let product = bfv.multiply(&a, &b, &relinearise)?;
//! let rotated = bfv.rotate_rows(&product, 1, &turn)?;
//!
//! assert_eq!(bfv.decrypt_signed(&product, &secret)?[0][..2], [-21, 55]);
//! assert_eq!(bfv.decrypt_signed(&rotated, &secret)?[0][..2], [55, 0]);
//! assert!(bfv.noise_budget(&product, &secret)?[0] > 60.0);
//! # Ok::<(), ringforge_bfv::Error>(())
//! ```
//!
//! | file | contents |
//! | --- | --- |
//! | `params.rs` | Degree, primes, plaintext modulus. |
//! | `steps.rs` | Operations as steps of a pipeline: [`Steps`]. |
//! | `scheme.rs` | [`Bfv`]: engine, parameters, order of slots. |
//! | `messages.rs` | Encoding, encryption, decryption, noise budgets, bytes. |
//! | `operations.rs` | Operations on ciphertexts. |
//! | `programs.rs` | Plan and program of each operation. |
//! | `types.rs` | Plaintexts and ciphertexts on the device. |
//! | `error.rs` | Errors. |
//!
//! Keys, encryption and key switching are in [`ringforge_rlwe`]. All operations are built from those of the engine.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod error;
mod messages;
mod operations;
mod params;
mod programs;
mod scheme;
mod steps;
mod types;

pub use error::{Error, Result};
pub use params::Parameters;
pub use ringforge;
pub use ringforge_rlwe::{
    self as rlwe, Errors, GaloisKeys, KeyGenerator, PublicKey, Randomness, RelinearisationKey, SecretKey,
};
pub use scheme::Bfv;
pub use steps::Steps;
pub use types::{Ciphertext, Plaintext};
