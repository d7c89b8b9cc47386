//! The parts that homomorphic schemes on ring LWE share: parameters, keys, encryption and key switching, on CPUs and GPUs.
//!
//! `ringforge-ckks` and `ringforge-bfv` are built on it. They differ in how they encode numbers, and in their products.
//!
//! | file | contents |
//! | --- | --- |
//! | `params.rs` | Degree, primes, errors; the bound of 128-bit security. |
//! | `basis.rs` | Operations as steps of a pipeline: [`Basis`]. |
//! | `keys.rs` | Keys on the device; automorphisms. |
//! | `generator.rs` | Key generation: [`KeyGenerator`]. |
//! | `bytes.rs` | Serialisation of keys, and the header of ciphertexts. |
//! | `randomness.rs` | Source of randomness. |
//! | `error.rs` | Errors. |

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod basis;
mod bytes;
#[cfg(test)]
mod distributions;
mod error;
mod generator;
mod keys;
mod params;
mod randomness;

pub use basis::Basis;
pub use bytes::{Header, ObjectKind};
pub use error::{Error, Result};
pub use generator::{KeyGenerator, KeyOperation, bytes_of, check_own};
pub use keys::{
    GaloisKeys, PublicKey, RelinearisationKey, SecretKey, Switch, SwitchingKey, automorphisms, conjugation, rotation,
};
pub use params::{Errors, Parameters, bits};
pub use randomness::Randomness;
pub use ringforge;
