//! Implementation of Plonky3's trait `Mmcs`: commitments to matrices.

use core::fmt;

use p3_commit::{BatchOpening, BatchOpeningRef, Mmcs as Trait};
use p3_matrix::{Dimensions, Matrix};
use p3_merkle_tree::MerkleTreeError;
use p3_symmetric::MerkleCap;
use ringforge::Engine;

use crate::engine::{MOST, or_stock, shared};
use crate::hash::HashField;
use crate::merkle::{Digest, MerkleTree};
use crate::poseidon2::Poseidon2;
use crate::stock::{Kept, Stock};

/// Commitments to the rows of matrices with [`Poseidon2`]. Commitments and proofs are those of Plonky3's
/// `MerkleTreeMmcs` of the same arity, whose verifier accepts them.
///
/// Rows are hashed on the first CUDA GPU, or without a GPU in Plonky3's own code. The trait's methods cannot fail: if
/// the device fails, Plonky3's code takes over, and the first failure is logged.
///
/// Committing panics for the matrices for which Plonky3's code panics. Opening a row that does not exist panics if
/// Plonky3's code made the tree. Otherwise the opening is empty, and no verifier accepts it.
#[derive(Debug, Clone)]
pub struct Mmcs<F: HashField> {
    hash: Poseidon2<F>,
    cap_height: usize,
    /// The engine that hashes rows; `None` for Plonky3's own code.
    engine: Option<Engine>,
    stock: Stock<F>,
}

impl<F: HashField> Mmcs<F> {
    /// Commitments with caps `cap_height` layers below the root, or at the leaves of a tree that is lower.
    #[must_use]
    pub fn new(hash: &Poseidon2<F>, cap_height: usize) -> Self {
        let engine = shared();
        let engine = (!engine.device().limits().is_cpu()).then(|| engine.clone());
        Self { hash: hash.clone(), cap_height, engine, stock: Stock::new(hash, cap_height) }
    }

    /// Returns the same commitments with rows hashed on this engine's device, which may be a CPU.
    #[must_use]
    pub fn on(self, engine: &Engine) -> Self {
        Self { engine: Some(engine.with_cache_limit(MOST)), ..self }
    }

    /// The engine that hashes rows, or `None` if only Plonky3's own code does.
    #[must_use]
    pub fn engine(&self) -> Option<&Engine> {
        self.engine.as_ref()
    }

    /// The commitment to matrices with this tree. Returns `None` if the tree has no cap of the required height.
    pub(crate) fn committed<M>(&self, matrices: Vec<M>, tree: MerkleTree<F>) -> Option<Made<F, M>> {
        Some((self.cap(&tree)?, Committed(Data::Own(matrices, tree))))
    }

    /// Layers of caps below the root, or fewer in a tree that is lower.
    pub(crate) fn cap_height(&self) -> usize {
        self.cap_height
    }

    /// The hash for rows and digests.
    pub(crate) fn hash(&self) -> &Poseidon2<F> {
        &self.hash
    }

    /// The cap of a tree. Returns `None` if the tree has no cap of the required height.
    fn cap(&self, tree: &MerkleTree<F>) -> Option<MerkleCap<F, Digest<F>>> {
        tree.cap(self.cap_height.min(tree.height()))
    }
}

/// A commitment and its prover data.
pub(crate) type Made<F, M> = (MerkleCap<F, Digest<F>>, Committed<F, M>);

/// Prover data: matrices and the tree over their rows.
pub struct Committed<F: HashField, M>(Data<F, M>);

enum Data<F: HashField, M> {
    /// Matrices with a tree made on an engine.
    Own(Vec<M>, MerkleTree<F>),
    /// Matrices with a tree made by Plonky3's code.
    Stock(Kept<F, M>),
}

impl<F: HashField, M> fmt::Debug for Committed<F, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Data::Own(..) => "Committed(by an engine)",
            Data::Stock(_) => "Committed(by Plonky3)",
        })
    }
}

/// The rows that belong to a leaf, one for each matrix; empty if the leaf does not exist.
fn rows<F: HashField, M: Matrix<F>>(matrices: &[M], tree: &MerkleTree<F>, leaf: usize) -> Vec<Vec<F>> {
    let row = |matrix: &M| Some(matrix.row(tree.layers().row_of(leaf, matrix.height()))?.into_iter().collect());
    matrices.iter().map(row).collect::<Option<_>>().filter(|_| leaf < tree.layers().rows()).unwrap_or_default()
}

impl<F: HashField> Trait<F> for Mmcs<F> {
    type ProverData<M> = Committed<F, M>;
    type Commitment = MerkleCap<F, Digest<F>>;
    type Proof = Vec<Digest<F>>;
    type MultiProof = F::Paths;
    type Error = MerkleTreeError;

    fn commit<M: Matrix<F>>(&self, inputs: Vec<M>) -> (Self::Commitment, Self::ProverData<M>) {
        let tree = self.engine.as_ref().and_then(|engine| {
            or_stock("a tree over the rows of matrices", MerkleTree::new(engine, &self.hash, &inputs))
        });
        if let Some((cap, tree)) = tree.and_then(|tree| Some((self.cap(&tree)?, tree))) {
            return (cap, Committed(Data::Own(inputs, tree)));
        }
        let (cap, tree) = self.stock.commit(inputs);
        (cap, Committed(Data::Stock(tree)))
    }

    fn open_batch<M: Matrix<F>>(&self, index: usize, prover_data: &Self::ProverData<M>) -> BatchOpening<F, Self> {
        let (rows, path) = match &prover_data.0 {
            Data::Stock(tree) => tree.open(index),
            Data::Own(matrices, tree) => {
                let path = tree.path(index, self.cap_height.min(tree.height()));
                (rows(matrices, tree, index), path.unwrap_or_default())
            }
        };
        BatchOpening::new(rows, path)
    }

    fn get_matrices<'a, M: Matrix<F>>(&self, prover_data: &'a Self::ProverData<M>) -> Vec<&'a M> {
        match &prover_data.0 {
            Data::Stock(tree) => tree.matrices(),
            Data::Own(matrices, _) => matrices.iter().collect(),
        }
    }

    fn verify_batch(
        &self,
        commit: &Self::Commitment,
        dimensions: &[Dimensions],
        index: usize,
        batch_opening: BatchOpeningRef<'_, F, Self>,
    ) -> Result<(), Self::Error> {
        let (rows, path) = batch_opening.unpack();
        self.stock.verify(commit, dimensions, index, rows, path)
    }

    fn open_multi_batch<M: Matrix<F>>(
        &self,
        indices: &[usize],
        prover_data: &Self::ProverData<M>,
    ) -> (Vec<Vec<Vec<F>>>, Self::MultiProof) {
        match &prover_data.0 {
            Data::Stock(tree) => tree.open_several(indices),
            Data::Own(matrices, tree) => {
                let paths = tree.paths(indices, self.cap_height.min(tree.height()));
                let none = || F::paths(Vec::new());
                (indices.iter().map(|&index| rows(matrices, tree, index)).collect(), paths.unwrap_or_else(none))
            }
        }
    }

    fn verify_multi_batch<R: AsRef<[F]> + PartialEq>(
        &self,
        commit: &Self::Commitment,
        dimensions: &[Dimensions],
        indices: &[usize],
        opened_values: &[Vec<R>],
        proof: &Self::MultiProof,
    ) -> Result<(), Self::Error> {
        self.stock.verify_several(commit, dimensions, indices, opened_values, proof)
    }
}
