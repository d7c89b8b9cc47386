//! The transforms and Merkle trees of Plonky3's provers, run by `ringforge` on a CPU or a CUDA GPU.
//!
//! [`Dft`] implements [`TwoAdicSubgroupDft`](p3_dft::TwoAdicSubgroupDft) with the results of
//! [`Radix2DitParallel`](p3_dft::Radix2DitParallel), bit for bit, and replaces it in a prover's configuration.
//! Elements are never converted: transforms are linear, so words in Montgomery form stay in Montgomery form.
//!
//! The guide in the repository is `docs/guides/plonky3.md`.
//!
//! ```
//! use p3_baby_bear::BabyBear;
//! use p3_dft::{Radix2DitParallel, TwoAdicSubgroupDft};
//! use p3_field::{Field, PrimeCharacteristicRing};
//! use p3_matrix::{Matrix, dense::RowMajorMatrix};
//! use ringforge_plonky3::{Dft, Engine};
//!
//! // a trace of 8 rows and 3 columns, extended to 16 rows on a coset
//! let trace = RowMajorMatrix::new((0..24).map(BabyBear::from_u32).collect(), 3);
//! let dft = Dft::on(&Engine::cpu()); // Dft::default() in a prover: a GPU where there is one
//! let extension = dft.coset_lde_batch(trace.clone(), 1, BabyBear::GENERATOR).to_row_major_matrix();
//!
//! let stock = Radix2DitParallel::default();
//! assert_eq!(extension, stock.coset_lde_batch(trace, 1, BabyBear::GENERATOR).to_row_major_matrix());
//! ```
//!
//! [`Mmcs`] commits to the rows of matrices with [`Poseidon2`], in trees of arity 2 or 4. Its commitments and proofs
//! are those of Plonky3's `MerkleTreeMmcs`, which verifies them. [`MerkleTree`] is the tree alone, with typed errors.
//! [`resident`] is for provers whose extensions stay on the device, and [`stark`] makes whole proofs there.

mod commit;
mod dft;
mod engine;
mod field;
mod gather;
mod hash;
mod layers;
mod layout;
mod merkle;
mod mmcs;
mod pcs;
mod permutation;
mod poseidon2;
pub mod resident;
mod rows;
mod sponge;
pub mod stark;
mod stock;
#[cfg(feature = "testkit")]
pub mod testkit;
mod transform;
mod transpose;

pub use ringforge::{self, Engine, Error, Result};

pub use dft::Dft;
pub use field::EngineField;
pub use hash::{HashField, Trees};
pub use merkle::{Digest, MerkleTree};
pub use mmcs::{Committed, Mmcs};
pub use pcs::Pcs;
pub use permutation::Permutes;
pub use poseidon2::Poseidon2;
