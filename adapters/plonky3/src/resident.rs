//! Traces, extensions and Merkle trees that stay on the device, for provers that continue on the device.
//!
//! A [`Matrix`] is row-major or column-major, as its [`Layout`] says. It is stored in a [`Buffer`](ringforge::Buffer),
//! whose memory is the engine's or [foreign memory](ringforge::Device). Matrices of both layouts are extended and
//! hashed without conversion.
//!
//! [`commit`] extends traces and hashes the rows of the extensions. A prover copies only the rows and paths that a
//! verifier asks for to the host.
//!
//! ```
//! use p3_field::{Field, PrimeCharacteristicRing};
//! use p3_koala_bear::KoalaBear;
//! # use ringforge_plonky3::Poseidon2;
//! use ringforge_plonky3::{Engine, resident::{Trace, commit}};
//! # use p3_koala_bear::{
//! #     KOALABEAR_POSEIDON2_RC_16_EXTERNAL_FINAL, KOALABEAR_POSEIDON2_RC_16_EXTERNAL_INITIAL,
//! #     KOALABEAR_POSEIDON2_RC_16_INTERNAL,
//! # };
//! # use p3_poseidon2::ExternalLayerConstants;
//! # let external = ExternalLayerConstants::new(
//! #     KOALABEAR_POSEIDON2_RC_16_EXTERNAL_INITIAL.to_vec(),
//! #     KOALABEAR_POSEIDON2_RC_16_EXTERNAL_FINAL.to_vec(),
//! # );
//! # let hash = Poseidon2::new(&external, &KOALABEAR_POSEIDON2_RC_16_INTERNAL)?;
//!
//! let (engine, columns) = (Engine::best(), vec![KoalaBear::ONE; 3 * 8]);
//! let stream = engine.device().stream()?;
//! // three columns of 2^3 rows, extended to 2^4 rows on a coset
//! let committed = commit(&engine, &stream, &hash, &[Trace::columns(&columns, 8, KoalaBear::GENERATOR)], 1)?;
//! let root = committed.tree.cap(&stream, 0)?;
//! let (rows, paths) = committed.open(&stream, &[5, 12], 0)?;
//! assert_eq!((root.num_roots(), rows[1][0].len()), (1, 3));
//! # assert!(!paths.sibling_hashes.is_empty());
//! # Ok::<(), ringforge_plonky3::Error>(())
//! ```

mod commit;
mod matrix;
mod pinned;
mod tree;

pub use crate::layout::Layout;
pub use commit::{Committed, Trace, commit};
pub(crate) use commit::{
    Divided, Division, Gathered, Member, Rows, at_once, commit_chunks, commit_divided, commit_in_parts,
};
pub use matrix::Matrix;
pub(crate) use matrix::TEMPORARY;
pub use pinned::Pinned;
pub use tree::MerkleTree;
