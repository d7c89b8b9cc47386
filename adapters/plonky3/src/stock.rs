//! Plonky3's own trees of arity 2 or 4: the reference and the verifier for this crate's trees.

use core::fmt;

use p3_commit::{BatchOpeningRef, Mmcs};
use p3_matrix::{Dimensions, Matrix};
use p3_merkle_tree::MerkleTreeError;
use p3_symmetric::MerkleCap;

use crate::hash::HashField;
use crate::merkle::Digest;
use crate::poseidon2::Poseidon2;

/// Plonky3's trees with the same hash as this crate's trees, of arity 2 or 4.
#[derive(Clone)]
pub(crate) enum Stock<F: HashField> {
    Binary(F::Binary),
    Quaternary(F::Quaternary),
}

/// A tree made by Plonky3's code, with its matrices and the `Mmcs` that opens it.
pub(crate) enum Kept<F: HashField, M> {
    Binary(F::Binary, <F::Binary as Mmcs<F>>::ProverData<M>),
    Quaternary(F::Quaternary, <F::Quaternary as Mmcs<F>>::ProverData<M>),
}

/// The opened rows, one for each matrix.
type Rows<F> = Vec<Vec<F>>;

/// Evaluates one expression for a value of arity 2 or 4.
macro_rules! either {
    ($kind:ident, $value:expr, ($($name:pat),+) => $outcome:expr) => {
        match $value {
            $kind::Binary($($name),+) => $outcome,
            $kind::Quaternary($($name),+) => $outcome,
        }
    };
}

impl<F: HashField> Stock<F> {
    pub(crate) fn new(hash: &Poseidon2<F>, cap_height: usize) -> Self {
        match hash.wide_permutation() {
            None => Self::Binary(F::binary(hash.permutation(), cap_height)),
            Some(wide) => Self::Quaternary(F::quaternary(hash.permutation(), wide, cap_height)),
        }
    }

    pub(crate) fn commit<M: Matrix<F>>(&self, matrices: Vec<M>) -> (MerkleCap<F, Digest<F>>, Kept<F, M>) {
        match self {
            Self::Binary(trees) => {
                let (cap, tree) = trees.commit(matrices);
                (cap, Kept::Binary(trees.clone(), tree))
            }
            Self::Quaternary(trees) => {
                let (cap, tree) = trees.commit(matrices);
                (cap, Kept::Quaternary(trees.clone(), tree))
            }
        }
    }

    pub(crate) fn verify(
        &self,
        cap: &MerkleCap<F, Digest<F>>,
        dimensions: &[Dimensions],
        index: usize,
        rows: &[Vec<F>],
        path: &Vec<Digest<F>>,
    ) -> Result<(), MerkleTreeError> {
        either!(Self, self, (trees) => {
            trees.verify_batch(cap, dimensions, index, BatchOpeningRef::new(rows, path))
        })
    }

    pub(crate) fn verify_several<R: AsRef<[F]> + PartialEq>(
        &self,
        cap: &MerkleCap<F, Digest<F>>,
        dimensions: &[Dimensions],
        indices: &[usize],
        rows: &[Vec<R>],
        paths: &F::Paths,
    ) -> Result<(), MerkleTreeError> {
        either!(Self, self, (trees) => trees.verify_multi_batch(cap, dimensions, indices, rows, paths))
    }
}

impl<F: HashField> fmt::Debug for Stock<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Binary(_) => "arity 2",
            Self::Quaternary(_) => "arity 4",
        })
    }
}

impl<F: HashField, M: Matrix<F>> Kept<F, M> {
    pub(crate) fn open(&self, index: usize) -> (Rows<F>, Vec<Digest<F>>) {
        either!(Self, self, (trees, tree) => trees.open_batch(index, tree).unpack())
    }

    pub(crate) fn open_several(&self, indices: &[usize]) -> (Vec<Rows<F>>, F::Paths) {
        either!(Self, self, (trees, tree) => trees.open_multi_batch(indices, tree))
    }

    pub(crate) fn matrices(&self) -> Vec<&M> {
        either!(Self, self, (trees, tree) => trees.get_matrices(tree))
    }
}
