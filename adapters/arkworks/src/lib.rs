//! Groth16 proofs and KZG commitments of arkworks on a CUDA GPU or a CPU, and its transforms.
//!
//! [`Groth16Device`] makes proofs, the same as ark-groth16's, with keys of arkworks or of snarkjs ([`Zkey`]).
//! [`KzgDevice`] and [`MarlinKzgDevice`] make commitments and openings, the same as ark-poly-commit's.
//!
//! [`Domain`] is ark-poly's radix-2 domain on the engine, with the same elements, roots and results, bit for bit.
//! Call the inherent `fft` and `ifft` of `Domain`: those of the trait `EvaluationDomain` run arkworks' code, as
//! [`Domain`] explains. [`Libsnark`] and [`Circom`] plug into ark-groth16 and leave its keys and proofs unchanged.
//!
//! The chapters in the repository are `docs/guides/groth16.md` and `docs/guides/kzg.md`.
//!
//! ```
//! use ark_bls12_381::Fr;
//! use ark_poly::EvaluationDomain;
//! use ringforge_arkworks::Domain;
//!
//! let domain = Domain::<Fr>::new(4).expect("Fr has roots of order 4");
//! let values = domain.fft(&[Fr::from(1), Fr::from(2)]);
//! assert_eq!(values[1], Fr::from(1) + Fr::from(2) * domain.group_gen());
//! assert_eq!(domain.ifft(&values)[..2], [Fr::from(1), Fr::from(2)]);
//! ```
//!
//! ```no_run
//! use ark_bls12_381::{Bls12_381, Fr};
//! use ark_groth16::Groth16;
//! use ringforge_arkworks::Libsnark;
//!
//! /// Proves with the keys of `Groth16<Bls12_381>`, for the verifier of `Groth16<Bls12_381>`.
//! type Prover = Groth16<Bls12_381, Libsnark<Fr>>;
//! ```
//!
//! A [`Backend`] is an engine with a cache of programs: one per field, size, coset and operation. Arkworks' traits have
//! no parameter for a backend, so their implementations use [`Backend::shared`].

mod backend;
mod circom;
mod domain;
mod field;
mod groth16;
mod kzg;
mod points;
mod qap;
mod witness;

pub use ark_poly::domain::radix2::Elements;
pub use ringforge::{self, Error, Result};

pub use backend::Backend;
pub use circom::{FileError, Zkey, read_wtns};
pub use domain::Domain;
pub use field::EngineField;
pub use groth16::{Groth16Device, Phases, ProofError};
pub use kzg::{KzgDevice, KzgError, MarlinCommitterKey, MarlinKzgDevice};
pub use points::{Coordinate, DevicePoint};
pub use qap::{Circom, Libsnark};
pub use ringforge_msm::Check;
pub use witness::{Reduction, WitnessMap};
