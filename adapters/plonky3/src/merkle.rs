//! Merkle trees over the rows of matrices.

use p3_symmetric::MerkleCap;

use crate::hash::HashField;
use crate::layers::Layers;

/// The hash of a row, or of the digests of several children.
pub type Digest<F> = <F as HashField>::Digest;

/// The commitment that a tree is for Plonky3: the digests of a layer.
pub(crate) type Cap<F> = MerkleCap<F, Digest<F>>;

/// A Merkle tree over the rows of matrices. Its caps, paths and pruned paths are those of Plonky3's `MerkleTreeMmcs`
/// of the same arity, which verifies them.
///
/// The leaves are the digests of the highest matrices' rows. A lower matrix has a height of ⌈highest / 2^k⌉. Its rows
/// are injected at the layer with that many nodes. Rows of matrices of the same height are concatenated.
///
/// In a tree of arity 4, rows may be injected at a layer that nodes with four children would skip. The nodes of this
/// layer then have two children.
#[derive(Debug, Clone)]
pub struct MerkleTree<F: HashField> {
    /// The digests of each layer, from the leaves to the root.
    digests: Vec<Vec<Digest<F>>>,
    layers: Layers,
}

impl<F: HashField> MerkleTree<F> {
    /// The tree with these layers of digests.
    pub(crate) fn of_layers(digests: Vec<Vec<Digest<F>>>, layers: Layers) -> Self {
        Self { digests, layers }
    }

    /// The cap of this height: the layer `height` steps below the root, which is the root for 0. Returns `None` if the
    /// tree is lower, or if the number of digests in this layer is not a power of two.
    #[must_use]
    pub fn cap(&self, height: usize) -> Option<MerkleCap<F, Digest<F>>> {
        self.layers.cap(height).map(|layer| MerkleCap::new(self.digests[layer].clone()))
    }

    /// The number of layers above the leaves, which is the height of the highest cap.
    #[must_use]
    pub fn height(&self) -> usize {
        self.layers.height()
    }

    /// The path from the leaf of this index to a cap: the sibling of each node on the path, from the leaf upwards.
    /// Returns `None` if the leaf or the cap does not exist.
    #[must_use]
    pub fn path(&self, row: usize, cap_height: usize) -> Option<Vec<Digest<F>>> {
        self.layers.path(row, cap_height).map(|siblings| self.siblings(&siblings))
    }

    /// The pruned paths from the leaves of these indices to a cap. Indices may repeat and be in any order. The paths
    /// have the siblings that cannot be computed from these leaves, layer by layer from the leaves upwards. Returns
    /// `None` if a leaf or the cap does not exist.
    #[must_use]
    pub fn paths(&self, rows: &[usize], cap_height: usize) -> Option<F::Paths> {
        let siblings = self.layers.paths(rows, cap_height)?;
        Some(F::paths(self.siblings(&siblings)))
    }

    /// The layers of the tree.
    pub(crate) fn layers(&self) -> &Layers {
        &self.layers
    }

    fn siblings(&self, siblings: &[(usize, usize)]) -> Vec<Digest<F>> {
        siblings.iter().map(|&(layer, number)| self.digests[layer][number]).collect()
    }
}
